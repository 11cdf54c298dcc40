package clickhouse

import (
	_ "embed"
	"strings"
	"sync"
)

// functionNames are the functions that only compute a value from their arguments,
// the clock or a random number, in lower case. Functions that read files, settings,
// dictionaries or tables, wait, write logs, or call other servers are not among
// them, nor are functions that somebody has created.
//
//go:embed functions.txt
var functionNames string

var allowedFunctions = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(functionNames) {
		names[name] = true
	}
	return names
})

// combinators returns what can be appended to the name of an aggregate function,
// the longest first.
func combinators() []string {
	return []string{
		"simplestate", "ordefault", "distinct", "resample", "foreach", "ornull", "argmax", "argmin", "merge", "state", "array", "tuple", "null", "map", "if",
	}
}

// isAllowedFunction reports whether a function, with or without combinators, only
// computes.
func isAllowedFunction(name string) bool {
	name = strings.ToLower(name)
	const most = 6 // combinators
	for range most {
		if allowedFunctions()[name] {
			return true
		}
		rest := name
		for _, suffix := range combinators() {
			if base, found := strings.CutSuffix(name, suffix); found {
				rest = base
				break
			}
		}
		if rest == name || rest == "" {
			return false
		}
		name = rest
	}
	return false
}
