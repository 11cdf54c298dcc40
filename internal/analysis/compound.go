package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWhole is the longest compound, in bytes, that is also kept whole: beyond it stand encoded data and long addresses
// that nobody types.
const maxWhole = 256

// split emits the compound text[start:end]: the whole, its segments between / : @, their parts between . - _ and
// apostrophes, and the words of camel case.
func (s *scanner) split(start, end int) {
	if s.joins&joinOuter == 0 {
		s.segment(start, end)
		return
	}
	if end-start <= maxWhole {
		s.emit(piece{start: start, end: end, position: s.position, kind: kindWhole, exact: true})
	}
	s.fields(start, end, isOuterJoin, s.segment)
}

// fields calls f for each stretch between runes for which border holds.
func (s *scanner) fields(start, end int, border func(rune) bool, f func(start, end int)) {
	from := start
	for i := start; i < end; {
		r, size := decode(s.text, i)
		switch {
		case border(r):
			if from < i {
				f(from, i)
			}
			from = i + size
		case r >= utf8.RuneSelf && from == i && classify(r) == classHidden:
			from = i + size
		}
		i += size
	}
	if from < end {
		f(from, end)
	}
}

func (s *scanner) hasAny(start, end int, border func(rune) bool) bool {
	return strings.IndexFunc(s.text[start:end], border) >= 0
}

func isOuterJoin(r rune) bool { return r == '/' || r == ':' || r == '@' }

func isInnerJoin(r rune) bool {
	return r == '.' || r == '-' || r == '_' || r == 0x2010 || r == 0x2011
}

func isApostrophe(r rune) bool {
	switch r {
	case '\'', 0x2019, 0x2018, 0x00B4, 0x02BC, 0xFF07:
		return true
	}
	return false
}

func (s *scanner) segment(start, end int) {
	if s.joins&joinInner == 0 {
		s.elided(start, end)
		return
	}
	if s.hasAny(start, end, isInnerJoin) && end-start <= maxWhole {
		s.emit(piece{start: start, end: end, position: s.position, kind: kindWhole, exact: true})
		if isVersion(s.text[start:end]) {
			s.emit(piece{start: start + 1, end: end, position: s.position, kind: kindWhole, exact: true})
			// The parts start one byte earlier: keep starts in order by leaving the v to the whole.
			start++
		}
	}
	s.fields(start, end, isInnerJoin, s.elided)
}

// isVersion reports whether a compound is v and a number, as in v1.2.3.
func isVersion(whole string) bool {
	return len(whole) > 2 && (whole[0] == 'v' || whole[0] == 'V') && '0' <= whole[1] && whole[1] <= '9'
}

// elided emits a word that may have an apostrophe: l'eau is eau, the user's is user, o'neil is o and neil.
func (s *scanner) elided(start, end int) {
	if s.joins&joinApostrophe == 0 || !s.hasAny(start, end, isApostrophe) {
		s.word(start, end)
		return
	}
	first := true
	s.fields(start, end, isApostrophe, func(from, to int) {
		part := s.text[from:to]
		switch {
		case first && to < end && isElision(part):
		case !first && isContraction(part):
		default:
			s.word(from, to)
		}
		first = false
	})
}

func isElision(part string) bool {
	switch strings.ToLower(part) {
	case "l", "d", "j", "n", "s", "c", "t", "m", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "dell", "all", "nell", "sull", "dall", "un":
		return true
	}
	return false
}

func isContraction(part string) bool {
	switch strings.ToLower(part) {
	case "s", "t", "re", "ve", "ll", "d", "m":
		return true
	}
	return false
}

// word emits one word without joiners, and its camel-case parts where it has some.
func (s *scanner) word(start, end int) {
	written, digits, ascii := s.describe(start, end)
	s.emit(piece{start: start, end: end, position: s.position, script: written, exact: digits})
	if ascii && end-start <= maxWhole {
		s.camel(start, end, written)
	}
	s.position++
}

// describe returns the script of a word, whether it has digits, and whether it is ASCII.
func (s *scanner) describe(start, end int) (written script, digits, ascii bool) {
	ascii = true
	for i := start; i < end; {
		r, size := decode(s.text, i)
		i += size
		switch {
		case r < utf8.RuneSelf:
			if '0' <= r && r <= '9' {
				digits = true
			} else if written == scriptOther {
				written = scriptLatin
			}
			continue
		case unicode.IsNumber(r):
			digits = true
		case written != scriptOther:
		case r < 0x0250, unicode.Is(unicode.Latin, r):
			written = scriptLatin
		case unicode.Is(unicode.Cyrillic, r):
			written = scriptCyrillic
		}
		ascii = false
	}
	return written, digits, ascii
}

// camel emits the parts of an ASCII camel-case word: rangeFeed, HTTPServer. Parts of one letter are left to the whole.
// They share its position, so that what stands after GitHub follows it like what stands after Github.
func (s *scanner) camel(start, end int, written script) {
	text := s.text[start:end]
	if isPluralAcronym(text) {
		return
	}
	from := 0
	for i := 1; i <= len(text); i++ {
		if i < len(text) && !isCamelBorder(text, i) {
			continue
		}
		if from == 0 && i == len(text) {
			return
		}
		if i-from > 1 {
			part := text[from:i]
			s.emit(piece{
				start: start + from, end: start + i, position: s.position, script: written, kind: kindCamel,
				exact: strings.ContainsAny(part, "0123456789"),
			})
		}
		from = i
	}
}

func isCamelBorder(text string, i int) bool {
	if !isUpper(text[i]) {
		return false
	}
	if !isUpper(text[i-1]) {
		return true
	}
	return i+1 < len(text) && 'a' <= text[i+1] && text[i+1] <= 'z'
}

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

// isPluralAcronym reports words such as URLs and IDs.
func isPluralAcronym(text string) bool {
	last := len(text) - 1
	if last < 1 || text[last] != 's' {
		return false
	}
	for i := range last {
		if !isUpper(text[i]) {
			return false
		}
	}
	return true
}
