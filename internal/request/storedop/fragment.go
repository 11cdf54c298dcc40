package storedop

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed fragments/*.graphql
var fragmentFiles embed.FS

// Fragments are the fragments that stored operations share, by name.
type Fragments map[string]string

var (
	definition = regexp.MustCompile(`(?m)^fragment (\w+) on `)
	spread     = regexp.MustCompile(`\.\.\.\s*(\w+)`)
)

// LoadFragments reads the shared fragments. Names are unique.
func LoadFragments() (Fragments, error) {
	files, err := fragmentFiles.ReadDir("fragments")
	if err != nil {
		return nil, fmt.Errorf("list the fragments: %w", err)
	}
	fragments := make(Fragments)
	for _, file := range files {
		content, err := fragmentFiles.ReadFile("fragments/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read the fragments: %w", err)
		}
		text := string(content)
		starts := definition.FindAllStringSubmatchIndex(text, -1)
		for i, start := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			name := text[start[2]:start[3]]
			if _, ok := fragments[name]; ok {
				return nil, fmt.Errorf("two fragments have the name %s", name)
			}
			fragments[name] = strings.TrimSpace(text[start[0]:end])
		}
	}
	return fragments, nil
}

// Complete returns a document with the shared fragments that it uses and does not
// define. A fragment that does not exist is left to the validation of the document.
func (f Fragments) Complete(document string) string {
	known := make(map[string]bool)
	for _, match := range definition.FindAllStringSubmatch(document, -1) {
		known[match[1]] = true
	}
	var out strings.Builder
	out.WriteString(document)
	pending := []string{document}
	for len(pending) > 0 {
		text := pending[0]
		pending = pending[1:]
		for _, match := range spread.FindAllStringSubmatch(text, -1) {
			name := match[1]
			fragment, shared := f[name]
			if !shared || known[name] {
				continue
			}
			known[name] = true
			out.WriteString("\n" + fragment + "\n")
			pending = append(pending, fragment)
		}
	}
	return out.String()
}
