package deploy_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/magpie-search/magpie/internal/testkit"
)

// A node stands in for a server behind a proxy. Its responses have its address in the
// header X-Node.
type node struct {
	address string
	// event is sent as the second event of a stream.
	event  chan string
	server *http.Server
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Node", n.address)
	switch {
	case r.Header.Get("Upgrade") != "":
		connection, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // the client sees it
		}
		defer func() { _ = connection.CloseNow() }() // the client closed it
		for {
			kind, message, err := connection.Read(r.Context())
			if err != nil || connection.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	case strings.HasSuffix(r.URL.Path, "/stream"):
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case text := <-n.event:
			_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
		case <-r.Context().Done():
		}
	default:
		w.Header().Set("X-Seen", fmt.Sprintf("%s %s", r.Host, r.Header.Get("X-Forwarded-For")))
	}
}

// listen starts the node at its address, or at a free one at first.
func (n *node) listen(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	n.address = listener.Addr().String()
	server := &http.Server{Handler: n, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until it is closed
	}()
	n.server = server
	t.Cleanup(func() {
		_ = server.Close() // for the second time, perhaps
		<-done
	})
}

// A proxy is nginx with the example of this folder, in front of three nodes.
type proxy struct {
	t      *testing.T
	url    string
	folder string
	client *http.Client
	nodes  []*node
}

func startNginx(t *testing.T) *proxy {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Fatal("nginx is missing; run scripts/setup.sh --tests")
		}
	}
	// The certificate of net/http/httptest, which its client trusts.
	certified := httptest.NewUnstartedServer(http.NotFoundHandler())
	certified.EnableHTTP2 = true
	certified.StartTLS()
	t.Cleanup(certified.Close)
	certificate := certified.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, url: "https://" + free.Addr().String(), folder: t.TempDir(), client: certified.Client()}
	_ = free.Close() // for nginx
	text := read(t, "nginx", "magpie.conf")
	replace := func(old, with string) {
		if !strings.Contains(text, old) {
			t.Fatalf("the example has no %q", old)
		}
		text = strings.ReplaceAll(text, old, with)
	}
	for i := range 3 {
		n := &node{address: "127.0.0.1:0", event: make(chan string)}
		n.listen(t)
		p.nodes = append(p.nodes, n)
		replace(fmt.Sprintf("10.0.0.1%d:8080", i+1), n.address)
	}
	replace("listen 443 ", "listen "+strings.TrimPrefix(p.url, "https://")+" ")
	replace("fail_timeout=5s", "fail_timeout=1s")
	for _, folder := range []string{"/etc/ssl/certs/", "/etc/ssl/private/", "/var/log/nginx/"} {
		replace(folder, p.folder+"/")
	}
	for name, content := range map[string]string{
		"magpie.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})),
		"magpie.key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"magpie.conf": text,
		"nginx.conf": "daemon off; master_process off; pid nginx.pid; error_log stderr;\nevents {}\nhttp {\n" +
			"client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n" +
			"include magpie.conf;\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var output strings.Builder
	command := exec.Command(program, "-p", p.folder, "-e", "stderr", "-c", "nginx.conf")
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = command.Wait() // its output says why
		ended.Store(true)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // it has no children
		<-done
		if t.Failed() {
			t.Logf("nginx: %s", output.String())
		}
	})
	testkit.WaitFor(t, "nginx to listen", func() bool {
		if ended.Load() {
			t.Fatal("nginx has ended")
		}
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "https://"))
		if err != nil {
			return false
		}
		return connection.Close() == nil
	})
	return p
}

// send sends a request with headers, given as name and value, and returns the response.
func (p *proxy) send(ctx context.Context, method, path string, headers ...string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader("{}"))
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// node returns the address of the node that answers a request.
func (p *proxy) node(method, path string, headers ...string) string {
	p.t.Helper()
	response := p.send(p.t.Context(), method, path, headers...)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		p.t.Fatalf("%s %s: %s %s", method, path, response.Proto, response.Status)
	}
	return response.Header.Get("X-Node")
}

// byRoute returns the nodes of many routes.
func (p *proxy) byRoute() map[string]string {
	p.t.Helper()
	found := map[string]string{}
	for i := range 600 {
		route := fmt.Sprintf("0198f0c2-0000-8002-8000-%012d", i*7919)
		found[route] = p.node(http.MethodPost, "/v1/docs/search?route="+route)
	}
	return found
}

// checkShares checks that each of some nodes has a fair share of the routes. The standard
// deviation is a tenth of a share.
func (p *proxy) checkShares(found map[string]string, nodes int) {
	p.t.Helper()
	shares := map[string]int{}
	for _, address := range found {
		shares[address]++
	}
	if len(shares) != nodes {
		p.t.Errorf("%d nodes answered, not %d: %v", len(shares), nodes, shares)
	}
	for address, share := range shares {
		if fair := len(found) / nodes; share < fair/2 || share > fair*3/2 {
			p.t.Errorf("%s has %d of %d routes: %v", address, share, len(found), shares)
		}
	}
}

func TestNginxRoutesByCollection(t *testing.T) {
	t.Parallel()
	p := startNginx(t)
	before := p.byRoute()
	p.checkShares(before, 3)
	for route, want := range before {
		for what, got := range map[string]string{
			"once more":                  p.node(http.MethodPost, "/graphql?route="+route, "Authorization", "Bearer "+route[24:]),
			"as the collection":          p.node(http.MethodGet, "/v1/docs/search?query=x&collection="+route, "X-Service-Key", "svc_pk_x"),
			"beside another collection":  p.node(http.MethodGet, "/v1/docs/suggest?q=x&collection=other&route="+route),
			"as a key":                   p.node(http.MethodPost, "/v1/docs/search", "X-Service-Key", route),
			"as a key in the other form": p.node(http.MethodPost, "/v1/docs/search", "Authorization", "Bearer "+route),
		} {
			if got != want {
				t.Errorf("%s: %s, %s", route, what, got)
			}
		}
		if t.Failed() {
			break
		}
	}
	anonymous := map[string]bool{}
	for range 60 {
		anonymous[p.node(http.MethodGet, "/")] = true
	}
	if len(anonymous) != 3 {
		t.Errorf("requests without a key reach only %v", anonymous)
	}

	gone := p.nodes[1]
	_ = gone.server.Close()
	without := p.byRoute()
	p.checkShares(without, 2)
	for route, was := range before {
		if now := without[route]; was != gone.address && now != was {
			t.Errorf("%s has moved from %s, which is there, to %s", route, was, now)
		}
	}
	gone.listen(t)
	testkit.WaitFor(t, "the node that is back", func() bool {
		after := p.byRoute()
		for route, was := range before {
			if after[route] != was {
				return false
			}
		}
		return true
	})
}

func TestNginxPassesWhatIsSent(t *testing.T) {
	t.Parallel()
	p := startNginx(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	const key, question = "svc_sk_secret", "confidential"
	seen := p.send(ctx, http.MethodGet, "/v1/docs/search?query="+question, "X-Service-Key", key, "X-Forwarded-For", "192.0.2.1", "X-Padding", strings.Repeat("x", 40<<10))
	if want := strings.TrimPrefix(p.url, "https://") + " 192.0.2.1, 127.0.0.1"; seen.Header.Get("X-Seen") != want {
		t.Errorf("%s: the server sees %q, not %q", seen.Status, seen.Header.Get("X-Seen"), want)
	}

	stream := p.send(ctx, http.MethodPost, "/v1/chat/stream?route=a")
	events := bufio.NewScanner(stream.Body)
	if !events.Scan() || events.Text() != "data: first" {
		t.Fatalf("the first event: %q, %v", events.Text(), events.Err())
	}
	for _, n := range p.nodes {
		if n.address == stream.Header.Get("X-Node") {
			n.event <- "second"
		}
	}
	for events.Scan() && events.Text() == "" {
	}
	if events.Text() != "data: second" {
		t.Errorf("the second event: %q, %v", events.Text(), events.Err())
	}

	first := p.client.Transport.(*http.Transport).Clone()
	first.ForceAttemptHTTP2, first.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
	defer first.CloseIdleConnections()
	socket, response, err := websocket.Dial(ctx, p.url+"/graphql?route=a", &websocket.DialOptions{HTTPClient: &http.Client{Transport: first}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.CloseNow() }()
	if err := socket.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, message, err := socket.Read(ctx); err != nil || string(message) != "hello" || response.Header.Get("X-Node") != stream.Header.Get("X-Node") {
		t.Errorf("the WebSocket, by %s: %q, %v", response.Header.Get("X-Node"), message, err)
	}

	for _, name := range []string{"magpie.log", "magpie-error.log"} {
		log := read(t, p.folder, name)
		if strings.Contains(log, key) || strings.Contains(log, question) {
			t.Errorf("%s has what is confidential: %s", name, log)
		}
		if name == "magpie.log" && !strings.Contains(log, " GET /v1/docs/search 200 ") {
			t.Errorf("%s: %q", name, log)
		}
	}
}
