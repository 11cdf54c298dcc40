package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

// OAuth says how Magpie presents itself to the authorization servers of tool servers.
type OAuth struct {
	// RedirectURL is the address that they send people back to.
	RedirectURL string
	// MetadataURL is the https address of the client's metadata document; empty if there
	// is none.
	MetadataURL string
}

// usesOAuth reports whether the account of a server is connected by OAuth: it has no token.
func usesOAuth(a integration.Account) bool {
	return a.Access != nil && transportOf(a.Settings) != mcp.Stdio && a.Credentials["token"] == ""
}

// authorizer returns the authorizer of an account, and the tokens that it used.
func (s *Servers) authorizer(a integration.Account) (*mcp.Authorizer, *tokens) {
	t := &tokens{access: a.Access}
	o := mcp.AuthOptions{
		HTTP: s.client.HTTP(), Server: serverName(a), URL: text(a.Settings, "url"), RedirectURL: s.oauth.RedirectURL, MetadataURL: s.oauth.MetadataURL,
		Tokens: t, Now: a.Now,
	}
	if register, _ := a.Config["register"].(bool); register {
		o.MetadataURL = ""
	}
	if id := text(a.Settings, "clientId"); id != "" {
		o.Client = &mcp.Credentials{ID: id, Secret: a.Credentials["clientSecret"], Issuer: text(a.Settings, "authorizationServer")}
	}
	if a.Access.MayBegin() {
		o.Flows = flows{a.Access}
	}
	return mcp.NewAuthorizer(o), t
}

// Begin starts the connection of an account by OAuth. It returns the address where the
// person grants access.
func (s *Servers) Begin(ctx context.Context, a integration.Account) (authorizationURL string, err error) {
	switch {
	case transportOf(a.Settings) == mcp.Stdio:
		return "", apierr.Invalid("id", "is of a command, which has no accounts")
	case !usesOAuth(a):
		return "", apierr.New(apierr.Conflict, "The integration is connected with a token; disconnect it first")
	}
	authorizer, _ := s.authorizer(a)
	return authorizer.Begin(ctx)
}

// Finish ends a connection that Begin or a call began: it obtains the grant and keeps it.
func (s *Servers) Finish(ctx context.Context, a integration.Account, flow []byte, r integration.Redirect) error {
	var begun mcp.Flow
	if err := json.Unmarshal(flow, &begun); err != nil {
		return fmt.Errorf("read the connection that was begun: %w", err)
	}
	authorizer, _ := s.authorizer(a)
	return authorizer.Finish(ctx, begun, mcp.Redirect(r))
}

// tokens keeps the grant of an account.
type tokens struct {
	access integration.Access

	mu   sync.Mutex
	used []string
}

// Load implements mcp.Tokens.
func (t *tokens) Load(ctx context.Context) (mcp.Grant, error) {
	content, err := t.access.Load(ctx)
	if err != nil {
		return mcp.Grant{}, err
	}
	var g mcp.Grant
	if len(content) == 0 || json.Unmarshal(content, &g) != nil {
		return mcp.Grant{}, mcp.ErrNoGrant
	}
	t.remember(g)
	return g, nil
}

// Save implements mcp.Tokens.
func (t *tokens) Save(ctx context.Context, g mcp.Grant) error {
	t.remember(g)
	kept, err := grantOf(g)
	if err != nil {
		return err
	}
	return t.access.Save(ctx, kept)
}

// Lock implements mcp.Tokens.
func (t *tokens) Lock(ctx context.Context, f func(ctx context.Context) error) error {
	return t.access.Lock(ctx, f)
}

func (t *tokens) remember(g mcp.Grant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, secret := range []string{g.Access, g.Refresh, g.ClientSecret} {
		if len(secret) >= 8 {
			t.used = append(t.used, secret)
		}
	}
}

// hide removes the tokens from a text: a server may say them again.
func (t *tokens) hide(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, secret := range t.used {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return text
}

func grantOf(g mcp.Grant) (integration.Grant, error) {
	content, err := json.Marshal(g) //nolint:gosec // it is sealed where it is kept
	if err != nil {
		return integration.Grant{}, fmt.Errorf("encode the grant: %w", err)
	}
	out := integration.Grant{Content: content, Works: g.Access != "", Scopes: g.Scopes, ExpiresAt: g.ExpiresAt}
	if !out.Works {
		out.Reason = "The server does not accept the account any more; connect it again"
	}
	return out, nil
}

// flows keeps the connections of an account that wait for its person.
type flows struct{ access integration.Access }

// Begin implements mcp.Flows.
func (f flows) Begin(ctx context.Context, flow mcp.Flow) (string, error) {
	content, err := json.Marshal(flow)
	if err != nil {
		return "", fmt.Errorf("encode the connection that begins: %w", err)
	}
	client := flow.Grant // as it is known to the authorization server
	client.Scopes = nil
	kept, err := grantOf(client)
	if err != nil {
		return "", err
	}
	kept.Reason = "The server needs an account; connect it"
	return f.access.Begin(ctx, content, kept)
}

// checkClient checks the settings of a client that was registered by hand.
func checkClient(s connectors.Settings) error {
	switch {
	case s.Credentials["clientSecret"] == "":
		return nil
	case text(s, "clientId") == "":
		return &connectors.OptionError{Field: "config.clientId", Message: "is required with a client secret"}
	case text(s, "authorizationServer") == "":
		return &connectors.OptionError{Field: "config.authorizationServer", Message: "is required with a client secret, so that the secret is sent nowhere else"}
	}
	return nil
}
