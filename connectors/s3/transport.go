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
	handshakeTimeout = 10 * time.Second
	headerTimeout    = 60 * time.Second
	idleTimeout      = 60 * time.Second
	connections      = 16
	headerBytes      = 256 << 10

	// A listing of one page with the longest keys stays far below both.
	listingBytes    = 32 << 20
	listingRequests = 200
)

var errEndlessListing = errors.New("the listing does not come to an end")

// exchange is what one call of the source wants to know about, and to allow,
// the requests that the vendor's library makes for it. It travels in the
// context, since the library passes nothing else through.
type exchange struct {
	// bodyBytes and requests are limits; 0 is none.
	bodyBytes int64
	requests  int64

	made       atomic.Int64
	retryAfter atomic.Int64
}

type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// transport applies the exchange of the context to each request, and lets no
// answer through that is not the service's.
type transport struct {
	base   *http.Transport
	steady http.RoundTripper // base, whose bodies have to come on
}

func newTransport(dial connectors.Dial) *transport {
	base := &http.Transport{
		DialContext:            dial,
		DisableCompression:     true, // the library has to see the stored bytes and their length
		TLSHandshakeTimeout:    handshakeTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		MaxResponseHeaderBytes: headerBytes,
	}
	return &transport{base: base, steady: httpx.Steady(base)}
}

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	e, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return t.steady.RoundTrip(request)
	}
	if made := e.made.Add(1); e.requests > 0 && made > e.requests {
		return nil, errEndlessListing
	}
	response, err := t.steady.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	e.retryAfter.Store(int64(restapi.RetryAfter(response.Header)))
	if e.bodyBytes > 0 {
		response.Body = &limitedBody{body: response.Body, left: e.bodyBytes}
	}
	if err := checked(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// limitedBody fails, rather than ends, at its limit.
type limitedBody struct {
	body io.ReadCloser
	left int64
}

func (l *limitedBody) Read(buffer []byte) (int, error) {
	if l.left <= 0 {
		return 0, errEndlessListing
	}
	if int64(len(buffer)) > l.left {
		buffer = buffer[:l.left]
	}
	count, err := l.body.Read(buffer)
	l.left -= int64(count)
	return count, err
}

func (l *limitedBody) Close() error { return l.body.Close() }
