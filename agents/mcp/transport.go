package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Limits of what a server sends, in bytes.
const (
	maxEvent  = 1 << 20
	maxAnswer = 1 << 20
	maxStream = 16 << 20
)

var errTooLarge = errors.New("the answer is too large")

// newHTTPClient returns a client that follows redirects within a host only, so that
// neither tokens nor arguments reach another one.
func newHTTPClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	transport := &http.Transport{
		DialContext: dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute,
		MaxIdleConns: 100, MaxIdleConnsPerHost: 5, MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{Transport: bounded{tracing.Transport(transport)}, CheckRedirect: stayOnHost}
}

var errOtherHost = errors.New("the server redirects to another host, which is not followed")

func stayOnHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Scheme != first.Scheme || !strings.EqualFold(r.URL.Host, first.Host) {
		return errOtherHost
	}
	if len(via) > 3 {
		return errors.New("the server redirects too often")
	}
	return nil
}

// bounded limits the bodies of responses.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := int64(maxAnswer)
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/event-stream" {
		limit = maxStream
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: limit}
	return response, nil
}

// CloseIdleConnections is called by http.Client.
func (b bounded) CloseIdleConnections() {
	if closer, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// withHeader adds headers to the requests to one host.
type withHeader struct {
	next   http.RoundTripper
	host   string
	header http.Header
}

// RoundTrip implements http.RoundTripper.
func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.EqualFold(r.URL.Host, w.host) {
		return w.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return w.next.RoundTrip(r)
}

// withoutOAuth reports refused credentials.
type withoutOAuth struct {
	next http.RoundTripper
	name string
}

// RoundTrip implements http.RoundTripper.
func (w withoutOAuth) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		_ = response.Body.Close()
		return nil, &NeedsAuthError{Server: w.name}
	}
	return response, err
}

// withToken adds access tokens to the requests of the old transport, which has no
// place for an OAuth handler.
type withToken struct {
	next    http.RoundTripper
	host    string
	handler auth.OAuthHandler
}

// RoundTrip implements http.RoundTripper.
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.EqualFold(r.URL.Host, w.host) {
		return nil, errOtherHost
	}
	send := func(again bool) (*http.Request, *http.Response, error) {
		r := r.Clone(r.Context())
		if again && r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, nil, err
			}
			r.Body = body
		}
		source, err := w.handler.TokenSource(r.Context())
		if err != nil {
			return nil, nil, err
		}
		token, err := source.Token()
		if err != nil && !isRefused(err) {
			return nil, nil, err
		}
		if err == nil && token != nil {
			token.SetAuthHeader(r)
		}
		response, err := w.next.RoundTrip(r)
		return r, response, err
	}
	sent, response, err := send(false)
	if err != nil || response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
		return response, err
	}
	if err := w.handler.Authorize(r.Context(), sent, response); err != nil {
		return nil, err
	}
	if r.Body != nil && r.GetBody == nil {
		return nil, errors.New("the request cannot be sent again")
	}
	_, response, err = send(true)
	return response, err
}

// transport returns the transport of a server. A command ends with ctx.
func (c *Client) transport(ctx context.Context, server Server) (sdk.Transport, error) {
	if server.Transport == Stdio {
		command, ok := c.opt.Commands[server.Command]
		if !ok || len(command) == 0 {
			return nil, apierr.Invalid("command", "is not one of the commands that the operator allows")
		}
		//nolint:gosec // the operator chose the command and its arguments; callers choose among names
		process := exec.CommandContext(ctx, command[0], command[1:]...)
		process.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + os.TempDir(), "LANG=C.UTF-8"} // none of the service's secrets
		process.Dir = os.TempDir()
		return &sdk.CommandTransport{Command: process, TerminateDuration: 2 * time.Second}, nil
	}
	address, err := url.Parse(server.URL)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" || address.User != nil {
		return nil, apierr.Invalid("url", "must be the https address of a tool server")
	}
	client := *c.http
	if len(server.Header) > 0 {
		client.Transport = withHeader{next: client.Transport, host: address.Host, header: server.Header}
	}
	if server.OAuth == nil {
		client.Transport = withoutOAuth{next: client.Transport, name: server.Name}
	}
	if server.Transport == SSE {
		if server.OAuth != nil {
			client.Transport = withToken{next: client.Transport, host: address.Host, handler: server.OAuth}
		}
		return &sdk.SSEClientTransport{Endpoint: server.URL, HTTPClient: &client, MaxEventSize: maxEvent}, nil
	}
	transport := &sdk.StreamableClientTransport{
		Endpoint: server.URL, HTTPClient: &client, MaxRetries: 2, MaxEventSize: maxEvent,
		DisableStandaloneSSE: c.opt.Elicit == nil, // questions come on a stream of their own
	}
	if server.OAuth != nil {
		transport.OAuthHandler = server.OAuth
	}
	return transport, nil
}
