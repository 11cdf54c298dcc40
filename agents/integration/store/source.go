package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// A Source has the tools of one kind of integrations.
type Source interface {
	// Providers returns the providers. Their tools are those that are known without a
	// connection.
	Providers() []integration.Provider
	// Discover returns the tools that an integration offers now, at most MaxTools. It
	// is called with the credentials of the caller. kept reports that tools come only
	// from people, so that the stored ones stay as they are.
	Discover(ctx context.Context, provider string, a integration.Account) (offers []Offer, kept bool, err error)
	// Tool returns the tool of an accepted offer. Its calls hide secrets and bound
	// their results.
	Tool(provider string, o Offer) (integration.Tool, error)
}

// MaxTools is the maximum number of tools of an integration.
const MaxTools = 200

// An Offer describes a tool as its source does.
type Offer struct {
	// Name is the second part of the tool's name: at most 39 letters, digits, hyphens
	// and underscores. Title is for people, Description for the model.
	Name, Title, Description string
	Risk                     policy.Risk
	// Schema is the JSON schema of the arguments, Output that of the result or nil.
	Schema, Output map[string]any
	// Definition is what the source needs to call the tool, as JSON values.
	Definition map[string]any
	// Timeout bounds a call; zero means DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is the time that a call may take.
const DefaultTimeout = 30 * time.Second

// The lengths of the longest texts, in characters.
const (
	maxTitle       = 200
	maxDescription = 4000
)

// normal returns the offer as it is stored and compared.
func (o Offer) normal() Offer {
	o.Title, o.Description = safetext.Truncate(safetext.Line(o.Title), maxTitle), safetext.Truncate(safetext.Storable(o.Description), maxDescription)
	if o.Schema == nil {
		o.Schema = map[string]any{}
	}
	return o
}

// hash identifies what somebody accepts with a tool.
func (o Offer) hash() string {
	text, err := json.Marshal([]any{o.Name, o.Description, o.Schema, o.Output, o.Risk, o.Definition}) // the keys of maps are sorted
	if err != nil {
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// hashOf identifies a list of offers.
func hashOf(offers []Offer) string {
	var all []string
	for _, o := range offers {
		all = append(all, o.normal().hash())
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:])
}

// offerOf returns a tool as it was accepted.
func offerOf(row *ent.IntegrationTool) Offer {
	return Offer{
		Name: row.Name, Title: row.Title, Description: row.Description, Risk: policy.Risk(strings.ToLower(string(row.Risk))),
		Schema: row.InputSchema, Output: row.OutputSchema, Definition: row.Definition, Timeout: time.Duration(row.Timeout) * time.Second,
	}
}

// RiskOf converts a risk to that of a row.
func RiskOf(r policy.Risk) integrationtool.Risk {
	return integrationtool.Risk(strings.ToUpper(string(r)))
}

// PolicyOf returns what happens with the calls of a tool, before the rules on their arguments.
func PolicyOf(row *ent.IntegrationTool) policy.Policy {
	if row.CallPolicy != nil {
		return policy.Policy(strings.ToLower(string(*row.CallPolicy)))
	}
	return offerOf(row).Risk.Default()
}

// rulesOf returns the rules of a tool.
func rulesOf(row *ent.IntegrationTool) ([]policy.Rule, error) {
	text, err := json.Marshal(row.ArgumentRules)
	if err != nil {
		return nil, apierr.Wrap("read the rules of a tool", err)
	}
	var rules []policy.Rule
	if err := json.Unmarshal(text, &rules); err != nil {
		return nil, apierr.Invalid("argumentRules", "must have path, op, value and policy")
	}
	return rules, nil
}

// Packs returns the source of platforms that Magpie knows.
func Packs(r *integration.Registry) Source { return packs{r} }

type packs struct{ registry *integration.Registry }

func (p packs) Providers() []integration.Provider { return p.registry.Providers() }

func (p packs) Discover(_ context.Context, provider string, _ integration.Account) ([]Offer, bool, error) {
	found, ok := p.registry.Lookup(provider)
	if !ok {
		return nil, false, apierr.NotFound("Provider")
	}
	var out []Offer
	for _, t := range found.Tools {
		var schema map[string]any
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return nil, false, apierr.Wrap("read the schema of a tool", err)
		}
		out = append(out, Offer{Name: t.Name, Title: t.Title, Description: t.Description, Risk: t.Risk, Schema: schema})
	}
	return out, false, nil
}

func (p packs) Tool(provider string, o Offer) (integration.Tool, error) {
	found, _ := p.registry.Lookup(provider)
	t, ok := found.Tool(o.Name)
	if !ok {
		return integration.Tool{}, apierr.New(apierr.Conflict, "This version of Magpie has no tool "+provider+"."+o.Name)
	}
	return t, nil
}
