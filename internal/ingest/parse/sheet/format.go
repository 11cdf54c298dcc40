package sheet

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// numberFormat is a compiled number format (ECMA-376 part 1, 18.8.30 and 18.8.31). The zero value shows numbers in
// their shortest form.
type numberFormat struct{ sections []section }

// A section is a part of a number format. Semicolons separate them.
type section struct {
	kind      sectionKind
	compare   string // of a condition: "<", ">=", …; "" for none
	bound     float64
	whole     []place // of number sections: the part before the decimal point, and the part from it on
	fraction  []place
	decimals  int
	thousands bool
	power     int // the value is multiplied by this power of ten
	exponent  int // the least number of digits of the exponent, 0 for none
	date      dateFormat
}

type sectionKind uint8

const (
	general sectionKind = iota
	figures
	dates
	literal
)

// A place is a literal or a placeholder of a digit: 0, # or ?.
type place struct {
	text  string
	digit byte
}

// maxFormat is the longest format code, in bytes.
const maxFormat = 1000

// compileFormat compiles a format code. An invalid one shows numbers in their shortest form.
func compileFormat(code string) *numberFormat {
	format := &numberFormat{}
	if code == "" || len(code) > maxFormat {
		return format
	}
	for len(format.sections) < 4 {
		tokens, rest, more := lexSection(code)
		format.sections = append(format.sections, compileSection(tokens))
		if !more {
			break
		}
		code = rest
	}
	return format
}

// isGeneral reports whether the format shows all numbers in their shortest form.
func (f *numberFormat) isGeneral() bool {
	return len(f.sections) == 0 || len(f.sections) == 1 && f.sections[0].kind == general && f.sections[0].compare == ""
}

// A token is a part of a format code: a literal (0), a placeholder of a digit, or a letter or sign with a meaning.
type token struct {
	what byte
	text string
}

const (
	tokenCondition = 'c'
	tokenGeneral   = 'G'
	tokenElapsed   = '['
	tokenClock     = 'a' // AM/PM
)

// lexSection splits the first section of a format code into tokens.
func lexSection(code string) (tokens []token, rest string, more bool) {
	for code != "" {
		size := 1
		switch c := code[0]; c {
		case ';':
			return tokens, code[1:], true
		case '"':
			end := strings.IndexByte(code[1:], '"')
			if end < 0 {
				end = len(code) - 1
			}
			tokens = append(tokens, token{0, code[1 : 1+end]})
			size = min(end+2, len(code))
		case '\\', '_', '*':
			_, width := utf8.DecodeRuneInString(code[1:])
			if size += width; c == '\\' {
				tokens = append(tokens, token{0, code[1:size]})
			}
		case '[':
			end := strings.IndexByte(code, ']')
			if end < 0 {
				end = len(code)
			}
			tokens = append(tokens, lexBracket(code[1:end])...)
			size = min(end+1, len(code))
		case '0', '#', '?', '.', ',', '%', '/', '@':
			tokens = append(tokens, token{c, code[:1]})
		default:
			var lexed token
			lexed, size = lexLetter(code)
			tokens = append(tokens, lexed)
		}
		code = code[size:]
	}
	return tokens, "", false
}

// lexBracket parses the content of brackets: a currency, a condition or a duration. Colors and languages are ignored.
func lexBracket(inside string) []token {
	switch lower := strings.ToLower(inside); {
	case strings.HasPrefix(inside, "$"):
		symbol, _, _ := strings.Cut(inside[1:], "-")
		return []token{{0, symbol}}
	case strings.HasPrefix(inside, "<"), strings.HasPrefix(inside, ">"), strings.HasPrefix(inside, "="):
		return []token{{tokenCondition, inside}}
	case lower != "" && strings.Trim(lower, lower[:1]) == "" && strings.Contains("hms", lower[:1]):
		return []token{{tokenElapsed, lower}}
	}
	return nil
}

// lexLetter parses a run of one letter, a word with a meaning, or any other character.
func lexLetter(code string) (token, int) {
	upper := strings.ToUpper(code[:min(len(code), 8)])
	for _, word := range []string{"GENERAL", "STANDARD"} {
		if strings.HasPrefix(upper, word) {
			return token{tokenGeneral, ""}, len(word)
		}
	}
	for _, word := range []string{"AM/PM", "A/P"} {
		if strings.HasPrefix(upper, word) {
			return token{tokenClock, ""}, len(word)
		}
	}
	if strings.HasPrefix(upper, "E+") || strings.HasPrefix(upper, "E-") {
		return token{'E', code[:2]}, 2
	}
	switch letter := code[0] | 0x20; letter {
	case 'y', 'm', 'd', 'h', 's', 'e', 'g', 'b':
		size := 1
		for size < len(code) && code[size]|0x20 == letter {
			size++
		}
		return token{letter, code[:size]}, size
	}
	_, size := utf8.DecodeRuneInString(code)
	return token{0, code[:size]}, size
}

func compileSection(tokens []token) section {
	var s section
	kept := tokens[:0]
	hasDigit, hasDate, hasEra := false, false, false
	for i, t := range tokens {
		switch t.what {
		case tokenCondition:
			s.compare = strings.TrimRight(t.text, "0123456789.+- Ee")
			s.bound, _ = strconv.ParseFloat(strings.TrimSpace(t.text[len(s.compare):]), 64)
			continue
		case tokenGeneral:
			return s
		case '0':
			// After a point it may be a fraction of a second.
			hasDigit = hasDigit || i == 0 || tokens[i-1].what != '.' && tokens[i-1].what != '0'
		case '#', '?':
			hasDigit = true
		case 'y', 'm', 'd', 'h', 's', tokenElapsed:
			hasDate = true
		case 'e':
			hasEra = true
		}
		kept = append(kept, t)
	}
	switch {
	case hasDate && !hasDigit, hasEra && !hasDigit:
		s.kind = dates
		s.date = compileDate(kept)
	case hasDigit, hasPlace(kept):
		s.compileFigures(kept)
	default:
		s.kind = literal
		for _, t := range kept {
			switch t.what {
			case '@':
				s.kind = general
			default:
				s.whole = append(s.whole, place{text: t.text})
			}
		}
	}
	return s
}

// hasPlace reports whether there is a placeholder of a digit, as in ".00".
func hasPlace(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.what == '0' })
}

// compileFigures compiles a section with placeholders of digits.
func (s *section) compileFigures(tokens []token) {
	s.kind = figures
	lastDigit := 0
	for i, t := range tokens {
		if t.what == '0' || t.what == '#' || t.what == '?' {
			lastDigit = i
		}
	}
	places := &s.whole
	hasDigit, afterPoint, afterExponent := false, false, false
	for i, t := range tokens {
		switch t.what {
		case '0', '#', '?':
			hasDigit = true
			if afterExponent {
				s.exponent++
				continue
			}
			*places = append(*places, place{digit: t.what})
			if afterPoint {
				s.decimals++
			}
		case '.':
			if afterPoint || afterExponent {
				continue
			}
			afterPoint = true
			places = &s.fraction
		case ',':
			switch {
			case i > lastDigit, endsWhole(tokens[i:]):
				s.power -= 3
			case hasDigit && !afterPoint:
				s.thousands = true
			}
		case '%':
			s.power += 2
			*places = append(*places, place{text: "%"})
		case 'E':
			afterExponent = true
			places = &s.fraction
			*places = append(*places, place{digit: 'E'})
		case '/':
			if hasDigit && i < lastDigit { // a fraction
				*s = section{compare: s.compare, bound: s.bound}
				return
			}
			*places = append(*places, place{text: "/"})
		default:
			*places = append(*places, place{text: t.text})
		}
	}
	if afterExponent && s.exponent == 0 {
		s.exponent = 1
	}
}

// endsWhole reports whether the tokens are commas before the decimal point. Each divides by a thousand.
func endsWhole(tokens []token) bool {
	for _, t := range tokens {
		if t.what != ',' {
			return t.what == '.'
		}
	}
	return false
}

// choose returns the section that shows a value. The value is shown without its sign if the section is only for
// negative values.
func (f *numberFormat) choose(value float64) (chosen *section, isUnsigned bool) {
	n := len(f.sections)
	if n == 0 {
		return nil, false
	}
	if n > 3 {
		n = 3
	}
	if f.sections[0].compare != "" || n > 1 && f.sections[1].compare != "" {
		for i := range n {
			s := &f.sections[i]
			if i == n-1 && s.compare == "" || s.matches(value, i) {
				return s, strings.HasPrefix(s.compare, "<") && s.bound <= 0
			}
		}
		return nil, false
	}
	switch {
	case value < 0 && n > 1:
		return &f.sections[1], true
	case value == 0 && n > 2:
		return &f.sections[2], false
	}
	return &f.sections[0], false
}

func (s *section) matches(value float64, i int) bool {
	switch s.compare {
	case "<":
		return value < s.bound
	case "<=":
		return value <= s.bound
	case ">":
		return value > s.bound
	case ">=":
		return value >= s.bound
	case "=":
		return value == s.bound
	case "<>":
		return value != s.bound
	}
	return i == 0 && value > 0 || i == 1 && value < 0
}

// builtinFormat returns the code of a built-in format. Currencies, which depend on the user's settings, are left out.
func builtinFormat(id int) string {
	switch id {
	case 1:
		return "0"
	case 2:
		return "0.00"
	case 3, 5, 6, 37, 38, 41, 42:
		return "#,##0"
	case 4, 7, 8, 39, 40, 43, 44:
		return "#,##0.00"
	case 9:
		return "0%"
	case 10:
		return "0.00%"
	case 11:
		return "0.00E+00"
	case 12:
		return "# ?/?"
	case 13:
		return "# ??/??"
	case 14, 15, 16, 27, 28, 29, 30, 31, 34, 35, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58:
		return "yyyy-mm-dd"
	case 17:
		return "yyyy-mm"
	case 18, 20, 32:
		return "hh:mm"
	case 19, 21, 33:
		return "hh:mm:ss"
	case 22:
		return "yyyy-mm-dd hh:mm"
	case 45:
		return "mm:ss"
	case 46:
		return "[h]:mm:ss"
	case 47:
		return "mm:ss.0"
	case 48:
		return "##0.0E+0"
	case 49:
		return "@"
	}
	return "General"
}
