package letter

import (
	"slices"
	"unicode"
)

// A Scorer compares decodings of the same bytes by how likely they are text. It is for one goroutine.
type Scorer struct {
	alphabets  [alphabetCount]alphabet
	languages  [alphabetCount]int // number of languages of each alphabet
	sums       [alphabetCount][maxLanguages]int
	wordCounts [alphabetCount + 1]int // by alphabet, with East Asian words last
	// ranks holds the rank of each frequent character, from 0 on, in the languages that use thousands of characters.
	ranks [4]map[rune]int
}

// The languages of Scorer.ranks.
const (
	simplified = iota
	traditional
	japanese
	korean
)

// NewScorer returns a Scorer. This takes about a tenth of a millisecond.
func NewScorer() *Scorer {
	r := &Scorer{alphabets: alphabets()}
	for i := range r.alphabets {
		r.languages[i] = len(r.alphabets[i].codes())
	}
	for i, characters := range []string{commonSimplified, commonTraditional, commonJapanese, commonKorean} {
		r.ranks[i] = make(map[rune]int, 1200)
		rank := 0
		for _, character := range characters {
			r.ranks[i][character] = rank
			rank++
		}
	}
	return r
}

// Costs of characters that are no letters of an alphabet, in the unit of the tables.
const (
	costInvalid        = 30 * unit // a replacement character
	costControl        = 25 * unit // including unassigned code points
	costUnknown        = 15 * unit
	costMixed          = 10 * unit // a letter beside one of another script
	costSymbol         = 9 * unit
	costHalfWidth      = 8 * unit
	costInWord         = 7 * unit // a symbol within a word
	costCommon         = 5 * unit // a common symbol, such as a quotation mark or a dash
	costCapital        = 4 * unit // a capital after a small letter
	costForeign        = 4 * unit // a word in another script than most of the text
	costIdeography     = 3 * unit // East Asian punctuation
	costBorder         = 4 * unit // a Latin letter beside an East Asian character
	costTouchingSymbol = 3 * unit // a symbol that touches a word but usually does not
)

// kind is the class of a character, which decides what it may stand beside.
type kind uint8

const (
	blank kind = iota
	alphabetic
	ideographic
	wide    // full-width forms of ASCII
	joining // symbols within words: apostrophes, dashes, middle dots
	opening // symbols before a word, and some that may follow it too
	closing // symbols after a word
	symbol
)

// Cost returns the negative logarithm of the probability of a text, in nats, in its most likely language. Of several
// decodings of the same bytes, the one with the lowest cost is most likely the right one. ASCII characters that are no
// letters cost nothing.
func (r *Scorer) Cost(text string) float64 {
	r.sums = [alphabetCount][maxLanguages]int{}
	r.wordCounts = [alphabetCount + 1]int{}
	var ideographs [4]int
	cost := 0
	alphabet, last := -1, 0 // those of the previous letter
	afterLower := false
	var beforePrevious, previous kind // of the last two characters
	for _, c := range text {
		lower := c
		if c >= 0x80 || 'A' <= c && c <= 'Z' {
			lower = unicode.ToLower(c)
		}
		if lower < 0x80 && (lower < 'a' || lower > 'z') {
			r.endWord(alphabet, last)
			alphabet, last, afterLower, beforePrevious, previous = -1, 0, false, blank, blank
			continue
		}
		next := alphabetOf(lower)
		this := alphabetic
		if next < 0 {
			this = symbolKind(c)
		}
		cost += neighbourCost(beforePrevious, previous, this, alphabet != next && alphabet >= 0 && next >= 0)
		if this == ideographic && previous != ideographic {
			r.wordCounts[alphabetCount]++
		}
		beforePrevious, previous = previous, this
		if next != alphabet {
			r.endWord(alphabet, last)
			alphabet, last = next, 0
			if next >= 0 {
				r.wordCounts[next]++
			}
		}
		if lower != c && afterLower {
			cost += costCapital
		}
		afterLower = lower == c && next >= 0
		if next < 0 {
			cost += r.symbolCost(c, &ideographs)
			continue
		}
		number := r.alphabets[next].letterNumber(lower)
		if number == 0 {
			cost += costUnknown
		} else {
			r.alphabets[next].addPair(r.sums[next][:r.languages[next]], last, number)
		}
		last = number
	}
	r.endWord(alphabet, last)
	return float64(cost+r.letterCost()+r.foreignCost()+slices.Min(ideographs[:])) / unit
}

// neighbourCost returns the cost of a character of one kind after one of another.
func neighbourCost(beforePrevious, previous, this kind, isMixed bool) int {
	switch {
	case isMixed, previous == wide && this == alphabetic, previous == alphabetic && this == wide:
		return costMixed
	case previous == ideographic && this == alphabetic, previous == alphabetic && this == ideographic:
		return costBorder
	case previous > joining && this == alphabetic && beforePrevious == alphabetic:
		return costInWord
	case previous == symbol && this == alphabetic, previous == closing && this == alphabetic, previous == alphabetic && this == symbol:
		return costTouchingSymbol
	}
	return 0
}

// endWord adds the cost of the end of a word.
func (r *Scorer) endWord(alphabet, last int) {
	if alphabet >= 0 && last > 0 {
		r.alphabets[alphabet].addPair(r.sums[alphabet][:r.languages[alphabet]], last, 0)
	}
}

// letterCost returns the cost of the letters: for each script that of the language that fits best.
func (r *Scorer) letterCost() int {
	sum := 0
	for i := range r.sums {
		sum += slices.Min(r.sums[i][:r.languages[i]])
	}
	return sum
}

// foreignCost returns the cost of words in other scripts than most. It counts two words at most, since more may be
// intended.
func (r *Scorer) foreignCost() int {
	words := 0
	for _, count := range r.wordCounts {
		words += count
	}
	return min(words-slices.Max(r.wordCounts[:]), 2) * costForeign
}
