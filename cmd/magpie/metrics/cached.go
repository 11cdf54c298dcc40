package metrics

import (
	"sync"
	"time"
)

// A cached value is read again when a caller asks and the last one is old, so that it
// costs the same however often it is asked for. While it cannot be read there is none.
type cached[T any] struct {
	read func() (T, error)
	// age is how old the value may be, and timeout how long a caller waits for it.
	age, timeout time.Duration

	mu      sync.Mutex
	at      time.Time
	last    *T
	reading bool // a read that took too long goes on
}

func (c *cached[T]) get() *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading || time.Since(c.at) < c.age {
		return c.last
	}
	c.reading, c.last = true, nil
	done := make(chan *T, 1)
	go func() {
		var now *T
		if read, err := c.read(); err == nil {
			now = &read
		}
		done <- now
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reading, c.at, c.last = false, time.Now(), now
	}()
	timeout := time.NewTimer(c.timeout)
	defer timeout.Stop()
	select {
	case now := <-done:
		return now
	case <-timeout.C:
		return nil
	}
}
