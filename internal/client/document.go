package client

import (
	"fmt"
	"maps"
	"regexp"

	"github.com/magpie-search/magpie/internal/request/storedop"
)

var definitions = regexp.MustCompile(`(?m)^(query|mutation|subscription|fragment) (\w+)`)

// documents returns the GraphQL document of each operation, with the fragments that it
// uses and no others.
func documents() (map[string]string, error) {
	shared, err := storedop.LoadFragments()
	if err != nil {
		return nil, fmt.Errorf("read the operations: %w", err)
	}
	fragments := maps.Clone(shared)
	own := map[string]string{}
	starts := definitions.FindAllStringSubmatchIndex(operations, -1)
	for i, start := range starts {
		end := len(operations)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		text, name := operations[start[0]:end], operations[start[4]:start[5]]
		if operations[start[2]:start[3]] == "fragment" {
			fragments[name] = text
		} else {
			own[name] = text
		}
	}
	for name, text := range own {
		own[name] = fragments.Complete(text)
	}
	return own, nil
}
