package dashboard

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed src/words/problems.de.json src/words/reasons.de.json src/words/values.de.json
var translated embed.FS

// Sentences returns what the service tells people, in English, with {1} and {*1} for values:
// the texts that have a translation. Tests compare them with the sources of the service.
func Sentences() ([]string, error) {
	var all []string
	for _, family := range []string{"problems", "reasons", "values"} {
		data, err := translated.ReadFile("src/words/" + family + ".de.json")
		if err != nil {
			return nil, fmt.Errorf("read the sentences of the service: %w", err)
		}
		var texts map[string]string
		if err := json.Unmarshal(data, &texts); err != nil {
			return nil, fmt.Errorf("read the sentences of the service: %w", err)
		}
		for text := range texts {
			all = append(all, text)
		}
	}
	return all, nil
}
