package parse

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

// maxFrontMatter is the longest front matter that is read; text between two --- lines that is longer is text.
const maxFrontMatter = 64 << 10

// frontMatter takes the front matter off a text: YAML between --- lines, TOML between +++ lines, JSON between ;;; lines or as an
// object at the top, a title block of Pandoc (% title), and the header of MultiMarkdown (Title: …). Where it is broken, its
// plain "key: value" lines are used and problem says what is wrong.
func frontMatter(text string) (meta map[string]any, body string, problem error) {
	first, rest, found := strings.Cut(text, "\n")
	first = strings.TrimRight(first, " \t")
	fence := first[:min(3, len(first))]
	switch {
	case strings.HasPrefix(first, "{"):
		return objectAtTop(text)
	case strings.HasPrefix(first, "% "):
		return titleBlock(text)
	case !found || fence != "---" && fence != "+++" && fence != ";;;":
		return headerLines(text)
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
	meta, problem = decodeFrontMatter(raw, kind)
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
	return nil, errNoMapping
}

var errNoMapping = errors.New("read YAML front matter: it is no list of keys and values")

// objectAtTop reads a JSON object before the text, as Hugo writes front matter.
func objectAtTop(text string) (meta map[string]any, body string, problem error) {
	decoder := json.NewDecoder(strings.NewReader(text[:min(len(text), maxFrontMatter)]))
	if decoder.Decode(&meta) != nil {
		return nil, text, nil
	}
	rest := text[decoder.InputOffset():]
	if line, _, _ := strings.Cut(rest, "\n"); strings.TrimSpace(line) != "" || strings.TrimSpace(rest) == "" {
		return nil, text, nil
	}
	return lowerKeys(meta), rest, nil
}

// titleBlock reads the first lines of a file as Pandoc does: title, authors and date after percent signs.
func titleBlock(text string) (meta map[string]any, body string, problem error) {
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

// headerLines reads lines of "Key: value" before the first blank line, where they begin with the title or the author.
func headerLines(text string) (meta map[string]any, body string, problem error) {
	head, rest, found := strings.Cut(text[:min(len(text), maxFrontMatter)], "\n\n")
	if !found {
		return nil, text, nil
	}
	meta = make(map[string]any)
	key := ""
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\n")
		name, value, parted := strings.Cut(line, ":")
		switch {
		case key != "" && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			meta[key] = fmt.Sprint(meta[key], " ", strings.TrimSpace(line))
			continue
		case !parted || name == "" || len(name) > 30 || strings.Trim(name, headerLetters) != "" || value != "" && value[0] != ' ' && value[0] != '\t':
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
