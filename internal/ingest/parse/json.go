package parse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"magpie/internal/ingest/document"
)

// readJSON reads JSON, one value or several one after the other, as lines "path: value". Members and elements
// near the root become paragraphs of their own. A file that is no JSON is an error that says where it breaks.
func readJSON(ctx context.Context, r request) (*document.Draft, error) {
	w := jsonWriter{ctx: ctx, limits: r.limits, text: r.text, decoder: json.NewDecoder(strings.NewReader(r.text))}
	w.decoder.UseNumber()
	for values := 0; ; values++ {
		token, err := w.decoder.Token()
		if errors.Is(err, io.EOF) && values > 0 {
			break
		}
		if err != nil {
			return nil, w.invalid(err)
		}
		if err := w.value(token, "", 0); err != nil {
			return nil, err
		}
		w.flush()
	}
	return &document.Draft{Blocks: w.blocks, Title: w.title, Meta: w.meta}, nil
}

// maxJSONPath is the longest path that is written out; longer ones lose their beginning.
const maxJSONPath = 200

// jsonWriter flattens a stream of tokens.
type jsonWriter struct {
	ctx     context.Context
	limits  document.Limits
	text    string
	decoder *json.Decoder
	blocks  []document.Block
	lines   strings.Builder
	written int
	steps   int
	title   string
	meta    map[string]any
}

// invalid says where the JSON breaks.
func (w *jsonWriter) invalid(err error) error {
	offset := w.decoder.InputOffset()
	var syntax *json.SyntaxError
	reason := err.Error()
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
		// The decoder's message may quote the offending character; that is all it quotes.
		reason = syntax.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		offset, reason = int64(len(w.text)), "the file ends too early"
	}
	offset = min(offset, int64(len(w.text)))
	before := w.text[:offset]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n')
	return fmt.Errorf("invalid JSON at byte %d (line %d, column %d): %s", offset, line, column, reason)
}

func (w *jsonWriter) value(token json.Token, path string, depth int) error {
	if w.steps++; w.steps%1024 == 0 && w.ctx.Err() != nil {
		return fmt.Errorf("parse JSON: %w", w.ctx.Err())
	}
	delimiter, isDelimiter := token.(json.Delim)
	switch {
	case !isDelimiter:
		return w.scalar(path, scalarText(token))
	case depth >= w.limits.MaxDepth:
		return fmt.Errorf("invalid JSON at byte %d: nested deeper than %d levels", w.decoder.InputOffset(), w.limits.MaxDepth)
	case delimiter == '{':
		return w.object(path, depth)
	default:
		return w.array(path, depth)
	}
}

func (w *jsonWriter) object(path string, depth int) error {
	for w.decoder.More() {
		key, err := w.decoder.Token()
		if err != nil {
			return w.invalid(err)
		}
		name, _ := key.(string)
		token, err := w.decoder.Token()
		if err != nil {
			return w.invalid(err)
		}
		if text, isText := token.(string); isText && depth <= 1 {
			w.fact(path, name, text)
		}
		if err := w.value(token, join(path, name), depth+1); err != nil {
			return err
		}
		if _, isDelimiter := token.(json.Delim); isDelimiter && depth <= 1 {
			w.flush()
		}
	}
	if _, err := w.decoder.Token(); err != nil {
		return w.invalid(err)
	}
	return nil
}

// fact takes the title and description that many formats have at the top or under info.
func (w *jsonWriter) fact(path, name, text string) {
	if path != "" && path != "info" || strings.TrimSpace(text) == "" || len(text) > 300 {
		return
	}
	switch name {
	case "title":
		if w.title == "" {
			w.title = text
		}
	case "description":
		if w.meta == nil {
			w.meta = map[string]any{"description": text}
		}
	}
}

// array writes runs of plain values on one line.
func (w *jsonWriter) array(path string, depth int) error {
	var run []string
	size := 0
	flushRun := func() error {
		if len(run) == 0 {
			return nil
		}
		err := w.scalar(path, strings.Join(run, ", "))
		run, size = run[:0], 0
		return err
	}
	for index := 0; w.decoder.More(); index++ {
		token, err := w.decoder.Token()
		if err != nil {
			return w.invalid(err)
		}
		if _, isDelimiter := token.(json.Delim); !isDelimiter {
			if w.steps++; w.steps%1024 == 0 && w.ctx.Err() != nil {
				return fmt.Errorf("parse JSON: %w", w.ctx.Err())
			}
			text := scalarText(token)
			run = append(run, text)
			if size += len(text) + 2; size > declarationRunes || len(text) > 80 {
				if err := flushRun(); err != nil {
					return err
				}
			}
			continue
		}
		if err := flushRun(); err != nil {
			return err
		}
		if err := w.value(token, path+"["+strconv.Itoa(index)+"]", depth+1); err != nil {
			return err
		}
		if depth <= 2 {
			w.flush()
		}
	}
	if _, err := w.decoder.Token(); err != nil {
		return w.invalid(err)
	}
	return flushRun()
}

func join(path, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '.' || r == '[' || r == ':' }) {
		name = strconv.Quote(name)
	}
	if path != "" {
		name = path + "." + name
	}
	if len(name) > 4*maxJSONPath {
		name = "…" + strings.ToValidUTF8(name[len(name)-maxJSONPath:], "")
	}
	return name
}

func scalarText(token json.Token) string {
	switch value := token.(type) {
	case string:
		return clean(value)
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return "null"
}

func (w *jsonWriter) scalar(path, value string) error {
	if len(path) > maxJSONPath {
		path = "…" + strings.ToValidUTF8(path[len(path)-maxJSONPath:], "")
	}
	if w.lines.Len() > 0 {
		w.lines.WriteByte('\n')
	}
	before := w.lines.Len()
	if path != "" {
		w.lines.WriteString(clean(path))
		w.lines.WriteString(": ")
	}
	w.lines.WriteString(strings.TrimSpace(value))
	w.written += w.lines.Len() - before
	if len(w.blocks) > maxLines {
		return &document.LimitError{Detail: fmt.Sprintf("JSON has more than %d parts", maxLines)}
	}
	if w.written > w.limits.MaxText {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", w.limits.MaxText)}
	}
	return nil
}

func (w *jsonWriter) flush() {
	if w.lines.Len() > 0 {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: w.lines.String()})
		w.lines.Reset()
	}
}
