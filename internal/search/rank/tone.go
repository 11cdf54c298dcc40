package rank

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// Terms of Vietnamese have diacritics, which are tones. People leave them out as they
// type. Each word of such a question stands for all words that differ only in
// diacritics, and the passages that match best say which ones are meant.

const (
	maxToneWords  = 16 // words of a question that may get tones
	maxTones      = 16 // terms that one of them may stand for
	tonePassages  = 3  // passages of a part whose texts are read
	minToneLength = 2  // words in a row that outweigh single words
)

// hasTones reports whether the collections have texts in Vietnamese, which has many words
// with this letter. Texts in other languages have no term with it.
func (r *respeller) hasTones(ctx context.Context) (bool, error) {
	for _, p := range r.parts {
		terms, err := p.Source.Complete(ctx, "đ", 1)
		if err != nil || len(terms) > 0 {
			return len(terms) > 0, err
		}
	}
	return false, nil
}

// isToneless reports whether the question has no tones although the words of the
// collections do: a word of it, maybe a stop word of another language, is in no passage,
// but words are that differ only in diacritics.
func (r *respeller) isToneless(ctx context.Context) (bool, error) {
	missing := func(w analysis.QueryWord) bool {
		return !w.Quoted && !w.Exact && r.frequencies[w.Surface] == 0 && (w.Stop || r.sum(w.Terms) == 0)
	}
	if !slices.ContainsFunc(r.question.parsed, missing) || spelling.Unmark(r.question.text) != strings.ToLower(r.question.text) {
		return false, nil
	}
	if ok, err := r.hasTones(ctx); !ok {
		return false, err
	}
	for _, w := range r.question.parsed {
		if missing(w) {
			if terms, _, err := r.tonesOf(ctx, &w); len(terms) > 0 || err != nil {
				return len(terms) > 0, err
			}
		}
	}
	return false, nil
}

// restoreTones returns the edits and corrections that give the words of the question
// their tones.
func (r *respeller) restoreTones(ctx context.Context) ([]edit, []Correction, error) {
	var words []analysis.QueryWord
	for _, w := range r.question.parsed {
		if _, ok := spelling.Errors(w.Surface); ok && !w.Part && !w.Quoted && len(words) < maxToneWords {
			words = append(words, w)
		}
	}
	request := Request{TopLexical: tonePassages}
	passages, averageBody, err := r.size(ctx)
	if err != nil {
		return nil, nil, err
	}
	request.AverageBody = averageBody
	seen := make(map[string]bool)
	for i := range words {
		terms, frequency, err := r.tonesOf(ctx, &words[i])
		if err != nil {
			return nil, nil, err
		}
		terms = slices.DeleteFunc(terms, func(t string) bool { return seen[t] })
		for _, t := range terms {
			seen[t] = true
		}
		if len(terms) > 0 {
			request.Words = append(request.Words, Word{Terms: terms, Weight: idf(passages, frequency)})
		}
	}
	var best []*guess
	for part, p := range r.parts {
		candidates, err := p.Source.Candidates(ctx, &request)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range candidates {
			best = append(best, &guess{passages: []found{{part: part, passage: c}}})
		}
	}
	slices.SortFunc(best, func(a, b *guess) int { return descending(a.passages[0].passage.Lexical, b.passages[0].passage.Lexical) })
	texts := make(map[uuid.UUID]Text)
	if err := r.readTexts(ctx, best, texts); err != nil {
		return nil, nil, err
	}
	meant := make([]string, len(words))
	for _, g := range best {
		t := texts[g.passages[0].passage.Passage]
		r.align(words, r.Analyzer.Tokens(t.Text, t.Language), t.Text, meant)
	}
	edits, corrections := r.toneEdits(words, meant)
	return edits, corrections, nil
}

// tonesOf returns the terms of passages that a word may stand for: those that differ only
// in diacritics, and its own.
func (r *respeller) tonesOf(ctx context.Context, w *analysis.QueryWord) (terms []string, frequency int, err error) {
	for _, t := range w.Terms {
		if n := r.frequencies[t]; n > 0 {
			terms, frequency = append(terms, t), frequency+n
		}
	}
	pattern, ok := spelling.NewPattern(w.Surface, []string{w.Surface}, false)
	if !ok {
		return terms, frequency, nil
	}
	for _, p := range r.parts {
		similar, err := p.Source.Similar(ctx, pattern, maxTones)
		if err != nil {
			return nil, 0, err
		}
		for _, t := range similar {
			if t.Distance == 0 && !slices.Contains(terms, t.Term) {
				terms, frequency = append(terms, t.Term), frequency+t.Frequency
			}
		}
	}
	return terms, frequency, nil
}

// align finds the longest runs of the words in the tokens of a text, and sets the words
// of the runs that are meant. Later texts do not change words that earlier ones set.
func (r *respeller) align(words []analysis.QueryWord, tokens []analysis.Token, text string, meant []string) {
	bare := make([]string, len(tokens))
	for i, t := range tokens {
		bare[i] = spelling.Unmark(text[t.Start:t.End])
	}
	for i := 0; i < len(words); {
		length, at := 0, 0
		for j := range tokens {
			n := 0
			for i+n < len(words) && j+n < len(tokens) && bare[j+n] == spelling.Unmark(words[i+n].Surface) {
				n++
			}
			if n > length {
				length, at = n, j
			}
		}
		for n := range length {
			if t := tokens[at+n]; meant[i+n] == "" || length >= minToneLength && meant[i+n] == words[i+n].Surface {
				meant[i+n] = strings.ToLower(text[t.Start:t.End])
			}
		}
		i += max(length, 1)
	}
}

// toneEdits returns the edits that replace words by those that are meant. Words in a row
// are one correction.
func (r *respeller) toneEdits(words []analysis.QueryWord, meant []string) ([]edit, []Correction) {
	var edits []edit
	last := -1
	for i, w := range words {
		typed := r.question.text[w.Start:w.End]
		if meant[i] == "" || strings.EqualFold(meant[i], typed) {
			continue
		}
		to := inCaseOf(meant[i], typed)
		if n := len(edits); n > 0 && last == i-1 && strings.TrimSpace(r.question.text[edits[n-1].end:w.Start]) == "" {
			edits[n-1].text += r.question.text[edits[n-1].end:w.Start] + to
			edits[n-1].end = w.End
		} else {
			edits = append(edits, edit{w.Start, w.End, to})
		}
		last = i
	}
	edits = edits[:min(len(edits), maxCorrections)]
	var corrections []Correction
	for _, e := range edits {
		c := Correction{From: r.question.text[e.start:e.end], To: e.text}
		if !slices.Contains(corrections, c) {
			corrections = append(corrections, c)
		}
	}
	return edits, corrections
}
