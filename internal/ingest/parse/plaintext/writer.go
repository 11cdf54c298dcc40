package plaintext

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// writer turns the lines of plain text into blocks.
type writer struct {
	ctx        context.Context
	layout     layout
	anchors    document.Anchors
	blocks     []document.Block
	page       int
	lines      []string // run of lines since the last empty line
	fence      string   // end of the current block of code
	hasHeading bool     // whether there has been a heading
	bullet     string   // of the last list
	ruleChars  string   // characters of heading underlines, in the order of their first use
	steps      int
}

// maxRunLines is how many lines without an empty line are examined together.
const maxRunLines = 2000

// read reads a page without its running heads and feet.
func (w *writer) read(page string, running map[string]bool) error {
	rest := page
	for rest != "" {
		if w.steps++; w.steps%256 == 0 {
			if err := w.check(); err != nil {
				return err
			}
		}
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t")
		trimmed := strings.TrimSpace(line)
		switch {
		case running[trimmed] && trimmed != "":
			w.flush()
		case w.fence != "":
			if strings.HasPrefix(trimmed, w.fence) {
				w.endFence()
			} else {
				w.lines = append(w.lines, line)
			}
		case strings.HasPrefix(trimmed, "```") && strings.Contains(rest, "```"):
			w.flush()
			w.fence = "```"
			w.lines = append(w.lines, inline.FenceLanguage(strings.TrimLeft(trimmed, "`")))
		case trimmed == "":
			w.flush()
		default:
			if w.lines = append(w.lines, line); len(w.lines) >= maxRunLines {
				w.flush()
			}
		}
	}
	if w.fence != "" {
		w.endFence()
	}
	w.flush()
	return w.check()
}

// endFence ends a fenced block of code. Its first line is the language.
func (w *writer) endFence() {
	language, code := w.lines[0], strings.Trim(strings.Join(w.lines[1:], "\n"), "\n")
	w.lines, w.fence = w.lines[:0], ""
	if strings.TrimSpace(code) != "" {
		w.emit(document.Block{Kind: document.Code, Language: language, Text: code})
	}
}

func (w *writer) emit(block document.Block) {
	block.Page = w.page
	w.blocks = append(w.blocks, block)
}

// flush writes the lines since the last empty line.
func (w *writer) flush() {
	lines := w.lines
	w.lines = w.lines[:0]
	for len(lines) > 0 {
		used := w.cutHeading(lines)
		if used == 0 {
			used = w.writePart(lines)
		}
		lines = lines[used:]
	}
}

// writePart writes the first part of the lines that is of one kind, and returns the number of its lines.
func (w *writer) writePart(lines []string) int {
	if n := quotedLines(lines); n > 0 {
		w.quote(lines[:n])
		return n
	}
	if isItem(lines[0]) {
		return w.list(lines)
	}
	if isDrawing(lines) || w.isCode(lines) {
		w.emitCode(lines)
		return len(lines)
	}
	end := 1
	for end < len(lines) && quotedLines(lines[end:]) == 0 && !w.beginsList(lines, end) && w.underlinedLines(lines[end:]) == 0 {
		if strings.HasSuffix(lines[end-1], ":") && indentWidth(lines[end]) >= indentWidth(lines[end-1])+2 {
			break
		}
		end++
	}
	w.emit(document.Block{Kind: document.Paragraph, Text: w.joinLines(lines[:end])})
	return end
}

// beginsList reports whether a list begins below other text: with two items, or with one after a colon.
func (w *writer) beginsList(lines []string, at int) bool {
	if !isItem(lines[at]) {
		return false
	}
	if strings.HasSuffix(lines[at-1], ":") || strings.HasSuffix(lines[at-1], "：") {
		return true
	}
	for _, line := range lines[at+1:] {
		if isItem(line) {
			return bulletOf(line) == bulletOf(lines[at])
		}
	}
	return false
}

// emitCode writes lines as code, without their common indentation. They extend a previous block of such lines.
func (w *writer) emitCode(lines []string) {
	text := strings.Join(lines, "\n")
	if last := len(w.blocks) - 1; last >= 0 && w.blocks[last].Kind == document.Code && w.blocks[last].Language == "" && w.blocks[last].Page == w.page &&
		len(w.blocks[last].Text) < 2*compose.BlockRunes && indentWidth(lines[0]) > w.layout.indent {
		w.blocks[last].Text += "\n\n" + compose.Outdent(text)
		return
	}
	w.emit(document.Block{Kind: document.Code, Text: compose.Outdent(text)})
}

// quotedLines returns how many lines, from the first, are a quotation in a mail.
func quotedLines(lines []string) int {
	n := 0
	for n < len(lines) && (strings.HasPrefix(lines[n], ">") || strings.HasPrefix(lines[n], "|> ")) {
		n++
	}
	return n
}

// quote writes a quotation without its marks.
func (w *writer) quote(lines []string) {
	stripped := make([]string, 0, len(lines))
	for _, line := range lines {
		line = strings.TrimSpace(strings.TrimLeft(line, ">| "))
		stripped = append(stripped, line)
	}
	for part := range strings.SplitSeq(strings.Trim(strings.Join(stripped, "\n"), "\n"), "\n\n") {
		if part = strings.Trim(part, "\n"); part != "" {
			w.emit(document.Block{Kind: document.Quote, Text: w.joinLines(strings.Split(part, "\n"))})
		}
	}
}

// isDrawing reports whether lines are a table or picture drawn with characters: most have wide gaps, tabs or frames.
func isDrawing(lines []string) bool {
	if len(lines) < 2 {
		return false
	}
	drawings := 0
	for _, line := range lines {
		text := strings.TrimSpace(line)
		signs, hasGap := 0, strings.Contains(text, "   ") || strings.IndexByte(text, '\t') >= 0
		for i := range len(text) {
			switch text[i] {
			case '|', '+', '-', '=', '_', '/', '\\', '*', '#', '<', '>', '^', '~':
				signs++
			case 0xE2:
				if i+1 < len(text) && (text[i+1] == 0x94 || text[i+1] == 0x95) {
					signs += 3 // a box-drawing character of three bytes
				}
			}
		}
		if hasGap || signs*3 > len(text) || text[0] == '|' && text[len(text)-1] == '|' {
			drawings++
		}
	}
	return drawings*10 >= len(lines)*6
}

// isCode reports whether lines are all indented more than the text and look like code: they contain its punctuation, or
// no end of a sentence.
func (w *writer) isCode(lines []string) bool {
	signs, ends := 0, 0
	for _, line := range lines {
		if indentWidth(line) < w.layout.indent+3 {
			return false
		}
		text := strings.TrimSpace(line)
		if strings.ContainsAny(text, "{};=<>$|\\[]`_") || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "./") ||
			strings.Contains(text, "()") || strings.Contains(text, "://") {
			signs++
		}
		if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
			ends++
		}
	}
	return signs*2 >= len(lines) || ends == 0 && len(lines) <= 3 && w.followsColon()
}

// followsColon reports whether the previous paragraph ends with a colon.
func (w *writer) followsColon() bool {
	last := len(w.blocks) - 1
	return last >= 0 && w.blocks[last].Kind == document.Paragraph && strings.HasSuffix(w.blocks[last].Text, ":")
}

// joinLines joins the lines of a paragraph if they were wrapped, which they were if the next word had no room. Other
// line breaks are intended, as in an address or a poem.
func (w *writer) joinLines(lines []string) string {
	if len(lines) == 1 {
		return strings.TrimSpace(lines[0])
	}
	if isTermWithText(lines) {
		return strings.TrimSpace(lines[0]) + "\n" + w.joinLines(lines[1:])
	}
	trimmed := make([]string, len(lines))
	wrapped := 0
	for i, line := range lines {
		trimmed[i] = strings.TrimSpace(line)
	}
	for i := range lines[1:] {
		if w.layout.width > 0 && utf8.RuneCountInString(lines[i])+1+firstWordLength(trimmed[i+1]) >= w.layout.width-4 {
			wrapped++
		}
	}
	if wrapped*5 < (len(lines)-1)*4 {
		return strings.Join(trimmed, "\n")
	}
	var b strings.Builder
	for i, line := range trimmed {
		if i > 0 {
			b.WriteString(compose.LineGap(trimmed[i-1], line))
		}
		if strings.HasSuffix(line, "\u2010") && i+1 < len(trimmed) {
			line = strings.TrimSuffix(line, "\u2010") // a hyphen at the end of the line only
		}
		b.WriteString(line)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// isTermWithText reports whether all lines but the first are indented more than the first.
func isTermWithText(lines []string) bool {
	for _, line := range lines[1:] {
		if indentWidth(line) < indentWidth(lines[0])+2 {
			return false
		}
	}
	return true
}

func firstWordLength(line string) int {
	word, _, _ := strings.Cut(line, " ")
	if first, _ := utf8.DecodeRuneInString(word); compose.IsWide(first) {
		return 1
	}
	return utf8.RuneCountInString(word)
}
