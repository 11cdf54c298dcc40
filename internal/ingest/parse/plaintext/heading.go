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

// cutHeading writes the heading that the lines begin with, and returns the number of its lines, or 0 if there is none.
func (w *writer) cutHeading(lines []string) int {
	if len(lines) >= 3 && isRule(lines[0]) && isRule(lines[2]) && !isRule(lines[1]) && utf8.RuneCountInString(lines[1]) < 120 {
		w.heading(1, lines[1])
		return 3
	}
	if used := w.underlinedLines(lines); used > 0 {
		// The level depends on the order in which rules were first used.
		rule := strings.TrimSpace(lines[1])[:1]
		if !strings.Contains(w.ruleChars, rule) {
			w.ruleChars += rule
		}
		w.heading(min(strings.Index(w.ruleChars, rule)+1, 6), lines[0])
		return used
	}
	if isRule(lines[0]) {
		return 1 // a rule between two parts
	}
	line := strings.TrimSpace(lines[0])
	isAlone := len(lines) == 1
	isAboveText := isAlone || indentWidth(lines[1]) > indentWidth(lines[0]) // the text below is indented
	switch level := numberedLevel(line); {
	case len(w.blocks) < 5 && !w.hasHeading && w.isCentred(lines):
		w.hasHeading = true
		w.heading(1, strings.Join(lines, " "))
		return len(lines)
	case w.layout.hasMarkedHeadings && isAlone && markedLevel(line) > 0:
		level := markedLevel(line)
		w.heading(level, strings.Trim(line[level:], "# "))
	case isAlone && isChapter(line):
		w.heading(2, line)
	case w.layout.hasNumberedHeadings && isAlone && level > 0 && isHeadingText(line):
		w.heading(min(level+1, 6), line)
	case w.layout.hasCapitalHeadings && isAboveText && isCapitals(line) && indentWidth(lines[0]) <= w.layout.indent && (!w.layout.isManual || indentWidth(lines[0]) == 0):
		w.heading(2, line)
	case w.layout.isManual && isAboveText && !isAlone && indentWidth(lines[0]) > 0 && indentWidth(lines[0]) < w.layout.indent && isHeadingText(line):
		w.heading(3, line)
	default:
		return 0
	}
	return 1
}

func (w *writer) heading(level int, text string) {
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ":")
	for _, frame := range []string{"=", "|", "*", "#"} {
		if strings.HasPrefix(text, frame) && strings.HasSuffix(text, frame) {
			text = strings.TrimSpace(strings.Trim(text, frame))
		}
	}
	if text == "" {
		return
	}
	w.hasHeading = true
	if len(text) > compose.MaxHeading {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return
	}
	w.emit(document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take("", text)})
}

// underlinedLines returns 2 if the lines begin with a line above a rule of about the same length, or else 0.
func (w *writer) underlinedLines(lines []string) int {
	if len(lines) < 2 || !isRule(lines[1]) || isRule(lines[0]) || lines[0] == "" {
		return 0
	}
	title, rule := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1])
	length := utf8.RuneCountInString(title)
	if len(rule) < length*2/3 || len(rule) > 2*length+10 || len(title) > 200 || indentWidth(lines[0]) > w.layout.indent || strings.Contains(title, "   ") {
		return 0
	}
	return 2
}

// isRule reports whether a line repeats one punctuation character.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && strings.IndexByte("=-~*#+^_", line[0]) >= 0 && strings.Trim(line, line[:1]) == ""
}

// isCentred reports whether the lines are a centred title.
func (w *writer) isCentred(lines []string) bool {
	if len(lines) > 3 {
		return false
	}
	width := max(w.layout.width, 66)
	for _, line := range lines {
		left := indentWidth(line)
		text := strings.TrimSpace(line)
		right := width - left - utf8.RuneCountInString(text)
		if left < 8 || left < w.layout.indent+6 || right-left > 12 || left-right > 12 || strings.Contains(text, "   ") {
			return false
		}
	}
	return true
}

// markedLevel returns the level of a heading marked with #, or 0.
func markedLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level >= len(line) || line[level] != ' ' {
		return 0
	}
	return level
}

// isChapter reports whether a line announces a chapter: Chapter 3, Kapitel IV, 第三章.
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

// numberedLevel returns how many numbers a line begins with: 1 for "3. Title", 2 for "3.1 Title" or "A.1 Title", or
// else 0.
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

// isHeadingText reports whether a line is short, begins with a capital, a digit or a letter without case, and does not
// end like a sentence.
func isHeadingText(line string) bool {
	if utf8.RuneCountInString(line) > 80 || strings.Contains(line, "....") || strings.Contains(line, "   ") {
		return false
	}
	text := strings.TrimLeft(line, "0123456789. ")
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(line)
	return text != "" && !unicode.IsLower(first) && (unicode.IsLetter(first) || unicode.IsDigit(first)) && !strings.ContainsRune(".,;!。，；、", last)
}

// isCapitals reports whether a line has at least three capitals and no small letters.
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

// headingStats counts the lines of a text that may be headings.
type headingStats struct {
	pending        string // a line that follows an empty one
	sectionNumbers []string
	hasText        bool // since the last number
	withText       int  // number of numbered lines with text below

	capitals, marked, comments, manual int
	wasMarked, wasCapitals             bool
}

// add counts a line that follows another.
func (h *headingStats) add(previous, line string) {
	if line != "" && markedLevel(line) > 0 {
		if h.wasMarked {
			h.comments++ // consecutive lines with # are comments
		}
		h.marked++
	}
	h.wasMarked = line != "" && strings.HasPrefix(line, "#")
	// A heading in capitals has an empty or an indented line below.
	if h.wasCapitals && (line == "" || indentWidth(line) > indentWidth(previous)) {
		h.capitals++
		if line != "" && indentWidth(previous) == 0 && indentWidth(line) >= 4 {
			h.manual++
		}
	}
	h.wasCapitals = previous == "" && line != "" && isCapitals(strings.TrimSpace(line))
	switch {
	case line == "" && h.pending != "":
		if number := numberedLevel(h.pending); number > 0 && isHeadingText(h.pending) {
			word, _, _ := strings.Cut(h.pending, " ")
			if len(h.sectionNumbers) < 2000 {
				h.sectionNumbers = append(h.sectionNumbers, strings.TrimSuffix(word, "."))
			}
			if h.hasText && len(h.sectionNumbers) > 1 {
				h.withText++
			}
			h.hasText = false
		} else {
			h.hasText = true
		}
		h.pending = ""
	case line == "":
		h.pending = ""
	case previous == "" && h.pending == "":
		h.pending = strings.TrimSpace(line)
	case line != "":
		h.pending, h.hasText = "", true
	}
}

// isConsistent reports whether the numbers of headings follow each other like those of sections, mostly with text
// between.
func (h *headingStats) isConsistent() bool {
	if len(h.sectionNumbers) < 2 || h.withText*2 < len(h.sectionNumbers)-1 {
		return false
	}
	good := 0
	for i := 1; i < len(h.sectionNumbers); i++ {
		if isNextNumber(h.sectionNumbers[i-1], h.sectionNumbers[i]) {
			good++
		}
	}
	return good*4 >= (len(h.sectionNumbers)-1)*3
}

// isNextNumber reports whether a section number may follow another: 2.1 after 2 or 1.3, and 2.2 or 3 after 2.1.
func isNextNumber(before, after string) bool {
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

// title returns the title of a manual page.
func (w *writer) title() string {
	if !w.layout.isManual {
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
