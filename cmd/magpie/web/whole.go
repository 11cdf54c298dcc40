package web

import (
	"context"
	"net"
	"net/http"
	"strconv"
)

// net/http buffers what it writes to a connection by 4 KiB, so that an answer
// with a body of more goes out in pieces, each of which costs a system call and
// wakes the client. A body that is written at once, with its length in the head,
// goes out together with that.

const (
	// leastWhole is of how many bytes on net/http writes the head out before the handler ends.
	leastWhole = 2049
	// mostWhole bounds what a connection holds.
	mostWhole = 32 << 10
)

type connectionKey struct{}

// withConnection lets the writers of a connection's requests know it.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf is that of a request; nil where it is not one of a Server's.
func connectionOf(r *http.Request) *refusing {
	c, _ := r.Context().Value(connectionKey{}).(*refusing)
	return c
}

// whole reports whether b is all of the answer's body.
func (r *recorder) whole(b []byte) bool {
	return r.connection != nil && !r.wrote && len(b) >= leastWhole && len(b) <= mostWhole &&
		r.Header().Get("Content-Length") == strconv.Itoa(len(b))
}

// writeWhole writes an answer's body with its head in one piece.
func (r *recorder) writeWhole(b []byte) (int, error) {
	c := r.connection
	c.holding = true
	n, err := r.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(r.ResponseWriter).Flush()
	}
	c.holding = false
	if held := c.held; len(held) > 0 {
		c.held = held[:0]
		if _, sent := c.Conn.Write(held); err == nil {
			err = sent
		}
	}
	return n, err
}
