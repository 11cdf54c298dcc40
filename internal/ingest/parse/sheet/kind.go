package sheet

import "strings"

// kind is what the text of a cell looks like.
type kind uint8

const (
	blank kind = iota
	word
	number
	moment // a date, a time, or both
	code   // a word with digits; only finerKind tells it
)

// maxNumber is the longest text that may be a number or a date.
const maxNumber = 40

// kindOf tells what a text looks like. Numbers may have a sign, parentheses, a currency or unit of a few letters before
// or behind them, separators and a percent sign.
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

// finerKind is kindOf that tells words with digits apart.
func finerKind(text string) kind {
	k := kindOf(text)
	if k == word && len(text) <= maxNumber && strings.ContainsAny(text, "0123456789") {
		return code
	}
	return k
}

// isFigure reports what can stand between the first and the last digit of a number.
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

// isUnit reports nothing, a sign of a currency, or an abbreviation of one in capitals.
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

// isMoment reports a date or a time as this package writes them, or a date of numbers parted by dots or slashes.
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

// period returns the number that a text is when it is a plain one, such as a year.
func period(text string) (value int, plain bool) {
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
	value, plain := period(text)
	return plain && 1900 <= value && value <= 2100
}
