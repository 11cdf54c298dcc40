package frontmatter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"
)

// maxBytes is the longest front matter that is read.
const maxBytes = 64 << 10

// Cut separates front matter from the text below: YAML between --- lines, TOML between +++ lines, JSON between ;;;
// lines or as an object, a title block of Pandoc (% title), or a header of MultiMarkdown (Title: …). Keys are in lower
// case. If the front matter is malformed, meta holds its plain "key: value" lines and problem describes the error.
func Cut(text string) (meta map[string]any, body string, problem error) {
	first, rest, found := strings.Cut(text, "\n")
	first = strings.TrimRight(first, " \t")
	fence := first[:min(3, len(first))]
	switch {
	case strings.HasPrefix(first, "{"):
		return cutJSONObject(text)
	case strings.HasPrefix(first, "% "):
		return cutTitleBlock(text)
	case !found || fence != "---" && fence != "+++" && fence != ";;;":
		return cutHeader(text)
	}
	kind := fence
	switch language := strings.ToLower(strings.TrimSpace(first[3:])); language {
	case "":
	case "yaml", "yml":
		kind = "---"
	case "toml":
		kind = "+++"
	case "json":
		kind = ";;;"
	default:
		return nil, text, nil
	}
	raw, body, found := cutFence(rest, fence)
	if !found {
		return nil, text, nil
	}
	meta, problem = decode(raw, kind)
	if errors.Is(problem, errNotMapping) {
		return nil, text, nil // the lines were rules with text between them
	}
	if problem != nil {
		meta = decodePlainLines(raw)
	}
	return lowerCaseKeys(meta), body, problem
}

// cutFence separates the text before the closing line from the text after it.
func cutFence(rest, fence string) (raw, body string, found bool) {
	at := 0
	for line := range strings.Lines(rest) {
		if at > maxBytes {
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

func decode(raw, fence string) (meta map[string]any, err error) {
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
	if fence == ";;;" {
		if err := json.Unmarshal([]byte(raw), &meta); err != nil {
			return nil, fmt.Errorf("read JSON front matter: %w", err)
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
	return nil, errNotMapping
}

var errNotMapping = errors.New("read YAML front matter: it is no list of keys and values")

// cutJSONObject cuts a JSON object before the text, as Hugo writes front matter.
func cutJSONObject(text string) (meta map[string]any, body string, problem error) {
	decoder := json.NewDecoder(strings.NewReader(text[:min(len(text), maxBytes)]))
	if decoder.Decode(&meta) != nil {
		return nil, text, nil
	}
	rest := text[decoder.InputOffset():]
	if line, _, _ := strings.Cut(rest, "\n"); strings.TrimSpace(line) != "" || strings.TrimSpace(rest) == "" {
		return nil, text, nil
	}
	return lowerCaseKeys(meta), rest, nil
}

// cutTitleBlock cuts a title block of Pandoc: title, authors and date after percent signs.
func cutTitleBlock(text string) (meta map[string]any, body string, problem error) {
	meta = make(map[string]any)
	for _, key := range []string{"title", "author", "date"} {
		line, rest, _ := strings.Cut(text, "\n")
		value, found := strings.CutPrefix(line, "%")
		if !found {
			break
		}
		for text = rest; strings.HasPrefix(text, "  ") && len(value) < 2000; {
			line, text, _ = strings.Cut(text, "\n")
			value += " " + strings.TrimSpace(line)
		}
		if value = strings.TrimSpace(value); value != "" {
			meta[key] = strings.ReplaceAll(value, ";", ",")
		}
	}
	return meta, text, nil
}

// cutHeader cuts lines "Key: value" before the first blank line. The first of them must be the title or the author.
func cutHeader(text string) (meta map[string]any, body string, problem error) {
	head, rest, found := strings.Cut(text[:min(len(text), maxBytes)], "\n\n")
	if !found {
		return nil, text, nil
	}
	meta = make(map[string]any)
	key := ""
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\n")
		name, value, hasColon := strings.Cut(line, ":")
		switch {
		case key != "" && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			meta[key] = fmt.Sprint(meta[key], " ", strings.TrimSpace(line))
			continue
		case !hasColon || name == "" || len(name) > 30 || strings.Trim(name, headerLetters) != "" || value != "" && value[0] != ' ' && value[0] != '\t':
			return nil, text, nil
		}
		if name = strings.ToLower(name); key == "" && name != "title" && name != "author" {
			return nil, text, nil
		}
		key = name
		meta[key] = strings.TrimSpace(value)
	}
	if key == "" || len(rest) == 0 {
		return nil, text, nil
	}
	return meta, text[len(head)+2:], nil
}

const headerLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_- "

// decodePlainLines decodes the lines of malformed front matter that are simple keys and values.
func decodePlainLines(raw string) map[string]any {
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

func lowerCaseKeys(meta map[string]any) map[string]any {
	lower := make(map[string]any, len(meta))
	for _, key := range slices.Sorted(maps.Keys(meta)) { // sorted, since Title and TITLE may both occur
		lower[strings.ToLower(key)] = meta[key]
	}
	return lower
}
