package code

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Read reads source code and configuration as blocks of whole declarations. Headings name what is declared: level 2 for
// what stands at the top, deeper ones for the members of long types. The anchor of a heading is the line where it is
// declared, as forges number lines: L120. A comment that says what the file is for becomes a paragraph, and a long licence
// goes to the end. Languages of which no grammar is known are cut where an empty line is followed by a line at the left
// margin.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	w := codeWriter{ctx: ctx, language: r.Language, anchors: make(document.Anchors)}
	found := &document.Draft{Extra: make(map[string]any), DocType: r.DocType}
	if w.language != "" {
		found.Extra["code_language"] = w.language
	}
	g := grammarOf(w.language)
	if g == nil || isMinified(r.Text) || g.name == "ini" && !strings.HasPrefix(r.Text, "[") && !strings.Contains(r.Text, "\n[") {
		err := w.unknown(r.Text)
		found.Blocks = w.blocks
		return found, err
	}
	lines, byIndent, err := scanCode(ctx, r.Text, g)
	if err != nil {
		return nil, err
	}
	w.outline = codeOutline{grammar: g, text: r.Text, lines: lines, byIndent: byIndent}
	head := w.outline.head(r.DocType == "code")
	w.blocks = append(w.blocks, head.about...)
	items := w.outline.yamlDocuments()
	if items == nil {
		level := 0
		if g.name == "json" {
			level = 1 // within the brackets around it all
		}
		items = w.outline.items(head.end, len(lines), level)
	}
	if err := w.section(items, 2, 0); err != nil {
		return nil, err
	}
	if head.licence != "" {
		if utf8.RuneCountInString(head.licence) > longLicence {
			w.heading(2, "Licence", 0)
			w.code(head.licence)
		} else {
			w.prepend(head.licence)
		}
	}
	if head.licenceName != "" {
		found.Extra["license"] = head.licenceName
	}
	found.Blocks = w.blocks
	return found, nil
}

// codeWriter writes declarations as blocks.
type codeWriter struct {
	ctx      context.Context
	language string
	outline  codeOutline
	anchors  document.Anchors
	blocks   []document.Block
}

// deepestCode is the level of the deepest headings.
const deepestCode = 5

// section writes declarations: those that are long under a heading each, short ones that stand beside each other together.
func (w *codeWriter) section(items []codeItem, level, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("parse code: %w", err)
	}
	var group []codeItem
	runes, headed := 0, false
	flush := func() {
		if len(group) == 0 {
			return
		}
		text := w.outline.span(group[0].from, group[len(group)-1].to)
		if text != "" {
			name, sign := w.groupName(group)
			if headed || name != "" && depth == 0 {
				if name == "" {
					name = w.firstLine(group)
				}
				w.heading(level, name, sign+1)
			}
			// The first declarations of a type stand under the name of the type.
			headed = headed || name != "" || depth > 0
			w.code(text)
		}
		group, runes = group[:0], 0
	}
	for i := range items {
		item := &items[i]
		if runes > 0 && runes+item.runes > compose.BlockRunes {
			flush()
		}
		if item.runes <= compose.BlockRunes {
			group, runes = append(group, *item), runes+item.runes
			continue
		}
		members := w.outline.members(item)
		switch {
		case item.kind == space && members != nil:
			// A namespace is a frame around what is in it.
			if err := w.section(members, level, depth); err != nil {
				return err
			}
			headed = true
			continue
		case members != nil && level < deepestCode:
			w.heading(level, w.nameOf(item), item.sign+1)
			if err := w.section(members, level+1, depth+1); err != nil {
				return err
			}
		case !headed && (item.kind == before || depth > 0 && item.name == ""):
			w.code(w.outline.span(item.from, item.to))
			continue
		default:
			w.heading(level, w.nameOf(item), item.sign+1)
			w.code(w.outline.span(item.from, item.to))
		}
		headed = true
	}
	flush()
	return nil
}

func (w *codeWriter) nameOf(item *codeItem) string {
	if item.name != "" {
		return item.name
	}
	return w.firstLine([]codeItem{*item})
}

// groupName joins the names of declarations that share a block, and returns the line of the first of them that has one.
func (w *codeWriter) groupName(group []codeItem) (name string, sign int) {
	const most, longest = 6, 120
	var names []string
	length := 0
	sign = group[0].sign
	for i := range group {
		next := group[i].name
		if next == "" || next == "_" || len(names) > 0 && names[len(names)-1] == next {
			continue
		}
		if len(names) == 0 {
			sign = group[i].sign
		}
		if len(names) == most || length > longest {
			names = append(names, "…")
			break
		}
		names = append(names, next)
		length += len(next) + 2
	}
	return strings.Join(names, ", "), sign
}

// firstLine names declarations that have no name by how they begin.
func (w *codeWriter) firstLine(group []codeItem) string {
	const longest = 80
	line := strings.Join(strings.Fields(w.outline.line(group[0].sign)), " ")
	line = strings.TrimRight(line, " {:(")
	if utf8.RuneCountInString(line) > longest {
		line = strings.TrimSpace(string([]rune(line)[:longest])) + "…"
	}
	if line == "" {
		line = "Line " + strconv.Itoa(group[0].sign+1)
	}
	return line
}

// heading writes a heading; the line counts from 1, 0 for none.
func (w *codeWriter) heading(level int, text string, line int) {
	text = safetext.TruncateBytes(strings.TrimSpace(text), 200)
	anchor := ""
	if line > 0 {
		anchor = "L" + strconv.Itoa(line)
	}
	w.blocks = append(w.blocks, document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take(anchor, text)})
}

// code writes a block of code, in pieces where it has lines that nobody wrote by hand.
func (w *codeWriter) code(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if !compose.HasLongLine(text) {
		w.blocks = append(w.blocks, document.Block{Kind: document.Code, Language: w.language, Text: text})
		return
	}
	var short strings.Builder
	flush := func() {
		if piece := strings.Trim(short.String(), "\n"); strings.TrimSpace(piece) != "" {
			w.blocks = append(w.blocks, document.Block{Kind: document.Code, Language: w.language, Text: piece})
		}
		short.Reset()
	}
	for line := range strings.Lines(text) {
		if len(line) <= compose.LongLine {
			short.WriteString(line)
			continue
		}
		flush()
		for piece := range compose.CutLine(strings.TrimSuffix(line, "\n")) {
			short.WriteString(piece)
			flush()
		}
	}
	flush()
}

// prepend puts a short licence back to the beginning of the code.
func (w *codeWriter) prepend(text string) {
	for i := range w.blocks {
		if w.blocks[i].Kind == document.Code {
			w.blocks[i].Text = text + "\n\n" + w.blocks[i].Text
			return
		}
	}
	w.code(text)
}

// unknown writes code of a language without a grammar.
func (w *codeWriter) unknown(text string) error {
	var b strings.Builder
	runes := 0
	flush := func() {
		w.code(strings.Trim(b.String(), "\n"))
		b.Reset()
		runes = 0
	}
	for i, part := range declarations(text) {
		if i%256 == 0 && w.ctx.Err() != nil {
			return fmt.Errorf("parse code: %w", w.ctx.Err())
		}
		size := utf8.RuneCountInString(part)
		if runes > 0 && runes+size > compose.BlockRunes {
			flush()
		}
		b.WriteString(part)
		runes += size
	}
	flush()
	return nil
}

// declarations cuts code after empty lines that are followed by a line at the left margin which opens something new. The
// parts together are the text.
func declarations(text string) []string {
	var parts []string
	start, at := 0, 0
	blank := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, " \t\n")
		if blank && trimmed != "" && !isContinued(trimmed) {
			parts = append(parts, text[start:at])
			start = at
		}
		blank = trimmed == ""
		at += len(line)
	}
	return append(parts, text[start:])
}

// isContinued reports lines that go on with what stands before an empty line: indented ones and closing brackets.
func isContinued(line string) bool {
	return strings.ContainsRune(" \t})]", rune(line[0])) || line == "end" || strings.HasPrefix(line, "else")
}
