package httpx_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A dripping transport responds with a body that returns some bytes after each pause.
type dripping struct {
	first, pause time.Duration
	bytes, times int // 0 times is endless
}

func (d dripping) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: &drip{ctx: r.Context(), dripping: d, wait: d.first}}, nil
}

type drip struct {
	dripping
	ctx   context.Context
	wait  time.Duration
	reads int
}

func (d *drip) Read(p []byte) (int, error) {
	if d.times > 0 && d.reads == d.times {
		return 0, io.EOF
	}
	if err := testkit.Delay(d.ctx, d.wait); err != nil {
		return 0, err
	}
	d.wait = d.pause
	d.reads++
	return min(d.bytes, len(p)), nil
}

func (d *drip) Close() error { return nil }

func TestABodyMustArriveSteadily(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source  dripping
		stalled time.Duration // 0 for a complete body
	}{
		"at once":                {dripping{bytes: 100, times: 10}, 0},
		"slowly but steadily":    {dripping{first: 50 * time.Second, pause: 10 * time.Second, bytes: 2 << 10, times: 100}, 0},
		"a short one, slowly":    {dripping{first: 50 * time.Second, pause: 9 * time.Second, bytes: 1, times: 4}, 0},
		"a byte a second":        {dripping{first: time.Second, pause: time.Second, bytes: 1}, 31 * time.Second},
		"nothing at all":         {dripping{first: time.Hour, bytes: 1}, 60 * time.Second},
		"nothing after a while":  {dripping{first: time.Second, pause: time.Hour, bytes: 1 << 10}, 31 * time.Second},
		"a little every so long": {dripping{first: time.Second, pause: 29 * time.Second, bytes: 10}, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com", nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := httpx.Steady(c.source).RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				_, err = io.Copy(io.Discard, response.Body)
				took := time.Since(begin)
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
				switch {
				case c.stalled == 0 && err != nil:
					t.Errorf("after %s: %v", took, err)
				case c.stalled > 0 && (!errors.Is(err, httpx.ErrStalled) || took != c.stalled):
					t.Errorf("after %s: %v; want it to stall after %s", took, err, c.stalled)
				}
			})
		})
	}
}

func TestASlowReaderIsNotASlowSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := httpx.Steady(dripping{bytes: 10, times: 20}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		for range 20 {
			if _, err := response.Body.Read(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			testkit.Advance(t, 10*time.Minute)
		}
	})
}
