package connectortest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// filtersSelect applies the common filters to the items of a walk, as a sync
// does. It checks that paths and times are fit for filters.
func filtersSelect(t *testing.T, setup Setup) {
	source := setup.open(t)
	paths := []string{"guide/a.md", "guide/deep/b.md", "guide/deep/c.html", "news/a.md", "readme.md"}
	for _, path := range paths {
		setup.Fixture.Put(t, path, []byte("# What is at "+path))
	}
	items := itemsByPath(t, source)
	if len(items) != len(paths) {
		t.Fatalf("%d items, want %d", len(items), len(paths))
	}
	now := time.Now()
	allHave := func(of func(connectors.Item) time.Time) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(items)), func(i connectors.Item) bool { return of(i).IsZero() })
	}
	modified := allHave(func(i connectors.Item) time.Time { return i.ModifiedAt })
	for name, c := range map[string]struct {
		filters map[string]any
		want    []string
		skip    bool
	}{
		"nothing":            {filters: map[string]any{}, want: paths},
		"include":            {filters: map[string]any{"include": []any{"guide/**"}}, want: paths[:3]},
		"include anywhere":   {filters: map[string]any{"include": []any{"a.md"}}, want: []string{"guide/a.md", "news/a.md"}},
		"exclude":            {filters: map[string]any{"exclude": []any{"guide/deep"}}, want: []string{"guide/a.md", "news/a.md", "readme.md"}},
		"exclude wins":       {filters: map[string]any{"include": []any{"guide/**"}, "exclude": []any{"*.html"}}, want: paths[:2]},
		"extensions":         {filters: map[string]any{"extensions": []any{".HTML"}}, want: paths[2:3]},
		"other extensions":   {filters: map[string]any{"excludeExtensions": []any{"md"}}, want: paths[2:3]},
		"modified after":     {filters: map[string]any{"modifiedAfter": now.Add(time.Hour).UTC().Format(time.RFC3339)}, want: nil, skip: !modified},
		"modified after all": {filters: map[string]any{"modifiedAfter": "1990-01-31"}, want: paths, skip: setup.FixedTimes},
		"created within":     {filters: map[string]any{"createdWithin": "5200w"}, want: paths, skip: setup.FixedTimes},
	} {
		if c.skip {
			continue
		}
		filters, err := connectors.ParseFilters(map[string]any{"filters": c.filters})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for path, item := range items {
			if ok, _ := filters.Match(item, now); ok {
				got = append(got, path)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("the filter %s selects %v, want %v", name, got, c.want)
		}
	}
	for _, wrong := range []map[string]any{
		{"include": "guide"}, {"extensions": []any{"a/b"}}, {"modifiedAfter": "yesterday"}, {"createdWithin": "soon"}, {"exclude": []any{"[a"}},
	} {
		config := maps.Clone(setup.Settings.Config)
		if config == nil {
			config = map[string]any{}
		}
		config["filters"] = wrong
		err := setup.Kind.Validate(config, setup.Settings.Credentials)
		if _, ok := errors.AsType[*connectors.OptionError](err); !ok && wrong["exclude"] == nil {
			t.Errorf("Validate of the filters %v: %v", wrong, err)
		}
	}
}
