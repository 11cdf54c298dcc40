package slackapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/tracing"
)

// TokenCredential is the name of the credential of an integration that holds the token
// of the bot, and AddressOption that of the option with the address of the methods.
const (
	TokenCredential = "bot_token"
	AddressOption   = "api_url"
)

// DefaultAddress is the address of the methods.
const DefaultAddress = "https://slack.com/api"

const (
	// timeout bounds a request. Slack itself waits three seconds for the answer to an
	// interaction.
	timeout     = 10 * time.Second
	maxResponse = 1 << 20 // bytes
	maxRequest  = 1 << 20 // bytes
)

// Options configure a Client. Zero means the default in the comment.
type Options struct {
	// Dial makes the connections. It refuses addresses that must not be reached.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// API is the address of the methods: DefaultAddress. ResponseHosts are the hosts of
	// response addresses: those of Slack and of GovSlack.
	API           string
	ResponseHosts []string
	// Transport replaces the connections of the process, for tests.
	Transport http.RoundTripper
}

// Client calls Slack. It is safe for concurrent use and has no goroutines but those of
// idle connections. It follows no redirects.
type Client struct {
	opt  Options
	http *http.Client
}

// New returns a Client.
func New(o Options) *Client {
	o.API = strings.TrimRight(cmp.Or(o.API, DefaultAddress), "/") + "/"
	if o.ResponseHosts == nil {
		o.ResponseHosts = []string{"hooks.slack.com", "hooks.slack-gov.com"}
	}
	c := &http.Client{
		Timeout: timeout, Transport: o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.Transport == nil {
		c.Transport = tracing.Transport(&http.Transport{
			DialContext: o.Dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
		})
	}
	return &Client{opt: o, http: c}
}

// At returns a Client with the same connections for another address of the methods; empty
// and DefaultAddress stand for that of c.
func (c *Client) At(address string) *Client {
	if address == "" || address == DefaultAddress {
		return c
	}
	other := *c
	other.opt.API = strings.TrimRight(address, "/") + "/"
	return &other
}

// Refused is the error of a request that had no effect. Any other error of a Client
// means that nobody knows whether the request had one.
type Refused struct {
	Method string
	// Code is Slack's error code, or says in plain words why nothing was sent.
	Code string
	// Later says that the same request may succeed later, After how long Slack asks to
	// wait; zero if it did not say.
	Later bool
	After time.Duration
	Cause error // of a request that did not reach Slack; nil otherwise
}

func (e *Refused) Error() string {
	if e.Cause != nil {
		return e.Method + ": " + e.Code + ": " + e.Cause.Error()
	}
	return e.Method + ": Slack answered " + e.Code
}

func (e *Refused) Unwrap() error { return e.Cause }

// Call calls a method with JSON, or with a form if body is url.Values, and decodes the
// answer into out, which may be nil. The error is a *Refused if the call had no effect.
func (c *Client) Call(ctx context.Context, token, method string, body, out any) error {
	var content []byte
	kind := "application/json; charset=utf-8"
	switch body := body.(type) {
	case nil:
	case url.Values:
		content, kind = []byte(body.Encode()), "application/x-www-form-urlencoded"
	default:
		var err error
		if content, err = json.Marshal(body); err != nil {
			return &Refused{Method: method, Code: "the request cannot be encoded", Cause: err}
		}
	}
	text, err := c.send(ctx, method, c.opt.API+method, kind, token, content)
	if err != nil {
		return err
	}
	var result struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &result) != nil || result.OK == nil {
		return fmt.Errorf("%s: Slack's answer has another form", method)
	}
	if !*result.OK {
		return failure(method, clean(result.Error))
	}
	if out != nil && json.Unmarshal(text, out) != nil {
		return fmt.Errorf("%s: Slack's answer has another form", method)
	}
	return nil
}

// failure returns the error of a code. Of two codes Slack says that a part of the
// request may have been done.
func failure(method, code string) error {
	if slices.Contains([]string{"internal_error", "fatal_error", unknownCode}, code) {
		return fmt.Errorf("%s: Slack answered %s", method, code)
	}
	later := slices.Contains([]string{"ratelimited", "rate_limited", "service_unavailable", "request_timeout"}, code)
	return &Refused{Method: method, Code: code, Later: later}
}

const unknownCode = "an unknown error"

// clean returns an error code of Slack's without anything else.
func clean(code string) string {
	if code == "" || len(code) > 100 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return unknownCode
	}
	return code
}

// Respond sends a message to a response address, which Slack gives with an interaction.
// It does nothing for an address of another host.
func (c *Client) Respond(ctx context.Context, address string, message any) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || !slices.Contains(c.opt.ResponseHosts, u.Host) {
		return nil
	}
	content, err := json.Marshal(message)
	if err != nil {
		return &Refused{Method: "response", Code: "the request cannot be encoded", Cause: err}
	}
	_, err = c.send(ctx, "response", address, "application/json; charset=utf-8", "", content)
	return err
}

// send makes a request and returns the body of its answer.
func (c *Client) send(ctx context.Context, method, address, kind, token string, content []byte) ([]byte, error) {
	if len(content) > maxRequest {
		return nil, &Refused{Method: method, Code: "the request is too long"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(content))
	if err != nil {
		return nil, &Refused{Method: method, Code: "the request cannot be made", Cause: withoutAddress(err)}
	}
	request.Header.Set("Content-Type", kind)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request, begun := httpx.Watch(request)
	response, err := c.http.Do(request)
	if err != nil && !begun() {
		return nil, &Refused{Method: method, Code: "Slack could not be reached", Later: true, Cause: withoutAddress(err)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, withoutAddress(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch code := response.StatusCode; {
	case code == http.StatusTooManyRequests:
		return nil, &Refused{Method: method, Code: "ratelimited", Later: true, After: patience(response.Header)}
	case code >= 300 && code < 500:
		return nil, &Refused{Method: method, Code: "the status " + strconv.Itoa(code)}
	case code != http.StatusOK:
		return nil, fmt.Errorf("%s: Slack answered with the status %d", method, code)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read Slack's answer: %w", method, err)
	}
	if len(text) > maxResponse {
		return nil, fmt.Errorf("%s: Slack's answer is too long", method)
	}
	return text, nil
}

// patience returns how long Slack asks to wait, at most an hour.
func patience(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 30
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}

// withoutAddress removes the address of a failed request, which may hold a secret.
func withoutAddress(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
