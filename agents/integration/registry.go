package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

// A Registry is an immutable set of providers.
type Registry struct{ providers []Provider }

// NewRegistry returns a registry of providers. The tools of its providers fill in the
// defaults of the config, hide secrets, and bound results. It is an error if a
// provider or a tool is incomplete, or if a name occurs twice.
func NewRegistry(providers ...Provider) (*Registry, error) {
	r, names := &Registry{}, map[string]bool{}
	for _, p := range providers {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("provider %q: %w", p.Name, err)
		}
		if _, exists := r.Lookup(p.Name); exists {
			return nil, fmt.Errorf("provider %q: the name is taken", p.Name)
		}
		for _, t := range p.Tools {
			if names[p.WireName(t)] {
				return nil, fmt.Errorf("provider %q: the name of the tool %q is taken", p.Name, t.Name)
			}
			names[p.WireName(t)] = true
		}
		check := p.Check
		p.Check = func(ctx context.Context, a Account) error {
			a, s := p.protect(a)
			return s.error(check(ctx, a))
		}
		p.Tools = slices.Clone(p.Tools)
		for i, t := range p.Tools {
			p.Tools[i].Call = func(ctx context.Context, a Account, arguments json.RawMessage) (loop.Result, error) {
				a, s := p.protect(a)
				result, err := t.Call(ctx, a, arguments)
				if err != nil {
					return loop.Result{}, s.error(err)
				}
				return s.result(result), nil
			}
		}
		r.providers = append(r.providers, p)
	}
	slices.SortFunc(r.providers, func(a, b Provider) int { return strings.Compare(a.Name, b.Name) })
	return r, nil
}

// Lookup returns the provider of a name.
func (r *Registry) Lookup(name string) (Provider, bool) {
	for _, p := range r.providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// Providers returns all providers, sorted by name.
func (r *Registry) Providers() []Provider { return slices.Clone(r.providers) }

const maxWireName = 64

func (p Provider) check() error {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	switch {
	case !name.MatchString(p.Name):
		return fmt.Errorf("the name is not valid")
	case p.Title == "" || p.Summary == "":
		return fmt.Errorf("it has no title or no summary")
	case !slices.Contains(groups(), p.Group):
		return fmt.Errorf("the group %q is unknown", p.Group)
	case p.Check == nil || len(p.Tools) == 0:
		return fmt.Errorf("it has no check or no tools")
	}
	for _, option := range p.Credentials {
		if option.Type != connectors.TypeString {
			return fmt.Errorf("the credential %q is not a string", option.Name)
		}
	}
	for _, option := range p.Config {
		if option.Sensitive || option.Type == connectors.TypeObject {
			return fmt.Errorf("the option %q is sensitive or an object", option.Name)
		}
	}
	for _, t := range p.Tools {
		switch {
		case !name.MatchString(t.Name) || len(p.WireName(t)) > maxWireName:
			return fmt.Errorf("the name of the tool %q is not valid", t.Name)
		case t.Title == "" || t.Description == "":
			return fmt.Errorf("the tool %q has no title or no description", t.Name)
		case !slices.Contains([]policy.Risk{policy.Read, policy.Write, policy.Send, policy.Delete}, t.Risk):
			return fmt.Errorf("the risk of the tool %q is unknown", t.Name)
		case t.Risk.Acts() && t.Preview == nil:
			return fmt.Errorf("the tool %q acts and has no preview", t.Name)
		case t.Call == nil:
			return fmt.Errorf("the tool %q does nothing", t.Name)
		}
		if err := arguments.CheckSchema(t.Schema); err != nil {
			return fmt.Errorf("the tool %q: %w", t.Name, err)
		}
	}
	return nil
}

// protect returns the account with the defaults of the config, and the secrets that
// a call with it may come across.
func (p Provider) protect(a Account) (Account, *secrets) {
	config := maps.Clone(a.Config)
	if config == nil {
		config = map[string]any{}
	}
	for _, option := range p.Config {
		if value := config[option.Name]; option.Default != nil && (value == nil || value == "") {
			config[option.Name] = option.Default
		}
	}
	a.Config = config
	s := &secrets{}
	for _, option := range p.Credentials {
		if option.Sensitive {
			s.add(a.Credentials[option.Name])
		}
	}
	if token := a.Token; token != nil {
		a.Token = func(ctx context.Context, refused string) (string, map[string]string, error) {
			text, details, err := token(ctx, refused)
			s.add(text)
			return text, details, err
		}
	}
	return a, s
}
