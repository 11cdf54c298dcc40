// Command mcpprobe is the client that the conformance suite of the Model Context
// Protocol tests: package agents/mcp with tokens in memory and a person who grants
// everything. The suite passes the server's address as the last argument, and the
// scenario and its context in the environment.
//
// mcpprobe proxy URL passes requests to a Magpie on with the key in MAGPIE_API_KEY.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/mcp"
)

const redirectURL = "http://localhost:3000/callback"

// memory keeps the grant and the flows of one person.
type memory struct {
	renewing sync.Mutex // held by Lock

	mu    sync.Mutex
	grant *mcp.Grant
	flows map[string]mcp.Flow
}

func (m *memory) Load(context.Context) (mcp.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.grant == nil {
		return mcp.Grant{}, mcp.ErrNoGrant
	}
	return *m.grant, nil
}

func (m *memory) Save(_ context.Context, grant mcp.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grant = &grant
	return nil
}

func (m *memory) Lock(ctx context.Context, f func(ctx context.Context) error) error {
	m.renewing.Lock()
	defer m.renewing.Unlock()
	return f(ctx)
}

func (m *memory) Begin(_ context.Context, flow mcp.Flow) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := rand.Text()
	m.flows[state] = flow
	return state, nil
}

// grantAccess does what a person does in a browser: it opens the address, and the
// authorization server sends it back at once.
func (m *memory) grantAccess(ctx context.Context, a *mcp.Authorizer, address string) error {
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := browser.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	back, err := url.Parse(response.Header.Get("Location"))
	if err != nil {
		return err
	}
	q := back.Query()
	m.mu.Lock()
	flow, ok := m.flows[q.Get("state")]
	delete(m.flows, q.Get("state"))
	m.mu.Unlock()
	if !ok {
		return errors.New("the authorization server sent back an unknown state")
	}
	return a.Finish(ctx, flow, mcp.Redirect{Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Description: q.Get("error_description")})
}

// A probe is one run of a scenario.
type probe struct {
	memory     *memory
	authorizer *mcp.Authorizer
	session    *mcp.Session
}

// patiently makes a call and, when it needs a person, grants access and makes it
// again.
func (p *probe) patiently(ctx context.Context, call func() error) error {
	for range 5 {
		err := call()
		var needed *mcp.NeedsAuthError
		if !errors.As(err, &needed) {
			return err
		}
		if err := p.memory.grantAccess(ctx, p.authorizer, needed.URL); err != nil {
			return err
		}
	}
	return errors.New("the server asks for authorization again and again")
}

func run(ctx context.Context, server, scenario, contextText string) error {
	var known struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if contextText != "" {
		if err := json.Unmarshal([]byte(contextText), &known); err != nil {
			return fmt.Errorf("read the context: %w", err)
		}
	}
	options := mcp.Options{Dial: (&net.Dialer{}).DialContext}
	if scenario == "elicitation-sep1034-client-defaults" {
		options.Elicit = func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		}
	}
	client := mcp.NewClient(options)
	defer client.Close()
	m := &memory{flows: map[string]mcp.Flow{}}
	auth := mcp.AuthOptions{
		HTTP: client.HTTP(), Server: "the server", URL: server, RedirectURL: redirectURL,
		MetadataURL: "https://conformance-test.local/client-metadata.json", Tokens: m, Flows: m,
	}
	if known.ClientID != "" {
		auth.Client = &mcp.Credentials{ID: known.ClientID, Secret: known.ClientSecret}
	}
	p := &probe{memory: m, authorizer: mcp.NewAuthorizer(auth)}
	p.session = client.Open(mcp.Server{Key: server, Name: "the server", Transport: mcp.HTTP, URL: server, OAuth: p.authorizer})
	defer p.session.Close()

	var tools []mcp.Tool
	if err := p.patiently(ctx, func() (err error) {
		tools, _, err = p.session.Tools(ctx)
		return err
	}); err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	if scenario == "initialize" {
		return nil
	}
	for _, tool := range tools {
		arguments := json.RawMessage(`{}`)
		if tool.Name == "add_numbers" {
			arguments = json.RawMessage(`{"a":5,"b":3}`)
		}
		if err := p.patiently(ctx, func() error {
			_, err := p.session.Call(ctx, &tool, arguments)
			return err
		}); err != nil {
			return fmt.Errorf("call %s: %w", tool.Name, err)
		}
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "proxy":
		err = proxy(ctx, os.Args[2], os.Getenv("MAGPIE_API_KEY"))
	case len(os.Args) >= 2:
		err = run(ctx, os.Args[len(os.Args)-1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	default:
		err = errors.New("usage: mcpprobe URL, or mcpprobe proxy URL")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpprobe:", err)
		stop()
		os.Exit(1)
	}
}
