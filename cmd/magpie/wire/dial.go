package wire

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// dialTimeout is the default timeout of connecting to Redis.
	dialTimeout = 2 * time.Second
	// dialPause is the time after a failed connection during which no other is tried.
	dialPause = 500 * time.Millisecond
	// silence is the time without a byte after which a connection that listens to
	// channels is replaced. The library sends a ping after 3 s without a message, but does
	// not notice that the answer is missing.
	silence = 6 * time.Second
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
	if err != nil {
		if ctx.Err() == nil {
			d.failed[address] = failure{err, time.Now().Add(dialPause)}
		}
		return nil, err
	}
	delete(d.failed, address)
	if socket, ok := connection.(syscall.Conn); ok {
		return limitedSocket{limitedConn{connection}, socket}, nil
	}
	return limitedConn{connection}, nil
}

// A limitedConn is a connection on which no read waits for longer than silence. Otherwise
// subscriptions would stay for ever with a server that hangs.
type limitedConn struct{ net.Conn }

// SetReadDeadline implements [net.Conn].
func (c limitedConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		t = time.Now().Add(silence)
	}
	return c.Conn.SetReadDeadline(t)
}

// A limitedSocket is a limitedConn without TLS. The library looks at its socket before it
// uses a connection of a pool again.
type limitedSocket struct {
	limitedConn
	syscall.Conn
}

var _ syscall.Conn = limitedSocket{}
