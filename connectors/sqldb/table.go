package sqldb

import (
	"path"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// Tables says which tables may be seen and asked. The zero value allows all.
type Tables struct{ include, exclude []string }

// TablesOf reads the patterns of a connector.
func TablesOf(s connectors.Settings) Tables {
	return Tables{include: lower(s.Strings(OptionInclude)), exclude: lower(s.Strings(OptionExclude))}
}

func lower(patterns []string) []string {
	out := make([]string, len(patterns))
	for i, pattern := range patterns {
		out[i] = strings.ToLower(pattern)
	}
	return out
}

// Allow reports whether a table may be seen. Case is of no account: a pattern
// never misses a table by it.
func (t Tables) Allow(schema, name string) bool {
	schema, name = strings.ToLower(schema), strings.ToLower(name)
	// A slash in a name would part it for path.Match.
	schema, name = strings.ReplaceAll(schema, "/", "_"), strings.ReplaceAll(name, "/", "_")
	matches := func(pattern string) bool {
		whole := name
		if strings.Contains(pattern, ".") {
			whole = schema + "." + name
		}
		ok, err := path.Match(pattern, whole)
		return ok && err == nil
	}
	if slices.ContainsFunc(t.exclude, matches) {
		return false
	}
	return len(t.include) == 0 || slices.ContainsFunc(t.include, matches)
}
