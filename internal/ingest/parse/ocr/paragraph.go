package ocr

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// wordFloor is how sure the program has to be of a word, in percent, for it to be kept, and paragraphFloor how sure of
	// the words of a paragraph on average. A page in clear print has 95.
	wordFloor      = 30
	paragraphFloor = 60
)

// paragraph is a paragraph of recognised text, on one line.
type paragraph struct {
	page int // from 1
	text string
}

// word is a row of the program's table.
type word struct {
	page, block, paragraph, line int
	confidence                   float64
	text                         string
}

// readTable makes paragraphs of the table that the program prints (tessedit_create_tsv): a row for each word, with the
// numbers of its page, block, paragraph and line and how sure the program is of it.
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

// readRow reads a row of the table; false for those that are of no word.
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
	sure, err := strconv.ParseFloat(fields[confidence], 64)
	if err != nil {
		return word{}, false
	}
	return word{
		page: max(numbers[0], 1), block: numbers[1], paragraph: numbers[2], line: numbers[3], confidence: sure,
		text: clean(fields[text]),
	}, true
}

// clean takes away what does not belong into text.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Co, r) {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(strings.NewReplacer("ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl").Replace(text))
}

// joinWords returns the text of a paragraph, "" when the program is not sure of it.
func joinWords(words []word) string {
	letters, sure := 0, 0.0
	for _, w := range words {
		n := meaningful(w.text)
		letters += n
		sure += w.confidence * float64(n)
	}
	if letters < 2 || sure < paragraphFloor*float64(letters) {
		return ""
	}
	var b strings.Builder
	line := 0
	for _, w := range words {
		if w.confidence < wordFloor {
			continue
		}
		switch {
		case b.Len() == 0:
		case w.line != line && isBroken(b.String(), w.text):
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

// isBroken tells whether a word goes on after a hyphen at the end of a line.
func isBroken(before, after string) bool {
	if !strings.HasSuffix(before, "-") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(before, "-"))
	first, _ := utf8.DecodeRuneInString(after)
	return unicode.IsLetter(last) && unicode.IsLower(first)
}

// meaningful counts the letters and digits of a text.
func meaningful(text string) int {
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
