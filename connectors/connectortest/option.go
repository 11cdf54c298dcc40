package connectortest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// optionsAreChecked tries every option of a kind with values that it must
// refuse by name, and with its own example.
func optionsAreChecked(t *testing.T, setup Setup) {
	with := func(name string, value any) map[string]any {
		config := maps.Clone(setup.Settings.Config)
		if config == nil {
			config = map[string]any{}
		}
		if value == nil {
			delete(config, name)
		} else {
			config[name] = value
		}
		return config
	}
	refused := func(what, field string, config map[string]any, credentials map[string]string) {
		t.Helper()
		err := setup.Kind.Validate(config, credentials)
		if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != field {
			t.Errorf("%s is not refused by its name: %v", field+" "+what, err)
		}
	}
	for _, option := range setup.Kind.Options {
		field := "config." + option.Name
		if option.Required {
			refused("that is missing", field, with(option.Name, nil), setup.Settings.Credentials)
		}
		wrong := map[connectors.OptionType]any{
			connectors.TypeString: 7.0, connectors.TypeInteger: "seven", connectors.TypeBoolean: "yes", connectors.TypeStringList: []any{7.0},
		}
		refused("of a wrong type", field, with(option.Name, wrong[option.Type]), setup.Settings.Credentials)
		if len(option.Choices) > 0 {
			refused("that is no choice", field, with(option.Name, "none of the choices"), setup.Settings.Credentials)
			if option.Example != "" && !slices.Contains(option.Choices, option.Example) {
				t.Errorf("the example of %s is none of its choices", field)
			}
		}
		if option.Max > option.Min {
			refused("that is too small", field, with(option.Name, float64(option.Min-1)), setup.Settings.Credentials)
			refused("that is too large", field, with(option.Name, float64(option.Max+1)), setup.Settings.Credentials)
		}
		if option.Type == connectors.TypeString && option.Example != "" {
			err := setup.Kind.Validate(with(option.Name, option.Example), setup.Settings.Credentials)
			if wrong, ok := errors.AsType[*connectors.OptionError](err); ok && wrong.Field == field {
				t.Errorf("the example of %s: %v", field, err)
			}
		}
	}
	for _, option := range setup.Kind.Credentials {
		field := "credentials." + option.Name
		if option.Required && setup.Settings.Token == nil {
			credentials := maps.Clone(setup.Settings.Credentials)
			delete(credentials, option.Name)
			refused("that is missing", field, setup.Settings.Config, credentials)
		}
		credentials := maps.Clone(setup.Settings.Credentials)
		if credentials == nil {
			credentials = map[string]string{}
		}
		const secret = "se\x00cret-of-the-suite" //nolint:gosec // of nothing
		credentials[option.Name] = secret
		err := setup.Kind.Validate(setup.Settings.Config, credentials)
		if err != nil && strings.Contains(err.Error(), "cret-of-the-suite") && option.Sensitive {
			t.Errorf("the refusal of %s repeats it: %v", field, err)
		}
	}
}
