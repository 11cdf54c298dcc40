package web

import (
	"context"
	"net"
	"net/http"
	"strconv"
)

// net/http has a write buffer of 4 KiB, so that it writes a larger response in several
// system calls, each of which wakes the client. Here, a body that a handler writes at
// once, with its Content-Length, is written together with the header.

const (
	// minWhole is the body size from which net/http writes the header before the
	// handler ends.
	minWhole = 2049
	// maxWhole limits the buffer of a connection.
	maxWhole = 32 << 10
)

type connectionKey struct{}

// withConnection adds the connection to the context of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request, or nil if it is not that of a
// Server.
func connectionOf(r *http.Request) *serverConn {
	c, _ := r.Context().Value(connectionKey{}).(*serverConn)
	return c
}

// isWholeBody reports whether b is the whole body of the response.
func (r *recorder) isWholeBody(b []byte) bool {
	return r.connection != nil && !r.wrote && len(b) >= minWhole && len(b) <= maxWhole &&
		r.Header().Get("Content-Length") == strconv.Itoa(len(b))
}

// writeWithHeader writes the header and the body together.
func (r *recorder) writeWithHeader(b []byte) (int, error) {
	c := r.connection
	c.buffering = true
	n, err := r.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(r.ResponseWriter).Flush()
	}
	c.buffering = false
	if buffered := c.buffered; len(buffered) > 0 {
		c.buffered = buffered[:0]
		if _, writeErr := c.Conn.Write(buffered); err == nil {
			err = writeErr
		}
	}
	return n, err
}
