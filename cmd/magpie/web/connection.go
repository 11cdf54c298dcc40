package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// jsonErrorListener is a listener whose connections replace net/http's own error
// responses, which no handler sees, by JSON with a request ID.
type jsonErrorListener struct{ net.Listener }

// Accept waits for the next connection.
func (l jsonErrorListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &serverConn{Conn: connection}, nil
}

// serverConn is a connection of a Server.
type serverConn struct {
	net.Conn
	buffered  []byte // the bytes to write together
	buffering bool
}

// plainError is the text after the status line of net/http's own error responses,
// which are written at once. Responses of handlers also have a date.
const plainError = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write writes b, or the JSON error that replaces it.
func (c *serverConn) Write(b []byte) (int, error) {
	if c.buffering {
		c.buffered = append(c.buffered, b...)
		return len(b), nil
	}
	response := convertError(b)
	if response == nil {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(response); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite closes the write side. net/http calls it so that clients can read the
// response before the connection is closed.
func (c *serverConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// convertError returns the JSON response for an error of net/http, or nil.
func convertError(b []byte) []byte {
	const start = "HTTP/1.1 "
	if !bytes.HasPrefix(b, []byte(start)) {
		return nil
	}
	line, after, _ := bytes.Cut(b, []byte("\r\n"))
	if !bytes.HasPrefix(after, []byte(plainError[2:])) || len(line) < len(start+"400 x") {
		return nil
	}
	text := string(line[len(start):])
	status, err := strconv.Atoi(text[:3])
	if err != nil {
		return nil
	}
	body := errorBody{apierr.InvalidRequest, text[4:]}
	if status == http.StatusRequestHeaderFieldsTooLarge {
		body.Code = apierr.TooLarge
	}
	encoded, err := json.Marshal(map[string]any{"error": body})
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "%s\r\nConnection: close\r\nContent-Length: %d\r\nContent-Type: application/json; charset=utf-8\r\n%s: %s\r\nX-Content-Type-Options: nosniff\r\n\r\n%s",
		line, len(encoded), requestid.Header, requestid.New(), encoded)
}
