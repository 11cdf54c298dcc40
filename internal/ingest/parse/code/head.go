package code

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// longLicence is how many runes a licence at the top of a file may have before it is out of the way at the end.
const longLicence = 400

// codeHead is what stands at the top of a file before its declarations.
type codeHead struct {
	// end is the line where the declarations begin.
	end int
	// about is what is said of the file.
	about []document.Block
	// licence is the comment with the licence, licenceName its identifier of the SPDX list where that is plain.
	licence, licenceName string
}

// head reads the comments at the top of a file: a licence, and what the file is for, which is a comment that stands apart
// from the declarations, is written for the file as a whole (//!, @file) or, in Go, stands above the package. A docstring
// of Python is one too. What it is not is left to the declarations.
func (o *codeOutline) head(isCode bool) codeHead {
	var head codeHead
	if !isCode {
		return head
	}
	at := 0
	if len(o.lines) > 0 && strings.HasPrefix(o.line(0), "#!") {
		return head // scripts begin with comments for those who start them, and all of that is one
	}
	for range 3 {
		from, to := o.comment(at)
		if from == to {
			break
		}
		text := o.span(from, to)
		if name, is := licenceOf(text); is && head.licence == "" {
			head.licence, head.licenceName, at = text, name, to
			continue
		}
		if o.hasDocstring(to) || !o.isAbout(from, to) {
			break
		}
		head.about, at = commentBlocks(text), to
		break
	}
	if o.hasDocstring(at) {
		if from, to := o.docstring(at); from < to {
			if above := o.span(at, from); above != "" {
				head.about = append(head.about, document.Block{Kind: document.Code, Language: o.grammar.name, Text: above})
			}
			head.about = append(head.about, docstringBlocks(o.span(from, to))...)
			at = to
		}
	}
	head.end = at
	return head
}

// comment returns the lines of the comment that begins at or after a line, with nothing but empty lines before it. A
// comment ends at an empty line between line comments, or where another kind begins.
func (o *codeOutline) comment(at int) (from, to int) {
	for at < len(o.lines) && o.blank(at) && !o.lines[at].inside {
		at++
	}
	from = at
	for at < len(o.lines) && o.lines[at].comment && (at == from || o.lines[at].inside == o.lines[at-1].inside || o.lines[at].inside || !o.lines[at-1].inside) {
		if kind := o.kindOfComment(at); at > from && !o.lines[at].inside && (kind != o.kindOfComment(from) || o.isBlock(kind)) {
			break
		}
		at++
		if at < len(o.lines) && o.blank(at) && !o.lines[at].inside {
			break
		}
	}
	return from, at
}

// kindOfComment is how a comment begins.
func (o *codeOutline) kindOfComment(i int) string {
	text := strings.TrimSpace(o.line(i))
	for _, mark := range []string{"//!", "///", "//", "/**", "/*", "--[[", "--", "#"} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return text[:min(len(text), 2)]
}

// isBlock reports what block comments begin with.
func (o *codeOutline) isBlock(kind string) bool {
	for _, pair := range o.grammar.blockComments {
		if strings.HasPrefix(kind, pair[0]) {
			return true
		}
	}
	return false
}

// isAbout reports whether a comment is about the file.
func (o *codeOutline) isAbout(from, to int) bool {
	text := o.span(from, to)
	if utf8.RuneCountInString(text) < 30 || strings.Contains(text, "//go:") || strings.Contains(text, "+build") || strings.HasPrefix(text, "{-#") {
		return false
	}
	switch kind := o.kindOfComment(from); {
	case kind == "//!", strings.Contains(text, "@file"), strings.Contains(text, "\\file"), strings.Contains(text, "@module"):
		return true
	case strings.Contains(text, "\n * @"), strings.HasPrefix(text, "# vim"), strings.HasPrefix(text, "# -*-"):
		return false
	}
	if to >= len(o.lines) {
		return false
	}
	if o.blank(to) {
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

func (o *codeOutline) hasDocstring(at int) bool {
	from, to := o.docstring(at)
	return from < to
}

// docstring returns the lines of the string at the top of a file of Python.
func (o *codeOutline) docstring(at int) (from, to int) {
	if o.grammar.name != "python" {
		return 0, 0
	}
	for at < len(o.lines) && (o.blank(at) || o.lines[at].comment) && !o.lines[at].inside {
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
	for at++; at < len(o.lines) && o.lines[at].inside; at++ {
	}
	if tail := strings.TrimSpace(o.line(at - 1)); !strings.HasSuffix(tail, `"""`) && !strings.HasSuffix(tail, "'''") {
		return 0, 0
	}
	return from, at
}

// commentBlocks makes text of a comment: the marks go, empty lines part paragraphs, indented lines are code.
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

// paragraphs parts a text at empty lines.
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
		case isItem(part):
			block.Kind = document.List
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// licenceOf reports whether a comment is about the rights in a file, and the identifier of its licence where it is plain.
func licenceOf(text string) (name string, is bool) {
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

// isItem reports lines that begin an item with a mark that is no number.
func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "• ")
}
