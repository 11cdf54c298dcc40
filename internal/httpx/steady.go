package httpx

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// ErrStalled is returned (wrapped) by the body of an answer that comes too slowly.
var ErrStalled = errors.New("the answer comes too slowly or not at all")

const (
	firstByteTime = 60 * time.Second
	windowTime    = 30 * time.Second
	windowBytes   = 4 << 10
)

// Steady wraps a transport so that the body of an answer has to come on: its
// first byte within 60 s, and from then on 4 KiB in every 30 s or its end. A body
// that drips for ever fails with [ErrStalled]. Only time spent in Read counts, so
// that a slow reader is no slow source.
func Steady(base http.RoundTripper) http.RoundTripper { return &steady{base: base} }

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
	response.Body = &steadyBody{body: response.Body, ctx: ctx, cancel: cancel, left: firstByteTime}
	return response, nil
}

// steadyBody is a body with a window: what is left of its time, and how much has
// come in it.
type steadyBody struct {
	body   io.ReadCloser
	ctx    context.Context // of the request that the body belongs to
	cancel context.CancelCauseFunc
	once   sync.Once

	left  time.Duration
	came  int
	begun bool // the first byte has come
}

// Read implements io.Reader.
func (b *steadyBody) Read(p []byte) (int, error) {
	begin := time.Now()
	timer := time.AfterFunc(b.left, func() { b.cancel(ErrStalled) })
	n, err := b.body.Read(p)
	timer.Stop()
	b.left -= time.Since(begin)
	switch {
	case err != nil && errors.Is(context.Cause(b.ctx), ErrStalled):
		err = ErrStalled
	case !b.begun && n > 0:
		b.begun, b.left, b.came = true, windowTime, 0
	case b.came+n >= windowBytes:
		b.left, b.came = windowTime, 0
	default:
		b.came += n
	}
	return n, err
}

// Close implements io.Closer.
func (b *steadyBody) Close() error {
	err := b.body.Close()
	b.once.Do(func() { b.cancel(nil) })
	return err
}
