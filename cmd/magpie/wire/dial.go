package wire

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// dialTimeout is the default timeout of connecting to Redis.
	dialTimeout = 2 * time.Second
	// dialPause is the time after a failed connection during which no other is tried.
	dialPause = 500 * time.Millisecond
)

// dialer connects to Redis servers. For a short time after a failure it returns the
// same error immediately, so that requests, each of which retries several times, do
// not wait for an unavailable server.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	failed map[string]failure
}

type failure struct {
	err   error
	until time.Time
}

func newDialer(secure *tls.Config, timeout time.Duration) *dialer {
	if timeout <= 0 {
		timeout = dialTimeout
	}
	return &dialer{dial: redis.NewDialer(&redis.Options{DialTimeout: timeout, TLSConfig: secure}), failed: map[string]failure{}}
}

// Dial connects to an address.
func (d *dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	last, known := d.failed[address]
	d.mu.Unlock()
	if known && time.Now().Before(last.until) {
		return nil, last.err
	}
	connection, err := d.dial(ctx, network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		delete(d.failed, address)
	case ctx.Err() == nil:
		d.failed[address] = failure{err, time.Now().Add(dialPause)}
	}
	return connection, err
}
