package mcp_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/internal/testkit/mcpserver"
)

// A person has tokens at a server and answers its questions.
type person struct {
	name       string
	server     *mcpserver.Server
	authorizer *mcp.Authorizer
	session    *mcp.Session
	now        atomic.Int64 // offset of the clock

	renewing func() // is called before a renewal; may be nil
	locked   sync.Mutex
	mu       sync.Mutex
	grant    *mcp.Grant
	flows    map[string]mcp.Flow
}

func newPerson(t *testing.T, a *mcpserver.Server, client *mcp.Client, name string) *person {
	t.Helper()
	p := &person{name: name, server: a, flows: map[string]mcp.Flow{}}
	p.authorizer = mcp.NewAuthorizer(mcp.AuthOptions{
		HTTP: client.HTTP(), Server: "Tracker", URL: a.URL, RedirectURL: "http://localhost:1/back", Tokens: p, Flows: p,
		Now: func() time.Time { return time.Now().Add(time.Duration(p.now.Load())) },
	})
	p.session = open(t, client, mcp.Server{Transport: mcp.HTTP, URL: a.URL, OAuth: p.authorizer})
	return p
}

func (p *person) Load(context.Context) (mcp.Grant, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.grant == nil {
		return mcp.Grant{}, mcp.ErrNoGrant
	}
	return *p.grant, nil
}

func (p *person) Save(_ context.Context, grant mcp.Grant) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant = &grant
	return nil
}

func (p *person) Lock(ctx context.Context, f func(ctx context.Context) error) error {
	p.locked.Lock()
	defer p.locked.Unlock()
	if p.renewing != nil {
		p.renewing()
	}
	return f(ctx)
}

func (p *person) Begin(_ context.Context, flow mcp.Flow) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := rand.Text()
	p.flows[state] = flow
	return state, nil
}

// agree grants access at an address and returns the flow with what the browser brings
// back.
func (p *person) agree(t *testing.T, address string) (mcp.Flow, mcp.Redirect) {
	t.Helper()
	back := p.server.Agree(t, address, p.name)
	p.mu.Lock()
	flow, ok := p.flows[back.Get("state")]
	p.mu.Unlock()
	if !ok {
		t.Fatalf("the state of %s is not known", address)
	}
	return flow, mcp.Redirect{Code: back.Get("code"), Issuer: back.Get("iss")}
}

// connect connects the person's account.
func (p *person) connect(t *testing.T) {
	t.Helper()
	address, err := p.authorizer.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	flow, redirect := p.agree(t, address)
	if err := p.authorizer.Finish(t.Context(), flow, redirect); err != nil {
		t.Fatalf("finish: %v", err)
	}
}

// whoami returns the person that the server takes the caller for.
func (p *person) whoami(ctx context.Context) (string, error) {
	result, err := p.session.Call(ctx, &mcp.Tool{Name: "whoami", Input: json.RawMessage(`{"type":"object"}`)}, json.RawMessage(`{}`))
	return result.Text, err
}
