package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/httpx"
)

const (
	handshakeTimeout   = 10 * time.Second
	headerTimeout      = 60 * time.Second
	idleTimeout        = 60 * time.Second
	maxIdleConnections = 16
	maxHeaderBytes     = 256 << 10

	// A listing of one page with the longest keys is far below both limits.
	maxListingBytes    = 32 << 20
	maxListingRequests = 200
)

var errEndlessListing = errors.New("the listing does not come to an end")

// A call bounds the requests that the vendor's library makes for one call of
// the source, and records their Retry-After. It is in the context, since the
// library passes nothing else on.
type call struct {
	// maxBody and maxRequests are limits. 0 means no limit.
	maxBody     int64
	maxRequests int64

	requestsMade atomic.Int64
	retryAfter   atomic.Int64
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// A transport applies the call in the context, and checks responses.
type transport struct {
	base   *http.Transport
	steady http.RoundTripper // base, whose bodies must keep arriving
}

func newTransport(dial connectors.Dial) *transport {
	base := &http.Transport{
		DialContext:            dial,
		DisableCompression:     true, // the library has to see the stored bytes and their length
		TLSHandshakeTimeout:    handshakeTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdleConnections,
		MaxIdleConnsPerHost:    maxIdleConnections,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	return &transport{base: base, steady: httpx.Steady(base)}
}

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	c, ok := request.Context().Value(callKey{}).(*call)
	if !ok {
		return t.steady.RoundTrip(request)
	}
	if made := c.requestsMade.Add(1); c.maxRequests > 0 && made > c.maxRequests {
		return nil, errEndlessListing
	}
	response, err := t.steady.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	c.retryAfter.Store(int64(restapi.RetryAfter(response.Header)))
	if c.maxBody > 0 {
		response.Body = &limitedBody{body: response.Body, remaining: c.maxBody}
	}
	if err := checkResponse(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// A limitedBody fails at its limit.
type limitedBody struct {
	body      io.ReadCloser
	remaining int64
}

func (l *limitedBody) Read(buffer []byte) (int, error) {
	if l.remaining <= 0 {
		return 0, errEndlessListing
	}
	if int64(len(buffer)) > l.remaining {
		buffer = buffer[:l.remaining]
	}
	count, err := l.body.Read(buffer)
	l.remaining -= int64(count)
	return count, err
}

func (l *limitedBody) Close() error { return l.body.Close() }
