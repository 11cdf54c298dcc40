package restapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/httpx"
)

const (
	// MaxAnswer is how much of a JSON answer is read, in bytes.
	MaxAnswer = 32 << 20

	handshakeTime = 10 * time.Second
	headerTime    = 60 * time.Second
	idleTime      = 60 * time.Second
	connections   = 16
	headerBytes   = 256 << 10
	maxRedirects  = 5
	// answerTime bounds the whole of a JSON answer.
	answerTime = 5 * time.Minute
)

var errSlow = fmt.Errorf("an answer did not come within %d minutes", int(answerTime.Minutes()))

// Dial makes connections, and refuses addresses that must not be reached.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client talks to one platform. It is safe for concurrent use. Make one with New.
type Client struct {
	base      *url.URL
	http      *http.Client
	transport *http.Transport
	opt       Options
}

// Options say how a platform wants to be talked to.
type Options struct {
	// Name is the platform's, for errors: "GitHub".
	Name string
	// Header is sent with each request.
	Header http.Header
	// Wait is called before each request; see [connectors.Settings.Wait]. May be nil.
	Wait func(ctx context.Context) error
	// Authorize puts the authorization on a request. refused is true for the
	// second try, after the platform said 401: it returns false when there is no
	// other authorization to try with. Errors are passed on as they are. May be nil.
	Authorize func(r *http.Request, refused bool) (again bool, err error)
	// Limited says how long to wait where an answer, whatever its status, means
	// that too much was asked, for platforms with a way of their own to say it;
	// 429 and Retry-After need none. The first 64 KiB of the body may be read. May be nil.
	Limited func(response *http.Response) (after time.Duration, limited bool)
	// Explain reads what the platform says about a refusal, for people; "" for
	// nothing. It gets at most 64 KiB of the body. May be nil.
	Explain func(body []byte) string
	// Advice is what to check where an answer is not the platform's, such as
	// "config.apiUrl".
	Advice string
}

// New makes a client for the addresses below base, which must be absolute.
func New(base string, dial Dial, o Options) (*Client, error) {
	address, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || address.Host == "" || (address.Scheme != "https" && address.Scheme != "http") {
		return nil, connectors.Fatal(errors.New("the address of the platform must begin with https:// or http://"))
	}
	transport := &http.Transport{
		DialContext: guarded(address, dial), ForceAttemptHTTP2: true, TLSHandshakeTimeout: handshakeTime, ResponseHeaderTimeout: headerTime,
		IdleConnTimeout: idleTime, MaxIdleConns: connections, MaxIdleConnsPerHost: connections, MaxResponseHeaderBytes: headerBytes,
	}
	c := &Client{base: address, transport: transport, opt: o}
	c.http = &http.Client{Transport: httpx.Steady(transport), CheckRedirect: c.redirected}
	return c, nil
}

// errPlain says that credentials would be readable on the way.
var errPlain = errors.New("credentials are not sent over http to a host on the internet; write the address with https://")

// guarded refuses to connect to the platform without encryption where that is
// more than the networks that the operator allowed.
func guarded(base *url.URL, dial Dial) Dial {
	if base.Scheme != "http" || dial == nil {
		return dial
	}
	port := base.Port()
	if port == "" {
		port = "80"
	}
	platform := net.JoinHostPort(base.Hostname(), port)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dial(ctx, network, address)
		if err == nil && strings.EqualFold(address, platform) && httpx.Public(made.RemoteAddr()) {
			_ = made.Close()
			return nil, errPlain
		}
		return made, err
	}
}

// redirected keeps the authorization, and what bodies hold, to the platform's own
// host and to the scheme that it was given for.
func (c *Client) redirected(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	if r.URL.Host != c.base.Host || r.URL.Scheme != c.base.Scheme {
		if r.Body != nil && r.Body != http.NoBody {
			return errors.New("a request with a body was sent on to another host")
		}
		for name := range c.opt.Header {
			r.Header.Del(name)
		}
		r.Header.Del("Authorization")
	}
	return nil
}

// Close ends idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Request is one request to the platform.
type Request struct {
	// Method is GET when it is empty.
	Method string
	// Path is below the base address and escaped; a whole address (a link that the
	// platform gave) is taken as it is, but must be of the platform's host.
	Path  string
	Query url.Values
	// Body is sent as JSON; nil for none. Form is sent in its place when it is not
	// nil, and Raw before both, as it is: Header says its Content-Type.
	Body   any
	Form   url.Values
	Raw    []byte
	Header http.Header
	// Needs are the fields that the JSON of the answer must have, and not as null:
	// names, with dots between them for those within others.
	Needs []string
}

// JSON makes a request and reads the answer into out, as [Client.Read] does; a nil
// out drops it, whatever it is. An answer takes five minutes at most. It
// returns the answer's header also with an error, when there was one: a *[Error] for a status
// that is no success, a *[Mismatch] for an answer that is something else, both
// within what connectors' errors say.
func (c *Client) JSON(ctx context.Context, r Request, out any) (http.Header, error) {
	ctx, cancel := WithDeadline(ctx)
	defer cancel()
	response, err := c.Do(ctx, r)
	if err != nil {
		return headerOf(err), err
	}
	defer func() { _ = response.Body.Close() }()
	if out == nil {
		return response.Header, nil
	}
	return response.Header, c.Read(ctx, response, r.Needs, out)
}

// Conditional is JSON for a request with If-None-Match: changed is false, and out
// as it was, where the platform says that it is the same still.
func (c *Client) Conditional(ctx context.Context, r Request, out any) (header http.Header, changed bool, err error) {
	ctx, cancel := WithDeadline(ctx)
	defer cancel()
	response, err := c.Do(ctx, r)
	if err != nil {
		return headerOf(err), false, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotModified && r.Header.Get("If-None-Match") != "" {
		return response.Header, false, nil
	}
	return response.Header, true, c.Read(ctx, response, r.Needs, out)
}

// WithDeadline bounds a JSON answer as [Client.JSON] does, for callers of
// [Client.Do] and [Client.Read].
func WithDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, answerTime, errSlow)
}

// Do makes a request and returns an answer with a success or 304 Not Modified;
// the caller closes its body. Other statuses are errors as in JSON.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	response, err := c.once(ctx, r, false)
	if StatusOf(err) != http.StatusUnauthorized || c.opt.Authorize == nil {
		return response, err
	}
	renewed, again := c.once(ctx, r, true)
	if errors.Is(again, errNoOther) {
		return nil, err
	}
	return renewed, again
}

// errNoOther says that there is no authorization but the one that was refused.
var errNoOther = errors.New("no other authorization")

func (c *Client) once(ctx context.Context, r Request, refused bool) (*http.Response, error) {
	request, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	if c.opt.Authorize != nil {
		again, err := c.opt.Authorize(request, refused)
		switch {
		case err != nil:
			return nil, err
		case refused && !again:
			return nil, errNoOther
		}
	}
	if c.opt.Wait != nil {
		if err := c.opt.Wait(ctx); err != nil {
			return nil, err
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if response.StatusCode/100 == 2 || response.StatusCode == http.StatusNotModified {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, c.failure(response)
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	address, err := c.address(r)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	kind := ""
	switch {
	case r.Raw != nil:
		body = bytes.NewReader(r.Raw)
	case r.Form != nil:
		body, kind = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	case r.Body != nil:
		text, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
		body, kind = bytes.NewReader(text), "application/json; charset=utf-8"
	}
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("make a request: %w", err))
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Magpie")
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	for _, header := range []http.Header{c.opt.Header, r.Header} {
		for name, values := range header {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return request, nil
}

// address joins a request's path with the base; a whole address must be of the
// platform, since the authorization goes with it.
func (c *Client) address(r Request) (string, error) {
	text := c.base.String() + "/" + strings.TrimLeft(r.Path, "/")
	if strings.Contains(r.Path, "://") {
		text = r.Path
	}
	address, err := url.Parse(text)
	if err != nil || address.Host != c.base.Host || address.Scheme != c.base.Scheme {
		return "", connectors.Fatal(fmt.Errorf("%s named an address that is not its own", c.opt.Name))
	}
	if len(r.Query) > 0 {
		query := address.Query()
		for name, values := range r.Query {
			query[name] = values
		}
		address.RawQuery = query.Encode()
	}
	return address.String(), nil
}
