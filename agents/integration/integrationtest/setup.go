package integrationtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

// A Setup is a provider with a stand-in of its platform.
type Setup struct {
	Provider integration.Provider
	// Server is the platform. It refuses credentials other than those below and Token.
	Server http.Handler
	// Config returns the settings of an integration with the platform at a URL.
	Config func(url string) map[string]any
	// Credentials and Other are those of two people.
	Credentials, Other map[string]string
	// Token is an OAuth token of the first person, for providers with OAuth.
	Token string
	// Details come with the token. {url} in them is replaced by that of the server.
	Details func(url string) map[string]string
	// Plain returns the texts of a request's body that are encoded in it, nil for
	// platforms that take texts as they are.
	Plain func(body []byte) []byte
	// Shared says why all people see the same at the platform, "" if they do not.
	Shared string
	// Examples has a call of every tool.
	Examples map[string]Example
}

// An Example is a call that succeeds.
type Example struct {
	// Arguments are a JSON object. In it every argument of the tool that matters has a
	// value of its own.
	Arguments string
	// Want are texts that the result has.
	Want []string
	// Own is a text of the result that only the first person sees.
	Own string
	// NotShown are arguments that the preview does not show as they are.
	NotShown []string
}

// A Fixture is a registered provider with its server.
type Fixture struct {
	setup    Setup
	provider integration.Provider
	url      string

	mu       sync.Mutex
	requests []seen
	// fault, if not nil, answers instead of the platform if it returns true.
	fault func(w http.ResponseWriter, r *http.Request) bool
}

// seen is a request that the platform got.
type seen struct {
	method, path string
	header       http.Header
	body         []byte
}

// Start starts the server of a setup, for tests of their own.
func Start(t *testing.T, newSetup func(t *testing.T) Setup) *Fixture {
	t.Helper()
	f := &Fixture{setup: newSetup(t)}
	registry, err := integration.NewRegistry(f.setup.Provider)
	if err != nil {
		t.Fatal(err)
	}
	f.provider = registry.Providers()[0]
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	if err := f.provider.Form().Validate(f.setup.Config(f.url), f.setup.Credentials); err != nil {
		t.Fatalf("the settings are not valid: %v", err)
	}
	return f
}

// ServeHTTP implements [http.Handler].
func (f *Fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	f.requests = append(f.requests, seen{method: r.Method, path: r.URL.EscapedPath(), header: r.Header.Clone(), body: body})
	fault := f.fault
	f.mu.Unlock()
	if fault == nil || !fault(w, r) {
		f.setup.Server.ServeHTTP(w, r)
	}
}

// take returns the requests since the last call of take.
func (f *Fixture) take() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.requests
	f.requests = nil
	return out
}

func (f *Fixture) setFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// account returns an account with some credentials.
func (f *Fixture) account(credentials map[string]string) integration.Account {
	return integration.Account{
		Settings: connectors.Settings{Config: f.setup.Config(f.url), Credentials: credentials},
		Dial:     (&net.Dialer{}).DialContext,
		Now:      func() time.Time { return time.Now() },
	}
}

// granted returns an account with an OAuth grant whose tokens are used in their order.
func (f *Fixture) granted(tokens ...string) (a integration.Account, refused *[]string) {
	a, refused = f.account(nil), new([]string)
	var mu sync.Mutex
	a.Token = func(_ context.Context, old string) (string, map[string]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if old != "" {
			*refused = append(*refused, old)
			if len(tokens) > 1 {
				tokens = tokens[1:]
			}
		}
		var details map[string]string
		if f.setup.Details != nil {
			details = f.setup.Details(f.url)
		}
		return tokens[0], details, nil
	}
	return a, refused
}

// CallKey is the key of all calls.
const CallKey = "0198aaaa-run:call_1"

// call calls a tool as a run does.
func (f *Fixture) call(ctx context.Context, tool integration.Tool, a integration.Account, arguments string) (loop.Result, error) {
	ctx = loop.WithCallInfo(ctx, loop.CallInfo{ID: "call_1", Key: CallKey})
	return tool.Call(ctx, a, json.RawMessage(arguments))
}

// Call makes a call as the first person and returns the text of the result. A call
// that fails ends the test.
func (f *Fixture) Call(t *testing.T, tool, arguments string) string {
	t.Helper()
	result, err := f.byName(t, tool, arguments)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return result.Text
}

// Fails makes a call that fails and returns the message of its error.
func (f *Fixture) Fails(t *testing.T, tool, arguments string) string {
	t.Helper()
	result, err := f.byName(t, tool, arguments)
	if err == nil {
		t.Fatalf("%s %s succeeds: %.300s", tool, arguments, result.Text)
	}
	return apierr.From(err).Message
}

func (f *Fixture) byName(t *testing.T, name, arguments string) (loop.Result, error) {
	t.Helper()
	tool, ok := f.provider.Tool(name)
	if !ok {
		t.Fatalf("there is no tool %q", name)
	}
	return f.call(t.Context(), tool, f.account(f.setup.Credentials), arguments)
}
