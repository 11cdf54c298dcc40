package analysis

import (
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis/segment"
)

// class says what part a rune plays in a word.
type class uint8

const (
	classOther  class = iota
	classWord         // letters and digits of scripts that part words by space
	classPair         // characters of scripts that do not: indexed in words of a dictionary, runs or pairs
	classMark         // attaches to the rune before it
	classHidden       // invisible: no border between what stands on its two sides
	classJoin         // holds two words together as a compound
)

// script says which stemmers may apply to a word.
type script uint8

const (
	scriptOther script = iota // digits and scripts without a stemmer
	scriptLatin
	scriptCyrillic
)

// kind says what a piece is to the word it was found in.
type kind uint8

const (
	kindWord  kind = iota // a word, by itself or as a part of a compound; each has a position of its own
	kindWhole             // a compound, at the position of its first part
	kindCamel             // a part of a word in camel case, at the position of the word
	kindSign              // a word with its sign, C++, at the position of the word
	kindPair              // a word or two characters of a script written without spaces, or one character that stands alone
)

// piece is one stretch of text that becomes one term.
type piece struct {
	start, end, position int
	script               script
	kind                 kind
	exact                bool // not stemmed: the whole of a compound, words with digits, pairs
}

// scanner walks a text once and emits its pieces, wholes before their parts.
type scanner struct {
	text     string
	emit     func(piece)
	position int
	joins    joins // of the compound that is being split
}

// joins says what holds a compound together.
type joins uint8

const (
	joinOuter joins = 1 << iota
	joinInner
	joinApostrophe
)

func (s *scanner) run() { s.stretch(0, len(s.text)) }

// stretch emits the pieces of text[from:to], before and after which there is no word.
func (s *scanner) stretch(from, to int) {
	for i := from; i < to; {
		if b := s.text[i]; isLetter(b) {
			if end := s.plainWord(i); end > 0 {
				s.emit(piece{start: i, end: end, position: s.position, script: scriptLatin})
				s.position++
				i = end
				continue
			}
		} else if b < utf8.RuneSelf && !isDigit(b) {
			i++
			continue
		}
		r, size := decode(s.text, i)
		switch classify(r) {
		case classWord:
			i = s.compound(i)
		case classPair:
			i = s.pairs(i)
		default:
			i += size
		}
	}
}

// plainWord returns the end of the word at i, 0 where it may be other than lower-case ASCII with at most one leading
// capital and nothing that belongs to it after it.
func (s *scanner) plainWord(i int) int {
	end := i + 1
	for end < len(s.text) && s.text[end]-'a' < 26 {
		end++
	}
	if end == len(s.text) {
		return end
	}
	switch b := s.text[end]; {
	case b == ' ':
		return end
	case b >= utf8.RuneSelf || isAlphanumeric(b) || end == i+1 && (b == '+' || b == '#'):
		return 0
	case classify(rune(b)) == classJoin && end+1 < len(s.text):
		switch next := s.text[end+1]; {
		case next >= utf8.RuneSelf || isAlphanumeric(next) || next == '_' || next == '-' || next == '.' || next == ':':
			return 0
		}
	}
	return end
}

func isLetter(b byte) bool { return (b|0x20)-'a' < 26 }

func isDigit(b byte) bool { return b-'0' < 10 }

func isAlphanumeric(b byte) bool { return isLetter(b) || isDigit(b) }

func decode(text string, i int) (rune, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(text[i:])
}

// asciiClasses is the class of each ASCII character.
var asciiClasses = [utf8.RuneSelf]class{
	'0': classWord, '1': classWord, '2': classWord, '3': classWord, '4': classWord, '5': classWord, '6': classWord, '7': classWord,
	'8': classWord, '9': classWord,
	'A': classWord, 'B': classWord, 'C': classWord, 'D': classWord, 'E': classWord, 'F': classWord, 'G': classWord, 'H': classWord,
	'I': classWord, 'J': classWord, 'K': classWord, 'L': classWord, 'M': classWord, 'N': classWord, 'O': classWord, 'P': classWord,
	'Q': classWord, 'R': classWord, 'S': classWord, 'T': classWord, 'U': classWord, 'V': classWord, 'W': classWord, 'X': classWord,
	'Y': classWord, 'Z': classWord,
	'a': classWord, 'b': classWord, 'c': classWord, 'd': classWord, 'e': classWord, 'f': classWord, 'g': classWord, 'h': classWord,
	'i': classWord, 'j': classWord, 'k': classWord, 'l': classWord, 'm': classWord, 'n': classWord, 'o': classWord, 'p': classWord,
	'q': classWord, 'r': classWord, 's': classWord, 't': classWord, 'u': classWord, 'v': classWord, 'w': classWord, 'x': classWord,
	'y': classWord, 'z': classWord,
	'.': classJoin, '-': classJoin, '_': classJoin, '/': classJoin, ':': classJoin, '@': classJoin, '\'': classJoin,
}

func classify(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClasses[r]
	}
	if isCommonPair(r) {
		return classPair // without looking through tables
	}
	switch r {
	case utf8.RuneError:
		return classOther
	case 0x2018, 0x2019, 0x00B4, 0x02BC, 0xFF07, 0x2010, 0x2011: // what is typed for an apostrophe, hyphens
		return classJoin
	case 0x200C, 0x200D, 0xFF9E, 0xFF9F: // joiners, halfwidth voicing marks
		return classMark
	case 0x00AD, 0x061C, 0x200B, 0x200E, 0x200F, 0xFEFF: // soft hyphen, directions, spaces without width
		return classHidden
	case 0x30FC, 0x3005, 0x3007: // long vowel, iteration mark, zero: of no script or no letter by themselves
		return classPair
	}
	switch {
	case r < 0x0300:
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return classWord
		}
		return classOther
	case 0x0400 <= r && r <= 0x0481 || 0x048A <= r && r <= 0x052F: // Cyrillic letters, without looking through tables
		return classWord
	case 0x2012 <= r && r <= 0x2027: // dashes, quotes
		return classOther
	case 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x2064, 0x2066 <= r && r <= 0x206F: // directions, joiner, operators
		return classHidden
	case 0x1160 <= r && r <= 0x11FF: // trailing Hangul jamo belong to the syllable begun before them
		return classMark
	case unicode.Is(unicode.M, r):
		return classMark
	case isPaired(r):
		return classPair
	case unicode.IsLetter(r), unicode.IsNumber(r):
		return classWord
	}
	return classOther
}

// isCommonPair reports most Han, Hangul and kana.
func isCommonPair(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0xAC00 <= r && r <= 0xD7A3 || 0x30A1 <= r && r <= 0x30FA || 0x3041 <= r && r <= 0x3096
}

func isPaired(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF: // Thai, Lao
		return unicode.IsLetter(r)
	case r < 0x1000:
		return false
	case r <= 0x109F: // Burmese
		return unicode.IsLetter(r)
	case r <= 0x115F: // Georgian, leading Hangul jamo
		return r >= 0x1100
	case 0x1780 <= r && r <= 0x17FF: // Khmer
		return unicode.IsLetter(r)
	case r < 0x2E80:
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func isMark(r rune) bool {
	return r >= 0x00AD && classify(r) == classMark
}

// pairs emits the terms of a run of characters of scripts written without spaces and returns its end. The run starts at i. It
// is cut where the script changes, since Japanese words seldom go over such a place.
func (s *scanner) pairs(i int) int {
	for i < len(s.text) {
		r, _ := decode(s.text, i)
		if classify(r) != classPair {
			break
		}
		kind := runOf(r, runPairs)
		end := s.endOfRun(i, kind)
		switch kind {
		case runDictionary:
			segment.Words(s.text[i:end], func(from, to int) { s.emitPair(i+from, i+to) })
		case runKatakana:
			s.emitPair(i, s.seen(i, end))
		case runPairs, runHiragana:
			s.overlapping(i, end)
		}
		i = end
	}
	return i
}

// run is how a run of characters of scripts written without spaces becomes terms.
type run uint8

const (
	runPairs      run = iota // Han, Hangul: overlapping pairs of characters
	runHiragana              // overlapping pairs, of their own because they are mostly endings and particles
	runKatakana              // whole: loanwords
	runDictionary            // Thai, Lao, Khmer and Burmese: words of a dictionary
)

// runOf returns the kind of run that a character belongs to. The mark of a long vowel continues the run before it.
func runOf(r rune, before run) run {
	switch {
	case isSegmented(r):
		return runDictionary
	case r == longVowel && before != runPairs:
		return before
	case isKatakana(r):
		return runKatakana
	case 0x3041 <= r && r <= 0x309F:
		return runHiragana
	}
	return runPairs
}

// longVowel is the sign for a long vowel in kana.
const longVowel = 0x30FC

func isKatakana(r rune) bool {
	return 0x30A1 <= r && r <= 0x30FF && r != 0x30FB || 0x31F0 <= r && r <= 0x31FF || 0xFF66 <= r && r <= 0xFF9D
}

// isSegmented reports whether words of a letter's script are found by a dictionary.
func isSegmented(r rune) bool {
	return 0x0E00 <= r && r <= 0x0EFF || 0x1000 <= r && r <= 0x109F || 0x1780 <= r && r <= 0x17FF
}

// endOfRun returns the end of the run of a kind that starts at i. A space without width ends a run of words.
func (s *scanner) endOfRun(i int, kind run) int {
	for i < len(s.text) {
		r, size := decode(s.text, i)
		switch classify(r) {
		case classPair:
			if runOf(r, kind) != kind {
				return i
			}
		case classMark:
		case classHidden:
			if kind == runDictionary && r == zeroWidthSpace {
				return i
			}
		default:
			return i
		}
		i += size
	}
	return i
}

// zeroWidthSpace separates words in scripts written without spaces.
const zeroWidthSpace = 0x200B

// overlapping emits the overlapping pairs of characters of text[i:stop], or its only character.
func (s *scanner) overlapping(i, stop int) {
	before, last := -1, -1 // starts of the last two characters
	end := i               // of the last one
	count := 0
	for i < stop {
		r, size := decode(s.text, i)
		c := classify(r)
		if c == classPair {
			if count >= 2 {
				s.emitPair(before, end)
			}
			before, last = last, i
			count++
		}
		i += size
		if c != classHidden {
			end = i
		}
	}
	if count == 1 {
		s.emitPair(last, end)
	} else {
		s.emitPair(before, end)
	}
}

func (s *scanner) emitPair(start, end int) {
	s.emit(piece{start: start, end: end, position: s.position, kind: kindPair, exact: true})
	s.position++
}

// compound finds the end of the words held together from i on, emits them and returns the end.
func (s *scanner) compound(i int) int {
	start := i
	plain := true // lower-case ASCII, at most one leading capital
	held := joins(0)
	for i < len(s.text) {
		b := s.text[i]
		if 'a' <= b && b <= 'z' {
			i++
			continue
		}
		r, size := decode(s.text, i)
		c := classify(r)
		switch c {
		case classWord:
			if i > start || r >= utf8.RuneSelf || '0' <= r && r <= '9' {
				plain = false
			}
			i += size
			continue
		case classMark, classHidden:
			plain = false
			i += size
			continue
		case classJoin:
			if next := s.joined(r, i+size); next > 0 {
				held |= joinsOf(r)
				if next > i+size {
					held |= joinInner // underscores in a row
				}
				i = next
				continue
			}
		case classOther, classPair:
		}
		break
	}
	if plain && held == 0 {
		s.emit(piece{start: start, end: i, position: s.position, script: scriptLatin})
		end := s.symbolSuffix(start, i)
		s.position++
		return end
	}
	s.joins = held
	s.split(start, s.seen(start, i))
	return i
}

func joinsOf(r rune) joins {
	switch {
	case isOuterJoin(r):
		return joinOuter
	case isInnerJoin(r):
		return joinInner
	}
	return joinApostrophe
}

// seen moves end back to where something can be seen of text[start:end].
func (s *scanner) seen(start, end int) int {
	for end > start && s.text[end-1] >= utf8.RuneSelf {
		r, size := utf8.DecodeLastRuneInString(s.text[start:end])
		if classify(r) != classHidden {
			break
		}
		end -= size
	}
	return end
}

// joined returns where the word after the joiner r starts, the joiner ending at i, or 0 where none does. Underscores may
// come in a row, and so may the two colons of a qualified name.
func (s *scanner) joined(r rune, i int) int {
	for i < len(s.text) {
		next, size := decode(s.text, i)
		c := classify(next)
		if c == classWord {
			return i
		}
		switch {
		case c == classHidden:
		case next == '_', r == '_' && (next == '-' || next == '.'):
		case r == ':' && next == ':':
			r = 0
		default:
			return 0
		}
		i += size
	}
	return 0
}

// symbolSuffix emits the names of languages such as C++ and C#, whose sign is no letter, and returns the end.
func (s *scanner) symbolSuffix(start, end int) int {
	if end-start != 1 {
		return end
	}
	rest := s.text[end:]
	var stop int
	switch {
	case len(rest) >= 2 && rest[:2] == "++":
		stop = end + 2
	case len(rest) >= 1 && rest[0] == '#':
		stop = end + 1
	default:
		return end
	}
	if stop < len(s.text) {
		if r, _ := decode(s.text, stop); classify(r) == classWord || r == '+' || r == '#' {
			return end
		}
	}
	s.emit(piece{start: start, end: stop, position: s.position, kind: kindSign, exact: true})
	return stop
}
