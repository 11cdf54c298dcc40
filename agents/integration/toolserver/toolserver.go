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
}

// New returns Servers. commands are those that the operator allows, by which the client
// knows them; without any, servers are reached by HTTP only.
func New(client *mcp.Client, commands map[string][]string) *Servers {
	return &Servers{client: client, commands: slices.Sorted(maps.Keys(commands))}
}

// Provider returns the provider. It has no tools of its own: each server names its.
func (s *Servers) Provider() integration.Provider {
	transports := []string{string(mcp.HTTP), string(mcp.SSE)}
	options := []connectors.Option{
		{
			Name: "url", Title: "Address", Type: connectors.TypeString, Help: "The address of the server, such as the one that its documentation gives for other assistants.",
			Example: "https://mcp.example.com/mcp", Format: connectors.FormatURL, Destination: true, Check: checkURL,
		},
		{
			Name: "headerName", Title: "Header of the token", Type: connectors.TypeString, Default: "Authorization", Advanced: true, Destination: true,
			Help: "The header that carries the token. In Authorization, Bearer is put before it.", Check: checkHeader,
		},
		{
			Name: "trustAnnotations", Title: "Trust the server's annotations", Type: connectors.TypeBoolean, Default: false,
			Help: "Tools that the server describes as reading only are called without asking. Turn it on for servers of people that you trust.",
		},
	}
	if len(s.commands) > 0 {
		transports = append(transports, string(mcp.Stdio))
		options = append(options, connectors.Option{
			Name: "command", Title: "Command", Type: connectors.TypeString, Choices: s.commands, Help: "The command of the operator's list that is started.",
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
			Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true, Help: "An API key or access token of the server, if it wants one.",
		}},
		CheckSettings: checkSettings,
		Check: func(ctx context.Context, a integration.Account) error {
			session := s.open(a)
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
	if s.Credentials["token"] != "" && strings.HasPrefix(address, "http://") && !isLoopback(address) {
		return &connectors.OptionError{Field: "config.url", Message: "must be https, so that the token is not sent in the clear"}
	}
	return nil
}

func isLoopback(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, parsed.Hostname())
}

// open returns a session of an account.
func (s *Servers) open(a integration.Account) *mcp.Session {
	server := mcp.Server{Key: a.ConnectorID, Transport: transportOf(a.Settings), URL: text(a.Settings, "url"), Command: text(a.Settings, "command")}
	server.Name = server.Command
	if server.Transport != mcp.Stdio {
		server.Name = "The tool server"
		if address, err := url.Parse(server.URL); err == nil && address.Host != "" {
			server.Name = address.Hostname()
		}
		if token := a.Credentials["token"]; token != "" {
			name := text(a.Settings, "headerName")
			if name == "" {
				name = "Authorization"
			}
			if http.CanonicalHeaderKey(name) == "Authorization" {
				token = "Bearer " + token
			}
			server.Header = http.Header{http.CanonicalHeaderKey(name): {token}}
		}
	}
	if server.Key == "" {
		server.Key = server.URL + " " + server.Command // a test of settings that are not stored yet
	}
	return s.client.Open(server)
}

// Description is a tool as a server describes it, fit to be shown and stored.
type Description struct {
	// Name has at most MaxName letters, digits, hyphens and underscores.
	Name, Title, Description string
	Risk                     policy.Risk
	Input, Output            map[string]any
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
	session := s.open(a)
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
	tool := &mcp.Tool{Name: kept.Tool, Input: input, Hints: mcp.Hints{ReadOnly: kept.ReadOnly}}
	if d.Output != nil {
		if tool.Output, err = json.Marshal(d.Output); err != nil {
			return integration.Tool{}, apierr.Wrap("encode a schema", err)
		}
	}
	return integration.Tool{
		Name: d.Name, Title: d.Title, Description: d.Description, Risk: d.Risk, Schema: input, Idempotent: kept.Idempotent,
		Call: func(ctx context.Context, a integration.Account, arguments json.RawMessage) (loop.Result, error) {
			session := s.open(a)
			defer session.Close()
			result, err := session.Call(ctx, tool, arguments)
			if token := a.Credentials["token"]; len(token) >= 8 && err == nil {
				result.Text = strings.ReplaceAll(result.Text, token, "[hidden]") // a server may say it again
			}
			if err != nil {
				return loop.Result{}, err
			}
			result.Summary = safetext.Truncate(safetext.Line(result.Summary), 200)
			return result, nil
		},
	}, nil
}
