package integration

import (
	"context"
	"encoding/json"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

// A Provider is a platform whose tools agents call. Name, Title, Summary, Group, Tools
// and Check are required.
type Provider struct {
	// Name is the provider's name on the wire: lower-case letters, digits and
	// underscores. Title and Summary, one sentence, are for people.
	Name, Title, Summary string
	Group                Group
	// Config and Credentials are the fields of an integration's settings. All
	// credentials are strings.
	Config, Credentials []connectors.Option
	// OAuth describes the grant that can replace the credentials. Nil means that there
	// are credentials only.
	OAuth *OAuth
	// CheckSettings checks what concerns more than one field. It returns a
	// *connectors.OptionError. It may be nil.
	CheckSettings func(s connectors.Settings) error
	Tools         []Tool
	// Check makes the cheapest request that needs the credentials. Its errors are as
	// those of calls.
	Check func(ctx context.Context, a Account) error
}

// A Group is a heading under which people find providers.
type Group string

// The groups of providers.
const (
	Productivity  Group = "productivity"
	Business      Group = "business"
	Observability Group = "observability"
	OnCall        Group = "on_call"
	Analytics     Group = "analytics"
)

func groups() []Group { return []Group{Productivity, Business, Observability, OnCall, Analytics} }

// OAuth says which grants a provider accepts.
type OAuth struct {
	// Provider is a name of internal/connector/oauth. Scopes are those of every tool.
	Provider string
	Scopes   []string
}

// A Tool is a tool of a provider.
type Tool struct {
	// Name is the tool's name within the provider, such as "create_issue". Title is for
	// people, Description for the model.
	Name, Title, Description string
	Risk                     policy.Risk
	// Scopes are the OAuth scopes that the tool needs beyond those of the provider.
	Scopes []string
	// Schema is the JSON schema of the arguments, which are an object.
	Schema json.RawMessage
	// Idempotent reports that a call with the same [loop.CallInfo] key takes effect
	// once.
	Idempotent bool
	// Timeout bounds a call; zero means what is set for the tool. A tool that has one
	// bounds the time without news by itself.
	Timeout time.Duration
	// Preview describes a call to the person who decides about it. It never calls the
	// platform. Its errors say that the arguments cannot be used. Acting tools have it.
	Preview func(arguments json.RawMessage) (loop.Preview, error)
	// Call runs the tool. Its errors are *apierr.Error whose messages are for the model
	// and for people: Unauthorized if the credentials must be renewed, which
	// connectors.IsNeedsAuth reports too, RateLimited and Unavailable with the time to
	// wait. An error wraps [ErrUnknownOutcome] if the change may have been made.
	Call func(ctx context.Context, a Account, arguments json.RawMessage) (loop.Result, error)
}

// An Account is the open connection of an integration, with which calls are made.
type Account struct {
	// Settings have the config and the decrypted credentials or the Token of an OAuth
	// grant. The other fields of Settings are not used, except Limiter.
	connectors.Settings
	// Dial makes all connections. It refuses addresses that must not be reached.
	Dial connectors.Dial
	Now  func() time.Time
	// Access keeps the OAuth grant at a server that names its own authorization server.
	// Nil means that there is none.
	Access Access
	// Changed is called when a server says that its tools changed. It returns at once.
	// It may be nil.
	Changed func()
}

// Form returns the provider's settings as those of a kind of connector, whose methods
// check settings, compare destinations and hide credentials.
func (p Provider) Form() connectors.Kind {
	k := connectors.Kind{Name: p.Name, Title: p.Title, Options: p.Config, Credentials: p.Credentials, CheckSettings: p.CheckSettings}
	if p.OAuth != nil {
		k.OAuth = p.OAuth.Provider
	}
	return k
}

// Tool returns the tool of a name.
func (p Provider) Tool(name string) (Tool, bool) {
	for _, t := range p.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

// FullName returns the name by which people know a tool, such as "jira.create_issue".
func (p Provider) FullName(t Tool) string { return p.Name + "." + t.Name }

// WireName returns the name by which models call a tool, such as "jira_create_issue".
// It has at most 64 letters, digits, hyphens and underscores.
func (p Provider) WireName(t Tool) string { return p.Name + "_" + t.Name }

// LoopTool returns a tool for a run. open returns the account of a call; its errors
// are those of the call. The policy is that of the risk until the caller sets another.
func (p Provider) LoopTool(t Tool, open func(ctx context.Context) (Account, error)) loop.Tool {
	out := loop.Tool{
		Name: p.WireName(t), PolicyName: p.FullName(t), Description: p.Title + ": " + t.Description, Schema: t.Schema, Risk: t.Risk, Idempotent: t.Idempotent,
		Call: func(ctx context.Context, arguments json.RawMessage) (loop.Result, error) {
			a, err := open(ctx)
			if err != nil {
				return loop.Result{}, err
			}
			return t.Call(ctx, a, arguments)
		},
	}
	if t.Preview != nil {
		out.Preview = func(_ context.Context, arguments json.RawMessage) (loop.Preview, error) { return t.Preview(arguments) }
	}
	return out
}
