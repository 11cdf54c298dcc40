package sqldb

import (
	"path"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// Tables are the tables that agents see. The zero value allows all.
type Tables struct{ include, exclude []string }

// NewTables returns the tables that a connector's patterns allow.
func NewTables(s connectors.Settings) Tables {
	return Tables{include: lower(s.Strings(OptionInclude)), exclude: lower(s.Strings(OptionExclude))}
}

func lower(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, pattern := range patterns {
		out[i] = strings.ToLower(pattern)
	}
	return out
}

// Allow reports whether agents see a table. Case does not matter.
func (t Tables) Allow(schema, name string) bool {
	schema, name = strings.ToLower(schema), strings.ToLower(name)
	// A slash in a name would part it for path.Match.
	schema, name = strings.ReplaceAll(schema, "/", "_"), strings.ReplaceAll(name, "/", "_")
	matches := func(pattern string) bool {
		subject := name
		if strings.Contains(pattern, ".") {
			subject = schema + "." + name
		}
		ok, err := path.Match(pattern, subject)
		return ok && err == nil
	}
	if slices.ContainsFunc(t.exclude, matches) {
		return false
	}
	return len(t.include) == 0 || slices.ContainsFunc(t.include, matches)
}
