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
	// dialTime bounds the making of a connection to Redis where its address says nothing of it.
	dialTime = 2 * time.Second
	// dialRest is how long a server is left alone that could not be connected to.
	dialRest = 500 * time.Millisecond
)

// dialer connects to servers of Redis. For a moment after a server could not be
// connected to, it answers with the same error at once: the requests of that
// time, of which each would try again several times, do not wait for it.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	failed map[string]failure
}

type failure struct {
	err   error
	until time.Time
}

func newDialer(secure *tls.Config, patience time.Duration) *dialer {
	if patience <= 0 {
		patience = dialTime
	}
	return &dialer{dial: redis.NewDialer(&redis.Options{DialTimeout: patience, TLSConfig: secure}), failed: map[string]failure{}}
}

// Dial connects, in the form that the client wants.
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
		d.failed[address] = failure{err, time.Now().Add(dialRest)}
	}
	return connection, err
}
