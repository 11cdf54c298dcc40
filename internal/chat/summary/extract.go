package summary

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	splitter "github.com/magpie-search/magpie/internal/analysis/sentence"
)

// Limits of an extractive summary, in characters unless noted.
const (
	maxSentences    = 3
	maxSummary      = 500
	minSentence     = 25     // shorter sentences say too little
	maxSentence     = 350    // longer ones are lists or data
	maxExtractBytes = 60_000 // bytes of the document that are read
)

type sentence struct {
	text     string
	terms    []string
	position int
}

// extract selects sentences by SumBasic (Nenkova and Vanderwende, "The impact
// of frequency on summarization", 2005): it repeatedly selects the sentence
// with the highest mean word probability and then lowers the probability of its
// words. Early sentences get a bonus, since documents begin with their subject.
// The sentences keep their order.
func (s *Summarizer) extract(text string) string {
	candidates := s.sentences(paragraphs(text))
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
		best, bestScore := -1, 0.0
		for i, c := range candidates {
			if value := score(c, probability); best < 0 || value > bestScore {
				best, bestScore = i, value
			}
		}
		c := candidates[best]
		candidates = slices.Delete(candidates, best, best+1)
		if n := utf8.RuneCountInString(c.text); len(picked) == 0 || runes+n <= maxSummary {
			picked, runes = append(picked, c), runes+n
		}
		for _, t := range c.terms {
			probability[t] *= probability[t]
		}
	}
	slices.SortFunc(picked, func(a, b sentence) int { return a.position - b.position })
	texts := make([]string, len(picked))
	for i, c := range picked {
		texts[i] = c.text
	}
	return strings.Join(texts, " ")
}

func score(c sentence, probability map[string]float64) float64 {
	sum := 0.0
	for _, t := range c.terms {
		sum += probability[t]
	}
	return sum / float64(len(c.terms)) * (1 + 1/float64(1+c.position))
}

func (s *Summarizer) sentences(paragraphs []string) []sentence {
	var out []sentence
	for _, p := range paragraphs {
		for _, text := range splitter.Split(p, "") {
			n := utf8.RuneCountInString(text)
			if n < minSentence || n > maxSentence {
				continue
			}
			if terms := s.analyzer.Terms(text, ""); len(terms) > 0 {
				out = append(out, sentence{text: text, terms: terms, position: len(out)})
			}
		}
	}
	return out
}

// paragraphs returns the paragraphs of a Markdown text, without headings, code,
// tables, lists and markup.
func paragraphs(text string) []string {
	if len(text) > maxExtractBytes {
		text = strings.ToValidUTF8(text[:maxExtractBytes], "")
	}
	var paragraphs []string
	var current []string
	inFence, links := false, linkPattern()
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
			inFence = !inFence
			flush()
		case inFence:
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

// plainText removes links, emphasis and code marks.
func plainText(links *regexp.Regexp, s string) string {
	s = links.ReplaceAllString(s, "$1")
	return strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
}

func linkPattern() *regexp.Regexp { return regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`) }
