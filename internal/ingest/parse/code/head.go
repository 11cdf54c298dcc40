package code

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxLicenceRunes is how long a licence at the top of a file may be before it moves to the end.
const maxLicenceRunes = 400

// fileHead is the part of a file before its declarations.
type fileHead struct {
	// end is the first line of the declarations.
	end int
	// comments are the blocks of the comment about the file.
	comments []document.Block
	// licence is the comment with the licence, licenceName its SPDX identifier if it is known.
	licence, licenceName string
}

// head reads the comments at the top of a file: a licence, and a comment about the file. The latter stands apart from
// the declarations, is marked as such (//!, @file), is a docstring in Python, or stands above the package clause in Go.
// Other comments belong to the declarations.
func (o *outline) head(isCode bool) fileHead {
	var head fileHead
	if !isCode {
		return head
	}
	at := 0
	if len(o.lines) > 0 && strings.HasPrefix(o.line(0), "#!") {
		return head // the comment after a #! line is instructions for use
	}
	for range 3 {
		from, to := o.comment(at)
		if from == to {
			break
		}
		text := o.span(from, to)
		if name, is := findLicence(text); is && head.licence == "" {
			head.licence, head.licenceName, at = text, name, to
			continue
		}
		if o.hasDocstring(to) || !o.isFileComment(from, to) {
			break
		}
		head.comments, at = commentBlocks(text), to
		break
	}
	if o.hasDocstring(at) {
		if from, to := o.docstring(at); from < to {
			if above := o.span(at, from); above != "" {
				head.comments = append(head.comments, document.Block{Kind: document.Code, Language: o.grammar.name, Text: above})
			}
			head.comments = append(head.comments, docstringBlocks(o.span(from, to))...)
			at = to
		}
	}
	head.end = at
	return head
}

// comment returns the lines of the next comment at or after a line, with only empty lines before it. A comment ends at
// an empty line, or where another kind of comment begins.
func (o *outline) comment(at int) (from, to int) {
	for at < len(o.lines) && o.isBlank(at) && !o.lines[at].inLiteral {
		at++
	}
	from = at
	for at < len(o.lines) && o.lines[at].isComment && (at == from || o.lines[at].inLiteral == o.lines[at-1].inLiteral || o.lines[at].inLiteral || !o.lines[at-1].inLiteral) {
		if kind := o.commentMark(at); at > from && !o.lines[at].inLiteral && (kind != o.commentMark(from) || o.isBlockComment(kind)) {
			break
		}
		at++
		if at < len(o.lines) && o.isBlank(at) && !o.lines[at].inLiteral {
			break
		}
	}
	return from, at
}

// commentMark returns the mark that begins a comment.
func (o *outline) commentMark(i int) string {
	text := strings.TrimSpace(o.line(i))
	for _, mark := range []string{"//!", "///", "//", "/**", "/*", "--[[", "--", "#"} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return text[:min(len(text), 2)]
}

// isBlockComment reports whether a mark begins a block comment.
func (o *outline) isBlockComment(kind string) bool {
	for _, pair := range o.grammar.blockComments {
		if strings.HasPrefix(kind, pair[0]) {
			return true
		}
	}
	return false
}

// isFileComment reports whether a comment is about the file.
func (o *outline) isFileComment(from, to int) bool {
	text := o.span(from, to)
	if utf8.RuneCountInString(text) < 30 || strings.Contains(text, "//go:") || strings.Contains(text, "+build") || strings.HasPrefix(text, "{-#") {
		return false
	}
	switch kind := o.commentMark(from); {
	case kind == "//!", strings.Contains(text, "@file"), strings.Contains(text, "\\file"), strings.Contains(text, "@module"):
		return true
	case strings.Contains(text, "\n * @"), strings.HasPrefix(text, "# vim"), strings.HasPrefix(text, "# -*-"):
		return false
	}
	if to >= len(o.lines) {
		return false
	}
	if o.isBlank(to) {
		return o.grammar.name != "go"
	}
	next := strings.TrimSpace(o.line(to))
	word := firstWord(next)
	switch o.grammar.name {
	case "go":
		return word == "package"
	case "java", "kotlin", "scala", "proto":
		return word == "package" || word == "import" || word == "syntax"
	case "haskell":
		return word == "module"
	}
	return false
}

func (o *outline) hasDocstring(at int) bool {
	from, to := o.docstring(at)
	return from < to
}

// docstring returns the lines of the string at the top of a Python file.
func (o *outline) docstring(at int) (from, to int) {
	if o.grammar.name != "python" {
		return 0, 0
	}
	for at < len(o.lines) && (o.isBlank(at) || o.lines[at].isComment) && !o.lines[at].inLiteral {
		at++
	}
	if at >= len(o.lines) {
		return 0, 0
	}
	text := strings.TrimLeft(o.line(at), "rRuU")
	if !strings.HasPrefix(text, `"""`) && !strings.HasPrefix(text, "'''") {
		return 0, 0
	}
	from = at
	for at++; at < len(o.lines) && o.lines[at].inLiteral; at++ {
	}
	if tail := strings.TrimSpace(o.line(at - 1)); !strings.HasSuffix(tail, `"""`) && !strings.HasSuffix(tail, "'''") {
		return 0, 0
	}
	return from, at
}

// commentBlocks returns the text of a comment as blocks: marks are removed, empty lines separate paragraphs, indented
// lines are code.
func commentBlocks(text string) []document.Block {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		line = strings.TrimSuffix(strings.TrimSuffix(line, "*/"), "-}")
		line = strings.TrimSuffix(line, "]]")
		for _, mark := range []string{"//!", "///", "//", "/**", "/*", "--[[", "{-|", "{-", "--", "##", "#", "*", ";;"} {
			if rest, found := strings.CutPrefix(line, mark); found {
				line = rest
				break
			}
		}
		if strings.Trim(line, "*-=#/ \t") == "" {
			line = ""
		}
		b.WriteString(strings.TrimPrefix(strings.TrimRight(line, " \t"), " "))
		b.WriteByte('\n')
	}
	return paragraphs(b.String())
}

func docstringBlocks(text string) []document.Block {
	text = strings.TrimLeft(text, "rRuU")
	text = strings.Trim(text, "\"'")
	first, rest, _ := strings.Cut(text, "\n")
	return paragraphs(strings.TrimSpace(first) + "\n" + compose.Outdent(rest))
}

// paragraphs splits a text at empty lines.
func paragraphs(text string) []document.Block {
	var blocks []document.Block
	for part := range strings.SplitSeq(text, "\n\n") {
		part = strings.Trim(part, "\n")
		block := document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(part)}
		switch {
		case block.Text == "":
			continue
		case strings.HasPrefix(part, "\t") || strings.HasPrefix(part, "    "):
			block.Kind, block.Text = document.Code, compose.Outdent(part)
		case isBulleted(part):
			block.Kind = document.List
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// findLicence reports whether a comment is about the rights in a file, and returns the SPDX identifier of its licence
// if it is known.
func findLicence(text string) (name string, is bool) {
	lower := strings.ToLower(text)
	if _, after, found := strings.Cut(lower, "spdx-license-identifier:"); found {
		start := len(text) - len(after)
		line, _, _ := strings.Cut(text[start:], "\n")
		name = strings.Trim(strings.TrimSuffix(strings.TrimSpace(line), "*/"), " */")
		return safetext.TruncateBytes(name, 60), true
	}
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(lower, word) {
				return true
			}
		}
		return false
	}
	if !has("copyright", "licen", "(c) 2", "(c) 1", "all rights reserved", "public domain") || !has("copyright", "licensed", "license", "licence", "rights", "public domain") {
		return "", false
	}
	folded := strings.Join(strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(" \t\n*/#;-", r) }), " ")
	lower = folded
	switch {
	case has("apache license, version 2", "apache license version 2"):
		return "Apache-2.0", true
	case has("mozilla public license"):
		return "MPL-2.0", true
	case has("gnu affero general public"):
		return "AGPL", true
	case has("gnu lesser general public", "gnu library general public"):
		return "LGPL", true
	case has("gnu general public"):
		return "GPL", true
	case has("permission is hereby granted, free of charge", "mit license", "mit licence"):
		return "MIT", true
	case has("redistribution and use in source and binary forms", "bsd style", "bsd license"):
		return "BSD", true
	case has("permission to use, copy, modify, and/or distribute", "permission to use, copy, modify, and distribute", "isc license"):
		return "ISC", true
	case has("boost software license"):
		return "BSL-1.0", true
	}
	return "", true
}

// isBulleted reports whether a line begins with a bullet.
func isBulleted(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "• ")
}
