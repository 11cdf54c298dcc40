package letter

import (
	_ "embed"
	"strings"
)

//go:embed letters.bin
var table string

// unit is the cost of a factor e in probability: costs are 16 times the negative logarithm of a probability.
const unit = 16

// maxLanguages is the most languages one alphabet has.
const maxLanguages = 36

// alphabet is the statistics of the letters of one script. Letters have numbers from 1 on; 0 is what stands around words.
type alphabet struct {
	low, high rune
	languages string
	letters   int
	// index holds the number of the letter of each code point from low to high, and for the Latin script those of
	// U+1E00 to U+1EFF after them.
	index string
	// rows holds two bytes, little endian, for each pair of letters: the number of its row in costs from 1 on, or 0.
	rows string
	// costs holds a byte for each row and language, singles one for each letter and language.
	costs, singles string
}

// extended is where the Latin letters with several marks stand.
const (
	extendedLow  = 0x1E00
	extendedHigh = 0x1EFF
)

// number returns the number of a letter in lower case, 0 for a letter that none of the languages has.
func (a *alphabet) number(r rune) int {
	switch {
	case a.low <= r && r <= a.high:
		return int(a.index[r-a.low])
	case a.low == 'a' && extendedLow <= r && r <= extendedHigh:
		return int(a.index[a.high-a.low+1+r-extendedLow])
	}
	return 0
}

// add adds the cost of a letter after another, 0 for the border of a word, to the sum of each language.
func (a *alphabet) add(sums []int, first, second int) {
	languages := len(sums)
	at := 2 * (first*(a.letters+1) + second)
	if row := int(a.rows[at]) | int(a.rows[at+1])<<8; row > 0 {
		for i, cost := range []byte(a.costs[(row-1)*languages : row*languages]) {
			sums[i] += int(cost)
		}
		return
	}
	// A pair that is rare everywhere costs what its second letter costs, and e² more.
	for i, cost := range []byte(a.singles[second*languages : (second+1)*languages]) {
		sums[i] += int(cost) + 2*unit
	}
}

// codes returns the languages of an alphabet.
func (a *alphabet) codes() []string { return strings.Fields(a.languages) }
