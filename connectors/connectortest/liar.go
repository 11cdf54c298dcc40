package connectortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Dial makes connections, as kinds are given it.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Exchange is one request that a source made, and what its platform answered.
type Exchange struct {
	// Method, URI and Body are of the request: URI its path with the query.
	Method, URI string
	Body        []byte
	// Status, Header and Answer are of the answer.
	Status int
	Header http.Header
	Answer []byte
	// List names the paged list that the answer is a page of; see [Lies].List.
	List string

	acceptsGzip bool
}

func (c Exchange) String() string { return c.Method + " " + c.URI }

// answer is what the liar answers in place of the truth.
type answer struct {
	status int
	header http.Header
	body   []byte
	// length is the Content-Length where it is not the body's; chunked has none.
	// Where the body is shorter than it says, the connection ends.
	length  int
	chunked bool
}

// liar stands between a source and its platform, as a proxy does. It lets calls
// through and keeps them, until script has something else to say.
type liar struct {
	listener *pipes
	server   *http.Server
	ended    chan struct{}
	forward  *http.Transport
	list     func(*http.Request) string
	small    func(*http.Request)

	mutex  sync.Mutex
	calls  []Exchange
	most   int // calls that are answered at all; 0 is no limit
	script func(number int, call Exchange) *answer
}

const (
	loginPath = "/login-of-the-suite"
	loginPage = "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body><form action=\"/dologin.action\" method=\"post\">" +
		"<input name=\"user\"><input type=\"password\" name=\"word\"><button>Log in</button></form></body></html>\n"
	proxyPage = "<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>The page is being prepared</h1><p>Please wait.</p></body></html>\n"
)

func newLiar(t testing.TB, lies Lies) *liar {
	t.Helper()
	real := lies.Dial
	if real == nil {
		real = new(net.Dialer).DialContext
	}
	l := &liar{
		listener: &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}, ended: make(chan struct{}), list: lies.List, small: lies.Small,
		forward: &http.Transport{DialContext: real, DisableCompression: true},
	}
	l.server = &http.Server{
		Handler: http.HandlerFunc(l.serve), ReadHeaderTimeout: headerTime,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if p, ok := c.(*pipe); ok {
				return context.WithValue(ctx, addressKey{}, p.address)
			}
			return ctx
		},
	}
	go func() {
		defer close(l.ended)
		_ = l.server.Serve(l.listener)
	}()
	t.Cleanup(func() {
		_ = l.server.Close()
		<-l.ended
		l.forward.CloseIdleConnections()
	})
	return l
}

type addressKey struct{}

// begin forgets the calls that were made, and tells a script from now on.
func (l *liar) begin(most int, script func(number int, call Exchange) *answer) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls, l.most, l.script = nil, most, script
}

// made are the calls since the beginning.
func (l *liar) made() []Exchange {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.calls
}

// Dial gives a connection to the liar, which knows where it was to lead.
func (l *liar) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.listener.accept <- &pipe{Conn: there, address: address}:
		return here, nil
	case <-l.listener.closed:
		return nil, errors.New("the liar has ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == loginPath {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, loginPage)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	call := Exchange{Method: r.Method, URI: r.RequestURI, Body: body, acceptsGzip: r.Header.Get("Accept-Encoding") == "gzip"}
	if l.list != nil {
		copied := r.Clone(r.Context())
		copied.Body = io.NopCloser(bytes.NewReader(body))
		call.List = l.list(copied)
	}
	if err := l.ask(r, &call); err != nil {
		panic(http.ErrAbortHandler)
	}
	l.mutex.Lock()
	number, script := len(l.calls), l.script
	l.calls = append(l.calls, call)
	over := l.most > 0 && len(l.calls) > l.most
	l.mutex.Unlock()
	if over {
		panic(http.ErrAbortHandler)
	}
	answer := &answer{status: call.Status, header: call.Header, body: call.Answer, length: -1}
	if script != nil {
		if lie := script(number, call); lie != nil {
			answer = lie
		}
	}
	answer.write(w, r)
}

// ask has the platform answer.
func (l *liar) ask(r *http.Request, call *Exchange) error {
	address, _ := r.Context().Value(addressKey{}).(string)
	at, err := url.ParseRequestURI(call.URI)
	if err != nil {
		return err
	}
	at.Scheme, at.Host = "http", address
	request, err := http.NewRequestWithContext(r.Context(), call.Method, at.String(), bytes.NewReader(call.Body))
	if err != nil {
		return err
	}
	request.URL = at // as it was escaped
	request.Header, request.Host = r.Header.Clone(), r.Host
	request.Header.Del("Accept-Encoding")
	if l.small != nil {
		l.small(request)
	}
	response, err := l.forward.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	call.Status, call.Header = response.StatusCode, response.Header
	call.Answer, err = io.ReadAll(response.Body)
	return err
}

func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	w.Header().Del("Transfer-Encoding")
	length := a.length
	if length < 0 {
		length = len(a.body)
	}
	if !a.chunked && a.status != http.StatusNoContent && a.status != http.StatusNotModified && r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
	if length > len(a.body) || a.chunked {
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler) // the connection ends
	}
}

// pipes is a listener for connections within the process.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "liar", Net: "unix"} }

// pipe is the end of a connection that the liar has.
type pipe struct {
	net.Conn
	address string
}

// FewAtOnce asks for one entry a page, whatever the source asks for: with it, a
// small world has lists of many pages. It knows the parameters per_page, limit
// and count, in the query and in a form. For [Lies].Small.
func FewAtOnce(r *http.Request) {
	few := func(values url.Values) bool {
		changed := false
		for _, name := range []string{"per_page", "limit", "count"} {
			if values.Has(name) {
				values.Set(name, "1")
				changed = true
			}
		}
		return changed
	}
	if query := r.URL.Query(); few(query) {
		r.URL.RawQuery = query.Encode()
	}
	if r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if form, err := url.ParseQuery(string(body)); err == nil && few(form) {
		body = []byte(form.Encode())
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}
