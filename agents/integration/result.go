package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/safetext"
)

// MaxResult is the length of the longest result, in characters.
const MaxResult = 16_000

// Result returns value as JSON of at most [MaxResult] characters. A longer one is cut
// within its texts and lists, which say how much is left out. Ids, links and the
// structure are kept as long as possible.
func Result(value any, summary string, parts ...any) (loop.Result, error) {
	text, err := excerpt(value)
	if err != nil {
		return loop.Result{}, fmt.Errorf("encode a result: %w", err)
	}
	return loop.Result{Text: text, Summary: fmt.Sprintf(summary, parts...)}, nil
}

func excerpt(value any) (string, error) {
	text, err := encode(value)
	if err != nil || utf8.RuneCountInString(text) <= MaxResult {
		return text, err
	}
	var decoded any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&decoded); err != nil {
		return "", err
	}
	// Texts are cut before lists.
	for _, c := range []cut{{4000, 200}, {1500, 100}, {800, 50}, {400, 30}, {200, 20}, {120, 12}, {80, 6}, {80, 3}, {40, 2}} {
		if text, err = encode(c.apply(decoded, 0)); err != nil || utf8.RuneCountInString(text) <= MaxResult {
			return text, err
		}
	}
	return safetext.Truncate(text, MaxResult), nil
}

// encode leaves < and > as they are, since texts contain code.
func encode(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// A cut bounds the characters of texts and the items of lists.
type cut struct{ text, items int }

const (
	maxNesting = 20
	maxLink    = 500 // a longer link is cut as any text
)

func (c cut) apply(value any, depth int) any {
	switch value := value.(type) {
	case string:
		if n := utf8.RuneCountInString(value); n > c.text && !isLink(value) {
			return safetext.Truncate(value, c.text) + fmt.Sprintf(" [cut: %d of %d characters]", c.text, n)
		}
	case []any:
		if depth > maxNesting {
			return "[cut: nested too deeply]"
		}
		out := make([]any, 0, min(len(value), c.items)+1)
		for _, item := range value[:min(len(value), c.items)] {
			out = append(out, c.apply(item, depth+1))
		}
		if left := len(value) - c.items; left > 0 {
			out = append(out, fmt.Sprintf("[cut: %d more]", left))
		}
		return out
	case map[string]any:
		if depth > maxNesting {
			return "[cut: nested too deeply]"
		}
		out := make(map[string]any, len(value))
		for name, item := range value {
			out[name] = c.apply(item, depth+1)
		}
		return out
	}
	return value
}

func isLink(text string) bool {
	if len(text) > maxLink || !strings.HasPrefix(text, "http") {
		return false
	}
	_, err := url.Parse(text)
	return err == nil
}
