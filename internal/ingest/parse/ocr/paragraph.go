package ocr

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// minWordConfidence is the lowest confidence of a word, minConfidence the lowest mean confidence of a paragraph, in
	// percent. Clear print has 95.
	minWordConfidence = 30
	minConfidence     = 60
)

// A paragraph is a paragraph of recognized text, on one line.
type paragraph struct {
	page int // from 1
	text string
}

// A word is a row of the program's table.
type word struct {
	page, block, paragraph, line int
	confidence                   float64
	text                         string
}

// readTable returns the paragraphs in the table that tesseract prints (tessedit_create_tsv). It has a row for each word
// with its confidence and the numbers of its page, block, paragraph and line.
func readTable(output string) []paragraph {
	var found []paragraph
	var open []word
	flush := func() {
		if text := joinWords(open); text != "" {
			found = append(found, paragraph{page: open[0].page, text: text})
		}
		open = open[:0]
	}
	for row := range strings.Lines(output) {
		next, ok := readRow(strings.TrimRight(row, "\r\n"))
		if !ok {
			continue
		}
		if len(open) > 0 {
			if last := open[len(open)-1]; last.page != next.page || last.block != next.block || last.paragraph != next.paragraph {
				flush()
			}
		}
		open = append(open, next)
	}
	flush()
	return found
}

// readRow parses a row of the table. It is false for rows that are not words.
func readRow(row string) (word, bool) {
	const level, page, block, paragraph, line, confidence, text, columns = 0, 1, 2, 3, 4, 10, 11, 12
	fields := strings.SplitN(row, "\t", columns)
	if len(fields) < columns || fields[level] != "5" || strings.TrimSpace(fields[text]) == "" {
		return word{}, false
	}
	var numbers [4]int
	for i, column := range []int{page, block, paragraph, line} {
		number, err := strconv.Atoi(fields[column])
		if err != nil {
			return word{}, false
		}
		numbers[i] = number
	}
	parsed, err := strconv.ParseFloat(fields[confidence], 64)
	if err != nil {
		return word{}, false
	}
	return word{
		page: max(numbers[0], 1), block: numbers[1], paragraph: numbers[2], line: numbers[3], confidence: parsed,
		text: clean(fields[text]),
	}, true
}

// clean removes control and private characters, and replaces ligatures.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Co, r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl").Replace(text))
}

// joinWords returns the text of a paragraph, "" if its confidence is too low.
func joinWords(words []word) string {
	letters, confidence := 0, 0.0
	for _, w := range words {
		n := countLetters(w.text)
		letters += n
		confidence += w.confidence * float64(n)
	}
	if letters < 2 || confidence < minConfidence*float64(letters) {
		return ""
	}
	var b strings.Builder
	line := 0
	for _, w := range words {
		if w.confidence < minWordConfidence {
			continue
		}
		switch {
		case b.Len() == 0:
		case w.line != line && isHyphenated(b.String(), w.text):
			whole := strings.TrimSuffix(b.String(), "-")
			b.Reset()
			b.WriteString(whole)
		case endsIdeographic(b.String()) && isIdeographic(w.text):
		default:
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
		line = w.line
	}
	return b.String()
}

// isHyphenated reports whether a word continues after a hyphen at the end of a line.
func isHyphenated(before, after string) bool {
	if !strings.HasSuffix(before, "-") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(before, "-"))
	first, _ := utf8.DecodeRuneInString(after)
	return unicode.IsLetter(last) && unicode.IsLower(first)
}

// countLetters returns the number of letters and digits.
func countLetters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

func isIdeographic(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xFF00 && r <= 0xFF9F
}

func endsIdeographic(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r >= 0x2E80 && r <= 0x9FFF || r >= 0xFF00 && r <= 0xFF9F
}
