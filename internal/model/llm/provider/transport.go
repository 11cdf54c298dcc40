package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/tracing"
)

// maxErrorBody is the largest number of bytes of a failed response that is read.
const maxErrorBody = 256 << 10

// maxIdle is the number of idle connections to a service. With fewer than the concurrent requests, most requests would
// open a new connection.
const maxIdle = 256

// NewHTTPClient returns a client for long streams. It has timeouts for connecting and for the response headers, but not
// for the whole request.
func NewHTTPClient(connect, header time.Duration) *http.Client {
	return &http.Client{Transport: newTransport(&http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   connect,
		ResponseHeaderTimeout: header,
		MaxIdleConnsPerHost:   maxIdle,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	})}
}

// A transport keeps the transport below the spans, so that TrustOnly can copy it.
type transport struct {
	http.RoundTripper
	base *http.Transport
}

func newTransport(base *http.Transport) *transport {
	return &transport{RoundTripper: tracing.Transport(base), base: base}
}

// CloseIdleConnections closes those of the base, for [http.Client].
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// TrustOnly returns a copy of a client of NewHTTPClient that trusts only the certificates of roots, with connections of its
// own. It reports false for another client, whose transport cannot be copied.
func TrustOnly(client *http.Client, roots *x509.CertPool) (*http.Client, bool) {
	known, ok := client.Transport.(*transport)
	if !ok {
		return nil, false
	}
	base := known.base.Clone()
	if base.TLSClientConfig == nil {
		base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	base.TLSClientConfig.RootCAs = roots
	copied := *client
	copied.Transport = newTransport(base)
	return &copied, true
}

// A Note is what a Doer records of a request. Errors of the client library have no response headers.
type Note struct {
	mu     sync.Mutex
	status int
	wait   time.Duration
}

type noteKey struct{}

// WithNote returns a context whose requests are recorded in the Note.
func WithNote(ctx context.Context) (context.Context, *Note) {
	note := &Note{}
	return context.WithValue(ctx, noteKey{}, note), note
}

func (n *Note) after() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wait
}

func (n *Note) responded() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status != 0
}

// A Doer sends requests for the client library. It fills in the Note and limits the body of failed responses.
type Doer struct {
	Client *http.Client
	// Now is the clock for dates in Retry-After; time.Now when nil.
	Now func() time.Time
	// Body may replace the body of a successful response.
	Body func(request *http.Request, body io.ReadCloser) io.ReadCloser
}

// Do sends a request.
func (d *Doer) Do(request *http.Request) (*http.Response, error) {
	response, err := d.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if note, ok := request.Context().Value(noteKey{}).(*Note); ok {
		now := time.Now
		if d.Now != nil {
			now = d.Now
		}
		note.mu.Lock()
		note.status, note.wait = response.StatusCode, RetryAfter(response.Header, now())
		note.mu.Unlock()
	}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		response.Body = limited{Reader: io.LimitReader(response.Body, maxErrorBody), Closer: response.Body}
	case d.Body != nil:
		response.Body = d.Body(request, response.Body)
	}
	return response, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// RetryAfter returns the value of Retry-After, in seconds or as a date, or of the variant in milliseconds that some services
// send. It returns 0 without a header.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	if value, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && value > 0 && value < 1e9 {
		return time.Duration(value * float64(time.Millisecond))
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if seconds > 0 && seconds < 1e6 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if date, err := http.ParseTime(value); err == nil && date.After(now) {
		return date.Sub(now)
	}
	return 0
}

// Sleep waits for d. It returns the error of the context if that ends earlier.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
