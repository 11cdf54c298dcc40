package parse

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"
)

// maxFrontMatter is the longest front matter that is read; text between two --- lines that is longer is text.
const maxFrontMatter = 64 << 10

// frontMatter takes the front matter off a text: YAML between --- lines or TOML between +++ lines. Where it is broken,
// its plain "key: value" lines are used and problem says what is wrong.
func frontMatter(text string) (meta map[string]any, body string, problem error) {
	fence := ""
	switch {
	case strings.HasPrefix(text, "---"):
		fence = "---"
	case strings.HasPrefix(text, "+++"):
		fence = "+++"
	default:
		return nil, text, nil
	}
	first, rest, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t") != fence {
		return nil, text, nil
	}
	raw, body, found := cutFence(rest, fence)
	if !found {
		return nil, text, nil
	}
	meta, problem = decodeFrontMatter(raw, fence)
	if errors.Is(problem, errNoMapping) {
		return nil, text, nil // text between two rules
	}
	if problem != nil {
		meta = salvage(raw)
	}
	return lowerKeys(meta), body, problem
}

// cutFence parts the text before the closing line from the text after it.
func cutFence(rest, fence string) (raw, body string, found bool) {
	at := 0
	for line := range strings.Lines(rest) {
		if at > maxFrontMatter {
			return "", "", false
		}
		trimmed := strings.TrimRight(line, " \t\n")
		if trimmed == fence || fence == "---" && trimmed == "..." {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

func decodeFrontMatter(raw, fence string) (meta map[string]any, err error) {
	defer func() {
		// A decoder that panics on front matter must not cost the document its text.
		if cause := recover(); cause != nil {
			meta, err = nil, fmt.Errorf("read front matter: %v", cause)
		}
	}()
	if strings.TrimSpace(raw) == "" {
		return map[string]any{}, nil
	}
	if fence == "+++" {
		if err := toml.Unmarshal([]byte(raw), &meta); err != nil {
			return nil, fmt.Errorf("read TOML front matter: %w", err)
		}
		return meta, nil
	}
	var value any
	if err := yaml.Unmarshal([]byte(raw), &value); err != nil {
		return nil, fmt.Errorf("read YAML front matter: %w", err)
	}
	switch value := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return value, nil
	}
	return nil, errNoMapping
}

var errNoMapping = errors.New("read YAML front matter: it is no list of keys and values")

// salvage reads the lines of broken front matter that need no knowledge of YAML.
func salvage(raw string) map[string]any {
	meta := make(map[string]any)
	for line := range strings.Lines(raw) {
		key, value, found := strings.Cut(line, ":")
		if !found {
			key, value, found = strings.Cut(line, " = ")
		}
		if !found || key == "" || strings.ContainsAny(key, " \t#-\"'{[") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if value != "" {
			meta[key] = value
		}
	}
	return meta
}

func lowerKeys(meta map[string]any) map[string]any {
	lower := make(map[string]any, len(meta))
	for _, key := range slices.Sorted(maps.Keys(meta)) { // sorted, so that Title and TITLE give the same every time
		lower[strings.ToLower(key)] = meta[key]
	}
	return lower
}
