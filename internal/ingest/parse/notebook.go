package parse

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"magpie/internal/ingest/document"
)

// Bounds of what is kept of the results of a cell: they are there to be looked at, not to be read.
const (
	maxOutputLines = 50
	maxOutputBytes = 8 << 10
)

// notebook is a Jupyter notebook, nbformat 4 and 3 (which has worksheets).
type notebook struct {
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title   string `json:"title"`
		Name    string `json:"name"`
		Authors []struct {
			Name string `json:"name"`
		} `json:"authors"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Format int `json:"nbformat"`
}

type notebookCell struct {
	Type     string           `json:"cell_type"`
	Source   multiline        `json:"source"`
	Input    multiline        `json:"input"` // of code, nbformat 3
	Language string           `json:"language"`
	Level    int              `json:"level"` // of headings, nbformat 3
	Outputs  []notebookOutput `json:"outputs"`
}

type notebookOutput struct {
	Type  string               `json:"output_type"`
	Text  multiline            `json:"text"`
	HTML  multiline            `json:"html"` // nbformat 3
	Data  map[string]multiline `json:"data"`
	Name  string               `json:"ename"`
	Value string               `json:"evalue"`
	Trace multiline            `json:"traceback"`
}

// multiline is a text, or a list of its lines. Other values have no text.
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

// readNotebook reads a Jupyter notebook: text cells as Markdown, code cells with what they printed. JSON that is no
// notebook is read as JSON.
func readNotebook(ctx context.Context, r request) (*document.Draft, error) {
	var book notebook
	if err := json.Unmarshal([]byte(r.text), &book); err != nil || book.Format == 0 {
		return readJSON(ctx, r)
	}
	for _, sheet := range book.Worksheets {
		book.Cells = append(book.Cells, sheet.Cells...)
	}
	w := notebookWriter{
		ctx: ctx, request: r, anchors: make(document.Anchors), language: book.Metadata.Language.Name,
		found: &document.Draft{Prose: true, Meta: make(map[string]any), Extra: map[string]any{"cells": len(book.Cells)}, DocType: "notebook"},
	}
	if w.language == "" {
		w.language = book.Metadata.Kernel.Language
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
	return w.found, nil
}

type notebookWriter struct {
	ctx      context.Context
	request  request
	anchors  document.Anchors
	language string
	found    *document.Draft
}

func (w *notebookWriter) describe(book *notebook) {
	if book.Metadata.Title != "" {
		w.found.Meta["title"] = book.Metadata.Title
	}
	var authors []any
	for _, author := range book.Metadata.Authors {
		authors = append(authors, author.Name)
	}
	if len(authors) > 0 {
		w.found.Meta["author"] = authors
	}
	if w.language != "" {
		w.found.Extra["code_language"] = strings.ToLower(w.language)
	}
}

func (w *notebookWriter) add(block document.Block) { w.found.Blocks = append(w.found.Blocks, block) }

func (w *notebookWriter) cell(cell *notebookCell, first bool) error {
	source := string(cell.Source)
	switch cell.Type {
	case "markdown":
		return w.markdown(source)
	case "heading":
		return w.markdown(strings.Repeat("#", min(max(cell.Level, 1), 6)) + " " + oneLine(source))
	case "code":
		if source == "" {
			source = string(cell.Input)
		}
		language := strings.ToLower(cell.Language)
		if language == "" {
			language = strings.ToLower(w.language)
		}
		w.add(document.Block{Kind: document.Code, Language: language, Text: strings.Trim(clean(source), "\n")})
		for i := range cell.Outputs {
			w.output(&cell.Outputs[i])
		}
		return nil
	case "raw":
		if first && strings.HasPrefix(strings.TrimSpace(source), "---") {
			return w.markdown(source + "\n") // front matter of publishing programs
		}
	}
	w.add(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(clean(source))})
	return nil
}

// markdown reads the text of a cell as Markdown.
func (w *notebookWriter) markdown(text string) error {
	inner := w.request
	inner.text, inner.format = clean(text), format{name: "markdown"}
	found, err := readMarkdown(w.ctx, inner)
	if err != nil {
		return err
	}
	for key, value := range found.Meta {
		if _, known := w.found.Meta[key]; !known {
			w.found.Meta[key] = value
		}
	}
	for _, block := range found.Blocks {
		if block.Kind == document.Heading {
			block.Anchor = w.anchors.Take("", block.Text)
		}
		w.add(block)
	}
	return nil
}

// terminal matches the codes by which programs colour what they print (ECMA-48).
var terminal = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// output keeps tables and the beginning of printed text; pictures and widgets have no text.
func (w *notebookWriter) output(output *notebookOutput) {
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
		for _, block := range htmlFragment(w.ctx, clean(string(page)), w.anchors) {
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
		if output.Trace != "" {
			plain = output.Trace
		}
	}
	for kind := range output.Data {
		if strings.HasPrefix(kind, "image/") {
			return // its text only says that there is a picture
		}
	}
	text := terminal.ReplaceAllString(string(plain), "")
	w.add(document.Block{Kind: document.Code, Language: "text", Text: strings.Trim(clean(beginning(text)), "\n")})
}

// beginning cuts the output of a cell to what is kept.
func beginning(text string) string {
	text = document.Truncate(text, maxOutputBytes)
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
