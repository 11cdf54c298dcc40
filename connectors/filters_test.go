package connectors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

var now = time.Date(2024, 6, 15, 12, 0, 0, 0, time.UTC)

func filtersOf(t *testing.T, object string) connectors.Filters {
	t.Helper()
	filters, err := connectors.ParseFilters(decoded(t, `{"filters": `+object+`}`))
	if err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	return filters
}

func TestFiltersSelectByPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filters string
		pass    string
		drop    string
	}{
		{`null`, "anything docs/a.md", ""},
		{`{}`, "anything docs/a.md", ""},
		{`{"include": ["docs/**"]}`, "docs/a.md docs/x/a.png", "a.md old/docs/a.md"},
		{`{"include": ["docs/", "*.txt"]}`, "docs/a.md x/a.txt", "a.md"},
		{`{"exclude": ["**/drafts/**"]}`, "docs/a.md", "docs/drafts/a.md drafts/x/a.md"},
		{`{"include": ["docs/**"], "exclude": ["docs/old"]}`, "docs/a.md docs/older/a.md", "docs/old/a.md x.md"},
		{`{"include": []}`, "a.md", ""},
		{`{"extensions": ["md", ".TXT", "*.rst"]}`, "a.md a.MD b.txt c.rst x.y/a.md", "a.mdx md a.png README .md/a"},
		{`{"extensions": ["tar.gz"]}`, "a.tar.gz", "a.gz tar.gz"},
		{`{"excludeExtensions": ["png", "jpg"]}`, "a.md README png", "a.png b.JPG"},
		{`{"extensions": ["md"], "excludeExtensions": ["draft.md"]}`, "a.md", "a.draft.md"},
	} {
		filters := filtersOf(t, c.filters)
		for path := range strings.FieldsSeq(c.pass) {
			if ok, reason := filters.Match(connectors.Item{Path: path}, now); !ok || reason != "" {
				t.Errorf("%s drops %q: %s", c.filters, path, reason)
			}
		}
		for path := range strings.FieldsSeq(c.drop) {
			if ok, reason := filters.Match(connectors.Item{Path: path}, now); ok || reason == "" {
				t.Errorf("%s lets %q through, or says no reason: %q", c.filters, path, reason)
			}
		}
	}
}

func TestFiltersSelectByDate(t *testing.T) {
	t.Parallel()
	day := func(daysAgo int) time.Time { return now.AddDate(0, 0, -daysAgo) }
	for name, c := range map[string]struct {
		filters string
		item    connectors.Item
		pass    bool
	}{
		"modified later":              {`{"modifiedAfter": "2024-06-10"}`, connectors.Item{ModifiedAt: day(1)}, true},
		"modified at that moment":     {`{"modifiedAfter": "2024-06-15T12:00:00Z"}`, connectors.Item{ModifiedAt: now}, true},
		"modified a moment before":    {`{"modifiedAfter": "2024-06-15T12:00:00Z"}`, connectors.Item{ModifiedAt: now.Add(-1)}, false},
		"another time zone":           {`{"modifiedAfter": "2024-06-15T14:00:00+02:00"}`, connectors.Item{ModifiedAt: now}, true},
		"modified earlier":            {`{"modifiedAfter": "2024-06-10"}`, connectors.Item{ModifiedAt: day(10)}, false},
		"modified nobody knows when":  {`{"modifiedAfter": "2024-06-10"}`, connectors.Item{}, true},
		"created within":              {`{"createdWithin": "30d"}`, connectors.Item{CreatedAt: day(29), ModifiedAt: day(1)}, true},
		"created before":              {`{"createdWithin": "30d"}`, connectors.Item{CreatedAt: day(31), ModifiedAt: day(1)}, false},
		"created unknown, changed":    {`{"createdWithin": "2w"}`, connectors.Item{ModifiedAt: day(13)}, true},
		"created unknown, old":        {`{"createdWithin": "2w"}`, connectors.Item{ModifiedAt: day(15)}, false},
		"created nobody knows when":   {`{"createdWithin": "12h"}`, connectors.Item{}, true},
		"created in hours":            {`{"createdWithin": "12h"}`, connectors.Item{CreatedAt: now.Add(-13 * time.Hour)}, false},
		"created in the future":       {`{"createdWithin": "1h"}`, connectors.Item{CreatedAt: now.Add(time.Hour)}, true},
		"modified fits, created does": {`{"modifiedAfter": "2024-01-01", "createdWithin": "8w"}`, connectors.Item{CreatedAt: day(50), ModifiedAt: day(50)}, true},
	} {
		if ok, reason := filtersOf(t, c.filters).Match(c.item, now); ok != c.pass || ok != (reason == "") {
			t.Errorf("%s: passes %v (%s), want %v", name, ok, reason, c.pass)
		}
	}
}

func TestWrongFiltersAreNamed(t *testing.T) {
	t.Parallel()
	many := `["` + strings.Repeat(`a","`, 200) + `a"]`
	for object, field := range map[string]string{
		`"*.md"`:                       "config.filters",
		`{"includes": []}`:             "config.filters.includes",
		`{"exclude_extensions": []}`:   "config.filters.exclude_extensions",
		`{"include": "*.md"}`:          "config.filters.include",
		`{"include": [""]}`:            "config.filters.include",
		`{"include": ["/"]}`:           "config.filters.include",
		`{"include": [1]}`:             "config.filters.include",
		`{"include": ` + many + `}`:    "config.filters.include",
		`{"extensions": ` + many + `}`: "config.filters.extensions",
		`{"exclude": ["` + strings.Repeat("a", 513) + `"]}`: "config.filters.exclude",
		`{"extensions": ["."]}`:                             "config.filters.extensions",
		`{"extensions": ["a/b"]}`:                           "config.filters.extensions",
		`{"excludeExtensions": ["m?"]}`:                     "config.filters.excludeExtensions",
		`{"modifiedAfter": "yesterday"}`:                    "config.filters.modifiedAfter",
		`{"modifiedAfter": "2024-02-30"}`:                   "config.filters.modifiedAfter",
		`{"modifiedAfter": "01/02/2024"}`:                   "config.filters.modifiedAfter",
		`{"modifiedAfter": 20240101}`:                       "config.filters.modifiedAfter",
		`{"createdWithin": "30"}`:                           "config.filters.createdWithin",
		`{"createdWithin": "d"}`:                            "config.filters.createdWithin",
		`{"createdWithin": ""}`:                             "config.filters.createdWithin",
		`{"createdWithin": "0d"}`:                           "config.filters.createdWithin",
		`{"createdWithin": "+3d"}`:                          "config.filters.createdWithin",
		`{"createdWithin": "-3d"}`:                          "config.filters.createdWithin",
		`{"createdWithin": "1.5d"}`:                         "config.filters.createdWithin",
		`{"createdWithin": "36601d"}`:                       "config.filters.createdWithin",
		`{"createdWithin": "99999999999999999999h"}`:        "config.filters.createdWithin",
		`{"createdWithin": 30}`:                             "config.filters.createdWithin",
	} {
		filters, err := connectors.ParseFilters(decoded(t, `{"filters": `+object+`}`))
		if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != field {
			t.Errorf("%.60s: got %+v, %v; want an error of %s", object, filters, err, field)
		}
	}
}

func TestUnparsedFiltersWork(t *testing.T) {
	t.Parallel()
	filters := connectors.Filters{Extensions: []string{".MD"}}
	if ok, reason := filters.Match(connectors.Item{Path: "docs/a.md"}, now); !ok {
		t.Errorf("dropped: %s", reason)
	}
}
