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

// An Exchange is a request of a source and the platform's response.
type Exchange struct {
	// URI is the request's path with its query.
	Method, URI string
	Body        []byte
	// Status, Header and ResponseBody are those of the response.
	Status       int
	Header       http.Header
	ResponseBody []byte
	// List names the paged list that the response is a page of. See
	// [FaultInjection].PagedList.
	List string

	acceptsGzip bool
}

func (c Exchange) String() string { return c.Method + " " + c.URI }

// A response replaces one of the platform.
type response struct {
	status int
	header http.Header
	body   []byte
	// length is the Content-Length, or -1 for the length of body. If it is
	// larger than body, the connection ends after body. A chunked response has
	// no length, and the connection ends as well.
	length  int
	chunked bool
}

// A faultProxy is an HTTP proxy between a source and its platform. It records
// the exchanges and replaces the responses that script returns.
type faultProxy struct {
	listener    *pipeListener
	server      *http.Server
	stopped     chan struct{}
	forward     *http.Transport
	pagedList   func(*http.Request) string
	shrinkPages func(*http.Request)

	mutex    sync.Mutex
	calls    []Exchange
	maxCalls int // calls that are answered, 0 for no limit
	syncs    int // calls of start
	script   func(number int, call Exchange) *response
}

const (
	loginPath = "/login-of-the-suite"
	loginPage = "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body><form action=\"/dologin.action\" method=\"post\">" +
		"<input name=\"user\"><input type=\"password\" name=\"word\"><button>Log in</button></form></body></html>\n"
	proxyPage = "<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>The page is being prepared</h1><p>Please wait.</p></body></html>\n"
)

func newFaultProxy(t testing.TB, injection FaultInjection) *faultProxy {
	t.Helper()
	dial := injection.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	p := &faultProxy{
		listener: &pipeListener{accept: make(chan net.Conn), closed: make(chan struct{})}, stopped: make(chan struct{}), pagedList: injection.PagedList, shrinkPages: injection.ShrinkPages,
		forward: &http.Transport{DialContext: dial, DisableCompression: true},
	}
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: headerTimeout,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if conn, ok := c.(*pipeConn); ok {
				return context.WithValue(ctx, connKey{}, conn)
			}
			return ctx
		},
	}
	go func() {
		defer close(p.stopped)
		_ = p.server.Serve(p.listener)
	}()
	t.Cleanup(func() {
		_ = p.server.Close()
		<-p.stopped
		p.forward.CloseIdleConnections()
	})
	return p
}

type connKey struct{}

// start forgets the recorded exchanges and sets a script. What still comes over older
// connections is not answered: a sync may have ended before requests side by side did.
func (p *faultProxy) start(maxCalls int, script func(number int, call Exchange) *response) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.calls, p.maxCalls, p.script = nil, maxCalls, script
	p.syncs++
}

// recorded returns the exchanges since start.
func (p *faultProxy) recorded() []Exchange {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.calls
}

// Dial returns a connection to the proxy, which forwards its requests to
// address.
func (p *faultProxy) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	client, server := net.Pipe()
	p.mutex.Lock()
	conn := &pipeConn{Conn: server, address: address, sync: p.syncs}
	p.mutex.Unlock()
	select {
	case p.listener.accept <- conn:
		return client, nil
	case <-p.listener.closed:
		return nil, errors.New("the proxy is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *faultProxy) serve(w http.ResponseWriter, r *http.Request) {
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
	if p.pagedList != nil {
		copied := r.Clone(r.Context())
		copied.Body = io.NopCloser(bytes.NewReader(body))
		call.List = p.pagedList(copied)
	}
	conn, ok := r.Context().Value(connKey{}).(*pipeConn)
	if !ok || p.forwardCall(r, conn.address, &call) != nil {
		panic(http.ErrAbortHandler)
	}
	number, script, ok := p.record(conn.sync, call)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	reply := &response{status: call.Status, header: call.Header, body: call.ResponseBody, length: -1}
	if script != nil {
		if fault := script(number, call); fault != nil {
			reply = fault
		}
	}
	reply.write(w, r)
}

// record records an exchange of a sync. It reports false if the sync has ended or has
// made too many calls.
func (p *faultProxy) record(sync int, call Exchange) (number int, script func(int, Exchange) *response, ok bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if sync != p.syncs {
		return 0, nil, false
	}
	p.calls = append(p.calls, call)
	return len(p.calls) - 1, p.script, p.maxCalls == 0 || len(p.calls) <= p.maxCalls
}

// forwardCall sends a request to the platform at an address and stores the response in
// call.
func (p *faultProxy) forwardCall(r *http.Request, address string, call *Exchange) error {
	target, err := url.ParseRequestURI(call.URI)
	if err != nil {
		return err
	}
	target.Scheme, target.Host = "http", address
	request, err := http.NewRequestWithContext(r.Context(), call.Method, target.String(), bytes.NewReader(call.Body))
	if err != nil {
		return err
	}
	request.URL = target // as it was escaped
	request.Header, request.Host = r.Header.Clone(), r.Host
	request.Header.Del("Accept-Encoding")
	if p.shrinkPages != nil {
		p.shrinkPages(request)
	}
	response, err := p.forward.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	call.Status, call.Header = response.StatusCode, response.Header
	call.ResponseBody, err = io.ReadAll(response.Body)
	return err
}

func (r *response) write(w http.ResponseWriter, request *http.Request) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	w.Header().Del("Transfer-Encoding")
	length := r.length
	if length < 0 {
		length = len(r.body)
	}
	if !r.chunked && r.status != http.StatusNoContent && r.status != http.StatusNotModified && request.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
	if length > len(r.body) || r.chunked {
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler) // the connection ends
	}
}

// A pipeListener accepts connections within the process.
type pipeListener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "fault-proxy", Net: "unix"} }

// A pipeConn is the proxy's end of a connection.
type pipeConn struct {
	net.Conn
	address string
	sync    int // the number of the sync that made it
}

// OneItemPages reduces the page size of a request to one item, so that lists of
// few items have several pages. It changes the parameters per_page, limit and
// count in the query or form. It is for [FaultInjection].ShrinkPages.
func OneItemPages(r *http.Request) {
	limit := func(values url.Values) bool {
		changed := false
		for _, name := range []string{"per_page", "limit", "count"} {
			if values.Has(name) {
				values.Set(name, "1")
				changed = true
			}
		}
		return changed
	}
	if query := r.URL.Query(); limit(query) {
		r.URL.RawQuery = query.Encode()
	}
	if r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if form, err := url.ParseQuery(string(body)); err == nil && limit(form) {
		body = []byte(form.Encode())
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}
