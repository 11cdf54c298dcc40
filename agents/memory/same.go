package memory

import (
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/ent"
)

// When two memories say the same thing. Words decide, as vectors do not tell
// "Ada leads the team" from "Bob leads the team"; vectors keep apart what only
// sounds alike.
const (
	sameMeaning = 0.85 // similarity of their vectors
	oneAdds     = 0.7  // part of all words that both have, where one text has all words of the other,
	bothDiffer  = 0.85 // and where each has some of its own, or there are no vectors
	sameOrder   = 0.75 // part of the longer one's words that come in the same order in both
)

// same is the memory that says what a text says; nil when there is none. One
// that is everybody's stands in only where it has the very same words.
func (s *Store) same(rows []*ent.AgentMemory, text string, made vector) *ent.AgentMemory {
	said := s.sentence(text)
	values := decode(made.bytes)
	var best *ent.AgentMemory
	most := 0.0
	for _, row := range rows {
		near, compared := 0.0, false
		if made.model != "" && row.EmbeddingModel == made.model {
			near, compared = cosine(values, row.Embedding)
		}
		if compared && near < sameMeaning {
			continue
		}
		shared := said.like(s.sentence(row.Content), compared)
		if row.PersonID == nil && shared < 1 {
			continue
		}
		if shared > most {
			best, most = row, shared
		}
	}
	return best
}

// sentence is the words of a text.
type sentence struct {
	order []string
	set   map[string]bool
}

func (s *Store) sentence(text string) sentence {
	tokens := s.analyzer.Tokens(text, "")
	out := sentence{order: make([]string, len(tokens)), set: make(map[string]bool, len(tokens))}
	for i, token := range tokens {
		out.order[i] = token.Term
		out.set[token.Term] = true
	}
	return out
}

// like is the part of all words that two texts share, where that is enough to
// say the same thing, else 0. Each having a number, or a name with digits, that
// the other has not makes two facts of them: "port 80" and "port 443".
func (a sentence) like(b sentence, sameMeaning bool) float64 {
	mine, aNumber := a.lacking(b)
	theirs, bNumber := b.lacking(a)
	both := len(a.set) - mine
	union := both + mine + theirs
	if both == 0 || aNumber && bNumber {
		return 0
	}
	least := bothDiffer
	if sameMeaning && (mine == 0 || theirs == 0) {
		least = oneAdds
	}
	shared := float64(both) / float64(union)
	if shared < least || a.inOrder(b) < sameOrder {
		return 0
	}
	return shared
}

// lacking counts the words of a that b has not, and tells whether one has a digit.
func (a sentence) lacking(b sentence) (n int, number bool) {
	for term := range a.set {
		if !b.set[term] {
			n++
			number = number || strings.ContainsFunc(term, unicode.IsDigit)
		}
	}
	return n, number
}

// inOrder is the length of the longest common subsequence, as a part of the
// longer text.
func (a sentence) inOrder(b sentence) float64 {
	row := make([]int, len(b.order)+1)
	for _, term := range a.order {
		diagonal := 0
		for j, other := range b.order {
			above := row[j+1]
			if term == other {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return float64(row[len(b.order)]) / float64(max(len(a.order), len(b.order)))
}
