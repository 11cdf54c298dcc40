package restapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
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
	// MaxResponseBytes is the largest JSON response.
	MaxResponseBytes = 32 << 20

	handshakeTimeout   = 10 * time.Second
	headerTimeout      = 60 * time.Second
	idleTimeout        = 60 * time.Second
	maxIdleConnections = 16
	maxHeaderBytes     = 256 << 10
	maxRedirects       = 5
	// responseTimeout bounds a JSON exchange, from the request to the end of the
	// response.
	responseTimeout = 5 * time.Minute
)

var errTimeout = fmt.Errorf("an answer did not come within %d minutes", int(responseTimeout.Minutes()))

// A Client sends requests to one platform. It is safe for concurrent use. New makes
// it.
type Client struct {
	base      *url.URL
	http      *http.Client
	transport *http.Transport
	opt       Options
}

// Options describe a platform's API. Platform is required. The functions may be
// nil.
type Options struct {
	// Platform is the platform's name for errors, such as "GitHub".
	Platform string
	// Header is sent with each request.
	Header http.Header
	// Wait is called before each request. It is [connectors.Settings.Wait].
	Wait func(ctx context.Context) error
	// Authorize adds the authorization to a request. If the platform answers
	// 401, the request is made once more with refused set: Authorize then adds
	// another authorization and returns true, or returns false if there is
	// none. Its errors are returned unchanged.
	Authorize func(r *http.Request, refused bool) (retry bool, err error)
	// RateLimited reports whether an unsuccessful response means that the
	// platform's rate limit is exceeded, and how long to wait. It is for
	// platforms that say so in their own way; status 429 and Retry-After need
	// no function. It may read the first 64 KiB of the body.
	RateLimited func(response *http.Response) (after time.Duration, limited bool)
	// ErrorMessage returns the platform's message for people in the body of an
	// unsuccessful response, at most 64 KiB of it, or "".
	ErrorMessage func(body []byte) string
	// GoneEndsAPI says that the status 410 means that the platform has removed a part
	// of its API. On other platforms it is a thing or a position that is gone.
	GoneEndsAPI bool
	// RedirectsAuthorize says that redirects to paths outside the base are their own
	// authorization, also at the platform's host: no other is sent to them.
	RedirectsAuthorize bool
	// TLS is the encryption of connections, nil for the usual one.
	TLS *tls.Config
	// SameHost says that redirects to another host or scheme are refused, with
	// [ErrRedirected]. Without it they are followed without the authorization.
	SameHost bool
	// MaxBytes is the largest JSON response, [MaxResponseBytes] if it is 0.
	MaxBytes int64
	// Advice names what to check if a response does not come from the platform,
	// such as "config.apiUrl".
	Advice string
}

// New returns a client for the URLs below base, which must be absolute.
func New(base string, dial connectors.Dial, o Options) (*Client, error) {
	parsed, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil || parsed.Host == "" || (parsed.Scheme != "https" && parsed.Scheme != "http") {
		return nil, connectors.Fatal(errors.New("the address of the platform must begin with https:// or http://"))
	}
	transport := &http.Transport{
		DialContext: RequireEncryption(dial, parsed), ForceAttemptHTTP2: true, TLSHandshakeTimeout: handshakeTimeout, ResponseHeaderTimeout: headerTimeout,
		TLSClientConfig: o.TLS, IdleConnTimeout: idleTimeout, MaxIdleConns: maxIdleConnections, MaxIdleConnsPerHost: maxIdleConnections, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	c := &Client{base: parsed, transport: transport, opt: o}
	c.http = &http.Client{Transport: httpx.Steady(transport), CheckRedirect: c.checkRedirect}
	return c, nil
}

// ErrUnencrypted says that credentials would be sent in clear text.
var ErrUnencrypted = errors.New("credentials are not sent over http to a host on the internet; write the address with https://")

// ErrRedirected says that a redirect was refused.
var ErrRedirected = errors.New("the answer leads to another host")

// RequireEncryption returns a dial that returns [ErrUnencrypted] for connections to
// the http URLs among bases, if the host has a public address.
func RequireEncryption(dial connectors.Dial, bases ...*url.URL) connectors.Dial {
	unencrypted := make(map[string]bool)
	for _, base := range bases {
		if base.Scheme == "http" {
			unencrypted[strings.ToLower(net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "80")))] = true
		}
	}
	if len(unencrypted) == 0 || dial == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil && unencrypted[strings.ToLower(address)] && httpx.Public(conn.RemoteAddr()) {
			_ = conn.Close()
			return nil, ErrUnencrypted
		}
		return conn, err
	}
}

// checkRedirect keeps the authorization and request bodies at the platform's own
// host and scheme.
func (c *Client) checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	outside := c.opt.RedirectsAuthorize && !strings.HasPrefix(r.URL.Path, c.base.Path+"/")
	if outside || r.URL.Host != c.base.Host || r.URL.Scheme != c.base.Scheme {
		if c.opt.SameHost {
			return ErrRedirected
		}
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

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// A Request is one request to the platform.
type Request struct {
	// Method is GET if empty.
	Method string
	// Path is the escaped path below the base URL. It may also be a whole URL, such as
	// a link from a response, if the URL has the platform's host.
	Path  string
	Query url.Values
	// Body is sent as JSON, Form as a form, and RawBody unchanged, with the
	// Content-Type in Header. At most one of them is set.
	Body    any
	Form    url.Values
	RawBody []byte
	Header  http.Header
	// RequiredFields are fields that the JSON response must have, and that must not be
	// null. The names of nested fields have dots between them. The type of out can have
	// a method RequiredFields() []string instead.
	RequiredFields []string
	// RequiredList is a field that the JSON response must have. It may be null, which
	// stands for an empty list. The type of out can have a method RequiredList() string
	// instead.
	RequiredList string
	// AllowMultiStatus says that the status 207 is a success as well: a batch of which
	// some parts failed.
	AllowMultiStatus bool
}

// JSON makes a request and decodes the response into out, as [Client.ReadJSON]
// does. If out is nil, the response is ignored. The exchange takes at most five
// minutes. Errors of a status are a *[StatusError], those of a response that is
// something else an *[UnexpectedResponseError]; both are marked as a connector's
// errors. JSON returns the header of any response, also with an error.
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
	return response.Header, c.readJSON(ctx, response, r, out)
}

// JSONIfChanged is [Client.JSON] for a request with If-None-Match. If the platform
// answers 304 Not Modified, changed is false and out is unchanged.
func (c *Client) JSONIfChanged(ctx context.Context, r Request, out any) (header http.Header, changed bool, err error) {
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
	return response.Header, true, c.readJSON(ctx, response, r, out)
}

// WithDeadline bounds an exchange as [Client.JSON] does, for callers of [Client.Do]
// and [Client.ReadJSON].
func WithDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, responseTimeout, errTimeout)
}

// Do makes a request and returns a response whose status is a success or 304 Not
// Modified. Other statuses are errors as in [Client.JSON]. The caller closes the
// body.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	response, err := c.send(ctx, r, false)
	if StatusOf(err) != http.StatusUnauthorized || c.opt.Authorize == nil {
		return response, err
	}
	retried, retryErr := c.send(ctx, r, true)
	if errors.Is(retryErr, errNotRenewed) {
		return nil, err
	}
	return retried, retryErr
}

// errNotRenewed says that Authorize has no other authorization.
var errNotRenewed = errors.New("no other authorization")

func (c *Client) send(ctx context.Context, r Request, refused bool) (*http.Response, error) {
	request, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	if c.opt.Authorize != nil {
		retry, err := c.opt.Authorize(request, refused)
		switch {
		case err != nil:
			return nil, err
		case refused && !retry:
			return nil, errNotRenewed
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
	c.reportEndOfLife(ctx, response)
	if response.StatusCode/100 == 2 || response.StatusCode == http.StatusNotModified {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, c.statusError(response)
}

func (c *Client) newRequest(ctx context.Context, r Request) (*http.Request, error) {
	target, err := c.requestURL(r)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	contentType := ""
	switch {
	case r.RawBody != nil:
		body = bytes.NewReader(r.RawBody)
	case r.Form != nil:
		body, contentType = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	case r.Body != nil:
		text, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("encode a request: %w", err)
		}
		body, contentType = bytes.NewReader(text), "application/json; charset=utf-8"
	}
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("make a request: %w", err))
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "Magpie")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for _, header := range []http.Header{c.opt.Header, r.Header} {
		for name, values := range header {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return request, nil
}

// requestURL returns the URL of a request. It must be the platform's, since the
// authorization is sent to it.
func (c *Client) requestURL(r Request) (string, error) {
	text := c.base.String() + "/" + strings.TrimLeft(r.Path, "/")
	if strings.Contains(r.Path, "://") {
		text = r.Path
	}
	target, err := url.Parse(text)
	if err != nil || target.Host != c.base.Host || target.Scheme != c.base.Scheme {
		return "", connectors.Fatal(fmt.Errorf("%s named an address that is not its own", c.opt.Platform))
	}
	if len(r.Query) > 0 {
		query := target.Query()
		for name, values := range r.Query {
			query[name] = values
		}
		target.RawQuery = query.Encode()
	}
	return target.String(), nil
}
