package memory

import (
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/ent"
)

// Thresholds of duplicates. Words decide, because vectors do not distinguish
// "Ada leads the team" from "Bob leads the team". Vectors exclude texts that
// share words only.
const (
	minSimilarity      = 0.85 // cosine similarity of the vectors
	minSubsetOverlap   = 0.7  // shared part of all words, if one text has all words of the other
	minOverlap         = 0.85 // shared part of all words otherwise, and without vectors
	minOrderSimilarity = 0.75 // part of the longer text whose words come in the same order in both
)

// findDuplicate returns the memory that says the same as text, or nil. A shared
// memory is a duplicate only if it has exactly the same words.
func (s *Store) findDuplicate(rows []*ent.AgentMemory, text string, vec vector) *ent.AgentMemory {
	given := s.sentence(text)
	values := decodeVector(vec.bytes)
	var best *ent.AgentMemory
	bestOverlap := 0.0
	for _, row := range rows {
		similarity, compared := 0.0, false
		if vec.model != "" && row.EmbeddingModel == vec.model {
			similarity, compared = cosine(values, row.Embedding)
		}
		if compared && similarity < minSimilarity {
			continue
		}
		shared := given.overlap(s.sentence(row.Content), compared)
		if row.PersonID == nil && shared < 1 {
			continue
		}
		if shared > bestOverlap {
			best, bestOverlap = row, shared
		}
	}
	return best
}

// sentence is the words of a text.
type sentence struct {
	words []string
	set   map[string]bool
}

func (s *Store) sentence(text string) sentence {
	tokens := s.analyzer.Tokens(text, "")
	out := sentence{words: make([]string, len(tokens)), set: make(map[string]bool, len(tokens))}
	for i, token := range tokens {
		out.words[i] = token.Term
		out.set[token.Term] = true
	}
	return out
}

// overlap returns the part of all words that two texts share, or 0 if that is
// too little for a duplicate. If each text has a number that the other lacks,
// such as "port 80" and "port 443", they are different facts.
func (a sentence) overlap(b sentence, similar bool) float64 {
	onlyA, aNumber := a.missingFrom(b)
	onlyB, bNumber := b.missingFrom(a)
	both := len(a.set) - onlyA
	union := both + onlyA + onlyB
	if both == 0 || aNumber && bNumber {
		return 0
	}
	threshold := minOverlap
	if similar && (onlyA == 0 || onlyB == 0) {
		threshold = minSubsetOverlap
	}
	shared := float64(both) / float64(union)
	if shared < threshold || a.orderSimilarity(b) < minOrderSimilarity {
		return 0
	}
	return shared
}

// missingFrom counts the words of a that b lacks, and reports whether one of
// them has a digit.
func (a sentence) missingFrom(b sentence) (n int, number bool) {
	for term := range a.set {
		if !b.set[term] {
			n++
			number = number || strings.ContainsFunc(term, unicode.IsDigit)
		}
	}
	return n, number
}

// orderSimilarity returns the length of the longest common subsequence as a
// part of the longer text.
func (a sentence) orderSimilarity(b sentence) float64 {
	row := make([]int, len(b.words)+1)
	for _, term := range a.words {
		diagonal := 0
		for j, other := range b.words {
			above := row[j+1]
			if term == other {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return float64(row[len(b.words)]) / float64(max(len(a.words), len(b.words)))
}
