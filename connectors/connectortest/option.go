package connectortest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// optionsAreChecked tries every option of a kind with invalid values and with
// its example.
func optionsAreChecked(t *testing.T, setup Setup) {
	configWith := func(name string, value any) map[string]any {
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
	expectRefusal := func(problem, field string, config map[string]any, credentials map[string]string) {
		t.Helper()
		err := setup.Kind.Validate(config, credentials)
		if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != field {
			t.Errorf("Validate of %s = %v, want an OptionError of the field", field+" "+problem, err)
		}
	}
	for _, option := range setup.Kind.Options {
		field := "config." + option.Name
		if option.Required {
			expectRefusal("that is missing", field, configWith(option.Name, nil), setup.Settings.Credentials)
		}
		wrong := map[connectors.OptionType]any{
			connectors.TypeString: 7.0, connectors.TypeInteger: "seven", connectors.TypeBoolean: "yes", connectors.TypeStringList: []any{7.0},
		}
		expectRefusal("of a wrong type", field, configWith(option.Name, wrong[option.Type]), setup.Settings.Credentials)
		if len(option.Choices) > 0 {
			expectRefusal("that is no choice", field, configWith(option.Name, "none of the choices"), setup.Settings.Credentials)
			if option.Example != "" && !slices.Contains(option.Choices, option.Example) {
				t.Errorf("the example of %s is not one of its choices", field)
			}
		}
		if option.Max > option.Min {
			expectRefusal("that is too small", field, configWith(option.Name, float64(option.Min-1)), setup.Settings.Credentials)
			expectRefusal("that is too large", field, configWith(option.Name, float64(option.Max+1)), setup.Settings.Credentials)
		}
		if option.Type == connectors.TypeString && option.Example != "" {
			err := setup.Kind.Validate(configWith(option.Name, option.Example), setup.Settings.Credentials)
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
			expectRefusal("that is missing", field, setup.Settings.Config, credentials)
		}
		credentials := maps.Clone(setup.Settings.Credentials)
		if credentials == nil {
			credentials = map[string]string{}
		}
		const secret = "se\x00cret-of-the-suite" //nolint:gosec // not a real one
		credentials[option.Name] = secret
		err := setup.Kind.Validate(setup.Settings.Config, credentials)
		if err != nil && strings.Contains(err.Error(), "cret-of-the-suite") && option.Sensitive {
			t.Errorf("the error of %s repeats its value: %v", field, err)
		}
	}
}
