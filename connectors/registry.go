package connectors

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Registry is an immutable set of kinds.
type Registry struct {
	kinds  []Kind
	byName map[string]Kind
}

// NewRegistry returns a registry of kinds. It is an error if a kind has no valid
// name, not exactly one constructor or a malformed table of options, or if a name
// or alias occurs twice.
func NewRegistry(kinds ...Kind) (*Registry, error) {
	registry := &Registry{byName: make(map[string]Kind)}
	for _, kind := range kinds {
		if err := checkKind(kind); err != nil {
			return nil, fmt.Errorf("connector kind %q: %w", kind.Name, err)
		}
		if open := kind.New; open != nil {
			kind.New = func(ctx context.Context, s Settings) (Source, error) { return openValidated(ctx, kind, s, open) }
		}
		if attach := kind.Attach; attach != nil {
			kind.Attach = func(ctx context.Context, s Settings) (Database, error) { return openValidated(ctx, kind, s, attach) }
		}
		for _, name := range append([]string{kind.Name}, kind.Aliases...) {
			if other, exists := registry.byName[name]; exists {
				return nil, fmt.Errorf("connector kind %q: the name %q belongs to %q already", kind.Name, name, other.Name)
			}
			registry.byName[name] = kind
		}
		registry.kinds = append(registry.kinds, kind)
	}
	slices.SortFunc(registry.kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return registry, nil
}

// openValidated validates settings, fills in defaults and calls a constructor.
func openValidated[T any](ctx context.Context, kind Kind, s Settings, open func(context.Context, Settings) (T, error)) (T, error) {
	if err := kind.ValidateSettings(s); err != nil {
		var zero T
		return zero, Fatal(fmt.Errorf("settings of the %s connector: %w", kind.Name, err))
	}
	return open(ctx, kind.withDefaults(s))
}

// Lookup returns the kind with a name or alias.
func (r *Registry) Lookup(nameOrAlias string) (Kind, bool) {
	kind, ok := r.byName[nameOrAlias]
	return kind, ok
}

// GrantOrigins returns the [Kind.GrantOrigins] of a kind, or nil if the kind is
// unknown.
func (r *Registry) GrantOrigins(nameOrAlias string, config map[string]any) map[string][]string {
	return r.byName[nameOrAlias].GrantOrigins(config)
}

// Kinds returns all kinds, sorted by name.
func (r *Registry) Kinds() []Kind { return slices.Clone(r.kinds) }

func checkKind(kind Kind) error {
	validName := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, name := range append([]string{kind.Name}, kind.Aliases...) {
		if !validName.MatchString(name) {
			return fmt.Errorf("the name %q is not valid", name)
		}
	}
	if (kind.New == nil) == (kind.Attach == nil) {
		return fmt.Errorf("it needs exactly one constructor, New or Attach")
	}
	if kind.Webhook != nil && !slices.ContainsFunc(kind.Credentials, func(o Option) bool { return o.Name == kind.Webhook.Secret && o.Sensitive }) {
		return fmt.Errorf("the webhook's secret %q is not a sensitive credential", kind.Webhook.Secret)
	}
	if !slices.Contains(categories(), kind.Category) && kind.Category != "" {
		return fmt.Errorf("the category %q is unknown", kind.Category)
	}
	var reserved []string
	for _, option := range CommonOptions() {
		reserved = append(reserved, option.Name)
	}
	if err := checkOptions(kind.Options, reserved); err != nil {
		return err
	}
	for _, option := range kind.Options {
		// Everybody who sees the connector sees its config.
		if option.Sensitive {
			return fmt.Errorf("the option %q is sensitive and belongs to the credentials", option.Name)
		}
		if option.Type == TypeObject {
			return fmt.Errorf("the option %q is an object", option.Name)
		}
	}
	for _, option := range kind.Credentials {
		if option.Type != TypeString {
			return fmt.Errorf("the credential %q is not a string", option.Name)
		}
	}
	return checkOptions(kind.Credentials, nil)
}

// checkOptions checks a table of options, none of which may have a reserved name.
func checkOptions(options []Option, reserved []string) error {
	for _, option := range options {
		for _, other := range option.DependsOn {
			if !slices.ContainsFunc(options, func(o Option) bool { return o.Name == other.Option && o.Name != option.Name }) {
				return fmt.Errorf("the option %q depends on %q, which does not exist", option.Name, other.Option)
			}
		}
		if option.Name == "" || option.Title == "" {
			return fmt.Errorf("the option %q has no name or no title", option.Name)
		}
		if slices.Contains(reserved, option.Name) {
			return fmt.Errorf("the option name %q is taken", option.Name)
		}
		reserved = append(reserved, option.Name)
		if option.Default == nil {
			continue
		}
		if err := option.validate(option.Name, option.Default); err != nil {
			return fmt.Errorf("check a default: %w", err)
		}
	}
	return nil
}
