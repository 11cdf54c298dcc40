package toolserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// ProviderName is the name of the provider of tool servers.
const ProviderName = "mcp"

// MaxName is the length of the longest name of an offered tool.
const MaxName = 39

// Servers calls tool servers. It is safe for concurrent use.
type Servers struct {
	client   *mcp.Client
	commands []string
	oauth    OAuth
}

// New returns Servers. commands are those that the operator allows, by which the client
// knows them; without any, servers are reached by HTTP only.
func New(client *mcp.Client, commands map[string][]string, o OAuth) *Servers {
	return &Servers{client: client, commands: slices.Sorted(maps.Keys(commands)), oauth: o}
}

// Provider returns the provider. It has no tools of its own: each server names its.
func (s *Servers) Provider() integration.Provider {
	transports := []string{string(mcp.HTTP), string(mcp.SSE)}
	options := []connectors.Option{
		{
			Name: "url", Title: "Address", Type: connectors.TypeString, Help: "The address of the server, such as the one that its documentation gives for other assistants.",
			Example: "https://mcp.example.com/mcp", Format: connectors.FormatURL, Destination: true, Check: checkURL, Required: true,
			DependsOn: []connectors.Dependency{{Option: "transport", Values: []any{string(mcp.HTTP), string(mcp.SSE)}}},
		},
		{
			Name: "headerName", Title: "Header of the token", Type: connectors.TypeString, Default: "Authorization", Advanced: true, Destination: true,
			Help: "The header that carries the token. In Authorization, Bearer is put before it.", Check: checkHeader,
		},
		{
			Name: "trustAnnotations", Title: "Trust the server's annotations", Type: connectors.TypeBoolean, Default: false,
			Help: "Tools that the server describes as reading only are called without asking. Turn it on for servers of people that you trust.",
		},
		{
			Name: "clientId", Title: "Client id", Type: connectors.TypeString, Advanced: true, Destination: true,
			Help: "The id of a client that you registered at the server's authorization server, with the redirect address " + s.oauth.RedirectURL + ". Most servers need none.",
		},
		{
			Name: "authorizationServer", Title: "Authorization server", Type: connectors.TypeString, Format: connectors.FormatURL, Advanced: true, Destination: true,
			Help: "The issuer that knows the client id. Required with a client secret.", Example: "https://auth.example.com",
		},
		{
			Name: "register", Title: "Register a client", Type: connectors.TypeBoolean, Default: false, Advanced: true,
			Help: "Register Magpie as a client even if the authorization server would read its metadata document. Turn it on if that server cannot reach Magpie.",
		},
	}
	if len(s.commands) > 0 {
		transports = append(transports, string(mcp.Stdio))
		options = append(options, connectors.Option{
			Name: "command", Title: "Command", Type: connectors.TypeString, Choices: s.commands, Help: "The command of the operator's list that is started.", Required: true,
			DependsOn: []connectors.Dependency{{Option: "transport", Values: []any{string(mcp.Stdio)}}},
		})
	}
	options = append(options, connectors.Option{
		Name: "transport", Title: "Transport", Type: connectors.TypeString, Default: string(mcp.HTTP), Choices: transports, Advanced: true,
		Help: "http is streamable HTTP. Servers of before 2025 need sse.",
	})
	return integration.Provider{
		Name: ProviderName, Title: "Tool server", Summary: "Tools of a server that speaks the Model Context Protocol.", Group: integration.Productivity,
		Config: options,
		Credentials: []connectors.Option{{
			Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true,
			Help: "An API key or access token of the server, if it wants one. Without one, you can connect an account by OAuth.",
		}, {
			Name: "clientSecret", Title: "Client secret", Type: connectors.TypeString, Sensitive: true, Help: "The secret of the client id, if it has one.",
		}},
		CheckSettings: checkSettings,
		Check: func(ctx context.Context, a integration.Account) error {
			session, _ := s.open(a)
			defer session.Close()
			_, _, err := session.Tools(ctx)
			return err
		},
	}
}

func text(a connectors.Settings, name string) string {
	value, _ := a.Config[name].(string)
	return value
}

func transportOf(a connectors.Settings) mcp.Transport {
	if chosen := text(a, "transport"); chosen != "" {
		return mcp.Transport(chosen)
	}
	return mcp.HTTP
}

func checkURL(value any) error {
	given, _ := value.(string)
	address, err := url.Parse(given)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http":
		return errors.New("must be an address such as https://mcp.example.com/mcp")
	case address.User != nil:
		return errors.New("must have no user name or password; enter a token")
	case address.Fragment != "":
		return errors.New("must have no fragment")
	}
	return nil
}

// reserved are headers that the protocol or HTTP sets.
var reserved = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Transfer-Encoding"}

func checkHeader(value any) error {
	name, _ := value.(string)
	for _, r := range name {
		if r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return errors.New("must be made of letters, digits and hyphens")
		}
	}
	if name == "" || len(name) > 64 || slices.Contains(reserved, http.CanonicalHeaderKey(name)) {
		return errors.New("must be the name of a header that can carry a token")
	}
	return nil
}

func checkSettings(s connectors.Settings) error {
	if transportOf(s) == mcp.Stdio {
		if text(s, "command") == "" {
			return &connectors.OptionError{Field: "config.command", Message: "is required with the transport stdio"}
		}
		return nil
	}
	address := text(s, "url")
	if address == "" {
		return &connectors.OptionError{Field: "config.url", Message: "is required"}
	}
	if err := checkClient(s); err != nil {
		return err
	}
	if s.Credentials["token"] != "" && strings.HasPrefix(address, "http://") && !isLoopback(address) {
		return &connectors.OptionError{Field: "config.url", Message: "must be https, so that the token is not sent in the clear"}
	}
	return nil
}

func isLoopback(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, parsed.Hostname())
}

// serverName returns the name of an account's server in messages.
func serverName(a integration.Account) string {
	if transportOf(a.Settings) == mcp.Stdio {
		return text(a.Settings, "command")
	}
	if address, err := url.Parse(text(a.Settings, "url")); err == nil && address.Host != "" {
		return address.Hostname()
	}
	return "The tool server"
}

// open returns a session of an account, and what hides its secrets in a text.
func (s *Servers) open(a integration.Account) (session *mcp.Session, hide func(string) string) {
	server := mcp.Server{
		Key: a.ConnectorID, Name: serverName(a), Transport: transportOf(a.Settings), URL: text(a.Settings, "url"), Command: text(a.Settings, "command"), Changed: a.Changed,
	}
	hide = func(text string) string { return text }
	token := a.Credentials["token"]
	switch {
	case server.Transport == mcp.Stdio:
	case token != "":
		name := text(a.Settings, "headerName")
		if name == "" {
			name = "Authorization"
		}
		value := token
		if http.CanonicalHeaderKey(name) == "Authorization" {
			value = "Bearer " + token
		}
		server.Header = http.Header{http.CanonicalHeaderKey(name): {value}}
		if len(token) >= 8 {
			hide = func(text string) string { return strings.ReplaceAll(text, token, "[hidden]") } // a server may say it again
		}
	case usesOAuth(a):
		authorizer, tokens := s.authorizer(a)
		server.OAuth, hide = authorizer, tokens.hide
	}
	if server.Key == "" {
		server.Key = server.URL + " " + server.Command // a test of settings that are not stored yet
	}
	return s.client.Open(server), hide
}

// Description is a tool as a server describes it, fit to be shown and stored.
type Description struct {
	// Name has at most MaxName letters, digits, hyphens and underscores.
	Name, Title, Description string
	Risk                     policy.Risk
	Input, Output            map[string]any
	// Timeout bounds the silence within a call; zero means that of the client.
	Timeout time.Duration
	// Definition is what [Servers.Tool] needs, and the pin of the tool: it is another one
	// after any change.
	Definition map[string]any
}

// definition is the stored part of a Description.
type definition struct {
	Tool       string `json:"tool"` // the server's name
	Pin        string `json:"pin"`
	ReadOnly   bool   `json:"readOnly,omitempty"`
	Idempotent bool   `json:"idempotent,omitempty"`
}

// Discover returns the tools of a server, and those that it offers and that cannot be
// used, with the reason.
func (s *Servers) Discover(ctx context.Context, a integration.Account) ([]Description, []mcp.Skipped, error) {
	session, _ := s.open(a)
	defer session.Close()
	tools, skipped, err := session.Tools(ctx)
	if err != nil {
		return nil, nil, err
	}
	trusted, _ := a.Config["trustAnnotations"].(bool)
	var out []Description
	taken := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		d := Description{Name: nameOf(t.Name), Title: t.Title, Description: t.Description, Risk: t.Risk(trusted)}
		if taken[d.Name] {
			skipped = append(skipped, mcp.Skipped{Name: t.Name, Reason: "another tool has that name once full stops are replaced"})
			continue
		}
		taken[d.Name] = true
		kept := definition{Tool: t.Name, Pin: t.Pin, ReadOnly: t.Hints.ReadOnly, Idempotent: trusted && t.Hints.Idempotent}
		for _, part := range []struct {
			from any
			to   *map[string]any
		}{{t.Input, &d.Input}, {t.Output, &d.Output}, {kept, &d.Definition}} {
			if err := convert(part.from, part.to); err != nil {
				return nil, nil, fmt.Errorf("read the tool %s: %w", d.Name, err)
			}
		}
		out = append(out, d)
	}
	return out, skipped, nil
}

// convert copies a value through JSON.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// nameOf returns the name of a tool as agents know it. A name that is too long keeps its
// beginning and gets a part of its hash.
func nameOf(remote string) string {
	name := strings.ReplaceAll(remote, ".", "_")
	if len(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(remote))
	return name[:MaxName-7] + "_" + hex.EncodeToString(sum[:3])
}

// Tool returns an accepted tool. Its calls go to the server of the account.
func (s *Servers) Tool(d Description) (integration.Tool, error) {
	var kept definition
	if err := convert(d.Definition, &kept); err != nil || kept.Tool == "" {
		return integration.Tool{}, apierr.New(apierr.Conflict, "The tool was not stored as a tool of a server; read the tools again.")
	}
	input, err := json.Marshal(d.Input)
	if err != nil {
		return integration.Tool{}, apierr.Wrap("encode a schema", err)
	}
	tool := &mcp.Tool{Name: kept.Tool, Input: input, Hints: mcp.Hints{ReadOnly: kept.ReadOnly}, Silence: d.Timeout}
	if d.Output != nil {
		if tool.Output, err = json.Marshal(d.Output); err != nil {
			return integration.Tool{}, apierr.Wrap("encode a schema", err)
		}
	}
	return integration.Tool{
		Name: d.Name, Title: d.Title, Description: d.Description, Risk: d.Risk, Schema: input, Idempotent: kept.Idempotent, Timeout: s.client.LongestCall(),
		Call: func(ctx context.Context, a integration.Account, arguments json.RawMessage) (loop.Result, error) {
			session, hide := s.open(a)
			defer session.Close()
			result, err := session.Call(ctx, tool, arguments)
			if err != nil {
				return loop.Result{}, hideInError(err, hide)
			}
			result.Text = hide(result.Text)
			result.Summary = safetext.Truncate(safetext.Line(result.Summary), 200)
			return result, nil
		},
	}, nil
}

// hideInError returns an error whose text, for people and models, has no secret.
func hideInError(err error, hide func(string) string) error {
	failed, ok := errors.AsType[*apierr.Error](err)
	if !ok || hide(failed.Message) == failed.Message {
		return err
	}
	clean := *failed
	clean.Message = hide(failed.Message)
	return &clean
}
