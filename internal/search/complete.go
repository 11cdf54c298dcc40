package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/analysis"
)

// A completer collects the words of passages that begin with a prefix.
type completer struct {
	analyzer *analysis.Analyzer
	prefix   string                    // normalized
	words    map[string]*completedWord // by the normalized word
	raw      map[string]string         // normalized words as they are written; "" for words that begin otherwise
}

// A completedWord is a word with the ways in which passages write it.
type completedWord struct {
	documents int
	forms     map[string]int
}

// read counts the words of a document's passage, each once.
func (c *completer) read(h *Hit) {
	seen := make(map[string]bool)
	for _, text := range append([]string{h.Title, h.Text}, h.Headings...) {
		for _, token := range c.analyzer.Tokens(text, h.Language) {
			if !c.mayBegin(token.Term) {
				continue
			}
			form := text[token.Start:token.End]
			word, known := c.raw[form]
			if !known {
				word = c.normalize(form)
				c.raw[form] = word
			}
			if word == "" {
				continue
			}
			w := c.words[word]
			if w == nil {
				w = &completedWord{forms: map[string]int{}}
				c.words[word] = w
			}
			w.forms[form]++
			if !seen[word] {
				seen[word] = true
				w.documents++
			}
		}
	}
}

// mayBegin reports whether a word with a term may begin with the prefix. A stemmer changes
// the end of a word, by at most one letter of what it leaves.
func (c *completer) mayBegin(term string) bool {
	n := max(min(len(term), len(c.prefix))-1, 1)
	return len(term) >= n && len(c.prefix) >= n && term[:n] == c.prefix[:n]
}

// normalize returns the normalized word of a form, "" if it does not begin with the prefix.
func (c *completer) normalize(form string) string {
	words := c.analyzer.Parse(form).Words
	if len(words) == 0 || !strings.HasPrefix(words[0].Surface, c.prefix) {
		return ""
	}
	return words[0].Surface
}

// completions returns a text with its last word, which begins at start, completed; without
// what was typed.
func (c *completer) completions(text string, start int, typed string, limit int) []string {
	words := slices.SortedFunc(maps.Keys(c.words), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.words[b].documents, c.words[a].documents), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	out := []string{}
	for _, word := range words {
		if len(out) == limit {
			break
		}
		if completed := text[:start] + c.words[word].form(); !strings.EqualFold(completed, strings.TrimSpace(typed)) {
			out = append(out, completed)
		}
	}
	return out
}

// form returns how passages mostly write the word: in lower case if any of them does,
// because the others may begin sentences.
func (w *completedWord) form() string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(w.forms)), func(a, b string) int {
		lowerA, lowerB := 0, 0
		if strings.ToLower(a) == a {
			lowerA = 1
		}
		if strings.ToLower(b) == b {
			lowerB = 1
		}
		return cmp.Or(cmp.Compare(lowerA, lowerB), cmp.Compare(w.forms[a], w.forms[b]), cmp.Compare(b, a))
	})
}
