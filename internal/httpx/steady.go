package httpx

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/tracing"
)

// ErrStalled is wrapped by the error of a body that arrives too slowly.
var ErrStalled = errors.New("the answer comes too slowly or not at all")

const (
	firstByteTime = 60 * time.Second
	windowTime    = 30 * time.Second
	windowBytes   = 4 << 10
)

// Steady returns a transport whose response bodies must arrive steadily: the first
// byte within 60 s, then 4 KiB or the end in every 30 s. A slower body fails with
// [ErrStalled]. Only the time in Read counts, so a slow reader is not a slow source.
// Requests have spans ([tracing.Transport]).
func Steady(base http.RoundTripper) http.RoundTripper { return &steady{base: tracing.Transport(base)} }

type steady struct{ base http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s *steady) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := s.base.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	response.Request = request
	response.Body = &steadyBody{body: response.Body, ctx: ctx, cancel: cancel, remaining: firstByteTime}
	return response, nil
}

// A steadyBody is a body with a time window.
type steadyBody struct {
	body   io.ReadCloser
	ctx    context.Context // of the request that the body belongs to
	cancel context.CancelCauseFunc
	once   sync.Once

	remaining time.Duration // of the window
	received  int           // bytes in the window
	started   bool          // the first byte has arrived
}

// Read implements io.Reader.
func (b *steadyBody) Read(p []byte) (int, error) {
	start := time.Now()
	timer := time.AfterFunc(b.remaining, func() { b.cancel(ErrStalled) })
	n, err := b.body.Read(p)
	timer.Stop()
	b.remaining -= time.Since(start)
	switch {
	case err != nil && errors.Is(context.Cause(b.ctx), ErrStalled):
		err = ErrStalled
	case !b.started && n > 0:
		b.started, b.remaining, b.received = true, windowTime, 0
	case b.received+n >= windowBytes:
		b.remaining, b.received = windowTime, 0
	default:
		b.received += n
	}
	return n, err
}

// Close implements io.Closer.
func (b *steadyBody) Close() error {
	err := b.body.Close()
	b.once.Do(func() { b.cancel(nil) })
	return err
}
