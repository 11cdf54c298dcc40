package wordmodel

import (
	"strconv"
	"strings"
)

// NumberFormat is how a list writes its numbers. The values are those of MSONFC (MS-DOC 2.2.1.3), which RTF uses too.
type NumberFormat int

// The formats that Text knows. All others are written as decimal numbers.
const (
	OtherFormat NumberFormat = -1
	Decimal     NumberFormat = 0
	UpperRoman  NumberFormat = 1
	LowerRoman  NumberFormat = 2
	UpperLetter NumberFormat = 3
	LowerLetter NumberFormat = 4
	Ordinal     NumberFormat = 5
	DecimalZero NumberFormat = 22
	Bullet      NumberFormat = 23
	NoNumber    NumberFormat = 255
)

// Text returns a number in the format. It is "" for a bullet or no number.
func (f NumberFormat) Text(n int) string {
	switch f {
	case LowerLetter:
		return letters(n)
	case UpperLetter:
		return strings.ToUpper(letters(n))
	case LowerRoman:
		return Roman(n)
	case UpperRoman:
		return strings.ToUpper(Roman(n))
	case DecimalZero:
		if n >= 0 && n < 10 {
			return "0" + strconv.Itoa(n)
		}
	case Ordinal:
		return strconv.Itoa(n) + ordinalSuffix(n)
	case Bullet, NoNumber:
		return ""
	}
	return strconv.Itoa(n)
}

// letters returns the n-th of a, b, … z, aa, bb, as word processors count.
func letters(n int) string {
	const maxRepeats = 8
	if n < 1 || n > 26*maxRepeats {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('a'+(n-1)%26)), (n-1)/26+1)
}

// Roman returns a number as a lower-case Roman numeral, or as a decimal number if there is none.
func Roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for i, value := range [...]int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1} {
		for n >= value {
			b.WriteString([...]string{"m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"}[i])
			n -= value
		}
	}
	return b.String()
}

func ordinalSuffix(n int) string {
	if n%100 >= 11 && n%100 <= 13 {
		return "th"
	}
	switch n % 10 {
	case 1:
		return "st"
	case 2:
		return "nd"
	case 3:
		return "rd"
	}
	return "th"
}
