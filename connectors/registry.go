package connectors

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Registry holds the kinds a process knows. It never changes once it is made.
type Registry struct {
	kinds  []Kind
	byName map[string]Kind
}

// NewRegistry makes a registry. It refuses a kind without a proper name or a
// constructor, a name or alias used twice, and malformed option tables.
func NewRegistry(kinds ...Kind) (*Registry, error) {
	registry := &Registry{byName: make(map[string]Kind)}
	for _, kind := range kinds {
		if err := checkKind(kind); err != nil {
			return nil, fmt.Errorf("connector kind %q: %w", kind.Name, err)
		}
		if open := kind.New; open != nil {
			kind.New = func(ctx context.Context, s Settings) (Source, error) { return checked(ctx, kind, s, open) }
		}
		if attach := kind.Attach; attach != nil {
			kind.Attach = func(ctx context.Context, s Settings) (Database, error) { return checked(ctx, kind, s, attach) }
		}
		for _, name := range append([]string{kind.Name}, kind.Aliases...) {
			if other, taken := registry.byName[name]; taken {
				return nil, fmt.Errorf("connector kind %q: the name %q belongs to %q already", kind.Name, name, other.Name)
			}
			registry.byName[name] = kind
		}
		registry.kinds = append(registry.kinds, kind)
	}
	slices.SortFunc(registry.kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return registry, nil
}

// checked gives settings to a constructor only when they are valid, and with
// their defaults.
func checked[T any](ctx context.Context, kind Kind, s Settings, open func(context.Context, Settings) (T, error)) (T, error) {
	if err := kind.Check(s); err != nil {
		var none T
		return none, Fatal(fmt.Errorf("settings of the %s connector: %w", kind.Name, err))
	}
	return open(ctx, kind.withDefaults(s))
}

// Lookup finds a kind by its name or one of its aliases.
func (r *Registry) Lookup(nameOrAlias string) (Kind, bool) {
	kind, ok := r.byName[nameOrAlias]
	return kind, ok
}

// GrantOrigins are those of a kind ([Kind.GrantOrigins]), none of an unknown one.
func (r *Registry) GrantOrigins(nameOrAlias string, config map[string]any) map[string][]string {
	return r.byName[nameOrAlias].GrantOrigins(config)
}

// Kinds returns all kinds, sorted by name.
func (r *Registry) Kinds() []Kind { return slices.Clone(r.kinds) }

func checkKind(kind Kind) error {
	proper := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, name := range append([]string{kind.Name}, kind.Aliases...) {
		if !proper.MatchString(name) {
			return fmt.Errorf("%q is no proper name", name)
		}
	}
	if (kind.New == nil) == (kind.Attach == nil) {
		return fmt.Errorf("there is not exactly one constructor, New or Attach")
	}
	if kind.Webhook != nil && !slices.ContainsFunc(kind.Credentials, func(o Option) bool { return o.Name == kind.Webhook.Secret && o.Sensitive }) {
		return fmt.Errorf("the webhook's secret %q is no sensitive credential", kind.Webhook.Secret)
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
		// A config is shown to whoever may see the connector.
		if option.Sensitive {
			return fmt.Errorf("the option %q is sensitive and belongs to the credentials", option.Name)
		}
		if option.Type == TypeObject {
			return fmt.Errorf("the option %q is an object", option.Name)
		}
	}
	for _, option := range kind.Credentials {
		if option.Type != TypeString {
			return fmt.Errorf("credential %q is no string", option.Name)
		}
	}
	return checkOptions(kind.Credentials, nil)
}

func categories() []Category {
	return []Category{CategoryFiles, CategoryStorage, CategoryCollaboration, CategoryDevelopment, CategoryCRM, CategoryITSM, CategoryWeb, CategoryDatabase}
}

func checkOptions(options []Option, taken []string) error {
	for _, option := range options {
		for _, other := range option.DependsOn {
			if !slices.ContainsFunc(options, func(o Option) bool { return o.Name == other.Option && o.Name != option.Name }) {
				return fmt.Errorf("the option %q depends on %q, which does not exist", option.Name, other.Option)
			}
		}
		if option.Name == "" || option.Title == "" {
			return fmt.Errorf("an option lacks its name or title: %q", option.Name)
		}
		if slices.Contains(taken, option.Name) {
			return fmt.Errorf("the option name %q is taken", option.Name)
		}
		taken = append(taken, option.Name)
		if option.Default == nil {
			continue
		}
		if err := option.validate(option.Name, option.Default); err != nil {
			return fmt.Errorf("default of an option: %w", err)
		}
	}
	return nil
}
