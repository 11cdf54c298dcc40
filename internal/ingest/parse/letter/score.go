package letter

import (
	"slices"
	"unicode"
)

// Reader compares readings of the same bytes. It is for one goroutine.
type Reader struct {
	alphabets [alphabetCount]alphabet
	languages [alphabetCount]int // how many each alphabet has
	sums      [alphabetCount][maxLanguages]int
	words     [alphabetCount + 1]int // those of East Asia last
	// common holds the rank of a character from 0 on in each of the languages with thousands of them.
	common [4]map[rune]int
}

// The languages of Reader.common.
const (
	simplified = iota
	traditional
	japanese
	korean
)

// NewReader makes a reader, which takes some tenth of a millisecond.
func NewReader() *Reader {
	r := &Reader{alphabets: alphabets()}
	for i := range r.alphabets {
		r.languages[i] = len(r.alphabets[i].codes())
	}
	for i, characters := range []string{commonSimplified, commonTraditional, commonJapanese, commonKorean} {
		r.common[i] = make(map[rune]int, 1200)
		rank := 0
		for _, character := range characters {
			r.common[i][character] = rank
			rank++
		}
	}
	return r
}

// Costs of what is no letter of an alphabet, in the unit of the tables.
const (
	costInvalid    = 30 * unit // a character that decoders put where there was none
	costControl    = 25 * unit // and code points without meaning
	costUnknown    = 15 * unit
	costMixed      = 10 * unit // a letter beside one of another script
	costSymbol     = 9 * unit
	costHalfWidth  = 8 * unit
	costInside     = 7 * unit // a sign within a word
	costCommon     = 5 * unit // the signs that texts have: quotation marks, dashes
	costCapital    = 4 * unit // a capital after a small letter
	costForeign    = 4 * unit // a word in another script than the rest of the text
	costIdeography = 3 * unit // punctuation of East Asia
	costBorder     = 4 * unit // a Latin letter and an East Asian character side by side
	costTouching   = 3 * unit // a sign that touches a word and is none that does
)

// kinds of characters, for what stands beside what
type kind uint8

const (
	blank kind = iota
	alphabetic
	ideographic
	wide    // full-width forms of ASCII
	joining // signs that stand within words: apostrophes, dashes, middle dots
	opening // signs that stand before a word, or after one too
	closing // signs that stand after a word
	sign
)

// Cost is the negative logarithm of the probability of a text, in the language it is most likely in: the smaller, the more
// likely is it text. Readings of the same bytes can be compared. ASCII that is no letter costs nothing.
func (r *Reader) Cost(text string) float64 {
	r.sums = [alphabetCount][maxLanguages]int{}
	r.words = [alphabetCount + 1]int{}
	var characters [4]int
	cost := 0
	current, last := -1, 0 // the alphabet and the number of the letter before
	small := false
	var beyond, before kind // of the last two characters
	for _, c := range text {
		lower := c
		if c >= 0x80 || 'A' <= c && c <= 'Z' {
			lower = unicode.ToLower(c)
		}
		if lower < 0x80 && (lower < 'a' || lower > 'z') {
			r.end(current, last)
			current, last, small, beyond, before = -1, 0, false, blank, blank
			continue
		}
		next := alphabetOf(lower)
		now := alphabetic
		if next < 0 {
			now = kindOf(c)
		}
		cost += beside(beyond, before, now, current != next && current >= 0 && next >= 0)
		if now == ideographic && before != ideographic {
			r.words[alphabetCount]++
		}
		beyond, before = before, now
		if next != current {
			r.end(current, last)
			current, last = next, 0
			if next >= 0 {
				r.words[next]++
			}
		}
		if lower != c && small {
			cost += costCapital
		}
		small = lower == c && next >= 0
		if next < 0 {
			cost += r.other(c, &characters)
			continue
		}
		number := r.alphabets[next].number(lower)
		if number == 0 {
			cost += costUnknown
		} else {
			r.alphabets[next].add(r.sums[next][:r.languages[next]], last, number)
		}
		last = number
	}
	r.end(current, last)
	return float64(cost+r.least()+r.foreign()+slices.Min(characters[:])) / unit
}

// beside is the cost of a character of one kind after another. Of a sign, beyond is the kind of what stands before it.
func beside(beyond, before, now kind, scripts bool) int {
	switch {
	case scripts, before == wide && now == alphabetic, before == alphabetic && now == wide:
		return costMixed
	case before == ideographic && now == alphabetic, before == alphabetic && now == ideographic:
		return costBorder
	case before > joining && now == alphabetic && beyond == alphabetic:
		return costInside
	case before == sign && now == alphabetic, before == closing && now == alphabetic, before == alphabetic && now == sign:
		return costTouching
	}
	return 0
}

// end adds the end of a word.
func (r *Reader) end(alphabet, last int) {
	if alphabet >= 0 && last > 0 {
		r.alphabets[alphabet].add(r.sums[alphabet][:r.languages[alphabet]], last, 0)
	}
}

// least is the cost of the letters, of each script in the language that fits best.
func (r *Reader) least() int {
	sum := 0
	for i := range r.sums {
		sum += slices.Min(r.sums[i][:r.languages[i]])
	}
	return sum
}

// foreign is the cost of words in other scripts than most. Two are enough to be against chance, more may be on purpose.
func (r *Reader) foreign() int {
	words := 0
	for _, count := range r.words {
		words += count
	}
	return min(words-slices.Max(r.words[:]), 2) * costForeign
}
