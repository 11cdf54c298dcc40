package notebook

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/frontmatter"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/jsondoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/markdown"
	"github.com/magpie-search/magpie/internal/ingest/parse/restructured"
	"github.com/magpie-search/magpie/internal/ingest/parse/sitetemplate"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Bounds of the output of a cell that is kept.
const (
	maxOutputLines = 50
	maxOutputBytes = 8 << 10
)

// notebook is a Jupyter notebook in nbformat 4, or in nbformat 3, which has worksheets.
type notebook struct {
	Cells      []cell `json:"cells"`
	Worksheets []struct {
		Cells []cell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title   string `json:"title"`
		Name    string `json:"name"`
		Authors []struct {
			Name string `json:"name"`
		} `json:"authors"`
		Kernel struct {
			Name     string `json:"name"`
			Language string `json:"language"`
		} `json:"kernelspec"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Format int `json:"nbformat"`
}

type cell struct {
	Type     string    `json:"cell_type"`
	Source   multiline `json:"source"`
	Input    multiline `json:"input"` // of code, nbformat 3
	Language string    `json:"language"`
	Level    int       `json:"level"` // of a heading, nbformat 3
	Outputs  []output  `json:"outputs"`
	Metadata struct {
		Format string `json:"raw_mimetype"`
		Other  string `json:"format"`
	} `json:"metadata"`
}

type output struct {
	Type  string               `json:"output_type"`
	Text  multiline            `json:"text"`
	HTML  multiline            `json:"html"` // nbformat 3
	Data  map[string]multiline `json:"data"`
	Name  string               `json:"ename"`
	Value string               `json:"evalue"`
	Trace traceback            `json:"traceback"`
}

// multiline is a string, or a list of lines. Other JSON values are empty.
type multiline string

// UnmarshalJSON accepts any value.
func (m *multiline) UnmarshalJSON(value []byte) error {
	var text string
	if json.Unmarshal(value, &text) == nil {
		*m = multiline(text)
		return nil
	}
	var lines []string
	if json.Unmarshal(value, &lines) == nil {
		*m = multiline(strings.Join(lines, ""))
	}
	return nil
}

// traceback is a list of strings without line ends, or a string.
type traceback string

// UnmarshalJSON accepts any value.
func (t *traceback) UnmarshalJSON(value []byte) error {
	var pieces []string
	if json.Unmarshal(value, &pieces) == nil {
		*t = traceback(strings.Join(pieces, "\n"))
		return nil
	}
	var text multiline
	err := text.UnmarshalJSON(value)
	*t = traceback(text)
	return err
}

// Read reads a Jupyter notebook: text cells as Markdown, and code cells with their output. JSON that is no notebook is
// read as JSON.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	var book notebook
	if err := json.Unmarshal([]byte(in.Text), &book); err != nil || book.Format == 0 {
		return jsondoc.Read(ctx, in)
	}
	for _, sheet := range book.Worksheets {
		book.Cells = append(book.Cells, sheet.Cells...)
	}
	w := writer{
		ctx: ctx, anchors: make(document.Anchors), language: book.Metadata.Language.Name,
		draft: &document.Draft{Prose: true, Meta: make(map[string]any), Extra: map[string]any{"cells": len(book.Cells)}, DocType: "notebook"},
	}
	if w.language == "" {
		w.language = book.Metadata.Kernel.Language
	}
	if name := book.Metadata.Kernel.Name; w.language == "" && len(name) < 20 {
		w.language = strings.TrimRight(name, "0123456789.") // python3
	}
	w.describe(&book)
	for i := range book.Cells {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("parse notebook: %w", err)
		}
		if err := w.cell(&book.Cells[i], i == 0); err != nil {
			return nil, err
		}
	}
	return w.draft, nil
}

type writer struct {
	ctx      context.Context
	anchors  document.Anchors
	language string
	draft    *document.Draft
}

func (w *writer) describe(book *notebook) {
	if book.Metadata.Title != "" {
		w.draft.Meta["title"] = book.Metadata.Title
	}
	var authors []any
	for _, author := range book.Metadata.Authors {
		authors = append(authors, author.Name)
	}
	if len(authors) > 0 {
		w.draft.Meta["author"] = authors
	}
	if w.language != "" {
		w.draft.Extra["code_language"] = strings.ToLower(w.language)
	}
}

func (w *writer) add(block document.Block) { w.draft.Blocks = append(w.draft.Blocks, block) }

func (w *writer) cell(cell *cell, first bool) error {
	source := string(cell.Source)
	switch cell.Type {
	case "markdown":
		return w.markdown(source)
	case "heading":
		return w.markdown(strings.Repeat("#", min(max(cell.Level, 1), 6)) + " " + strings.Join(strings.Fields(source), " "))
	case "code":
		if source == "" {
			source = string(cell.Input)
		}
		language := strings.ToLower(cell.Language)
		if language == "" {
			language = strings.ToLower(w.language)
		}
		if other := magicLanguage(source); other != "" {
			language = other
		}
		w.add(document.Block{Kind: document.Code, Language: language, Text: strings.Trim(charset.Clean(source), "\n")})
		for i := range cell.Outputs {
			w.output(&cell.Outputs[i])
		}
		return nil
	case "raw":
		return w.raw(cell, first)
	}
	w.add(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(charset.Clean(source))})
	return nil
}

// raw reads a cell in the format that its metadata names.
func (w *writer) raw(cell *cell, first bool) error {
	source := charset.Clean(string(cell.Source))
	kind := cell.Metadata.Format
	if kind == "" {
		kind = cell.Metadata.Other
	}
	switch {
	case first && strings.HasPrefix(strings.TrimSpace(source), "---"):
		meta, body, _ := frontmatter.Cut(strings.TrimSpace(source) + "\n")
		for key, value := range meta {
			if _, known := w.draft.Meta[key]; !known {
				w.draft.Meta[key] = value
			}
		}
		return w.markdown(body)
	case strings.Contains(kind, "html"):
		w.draft.Blocks = append(w.draft.Blocks, htmldoc.Fragment(w.ctx, source, w.anchors)...)
	case strings.Contains(kind, "markdown"):
		return w.markdown(source)
	case strings.Contains(kind, "restructuredtext"):
		blocks, err := restructured.Fragment(w.ctx, source, w.anchors, 0)
		w.draft.Blocks = append(w.draft.Blocks, blocks...)
		return err
	default:
		w.add(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(source)})
	}
	return nil
}

// magicLanguage returns the language of a cell that begins with a magic command such as %%bash, or "".
func magicLanguage(source string) string {
	line, _, _ := strings.Cut(source, "\n")
	name, found := strings.CutPrefix(strings.TrimSpace(line), "%%")
	if words := strings.Fields(name); found && len(words) > 0 {
		switch name = strings.ToLower(words[0]); name {
		case "bash", "sh", "html", "javascript", "js", "latex", "sql", "r", "ruby", "perl", "markdown", "svg", "cython", "julia":
			return name
		}
	}
	return ""
}

// markdown reads a text as Markdown.
func (w *writer) markdown(text string) error {
	blocks, err := markdown.Fragment(w.ctx, sitetemplate.Strip(charset.Clean(text), false), w.anchors)
	w.draft.Blocks = append(w.draft.Blocks, blocks...)
	return err
}

// escapeSequence matches the sequences by which programs colour their output (ECMA-48).
var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// output adds tables and the beginning of printed text. Pictures and widgets have no text.
func (w *writer) output(output *output) {
	page, plain := output.Data["text/html"], output.Data["text/plain"]
	if page == "" {
		page = output.HTML
	}
	if plain == "" {
		plain = output.Text
	}
	if text := output.Data["text/markdown"]; text != "" && w.markdown(string(text)) == nil {
		return
	}
	if strings.Contains(string(page), "<table") && len(page) < 1<<20 {
		tables := 0
		for _, block := range htmldoc.Fragment(w.ctx, charset.Clean(string(page)), w.anchors) {
			if block.Kind == document.Table {
				w.add(block)
				tables++
			}
		}
		if tables > 0 {
			return
		}
	}
	if output.Type == "error" || output.Type == "pyerr" {
		plain = multiline(output.Name + ": " + output.Value)
		if trace := string(output.Trace); trace != "" {
			plain = multiline(lastLines(trace)) // the end says what went wrong
		}
	}
	if formula := strings.TrimSpace(charset.Clean(string(output.Data["text/latex"]))); formula != "" && len(formula) < maxOutputBytes {
		w.add(document.Block{Kind: document.Paragraph, Text: formula})
		return
	}
	for kind := range output.Data {
		if strings.HasPrefix(kind, "image/") {
			return // its text only says that there is a picture
		}
	}
	text := escapeSequence.ReplaceAllString(string(plain), "")
	if isPlaceholder(strings.TrimSpace(text)) {
		return
	}
	w.add(document.Block{Kind: document.Code, Language: "text", Text: strings.Trim(charset.Clean(firstLines(text)), "\n")})
}

// isPlaceholder reports whether a text stands for a result without text: <Figure size 640x480 with 1 Axes>.
func isPlaceholder(text string) bool {
	return strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") && !strings.ContainsAny(text, "\n") && strings.Count(text, "<") == 1
}

// lastLines returns the last lines of a text.
func lastLines(text string) string {
	text = strings.TrimRight(text, "\n")
	for at, lines := len(text), 0; at > 0; lines++ {
		if lines == maxOutputLines || len(text)-at > maxOutputBytes {
			return text[at+1:]
		}
		at = strings.LastIndexByte(text[:at], '\n')
	}
	return text
}

// firstLines returns the first lines of a text.
func firstLines(text string) string {
	text = safetext.TruncateBytes(text, maxOutputBytes)
	lines := 0
	for i := range len(text) {
		if text[i] == '\n' {
			if lines++; lines == maxOutputLines {
				return text[:i]
			}
		}
	}
	return text
}
