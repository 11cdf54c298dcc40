package spelling

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// maxLetters is the length of the longest pattern: a bit of a number for each letter.
const maxLetters = 64

// A Pattern finds the terms that a misspelled word may have been meant for. It is
// immutable and safe for concurrent use.
type Pattern struct {
	script            script
	errors            int
	shortest, longest int // in letters
	prefix            bool
	forms             []form
	letters           [utf8.RuneSelf]bool // of all forms
}

// form is one of the terms of the misspelled word, for the algorithm of Hyyrö.
type form struct {
	word  string
	first rune
	last  uint64                // bit of the last letter
	ascii [utf8.RuneSelf]uint64 // bit i: letter i of the form is this one
	other map[rune]uint64
}

// NewPattern returns the pattern of a misspelled word, which is stored under one of the
// terms where it is spelled right. With prefix it is the beginning of a word. ok is
// false for a word that is not corrected.
func NewPattern(word string, terms []string, prefix bool) (_ *Pattern, ok bool) {
	errors, ok := Errors(word)
	if !ok {
		return nil, false
	}
	p := &Pattern{script: scriptOf(word), errors: errors, prefix: prefix, shortest: maxLetters}
	for _, term := range terms {
		bare := Unmark(term)
		if scriptOf(bare) != p.script || slices.ContainsFunc(p.forms, func(f form) bool { return f.word == bare }) {
			continue
		}
		p.add(bare)
	}
	return p, len(p.forms) > 0
}

func (p *Pattern) add(word string) {
	n := utf8.RuneCountInString(word)
	if n > maxLetters {
		return
	}
	f := form{word: word, last: 1 << (n - 1)}
	f.first, _ = utf8.DecodeRuneInString(word)
	bit := uint64(1)
	for _, r := range word {
		if r < utf8.RuneSelf {
			f.ascii[r] |= bit
			p.letters[r] = true
		} else {
			if f.other == nil {
				f.other = make(map[rune]uint64)
			}
			f.other[r] |= bit
		}
		bit <<= 1
	}
	p.forms = append(p.forms, f)
	p.shortest, p.longest = min(p.shortest, n), max(p.longest, n)
}

// Firsts returns the first letters of the forms, in rising order.
func (p *Pattern) Firsts() []string {
	var out []string
	for _, f := range p.forms {
		if first := string(f.first); !slices.Contains(out, first) {
			out = append(out, first)
		}
	}
	slices.Sort(out)
	return out
}

// Starts returns the first three letters of the forms.
func (p *Pattern) Starts() []string {
	var out []string
	for _, f := range p.forms {
		start := f.word
		for i, n := 0, 0; i < len(start); n++ {
			if n == 3 {
				start = start[:i]
				break
			}
			_, size := utf8.DecodeRuneInString(start[i:])
			i += size
		}
		if !slices.Contains(out, start) {
			out = append(out, start)
		}
	}
	return out
}

// MarkedFirsts returns the letters with diacritics that a term may begin with.
func (p *Pattern) MarkedFirsts() []string {
	var out []string
	if p.script != latin {
		return nil
	}
	for _, r := range markedRanges() {
		from, _ := utf8.DecodeRuneInString(r.From)
		for to, _ := utf8.DecodeRuneInString(r.To); from < to; from++ {
			if base := unmark(from); base != from && unicode.IsLower(from) && slices.ContainsFunc(p.forms, func(f form) bool { return f.first == base }) {
				out = append(out, string(from))
			}
		}
	}
	return out
}

// Lengths returns the lengths in letters of the shortest and of the longest term that
// the pattern can find.
func (p *Pattern) Lengths() (shortest, longest int) {
	if p.prefix {
		return p.shortest - p.errors, maxLetters
	}
	return p.shortest - p.errors - p.ending(), p.longest + p.errors
}

// ending returns the length of the longest ending that a form may have.
func (p *Pattern) ending() int {
	if p.prefix || p.errors == 0 {
		return 0
	}
	return maxEnding
}

// A Range is the terms from From, and before To, in the order of their bytes.
type Range struct{ From, To string }

// markedRanges returns the ranges of terms that begin with a Latin letter with
// diacritics. Only documents in Vietnamese have them.
func markedRanges() []Range { return []Range{{"\u00C0", "\u0250"}, {"\u1E00", "\u1F00"}} }

// Ranges returns ranges, in rising order, that have all terms that the pattern can
// find. People seldom mistake the first letter of a word, so it is not corrected; its
// diacritics are.
func (p *Pattern) Ranges() []Range {
	var out []Range
	for _, first := range p.Firsts() {
		r, _ := utf8.DecodeRuneInString(first)
		out = append(out, Range{first, string(r + 1)})
	}
	if p.script == latin {
		out = append(out, markedRanges()...)
	}
	return out
}

// maxEnding is the number of letters of the longest ending that a form may have because
// an error keeps the stemmer from cutting it.
const maxEnding = 4

// Distance returns the number of errors between the word and a term without its
// diacritics: the least optimal string alignment distance to a form of the word; or one
// more than that to the beginning of a form, without an ending that has an error; or
// with a prefix pattern the distance of a beginning of the term. ok is false if there
// are more errors than are corrected, or if the first letters differ.
func (p *Pattern) Distance(term string) (distance int, ok bool) {
	ascii := true
	strange := 0 // letters that the forms do not have
	for i := range len(term) {
		if b := term[i]; b >= utf8.RuneSelf {
			ascii = false
			break
		} else if !p.letters[b] {
			strange++
		}
	}
	if ascii {
		if p.script != latin || len(term)+p.errors+p.ending() < p.shortest || !p.prefix && (strange > p.errors || len(term) > p.longest+p.errors) {
			return 0, false
		}
	}
	if scriptOf(term) != p.script {
		return 0, false
	}
	if !ascii {
		if n := utf8.RuneCountInString(term); n+p.errors+p.ending() < p.shortest || !p.prefix && n > p.longest+p.errors {
			return 0, false
		}
		if p.script == latin {
			term = Unmark(term)
		}
	}
	first, _ := utf8.DecodeRuneInString(term)
	best := p.errors + 1
	for i := range p.forms {
		if f := &p.forms[i]; f.first == first {
			best = min(best, f.distance(term, p.prefix))
		}
	}
	return best, best <= p.errors
}

// distance returns the optimal string alignment distance of the form and a term, or of
// the beginning of the term that is nearest. It computes a column of the table of
// distances with a few operations on words of bits (Hyyrö, A bit-vector algorithm for
// computing Levenshtein and Damerau edit distances, 2003).
func (f *form) distance(term string, prefix bool) int {
	score := utf8.RuneCountInString(f.word)
	positive, negative := ^uint64(0), uint64(0) // vertical differences of 1 and of -1
	var diagonal, before uint64
	best := score
	for _, r := range term {
		var equal uint64
		if r < utf8.RuneSelf {
			equal = f.ascii[r]
		} else {
			equal = f.other[r]
		}
		exchanged := (^diagonal & equal) << 1 & before
		diagonal = (equal&positive + positive ^ positive) | equal | negative | exchanged
		up, down := negative|^(diagonal|positive), diagonal&positive // horizontal differences
		if up&f.last != 0 {
			score++
		}
		if down&f.last != 0 {
			score--
		}
		up, down = up<<1|1, down<<1
		positive, negative = down|^(diagonal|up), up&diagonal
		before = equal
		best = min(best, score)
	}
	if prefix {
		return best
	}
	best = score
	bit := f.last
	for letters := utf8.RuneCountInString(f.word) - 1; bit > f.last>>maxEnding && letters >= minStem; letters-- {
		if positive&bit != 0 {
			score--
		} else if negative&bit != 0 {
			score++
		}
		bit >>= 1
		best = min(best, score+1)
	}
	return best
}

// minStem is the least number of letters of a form without its ending.
const minStem = 4
