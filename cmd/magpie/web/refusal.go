package web

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// outspoken is a listener on whose connections net/http's own refusals, of what
// never becomes a request, are answers of the interface: JSON, with an id.
type outspoken struct{ net.Listener }

// Accept waits for the next connection.
func (l outspoken) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &refusing{Conn: connection}, nil
}

type refusing struct {
	net.Conn
	held    []byte // what is to go out together
	holding bool
}

// plainRefusal is what net/http writes after the status line of such a refusal,
// in one piece with it. An answer of a handler never has these headers alone: it has a date.
const plainRefusal = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write sends b, or the answer that it becomes.
func (c *refusing) Write(b []byte) (int, error) {
	if c.holding {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	answer := refusal(b)
	if answer == nil {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite lets a client read the answer before the connection ends; net/http
// looks for it.
func (c *refusing) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// refusal is the interface's form of a plain refusal; nil for all other bytes.
func refusal(b []byte) []byte {
	const start = "HTTP/1.1 "
	if !bytes.HasPrefix(b, []byte(start)) {
		return nil
	}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if !bytes.HasPrefix(rest, []byte(plainRefusal[2:])) || len(line) < len(start+"400 x") {
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
		line, len(encoded), requestid.Header, rand.Text(), encoded)
}
