package summary

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// The bounds of an extractive summary.
const (
	maxSentences = 3
	maxRunes     = 500
	minRunes     = 25     // shorter sentences say too little
	longSentence = 350    // longer ones are lists or data
	readRunes    = 60_000 // a summary is found in the beginning of a long document
)

type sentence struct {
	text  string
	terms []string
	at    int
}

// extract picks sentences by SumBasic (Nenkova and Vanderwende, "The impact of
// frequency on summarization", 2005): the sentence with the highest mean
// probability of its words comes first, and its words count less afterwards.
// Early sentences are preferred a little, since documents begin with what they
// are about. The sentences are given in their own order.
func (s *Summarizer) extract(text string) string {
	candidates := s.sentences(prose(text))
	probability, total := map[string]float64{}, 0.0
	for _, c := range candidates {
		for _, t := range c.terms {
			probability[t]++
			total++
		}
	}
	for t := range probability {
		probability[t] /= total
	}
	var picked []sentence
	runes := 0
	for len(picked) < maxSentences && len(candidates) > 0 {
		best, weight := -1, 0.0
		for i, c := range candidates {
			if w := worth(c, probability); best < 0 || w > weight {
				best, weight = i, w
			}
		}
		c := candidates[best]
		candidates = slices.Delete(candidates, best, best+1)
		if n := utf8.RuneCountInString(c.text); len(picked) == 0 || runes+n <= maxRunes {
			picked, runes = append(picked, c), runes+n
		}
		for _, t := range c.terms {
			probability[t] *= probability[t]
		}
	}
	slices.SortFunc(picked, func(a, b sentence) int { return a.at - b.at })
	texts := make([]string, len(picked))
	for i, c := range picked {
		texts[i] = c.text
	}
	return strings.Join(texts, " ")
}

func worth(c sentence, probability map[string]float64) float64 {
	sum := 0.0
	for _, t := range c.terms {
		sum += probability[t]
	}
	return sum / float64(len(c.terms)) * (1 + 1/float64(1+c.at))
}

func (s *Summarizer) sentences(paragraphs []string) []sentence {
	var out []sentence
	for _, p := range paragraphs {
		for it := sentences.FromString(p); it.Next(); {
			text := strings.TrimSpace(it.Value())
			n := utf8.RuneCountInString(text)
			if n < minRunes || n > longSentence {
				continue
			}
			if terms := s.analyzer.Terms(text, ""); len(terms) > 0 {
				out = append(out, sentence{text: text, terms: terms, at: len(out)})
			}
		}
	}
	return out
}

// prose is the paragraphs of a Markdown text: no headings, code, tables, lists
// or quotes of markup.
func prose(text string) []string {
	if len(text) > readRunes {
		text = strings.ToValidUTF8(text[:readRunes], "")
	}
	var paragraphs []string
	var current []string
	fence, links := false, link()
	flush := func() {
		if len(current) > 0 {
			paragraphs = append(paragraphs, plainText(links, strings.Join(current, " ")))
			current = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = !fence
			flush()
		case fence:
		case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "<"),
			strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "):
			flush()
		default:
			current = append(current, strings.TrimPrefix(line, "> "))
		}
	}
	flush()
	return paragraphs
}

// plainText takes links, emphasis and code marks off.
func plainText(links *regexp.Regexp, s string) string {
	s = links.ReplaceAllString(s, "$1")
	return strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
}

func link() *regexp.Regexp { return regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`) }
