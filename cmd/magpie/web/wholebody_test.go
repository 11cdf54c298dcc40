package web_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/web"
)

// recordingListener is a listener whose connections record their writes.
type recordingListener struct {
	net.Listener
	mutex  sync.Mutex
	writes [][]byte
}

type recordingConn struct {
	net.Conn
	by *recordingListener
}

func (l *recordingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return recordingConn{c, l}, nil
}

func (c recordingConn) Write(b []byte) (int, error) {
	c.by.mutex.Lock()
	c.by.writes = append(c.by.writes, bytes.Clone(b))
	c.by.mutex.Unlock()
	return c.Conn.Write(b)
}

// take returns the writes since the last call.
func (l *recordingListener) take() [][]byte {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	writes := l.writes
	l.writes = nil
	return writes
}

// writeParts writes a body whose size and number of parts the query sets.
func writeParts(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.Atoi(r.URL.Query().Get("size"))
	pieces, _ := strconv.Atoi(r.URL.Query().Get("pieces"))
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Date", "today")
	if r.URL.Query().Get("length") != "none" {
		w.Header().Set("Content-Length", strconv.Itoa(size))
	}
	body := strings.Repeat("0123456789", size/10+1)[:size]
	for i := range pieces {
		if n, err := w.Write([]byte(body[size*i/pieces : size*(i+1)/pieces])); err != nil || n != size*(i+1)/pieces-size*i/pieces {
			panic(fmt.Sprint(n, err))
		}
	}
}

func TestResponsesWithALengthAreWrittenAtOnce(t *testing.T) {
	t.Parallel()
	inner, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &recordingListener{Listener: inner}
	o := options()
	o.REST = http.HandlerFunc(writeParts)
	server := web.Serve(t.Context(), listener, web.New(o), slog.New(slog.DiscardHandler))
	plainInner, err := web.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plainListener := &recordingListener{Listener: plainInner}
	plain := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // the writes of net/http
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		writeParts(w, r)
	})}
	go func() { _ = plain.Serve(plainListener) }()
	t.Cleanup(func() {
		_ = plain.Close()
		if err := server.Shutdown(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
	dial := func(l net.Listener) (net.Conn, *bufio.Reader) {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c, bufio.NewReader(c)
	}
	connection, answers := dial(listener)
	plainConnection, plainAnswers := dial(plainListener)
	ask := func(c net.Conn, answers *bufio.Reader, method, query string) {
		request := fmt.Sprintf("%s /v1/x?%s HTTP/1.1\r\nHost: x\r\nX-Request-Id: one\r\n\r\n", method, query)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%s %s: %v", method, query, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatalf("%s %s: %v", method, query, err)
		}
		_ = answer.Body.Close()
	}
	for _, c := range []struct {
		method, query string
		writes        int // 0: any number
	}{
		{"GET", "size=0&pieces=1", 1}, {"GET", "size=100&pieces=1", 1}, {"GET", "size=2048&pieces=1", 1}, {"GET", "size=2049&pieces=1", 1},
		{"GET", "size=8000&pieces=1", 1}, {"GET", "size=32768&pieces=1", 1}, {"GET", "size=100&pieces=1", 1}, {"POST", "size=20000&pieces=1", 1},
		{"GET", "size=100000&pieces=1", 0}, {"GET", "size=8000&pieces=2", 0}, {"GET", "size=8000&pieces=1&length=none", 0},
		{"HEAD", "size=8000&pieces=1", 1}, {"GET", "size=8000&pieces=1", 1},
	} {
		ask(connection, answers, c.method, c.query)
		ask(plainConnection, plainAnswers, c.method, c.query)
		got, want := listener.take(), plainListener.take()
		if c.writes > 0 && len(got) != c.writes {
			t.Errorf("%s %s: %d writes", c.method, c.query, len(got))
		}
		if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
			t.Errorf("%s %s:\n%.300q\n%.300q", c.method, c.query, bytes.Join(got, nil), bytes.Join(want, nil))
		}
	}
}
