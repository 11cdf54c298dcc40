package connectors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// wiki is a kind with one option of each type.
func wiki() connectors.Kind {
	return connectors.Kind{
		Permissions: true, Name: "wiki", Title: "Wiki", Aliases: []string{"pages"},
		Options: []connectors.Option{
			{Name: "address", Title: "Address", Type: connectors.TypeString, Required: true, Example: "https://wiki.example.com"},
			{Name: "depth", Title: "Depth", Type: connectors.TypeInteger, Min: 1, Max: 10, Default: 3},
			{Name: "archived", Title: "Archived", Type: connectors.TypeBoolean},
			{Name: "spaces", Title: "Spaces", Type: connectors.TypeStringList, Check: func(value any) error {
				if list, ok := value.([]string); ok && slices.Contains(list, "private") {
					return errors.New("must not name the private space")
				}
				return nil
			}},
			{Name: "mode", Title: "Mode", Type: connectors.TypeString, Choices: []string{"fast", "full"}, Default: "fast"},
		},
		Credentials: []connectors.Option{
			{Name: "token", Title: "Token", Type: connectors.TypeString, Required: true, Sensitive: true, Check: func(value any) error {
				if text, ok := value.(string); ok && strings.Contains(text, " ") {
					return errors.New("has a space in it")
				}
				return nil
			}},
			{Name: "user", Title: "User", Type: connectors.TypeString},
		},
		CheckSettings: func(s connectors.Settings) error {
			if s.Boolean("archived") && s.Integer("depth") > 5 {
				return &connectors.OptionError{Field: "config.depth", Message: "must be at most 5 with archived"}
			}
			return nil
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return recordingSource{settings: s}, nil
		},
	}
}

// A recordingSource records the settings it was opened with.
type recordingSource struct {
	connectors.Source
	settings connectors.Settings
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return config
}

func TestValidateNamesTheWrongField(t *testing.T) {
	t.Parallel()
	const token = "hunter2"
	for _, c := range []struct {
		config string
		token  any
		field  string
		says   string
	}{
		{`null`, token, "config.address", "required, for example https://wiki"},
		{`{}`, token, "config.address", "required"},
		{`{"address": ""}`, token, "config.address", "required"},
		{`{"address": null}`, token, "config.address", "required"},
		{`{"address": 7}`, token, "config.address", "must be a string, not a number"},
		{`{"address": ["a"]}`, token, "config.address", "not a list"},
		{`{"address": {"a": 1}}`, token, "config.address", "not an object"},
		{`{"address": "a\u0000b"}`, token, "config.address", "control character"},
		{`{"address": "` + strings.Repeat("a", 8193) + `"}`, token, "config.address", "longer than"},
		{`{"adress": "a"}`, token, "config.adress", "address, archived, deletion_threshold, depth, filters, full_scan_interval, include_permissions"},
		{`{"address": "a", "` + strings.Repeat("x", 500) + `": 1}`, token, "config." + strings.Repeat("x", 64) + "…", "unknown"},
		{`{"address": "a", "depth": 0}`, token, "config.depth", "from 1 to 10"},
		{`{"address": "a", "depth": 11}`, token, "config.depth", "from 1 to 10"},
		{`{"address": "a", "depth": 2.5}`, token, "config.depth", "whole number"},
		{`{"address": "a", "depth": 1e300}`, token, "config.depth", "whole number"},
		{`{"address": "a", "depth": "3"}`, token, "config.depth", "whole number, not a string"},
		{`{"address": "a", "depth": ""}`, token, "config.depth", "whole number, not a string"},
		{`{"address": "a", "archived": "true"}`, token, "config.archived", "true or false"},
		{`{"address": "a", "archived": 1}`, token, "config.archived", "true or false"},
		{`{"address": "a", "spaces": "one"}`, token, "config.spaces", "list of strings, not a string"},
		{`{"address": "a", "spaces": ["one", 2]}`, token, "config.spaces", "one entry is a number"},
		{`{"address": "a", "spaces": ["one", ""]}`, token, "config.spaces", "empty entry"},
		{`{"address": "a", "spaces": ["private"]}`, token, "config.spaces", "private space"},
		{`{"address": "a", "mode": "slow"}`, token, "config.mode", "fast, full"},
		{`{"address": "a", "archived": true, "depth": 6}`, token, "config.depth", "at most 5"},
		{`{"address": "a", "include_permissions": "yes"}`, token, "config.include_permissions", "true or false"},
		{`{"address": "a", "permission_mode": "loose"}`, token, "config.permission_mode", "strict, permissive"},
		{`{"address": "a", "filters": []}`, token, "config.filters", "must be an object, not a list"},
		{`{"address": "a", "filters": {"extension": ["md"]}}`, token, "config.filters.extension", "unknown field"},
		{`{"address": "a"}`, nil, "credentials.token", "required"},
		{`{"address": "a"}`, "", "credentials.token", "required"},
		{`{"address": "a"}`, token + " ", "credentials.token", "space"},
	} {
		var credentials map[string]string
		if text, ok := c.token.(string); ok {
			credentials = map[string]string{"token": text}
		}
		err := wiki().Validate(decoded(t, c.config), credentials)
		wrong, ok := errors.AsType[*connectors.OptionError](err)
		switch {
		case !ok:
			t.Errorf("%.80s: got %v, want an error of %s", c.config, err, c.field)
		case wrong.Field != c.field || !strings.Contains(wrong.Message, c.says):
			t.Errorf("%.80s: got %v, want %s: …%s…", c.config, err, c.field, c.says)
		case strings.Contains(err.Error(), token):
			t.Errorf("%.80s: the error shows the token: %v", c.config, err)
		}
	}
	err := wiki().Validate(decoded(t, `{"address": "a"}`), map[string]string{"token": token, "pin": "1"})
	if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != "credentials.pin" || !strings.Contains(wrong.Message, "token, user") {
		t.Errorf("unknown credential: got %v", err)
	}
}

func TestValidateAcceptsValidSettings(t *testing.T) {
	t.Parallel()
	for _, config := range []string{
		`{"address": "a"}`,
		`{"address": "a", "depth": 10, "archived": false, "spaces": ["one", "two"], "mode": "full"}`,
		`{"address": "a", "depth": null, "archived": null, "spaces": null, "mode": null, "filters": null}`,
		`{"address": "a", "mode": "", "spaces": []}`,
		`{"address": "a", "include_permissions": true, "permission_mode": "strict", "filters": {"include": ["docs/**"], "createdWithin": "30d"}}`,
	} {
		if err := wiki().Validate(decoded(t, config), map[string]string{"token": "x", "user": ""}); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestRegistryValidatesAndFillsInDefaults(t *testing.T) {
	t.Parallel()
	registry, err := connectors.NewRegistry(wiki())
	if err != nil {
		t.Fatal(err)
	}
	kind, ok := registry.Lookup("pages")
	if !ok || kind.Name != "wiki" {
		t.Fatalf("by its alias: %q, %v", kind.Name, ok)
	}
	config := decoded(t, `{"address": "a", "spaces": ["one"]}`)
	source, err := kind.New(t.Context(), connectors.Settings{ConnectorID: "7", Config: config, Credentials: map[string]string{"token": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	given, ok := source.(recordingSource)
	if !ok {
		t.Fatalf("got a %T", source)
	}
	s := given.settings
	if s.ConnectorID != "7" || s.String("address") != "a" || s.Integer("depth") != 3 || s.String("mode") != "fast" ||
		s.Boolean("archived") || !slices.Equal(s.Strings("spaces"), []string{"one"}) {
		t.Errorf("the source got %+v", s)
	}
	if len(config) != 2 {
		t.Errorf("the caller's config was changed: %v", config)
	}

	_, err = kind.New(t.Context(), connectors.Settings{Credentials: map[string]string{"token": "x"}})
	if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != "config.address" || !connectors.IsFatal(err) {
		t.Errorf("without an address: got %v, want a fatal error of config.address", err)
	}
}

func TestRegistryIsSortedAndCannotBeChanged(t *testing.T) {
	t.Parallel()
	var kinds []connectors.Kind
	for _, name := range []string{"slack", "github", "s3"} {
		kinds = append(kinds, connectors.Kind{Name: name, Title: name, New: wiki().New})
	}
	registry, err := connectors.NewRegistry(kinds...)
	if err != nil {
		t.Fatal(err)
	}
	registry.Kinds()[0].Name = "changed"
	var names []string
	for _, kind := range registry.Kinds() {
		names = append(names, kind.Name)
	}
	if !slices.Equal(names, []string{"github", "s3", "slack"}) {
		t.Errorf("got %v", names)
	}
	if _, ok := registry.Lookup("jira"); ok {
		t.Error("found a kind that is not there")
	}
}

func TestRegistryRefusesInvalidKinds(t *testing.T) {
	t.Parallel()
	change := func(do func(*connectors.Kind)) connectors.Kind {
		kind := wiki()
		do(&kind)
		return kind
	}
	option := func(o connectors.Option) connectors.Kind {
		return change(func(k *connectors.Kind) { k.Options = append(slices.Clone(k.Options), o) })
	}
	for name, kinds := range map[string][]connectors.Kind{
		"same name":           {wiki(), wiki()},
		"alias is a name":     {wiki(), {Name: "other", Aliases: []string{"wiki"}, New: wiki().New}},
		"name is an alias":    {wiki(), {Name: "pages", New: wiki().New}},
		"alias twice":         {change(func(k *connectors.Kind) { k.Aliases = []string{"a", "a"} })},
		"no name":             {change(func(k *connectors.Kind) { k.Name = "" })},
		"improper name":       {change(func(k *connectors.Kind) { k.Name = "My Wiki" })},
		"improper alias":      {change(func(k *connectors.Kind) { k.Aliases = []string{"Pages"} })},
		"no constructor":      {change(func(k *connectors.Kind) { k.New = nil })},
		"option twice":        {option(connectors.Option{Name: "depth", Title: "Depth", Type: connectors.TypeInteger})},
		"option of everybody": {option(connectors.Option{Name: "filters", Title: "Filters", Type: connectors.TypeString})},
		"nameless option":     {option(connectors.Option{Title: "What", Type: connectors.TypeString})},
		"wrong default":       {option(connectors.Option{Name: "x", Title: "X", Type: connectors.TypeInteger, Default: "three"})},
		"default too large":   {option(connectors.Option{Name: "x", Title: "X", Type: connectors.TypeInteger, Max: 5, Default: 6})},
		"credential no string": {change(func(k *connectors.Kind) {
			k.Credentials = []connectors.Option{{Name: "pin", Title: "Pin", Type: connectors.TypeInteger}}
		})},
	} {
		if _, err := connectors.NewRegistry(kinds...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"address": "a", "depth": 3, "filters": {"include": ["**"], "modifiedAfter": "2024-01-01"}}`)
	f.Add(`{"filters": {"createdWithin": "9999999999d"}}`)
	f.Add(`{"address": ["\ud800", null, {}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var config map[string]any
		if json.Unmarshal([]byte(text), &config) != nil {
			return
		}
		err := wiki().Validate(config, map[string]string{"token": "x"})
		if err == nil {
			return
		}
		wrong, ok := errors.AsType[*connectors.OptionError](err)
		if !ok || wrong.Field == "" || wrong.Message == "" {
			t.Errorf("got %#v, want an *OptionError that names a field", err)
		}
		if first, second := fmt.Sprint(err), fmt.Sprint(wiki().Validate(config, map[string]string{"token": "x"})); first != second {
			t.Errorf("two answers: %q, %q", first, second)
		}
	})
}
