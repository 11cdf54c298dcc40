package plaintext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// headings writes the heading that a stretch begins with, if it does, and returns how many of its lines that takes.
func (w *plainWriter) headings(lines []string) int {
	if len(lines) >= 3 && isRuleLine(lines[0]) && isRuleLine(lines[2]) && !isRuleLine(lines[1]) && utf8.RuneCountInString(lines[1]) < 120 {
		w.heading(1, lines[1])
		return 3
	}
	if used := w.underlined(lines); used > 0 {
		// The level of a rule shows in what rules were there before.
		rule := strings.TrimSpace(lines[1])[:1]
		if !strings.Contains(w.rules, rule) {
			w.rules += rule
		}
		w.heading(min(strings.Index(w.rules, rule)+1, 6), lines[0])
		return used
	}
	if isRuleLine(lines[0]) {
		return 1 // a line drawn between two parts
	}
	line := strings.TrimSpace(lines[0])
	alone := len(lines) == 1
	opens := alone || indentOfText(lines[1]) > indentOfText(lines[0]) // text below it is indented
	switch level := numberedLevel(line); {
	case len(w.blocks) < 5 && !w.titled && w.centred(lines):
		w.titled = true
		w.heading(1, strings.Join(lines, " "))
		return len(lines)
	case w.layout.marked && alone && markedLevel(line) > 0:
		level := markedLevel(line)
		w.heading(level, strings.Trim(line[level:], "# "))
	case alone && isChapter(line):
		w.heading(2, line)
	case w.layout.numbered && alone && level > 0 && isHeadingText(line):
		w.heading(min(level+1, 6), line)
	case w.layout.capitals && opens && isCapitals(line) && indentOfText(lines[0]) <= w.layout.indent && (!w.layout.manual || indentOfText(lines[0]) == 0):
		w.heading(2, line)
	case w.layout.manual && opens && !alone && indentOfText(lines[0]) > 0 && indentOfText(lines[0]) < w.layout.indent && isHeadingText(line):
		w.heading(3, line)
	default:
		return 0
	}
	return 1
}

func (w *plainWriter) heading(level int, text string) {
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ":")
	for _, frame := range []string{"=", "|", "*", "#"} {
		if strings.HasPrefix(text, frame) && strings.HasSuffix(text, frame) {
			text = strings.TrimSpace(strings.Trim(text, frame))
		}
	}
	if text == "" {
		return
	}
	w.titled = true
	if len(text) > compose.MaxHeading {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return
	}
	w.emit(document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take("", text)})
}

// underlined returns 2 for a line with a rule below it that is about as long.
func (w *plainWriter) underlined(lines []string) int {
	if len(lines) < 2 || !isRuleLine(lines[1]) || isRuleLine(lines[0]) || lines[0] == "" {
		return 0
	}
	title, rule := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1])
	length := utf8.RuneCountInString(title)
	if len(rule) < length*2/3 || len(rule) > 2*length+10 || len(title) > 200 || indentOfText(lines[0]) > w.layout.indent || strings.Contains(title, "   ") {
		return 0
	}
	return 2
}

// isRuleLine reports lines of one sign over and over.
func isRuleLine(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && strings.IndexByte("=-~*#+^_", line[0]) >= 0 && strings.Trim(line, line[:1]) == ""
}

// centred reports the title that a text begins with when it stands in the middle of its lines.
func (w *plainWriter) centred(lines []string) bool {
	if len(lines) > 3 {
		return false
	}
	width := max(w.layout.width, 66)
	for _, line := range lines {
		left := indentOfText(line)
		text := strings.TrimSpace(line)
		right := width - left - utf8.RuneCountInString(text)
		if left < 8 || left < w.layout.indent+6 || right-left > 12 || left-right > 12 || strings.Contains(text, "   ") {
			return false
		}
	}
	return true
}

// markedLevel returns the level of a heading in the way of Markdown, 0 for other lines.
func markedLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level >= len(line) || line[level] != ' ' {
		return 0
	}
	return level
}

// isChapter reports lines that say they are one: Chapter 3, Kapitel IV, 第三章.
func isChapter(line string) bool {
	if utf8.RuneCountInString(line) > 80 || strings.HasSuffix(line, ".") && strings.Count(line, " ") > 2 {
		return false
	}
	if rest, found := strings.CutPrefix(line, "第"); found {
		end := strings.IndexFunc(rest, func(r rune) bool {
			return !unicode.IsDigit(r) && !strings.ContainsRune("一二三四五六七八九十百零〇", r)
		})
		if end > 0 {
			r, _ := utf8.DecodeRuneInString(rest[end:])
			return strings.ContainsRune("章节節条條部編编回课課", r) && utf8.RuneCountInString(line) < 40
		}
	}
	word, rest, found := strings.Cut(line, " ")
	if !found {
		return false
	}
	switch strings.ToLower(word) {
	case "chapter", "part", "section", "appendix", "book", "article", "kapitel", "teil", "abschnitt", "anhang", "chapitre", "partie", "annexe", "capítulo", "capitolo",
		"parte", "anexo", "hoofdstuk", "глава", "часть", "раздел", "rozdział", "kapitola":
	default:
		return false
	}
	number, _, _ := strings.Cut(rest, " ")
	number = strings.TrimRight(number, ".:—–-")
	return number != "" && (strings.Trim(number, "0123456789.") == "" || strings.Trim(number, "IVXLCDM") == "" || len(number) == 1 && unicode.IsUpper(rune(number[0])))
}

// numberedLevel returns how many numbers a line begins with: 1 for "3. Title", 2 for "3.1 Title" or "A.1 Title", 0 for other
// lines.
func numberedLevel(line string) int {
	number, rest, found := strings.Cut(line, " ")
	if !found || strings.TrimSpace(rest) == "" || len(number) > 15 {
		return 0
	}
	number = strings.TrimSuffix(number, ".")
	parts := strings.Split(number, ".")
	for i, part := range parts {
		letter := i == 0 && len(part) == 1 && 'A' <= part[0] && part[0] <= 'Z'
		if part == "" || len(part) > 3 || strings.Trim(part, "0123456789") != "" && !letter {
			return 0
		}
	}
	return len(parts)
}

// isHeadingText reports short lines that begin with a capital, a figure or a letter without case, and do not end as
// sentences do.
func isHeadingText(line string) bool {
	if utf8.RuneCountInString(line) > 80 || strings.Contains(line, "....") || strings.Contains(line, "   ") {
		return false
	}
	text := strings.TrimLeft(line, "0123456789. ")
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(line)
	return text != "" && !unicode.IsLower(first) && (unicode.IsLetter(first) || unicode.IsDigit(first)) && !strings.ContainsRune(".,;!。，；、", last)
}

// isCapitals reports lines without a small letter, and more than two capitals.
func isCapitals(line string) bool {
	if utf8.RuneCountInString(line) > 70 || strings.Contains(line, "   ") {
		return false
	}
	capitals, letters, others := 0, 0, 0
	for _, r := range line {
		switch {
		case unicode.IsUpper(r):
			capitals++
			letters++
		case unicode.IsLetter(r):
			return false
		case r != ' ':
			others++
		}
	}
	last, _ := utf8.DecodeLastRuneInString(line)
	return capitals >= 3 && letters > 2*others && !strings.ContainsRune(".,;!?", last)
}

// headingSurvey counts the lines of a text that may be headings.
type headingSurvey struct {
	pending string // a line with an empty one above it
	numbers []string
	text    bool // since the last number
	bodies  int  // numbers with text below them

	capitals, marked, comments, manual int
	previousMarked, previousCapitals   bool
}

// add takes the next line and the one above it.
func (h *headingSurvey) add(above, line string) {
	if line != "" && markedLevel(line) > 0 {
		if h.previousMarked {
			h.comments++ // lines with # below each other are comments
		}
		h.marked++
	}
	h.previousMarked = line != "" && strings.HasPrefix(line, "#")
	// A line in capitals with an empty or an indented line below it.
	if h.previousCapitals && (line == "" || indentOfText(line) > indentOfText(above)) {
		h.capitals++
		if line != "" && indentOfText(above) == 0 && indentOfText(line) >= 4 {
			h.manual++
		}
	}
	h.previousCapitals = above == "" && line != "" && isCapitals(strings.TrimSpace(line))
	switch {
	case line == "" && h.pending != "":
		if number := numberedLevel(h.pending); number > 0 && isHeadingText(h.pending) {
			word, _, _ := strings.Cut(h.pending, " ")
			if len(h.numbers) < 2000 {
				h.numbers = append(h.numbers, strings.TrimSuffix(word, "."))
			}
			if h.text && len(h.numbers) > 1 {
				h.bodies++
			}
			h.text = false
		} else {
			h.text = true
		}
		h.pending = ""
	case line == "":
		h.pending = ""
	case above == "" && h.pending == "":
		h.pending = strings.TrimSpace(line)
	case line != "":
		h.pending, h.text = "", true
	}
}

// consistent reports numbers of headings that follow each other as those of sections do, with text between most of them.
func (h *headingSurvey) consistent() bool {
	if len(h.numbers) < 2 || h.bodies*2 < len(h.numbers)-1 {
		return false
	}
	good := 0
	for i := 1; i < len(h.numbers); i++ {
		if follows(h.numbers[i-1], h.numbers[i]) {
			good++
		}
	}
	return good*4 >= (len(h.numbers)-1)*3
}

// follows reports numbers of sections that may come after each other: 2.1 after 2 or 1.3, 2.2 and 3 after 2.1.
func follows(before, after string) bool {
	a, b := strings.Split(before, "."), strings.Split(after, ".")
	for i := 0; i < len(b); i++ {
		if i >= len(a) {
			return i == len(b)-1 && (b[i] == "1" || b[i] == "0" || b[i] == "A")
		}
		if a[i] == b[i] {
			continue
		}
		x, errA := strconv.Atoi(a[i])
		y, errB := strconv.Atoi(b[i])
		switch {
		case errA == nil && errB == nil:
			return y == x+1 && i == len(b)-1 || y == x+1 && i < len(b)-1 && b[len(b)-1] == "1"
		case errA == nil:
			return b[i] == "A" // the first appendix
		}
		return errB != nil && b[i][0] == a[i][0]+1
	}
	return false
}

// title is what a page of a manual says it is about.
func (w *plainWriter) title() string {
	if !w.layout.manual {
		return ""
	}
	for i := 0; i+1 < len(w.blocks) && i < 10; i++ {
		if w.blocks[i].Kind == document.Heading && w.blocks[i].Text == "NAME" && w.blocks[i+1].Kind != document.Heading {
			line, _, _ := strings.Cut(w.blocks[i+1].Text, "\n")
			return safetext.TruncateBytes(line, 200)
		}
	}
	return ""
}
