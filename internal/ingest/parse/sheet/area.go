package sheet

import "strings"

// area is a rectangle of cells including its borders. Rows and columns count from 0.
type area struct{ top, left, bottom, right int }

// parseArea parses a reference such as "B3" or "A1:C10".
func parseArea(ref string) (area, bool) {
	from, to, isRange := strings.Cut(strings.ReplaceAll(ref, "$", ""), ":")
	top, left, ok := parseCell(from)
	if !ok {
		return area{}, false
	}
	if !isRange {
		return area{top, left, top, left}, true
	}
	bottom, right, ok := parseCell(to)
	if !ok {
		return area{}, false
	}
	return area{min(top, bottom), min(left, right), max(top, bottom), max(left, right)}, true
}

// maxRefRow and maxRefColumn are the highest row and column of a reference.
const (
	maxRefRow    = 1 << 20
	maxRefColumn = 1 << 14
)

// parseCell parses a reference such as "AB12" as row and column from 0.
func parseCell[T string | []byte](ref T) (row, column int, ok bool) {
	i := 0
	for i < len(ref) && ref[i]|0x20 >= 'a' && ref[i]|0x20 <= 'z' {
		column = 26*column + int(ref[i]|0x20-'a') + 1
		if i++; column > maxRefColumn {
			return 0, 0, false
		}
	}
	letters := i
	for i < len(ref) && ref[i] >= '0' && ref[i] <= '9' {
		row = 10*row + int(ref[i]-'0')
		if i++; row > maxRefRow {
			return 0, 0, false
		}
	}
	if letters == 0 || i == letters || i < len(ref) || row == 0 {
		return 0, 0, false
	}
	return row - 1, column - 1, true
}

// columnLetters returns the name of a column: A to Z, AA and so on.
func columnLetters(column int) string {
	var letters [8]byte
	at := len(letters)
	for column++; column > 0; column = (column - 1) / 26 {
		at--
		letters[at] = byte('A' + (column-1)%26)
	}
	return string(letters[at:])
}
