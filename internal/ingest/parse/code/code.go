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

// Read reads source code and configuration as blocks of whole declarations. Headings name the declarations: level 2 at
// the top level, deeper for the members of long types. The anchor of a heading is its line, as code forges write it:
// L120. A comment about the file becomes a paragraph, and a long licence moves to the end. Code without a known grammar
// is cut where an empty line is followed by a line at the left margin.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	w := writer{ctx: ctx, language: in.Language, anchors: make(document.Anchors)}
	draft := &document.Draft{Extra: make(map[string]any), DocType: in.DocType}
	if w.language != "" {
		draft.Extra["code_language"] = w.language
	}
	g := grammarOf(w.language)
	if g == nil || isMinified(in.Text) || g.name == "ini" && !strings.HasPrefix(in.Text, "[") && !strings.Contains(in.Text, "\n[") {
		err := w.writeUnknown(in.Text)
		draft.Blocks = w.blocks
		return draft, err
	}
	lines, byIndent, err := scan(ctx, in.Text, g)
	if err != nil {
		return nil, err
	}
	w.outline = outline{grammar: g, text: in.Text, lines: lines, byIndent: byIndent}
	head := w.outline.head(in.DocType == "code")
	w.blocks = append(w.blocks, head.comments...)
	items := w.outline.yamlDocuments()
	if items == nil {
		level := 0
		if g.name == "json" {
			level = 1 // inside the outermost brackets
		}
		items = w.outline.declarations(head.end, len(lines), level)
	}
	if err := w.section(items, 2, 0); err != nil {
		return nil, err
	}
	if head.licence != "" {
		if utf8.RuneCountInString(head.licence) > maxLicenceRunes {
			w.heading(2, "Licence", 0)
			w.code(head.licence)
		} else {
			w.prepend(head.licence)
		}
	}
	if head.licenceName != "" {
		draft.Extra["license"] = head.licenceName
	}
	draft.Blocks = w.blocks
	return draft, nil
}

// writer writes declarations as blocks.
type writer struct {
	ctx      context.Context
	language string
	outline  outline
	anchors  document.Anchors
	blocks   []document.Block
}

// maxHeadingLevel is the level of the deepest headings.
const maxHeadingLevel = 5

// section writes declarations: a long one with its own heading, short ones that follow each other with a shared one.
func (w *writer) section(items []declaration, level, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("parse code: %w", err)
	}
	var group []declaration
	runes, hasHeading := 0, false
	flush := func() {
		if len(group) == 0 {
			return
		}
		text := w.outline.span(group[0].from, group[len(group)-1].to)
		if text != "" {
			name, sign := w.groupName(group)
			if hasHeading || name != "" && depth == 0 {
				if name == "" {
					name = w.firstLine(group)
				}
				w.heading(level, name, sign+1)
			}
			// The first members of a type belong to the heading of the type.
			hasHeading = hasHeading || name != "" || depth > 0
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
		case item.kind == namespaceKind && members != nil:
			// A namespace is only a frame.
			if err := w.section(members, level, depth); err != nil {
				return err
			}
			hasHeading = true
			continue
		case members != nil && level < maxHeadingLevel:
			w.heading(level, w.headingText(item), item.signature+1)
			if err := w.section(members, level+1, depth+1); err != nil {
				return err
			}
		case !hasHeading && (item.kind == unnamedKind || depth > 0 && item.name == ""):
			w.code(w.outline.span(item.from, item.to))
			continue
		default:
			w.heading(level, w.headingText(item), item.signature+1)
			w.code(w.outline.span(item.from, item.to))
		}
		hasHeading = true
	}
	flush()
	return nil
}

func (w *writer) headingText(item *declaration) string {
	if item.name != "" {
		return item.name
	}
	return w.firstLine([]declaration{*item})
}

// groupName joins the names of declarations that share a block. The line is that of the first declaration with a name.
func (w *writer) groupName(group []declaration) (name string, sign int) {
	const most, longest = 6, 120
	var names []string
	length := 0
	sign = group[0].signature
	for i := range group {
		next := group[i].name
		if next == "" || next == "_" || len(names) > 0 && names[len(names)-1] == next {
			continue
		}
		if len(names) == 0 {
			sign = group[i].signature
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

// firstLine returns the first line of declarations without names.
func (w *writer) firstLine(group []declaration) string {
	const longest = 80
	line := strings.Join(strings.Fields(w.outline.line(group[0].signature)), " ")
	line = strings.TrimRight(line, " {:(")
	if utf8.RuneCountInString(line) > longest {
		line = strings.TrimSpace(string([]rune(line)[:longest])) + "…"
	}
	if line == "" {
		line = "Line " + strconv.Itoa(group[0].signature+1)
	}
	return line
}

// heading writes a heading. The line counts from 1; 0 stands for none.
func (w *writer) heading(level int, text string, line int) {
	text = safetext.TruncateBytes(strings.TrimSpace(text), 200)
	anchor := ""
	if line > 0 {
		anchor = "L" + strconv.Itoa(line)
	}
	w.blocks = append(w.blocks, document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take(anchor, text)})
}

// code writes a block of code, in pieces if it has lines that nobody wrote by hand.
func (w *writer) code(text string) {
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

// prepend puts a short licence back before the code.
func (w *writer) prepend(text string) {
	for i := range w.blocks {
		if w.blocks[i].Kind == document.Code {
			w.blocks[i].Text = text + "\n\n" + w.blocks[i].Text
			return
		}
	}
	w.code(text)
}

// writeUnknown writes code without a grammar.
func (w *writer) writeUnknown(text string) error {
	var b strings.Builder
	runes := 0
	flush := func() {
		w.code(strings.Trim(b.String(), "\n"))
		b.Reset()
		runes = 0
	}
	for i, part := range cutAtBlankLines(text) {
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

// cutAtBlankLines cuts code after empty lines before a line at the left margin that opens something new. The parts
// together are the text.
func cutAtBlankLines(text string) []string {
	var parts []string
	start, at := 0, 0
	blank := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, " \t\n")
		if blank && trimmed != "" && !continuesPart(trimmed) {
			parts = append(parts, text[start:at])
			start = at
		}
		blank = trimmed == ""
		at += len(line)
	}
	return append(parts, text[start:])
}

// continuesPart reports whether a line continues the part before an empty line: it is indented or closes a bracket.
func continuesPart(line string) bool {
	return strings.ContainsRune(" \t})]", rune(line[0])) || line == "end" || strings.HasPrefix(line, "else")
}
