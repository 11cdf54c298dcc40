package command

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/profile"
	"github.com/magpie-search/magpie/internal/client"
)

const (
	// browseTime bounds the start of a browser.
	browseTime = 5 * time.Second
	// farewellTime bounds the last answer to the browser.
	farewellTime = 2 * time.Second
	callbackPath = "/callback"
)

// OpenBrowser opens an address in the person's browser.
func OpenBrowser(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, browseTime)
	defer cancel()
	for _, program := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(program); err == nil {
			return exec.CommandContext(ctx, path, address).Run() //nolint:gosec // a fixed program; the address is checked
		}
	}
	return errors.New("there is neither xdg-open nor open")
}

// askInBrowser lets the person make a personal token on a page of the dashboard, from
// which the browser comes back to a loopback address of this process (RFC 8252) with a
// code. The code is of use only with the secret verifier that this process keeps (RFC 7636).
func (c loginCommand) askInBrowser(r *runtime, address string) (givenToken, error) {
	var none givenToken
	remote, err := newRemote(destination{url: address})
	if err != nil {
		return none, err
	}
	defer remote.Close()
	server, err := remote.AuthorizationServer(r)
	if err != nil {
		return none, err
	}
	if err := isServerOf(server, address, r.Insecure); err != nil {
		return none, err
	}
	listener, err := listenForBrowser(r)
	if err != nil {
		return none, err
	}
	request := client.LoginRequest{
		RedirectURI: "http://" + listener.Addr().String() + callbackPath,
		State:       rand.Text(), Verifier: rand.Text() + rand.Text(), // 260 random bits, of the characters that PKCE allows
	}
	request.Device, _ = os.Hostname() // of use, but not needed
	sum := sha256.Sum256([]byte(request.Verifier))
	page := server.Address(request, base64.RawURLEncoding.EncodeToString(sum[:]))

	wait, cancel := context.WithTimeoutCause(r, c.Wait, fmt.Errorf("nobody has answered the page within %s; log in again, or with --no-browser by a token that you paste", c.Wait))
	defer cancel()
	callback := serveCallback(listener, page, request.State, server.Issuer)
	r.console.Warn("Answer this page in a browser on this machine:\n\n  %s\n", page)
	if r.streams.Browse != nil {
		if err := r.streams.Browse(wait, "http://"+callback.host+callback.start); err != nil && wait.Err() == nil {
			r.console.Note("No browser has opened (%s); open the page yourself, or use --no-browser.", err)
		}
	}
	code, err := callback.code(wait)
	given := givenToken{made: true, doubt: callback.doubt, end: func(err error) { callback.finish(r, err) }}
	if err == nil {
		given.text, err = remote.TakeToken(wait, request, code)
	}
	if err != nil {
		given.end(err)
	}
	return given, err
}

// isServerOf returns an error if the person would not log in to the Magpie at the address. It
// could otherwise name the page of another one, whose code for the person's token would then
// be sent to it, with the verifier (RFC 9700, section 4.4).
func isServerOf(server client.AuthorizationServer, address string, insecure bool) error {
	switch issuer, err := profile.Address(server.Issuer, insecure); {
	case err != nil:
		return fmt.Errorf("this Magpie calls itself %s: %w", console.Text(server.Issuer), err)
	case issuer != address:
		return fmt.Errorf("this Magpie calls itself %s; run magpie login %s", console.Text(server.Issuer), console.Text(issuer))
	}
	if !strings.HasPrefix(server.Page, server.Issuer+"/") {
		return fmt.Errorf("the page for logging in, %s, is not of %s", console.Text(server.Page), address)
	}
	if _, err := profile.Address(server.Page, insecure); err != nil {
		return fmt.Errorf("the page for logging in, %s: %w", console.Text(server.Page), err)
	}
	return nil
}

// listenForBrowser listens at a free port that only this machine reaches.
func listenForBrowser(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		if listener, err = config.Listen(ctx, "tcp", "[::1]:0"); err != nil {
			return nil, fmt.Errorf("listen for the browser (use --no-browser to do without): %w", err)
		}
	}
	return listener, nil
}

// callback serves the address that the browser comes back to. One request that knows the
// state is an answer; everything else is refused, since any page can send the browser here.
//
// It also serves the address that the browser is started with, and that leads to the page
// once: other users of the machine see the arguments of programs, and with the page's
// address they could answer it as themselves.
type callback struct {
	server        *http.Server
	host          string
	start, page   string
	state, issuer string

	started atomic.Bool
	twice   chan struct{} // closed when start was opened again
	close   sync.Once     // of twice
	taken   atomic.Bool
	answers chan url.Values
	ended   chan struct{} // closed when the outcome is known
	outcome string        // for the person
	served  chan struct{} // closed when the server has ended
}

func serveCallback(listener net.Listener, page, state, issuer string) *callback {
	b := &callback{
		host: listener.Addr().String(), start: "/start/" + rand.Text(), page: page, state: state, issuer: issuer,
		twice: make(chan struct{}), answers: make(chan url.Values, 1), ended: make(chan struct{}), served: make(chan struct{}),
	}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(b.served)
		_ = b.server.Serve(listener) // ends with the server; without it the wait ends by its time
	}()
	return b
}

var callbackPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Magpie</title>
<style>:root { color-scheme: light dark } body { font: 16px/1.5 system-ui, sans-serif; max-width: 28rem; margin: 4rem auto; padding: 0 1rem }</style></head>
<body><main><h1>Magpie</h1><p>{{.}}</p></main></body></html>
`))

// ServeHTTP implements http.Handler.
func (b *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	if r.Method != http.MethodGet || r.Host != b.host {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch r.URL.Path {
	case b.start:
		b.serveStart(w, r)
	case callbackPath:
		b.serveAnswer(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (b *callback) serveStart(w http.ResponseWriter, r *http.Request) {
	if b.started.CompareAndSwap(false, true) {
		http.Redirect(w, r, b.page, http.StatusFound)
		return
	}
	b.close.Do(func() { close(b.twice) })
	w.WriteHeader(http.StatusGone)
	b.show(w, "This login was begun already, perhaps by somebody else on this machine. It has been stopped; log in again in the terminal.")
}

// doubt returns an error if more than one visitor has got or asked for the page.
func (b *callback) doubt() error {
	select {
	case <-b.twice:
		return errors.New("the login was opened twice, perhaps by somebody else on this machine, and has been stopped; log in again")
	default:
		return nil
	}
}

func (b *callback) serveAnswer(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(b.state)) != 1 || query.Get("iss") != b.issuer: // RFC 9207
		w.WriteHeader(http.StatusBadRequest)
		b.show(w, "This is not the answer to the login that waits in the terminal.")
		return
	case !b.taken.CompareAndSwap(false, true):
		w.WriteHeader(http.StatusGone)
		b.show(w, "This login was answered already.")
		return
	}
	b.answers <- query
	select {
	case <-b.ended:
		b.show(w, b.outcome)
	case <-r.Context().Done():
	}
}

func (*callback) show(w http.ResponseWriter, text string) {
	_ = callbackPage.Execute(w, text) // the browser may be gone
}

// code waits for the answer.
func (b *callback) code(ctx context.Context) (string, error) {
	select {
	case <-b.twice:
		return "", b.doubt()
	case answer := <-b.answers:
		if err := b.doubt(); err != nil {
			return "", err
		}
		switch failure, code := answer.Get("error"), answer.Get("code"); {
		case failure == "access_denied":
			return "", errors.New("the login was refused on the page")
		case failure != "":
			return "", fmt.Errorf("the login failed: %s", console.Text(orElse(answer.Get("error_description"), failure)))
		case code == "":
			return "", errors.New("the login failed: the browser came back without a code")
		default:
			return code, nil
		}
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// finish tells the browser the outcome, and stops.
func (b *callback) finish(ctx context.Context, err error) {
	b.outcome = "You are logged in. You can close this page and go back to the terminal."
	if err != nil {
		b.outcome = "You are not logged in. The terminal says why. You can close this page."
	}
	close(b.ended)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close() // nothing is left to say
	}
	<-b.served
}
