package sheet

import "strings"

// kind is what the text of a cell looks like.
type kind uint8

const (
	blank kind = iota
	word
	number
	moment // a date, a time, or both
	code   // a word with digits; only finerKind returns it
)

// maxNumber is the longest number or date, in bytes.
const maxNumber = 40

// kindOf returns the kind of a text. Numbers may have a sign, parentheses, a currency or short unit before or after
// them, separators and a percent sign.
func kindOf(text string) kind {
	switch {
	case text == "":
		return blank
	case len(text) > maxNumber:
		return word
	}
	digits, letters, first, last := 0, 0, -1, 0
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			if first < 0 {
				first = i
			}
			last = i
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= 0x80:
			letters++
		}
	}
	switch {
	case digits == 0:
		return word
	case isMoment(text):
		return moment
	case isFigure(text[first:last+1]) && isUnit(strings.Trim(text[:first], " +-(")) && isUnit(strings.Trim(text[last+1:], " )%")):
		if letters > 0 && digits < 2 {
			return word // Q1, V2, 5x
		}
		return number
	}
	return word
}

// finerKind is kindOf that distinguishes words with digits.
func finerKind(text string) kind {
	k := kindOf(text)
	if k == word && len(text) <= maxNumber && strings.ContainsAny(text, "0123456789") {
		return code
	}
	return k
}

// isFigure reports whether a text may be the part of a number from its first to its last digit.
func isFigure(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
		case c == '.' || c == ',' || c == '\'' || c == ' ':
			if i > 0 && (text[i-1] < '0' || text[i-1] > '9') {
				return false
			}
		case c == 'E' && i > 0: // a power of ten
		case c == '+' || c == '-':
			if i == 0 || text[i-1] != 'E' {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isUnit reports whether a text is empty, a currency sign, or an abbreviation in capitals.
func isUnit(text string) bool {
	text = strings.TrimRight(text, "-. ")
	switch text {
	case "", "$", "€", "£", "¥", "₹", "kr", "zł", "Fr", "Kč", "元", "円", "원":
		return true
	}
	if len(text) != 3 {
		return false
	}
	for i := range len(text) {
		if text[i] < 'A' || text[i] > 'Z' {
			return false
		}
	}
	return true
}

// isMoment reports whether a text is a date or time in the form of this package, or a date of numbers with dots or
// slashes.
func isMoment(text string) bool {
	date, clock, _ := strings.Cut(text, " ")
	if isClock(date) && clock == "" {
		return true
	}
	return isDate(date) && (clock == "" || isClock(clock))
}

func isDate(text string) bool {
	return matches(text, "####-##-##") || matches(text, "####-##") || matches(text, "##.##.####") || matches(text, "#.#.####") || matches(text, "##/##/####")
}

func isClock(text string) bool {
	return matches(text, "##:##") || matches(text, "##:##:##") || matches(text, "#:##:##") || matches(text, "#:##")
}

func matches(text, pattern string) bool {
	if len(text) != len(pattern) {
		return false
	}
	for i := range len(text) {
		if pattern[i] == '#' {
			if text[i] < '0' || text[i] > '9' {
				return false
			}
		} else if text[i] != pattern[i] {
			return false
		}
	}
	return true
}

// plainNumber returns the number of a text of up to four digits.
func plainNumber(text string) (value int, plain bool) {
	if text == "" || len(text) > 4 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		value = 10*value + int(text[i]-'0')
	}
	return value, true
}

func isYear(text string) bool {
	value, plain := plainNumber(text)
	return plain && 1900 <= value && value <= 2100
}
