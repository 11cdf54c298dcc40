package migrations

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
)

// makes finds the tables that a step makes, also by giving one another name.
var makes = regexp.MustCompile(`(?im)^\s*(?:create table|alter table \S+ rename to) "?([a-z_]+)"?`)

// Tables returns the names of all tables that a step makes, whether or not a later one
// drops them, in alphabetical order. The table of the steps is none of them.
func Tables() ([]string, error) {
	steps, err := fs.Glob(Files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the steps: %w", err)
	}
	var names []string
	for _, step := range steps {
		text, err := fs.ReadFile(Files, step)
		if err != nil {
			return nil, fmt.Errorf("read a step: %w", err)
		}
		for _, made := range makes.FindAllSubmatch(text, -1) {
			names = append(names, string(made[1]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
