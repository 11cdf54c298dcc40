package plaintext

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// plainWriter makes blocks of the lines of plain text.
type plainWriter struct {
	ctx     context.Context
	layout  textLayout
	anchors document.Anchors
	blocks  []document.Block
	page    int
	lines   []string // of the stretch between empty lines that is read
	fence   string   // the mark that ends the code that is read
	titled  bool     // whether there was a heading
	bullet  string   // the mark of the last list
	rules   string   // the signs that headings were underlined with, in the order of their first sight
	steps   int
}

// longStretch is how many lines without an empty one are looked at together.
const longStretch = 2000

// read reads a page, without the lines that are on every page.
func (w *plainWriter) read(page string, running map[string]bool) error {
	rest := page
	for rest != "" {
		if w.steps++; w.steps%256 == 0 {
			if err := w.alive(); err != nil {
				return err
			}
		}
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t")
		trimmed := strings.TrimSpace(line)
		switch {
		case running[trimmed] && trimmed != "":
			w.stretch()
		case w.fence != "":
			if strings.HasPrefix(trimmed, w.fence) {
				w.fenced()
			} else {
				w.lines = append(w.lines, line)
			}
		case strings.HasPrefix(trimmed, "```") && strings.Contains(rest, "```"):
			w.stretch()
			w.fence = "```"
			w.lines = append(w.lines, inline.FenceLanguage(strings.TrimLeft(trimmed, "`")))
		case trimmed == "":
			w.stretch()
		default:
			if w.lines = append(w.lines, line); len(w.lines) >= longStretch {
				w.stretch()
			}
		}
	}
	if w.fence != "" {
		w.fenced()
	}
	w.stretch()
	return w.alive()
}

// fenced ends code between fences. The first line is its language.
func (w *plainWriter) fenced() {
	language, code := w.lines[0], strings.Trim(strings.Join(w.lines[1:], "\n"), "\n")
	w.lines, w.fence = w.lines[:0], ""
	if strings.TrimSpace(code) != "" {
		w.emit(document.Block{Kind: document.Code, Language: language, Text: code})
	}
}

func (w *plainWriter) emit(block document.Block) {
	block.Page = w.page
	w.blocks = append(w.blocks, block)
}

// stretch writes the lines since the last empty line.
func (w *plainWriter) stretch() {
	lines := w.lines
	w.lines = w.lines[:0]
	for len(lines) > 0 {
		used := w.headings(lines)
		if used == 0 {
			used = w.part(lines)
		}
		lines = lines[used:]
	}
}

// part writes the first part of a stretch that is all of one kind, and returns how many lines that are.
func (w *plainWriter) part(lines []string) int {
	if n := quotedLines(lines); n > 0 {
		w.quote(lines[:n])
		return n
	}
	if isTextItem(lines[0]) {
		return w.list(lines)
	}
	if isDrawn(lines) || w.isCode(lines) {
		w.emitCode(lines)
		return len(lines)
	}
	end := 1
	for end < len(lines) && quotedLines(lines[end:]) == 0 && !w.beginsList(lines, end) && w.underlined(lines[end:]) == 0 {
		if strings.HasSuffix(lines[end-1], ":") && indentOfText(lines[end]) >= indentOfText(lines[end-1])+2 {
			break
		}
		end++
	}
	w.emit(document.Block{Kind: document.Paragraph, Text: w.joined(lines[:end])})
	return end
}

// beginsList reports a line where a list begins below other text: two items, or one after a colon.
func (w *plainWriter) beginsList(lines []string, at int) bool {
	if !isTextItem(lines[at]) {
		return false
	}
	if strings.HasSuffix(lines[at-1], ":") || strings.HasSuffix(lines[at-1], "：") {
		return true
	}
	for _, line := range lines[at+1:] {
		if isTextItem(line) {
			return bulletOf(line) == bulletOf(lines[at])
		}
	}
	return false
}

// emitCode writes lines as they are, without what all of them are indented by; another such stretch goes on with it.
func (w *plainWriter) emitCode(lines []string) {
	text := strings.Join(lines, "\n")
	if last := len(w.blocks) - 1; last >= 0 && w.blocks[last].Kind == document.Code && w.blocks[last].Language == "" && w.blocks[last].Page == w.page &&
		len(w.blocks[last].Text) < 2*compose.BlockRunes && indentOfText(lines[0]) > w.layout.indent {
		w.blocks[last].Text += "\n\n" + compose.Outdent(text)
		return
	}
	w.emit(document.Block{Kind: document.Code, Text: compose.Outdent(text)})
}

// quotedLines counts the lines of a quotation in a mail.
func quotedLines(lines []string) int {
	n := 0
	for n < len(lines) && (strings.HasPrefix(lines[n], ">") || strings.HasPrefix(lines[n], "|> ")) {
		n++
	}
	return n
}

// quote writes a quotation without its marks.
func (w *plainWriter) quote(lines []string) {
	stripped := make([]string, 0, len(lines))
	for _, line := range lines {
		line = strings.TrimSpace(strings.TrimLeft(line, ">| "))
		stripped = append(stripped, line)
	}
	for part := range strings.SplitSeq(strings.Trim(strings.Join(stripped, "\n"), "\n"), "\n\n") {
		if part = strings.Trim(part, "\n"); part != "" {
			w.emit(document.Block{Kind: document.Quote, Text: w.joined(strings.Split(part, "\n"))})
		}
	}
}

// isDrawn reports tables and pictures made of signs and blanks: most lines have wide gaps, tabs or frames.
func isDrawn(lines []string) bool {
	if len(lines) < 2 {
		return false
	}
	drawn := 0
	for _, line := range lines {
		text := strings.TrimSpace(line)
		signs, gap := 0, strings.Contains(text, "   ") || strings.IndexByte(text, '\t') >= 0
		for i := range len(text) {
			switch text[i] {
			case '|', '+', '-', '=', '_', '/', '\\', '*', '#', '<', '>', '^', '~':
				signs++
			case 0xE2:
				if i+1 < len(text) && (text[i+1] == 0x94 || text[i+1] == 0x95) {
					signs += 3 // a box of three bytes
				}
			}
		}
		if gap || signs*3 > len(text) || text[0] == '|' && text[len(text)-1] == '|' {
			drawn++
		}
	}
	return drawn*10 >= len(lines)*6
}

// isCode reports lines that are all indented more than the text, and look like code: with its signs, or without an end of
// a sentence.
func (w *plainWriter) isCode(lines []string) bool {
	signs, ends := 0, 0
	for _, line := range lines {
		if indentOfText(line) < w.layout.indent+3 {
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
	return signs*2 >= len(lines) || ends == 0 && len(lines) <= 3 && w.afterColon()
}

// afterColon reports that the paragraph before announces something.
func (w *plainWriter) afterColon() bool {
	last := len(w.blocks) - 1
	return last >= 0 && w.blocks[last].Kind == document.Paragraph && strings.HasSuffix(w.blocks[last].Text, ":")
}

// joined joins the lines of a paragraph where they were broken to fit: when the next word would not have had room. Other
// lines are the writer's, as in an address or a poem.
func (w *plainWriter) joined(lines []string) string {
	if len(lines) == 1 {
		return strings.TrimSpace(lines[0])
	}
	if isDefinition(lines) {
		return strings.TrimSpace(lines[0]) + "\n" + w.joined(lines[1:])
	}
	trimmed := make([]string, len(lines))
	broken := 0
	for i, line := range lines {
		trimmed[i] = strings.TrimSpace(line)
	}
	for i := range lines[1:] {
		if w.layout.width > 0 && utf8.RuneCountInString(lines[i])+1+wordLength(trimmed[i+1]) >= w.layout.width-4 {
			broken++
		}
	}
	if broken*5 < (len(lines)-1)*4 {
		return strings.Join(trimmed, "\n")
	}
	var b strings.Builder
	for i, line := range trimmed {
		if i > 0 {
			b.WriteString(compose.LineGap(trimmed[i-1], line))
		}
		if strings.HasSuffix(line, "\u2010") && i+1 < len(trimmed) {
			line = strings.TrimSuffix(line, "\u2010") // a hyphen that only ends the line
		}
		b.WriteString(line)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// isDefinition reports a line with others below it that are all indented more.
func isDefinition(lines []string) bool {
	for _, line := range lines[1:] {
		if indentOfText(line) < indentOfText(lines[0])+2 {
			return false
		}
	}
	return true
}

func wordLength(line string) int {
	word, _, _ := strings.Cut(line, " ")
	if first, _ := utf8.DecodeRuneInString(word); compose.IsWide(first) {
		return 1
	}
	return utf8.RuneCountInString(word)
}
