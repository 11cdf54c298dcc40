package letter

import (
	_ "embed"
	"strings"
)

//go:embed letters.bin
var table string

// unit is the number of steps in a cost of 1 nat.
const unit = 16

// maxLanguages is the most languages of an alphabet.
const maxLanguages = 36

// alphabet holds the letter statistics of a script. Letters are numbered from 1; 0 stands for the border of a word.
type alphabet struct {
	low, high rune
	languages string
	letters   int
	// index holds the number of the letter at each code point from low to high. For the Latin script, those of U+1E00
	// to U+1EFF follow.
	index string
	// rows holds two bytes, little endian, for each pair of letters: the number of its row in costs, from 1, or 0.
	rows string
	// costs holds a byte for each row and language, singles a byte for each letter and language.
	costs, singles string
}

// The range of Latin letters with several diacritics.
const (
	extendedLow  = 0x1E00
	extendedHigh = 0x1EFF
)

// letterNumber returns the number of a lower-case letter, or 0 if no language has it.
func (a *alphabet) letterNumber(r rune) int {
	switch {
	case a.low <= r && r <= a.high:
		return int(a.index[r-a.low])
	case a.low == 'a' && extendedLow <= r && r <= extendedHigh:
		return int(a.index[a.high-a.low+1+r-extendedLow])
	}
	return 0
}

// addPair adds the cost of the second letter after the first to the sum of each language.
func (a *alphabet) addPair(sums []int, first, second int) {
	languages := len(sums)
	at := 2 * (first*(a.letters+1) + second)
	if row := int(a.rows[at]) | int(a.rows[at+1])<<8; row > 0 {
		for i, cost := range []byte(a.costs[(row-1)*languages : row*languages]) {
			sums[i] += int(cost)
		}
		return
	}
	// A pair that is rare in all languages costs 2 nats more than its second letter.
	for i, cost := range []byte(a.singles[second*languages : (second+1)*languages]) {
		sums[i] += int(cost) + 2*unit
	}
}

// codes returns the codes of the languages.
func (a *alphabet) codes() []string { return strings.Fields(a.languages) }
