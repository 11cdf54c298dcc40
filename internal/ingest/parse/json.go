package parse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// readJSON reads JSON: arrays of similar flat objects become tables, all else lines "path: value", in sections named by
// the members near the root. A file with comments is written and read by people, and stays as it is, cut at its members;
// a description of an interface (OpenAPI) is read as the reference it is. A file that breaks off gives what stands before
// the break, and the rest as it is.
func readJSON(ctx context.Context, r request) (*document.Draft, error) {
	p := &jsonParser{ctx: ctx, text: r.text, maxDepth: r.limits.MaxDepth, tree: make(jsonTree, 0, min(len(r.text)/16+1, maxValues))}
	root, err := p.value("", 0)
	if err == nil {
		p.done = p.at
		if err = p.space(); err == nil && p.at < len(p.text) {
			return readValues(ctx, r, p, root)
		}
	}
	var broken *errJSON
	switch {
	case errors.As(err, &broken) && (p.done == 0 || !p.tree.hasScalar()):
		return nil, &document.DamagedError{Format: "JSON", Detail: broken.invalid(r.text), Cause: err}
	case err != nil && broken == nil:
		return nil, err
	case broken == nil && p.comments:
		r.format.language = "jsonc"
		return readCode(ctx, r)
	case broken == nil && p.tree.isInterface(root):
		return readInterface(ctx, r, p.tree, root)
	}
	w := newJSONWriter(ctx, p.tree, r.limits)
	if err := w.section(root, "", 2); err != nil {
		return nil, err
	}
	found := &document.Draft{Blocks: w.blocks}
	found.Title, found.Meta = p.tree.facts(root)
	if broken != nil {
		rest := strings.TrimLeft(r.text[p.done:], ", \n\t")
		found.Blocks = append(found.Blocks, document.Block{Kind: document.Code, Language: "json", Text: strings.TrimRight(rest, "\n")})
		found.Extra = map[string]any{"damaged": broken.invalid(r.text) + "; the rest is as in the file"}
	}
	return found, nil
}

// readValues reads a file of several values one after the other, which are records as those of JSON lines.
func readValues(ctx context.Context, r request, p *jsonParser, root int32) (*document.Draft, error) {
	w := newRecordWriter(ctx, r.limits)
	for {
		if err := w.add(p.tree, root); err != nil {
			return nil, err
		}
		err := p.space()
		if err == nil && p.at >= len(p.text) {
			return w.draft(nil)
		}
		if err == nil {
			p.done = p.at
			p.tree = p.tree[:0]
			root, err = p.value("", 0)
		}
		var broken *errJSON
		if errors.As(err, &broken) {
			found, err := w.draft([]string{broken.invalid(r.text) + "; the rest is as in the file"})
			if err == nil {
				found.Blocks = append(found.Blocks, document.Block{Kind: document.Code, Language: "json", Text: strings.Trim(r.text[p.done:], "\n")})
			}
			return found, err
		}
		if err != nil {
			return nil, err
		}
	}
}

// hasScalar reports a tree with anything in it that can be read.
func (t jsonTree) hasScalar() bool {
	for i := range t {
		if t[i].scalar() {
			return true
		}
	}
	return false
}

// facts takes the title and description that many formats have at the top or under info.
func (t jsonTree) facts(root int32) (title string, meta map[string]any) {
	for _, at := range []int32{root, t.get(root, "info")} {
		text := t.textOf(at, "title")
		if title == "" && strings.TrimSpace(text) != "" && len(text) <= 300 {
			title = text
		}
		description := t.textOf(at, "description")
		if meta == nil && strings.TrimSpace(description) != "" && len(description) <= 2000 {
			meta = map[string]any{"description": description}
		}
	}
	return title, meta
}

// maxJSONPath is the longest path that is written out; longer ones lose their beginning.
const maxJSONPath = 200

// jsonWriter writes a tree as blocks.
type jsonWriter struct {
	ctx     context.Context
	tree    jsonTree
	limits  document.Limits
	anchors document.Anchors
	blocks  []document.Block
	lines   strings.Builder
	written int
	steps   int
}

func newJSONWriter(ctx context.Context, tree jsonTree, limits document.Limits) *jsonWriter {
	return &jsonWriter{ctx: ctx, tree: tree, limits: limits, anchors: make(document.Anchors)}
}

func (w *jsonWriter) alive() error {
	if w.steps++; w.steps%1024 == 0 && w.ctx.Err() != nil {
		return fmt.Errorf("parse JSON: %w", w.ctx.Err())
	}
	if w.written > w.limits.MaxText {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", w.limits.MaxText)}
	}
	return nil
}

// deepestSection is the level of the deepest headings.
const deepestSection = 4

// section writes a value: as a table, or its members in sections with headings of a level where they are long, and short
// ones that stand beside each other together.
func (w *jsonWriter) section(at int32, path string, level int) error {
	if w.plain(at) {
		err := w.value(at, path)
		w.flush()
		return err
	}
	if table, ok := w.table(at); ok {
		w.flush()
		w.blocks = append(w.blocks, table)
		return nil
	}
	var group []int32
	var names []string
	size, headed, index := 0, false, 0
	flush := func() error {
		if headed {
			w.heading(level, groupName(names))
		}
		for _, child := range group {
			whole := !w.tree[child].scalar() && !w.plain(child)
			if whole {
				w.flush()
			}
			if err := w.value(child, w.path(path, at, child, index-len(group)+indexOf(group, child))); err != nil {
				return err
			}
			if whole {
				w.flush()
			}
		}
		w.flush()
		group, names, size = group[:0], names[:0], 0
		return nil
	}
	var failed error
	w.tree.each(at, func(child int32) bool {
		failed = w.alive()
		length := w.size(child, 0)
		long := length > declarationRunes && !w.tree[child].scalar() && !w.plain(child)
		if failed == nil && len(group) > 0 && (long || size+length > declarationRunes) {
			if failed = flush(); failed == nil {
				headed = true
			}
		}
		if failed != nil {
			return false
		}
		if !long {
			group, names, size = append(group, child), append(names, w.name(at, child, index)), size+length
			index++
			return true
		}
		headed = true
		w.heading(level, w.name(at, child, index))
		childPath := w.path(path, at, child, index)
		if level < deepestSection {
			failed = w.section(child, childPath, level+1)
		} else {
			failed = w.value(child, childPath)
		}
		w.flush()
		index++
		return failed == nil
	})
	if failed == nil && len(group) > 0 {
		failed = flush()
	}
	return failed
}

func indexOf(group []int32, child int32) int {
	for i := range group {
		if group[i] == child {
			return i
		}
	}
	return 0
}

// name is what a member or element is called in headings: its key, or what the element says its name is.
func (w *jsonWriter) name(parent, child int32, index int) string {
	if w.tree[parent].kind == jsonObject {
		return w.tree[child].key
	}
	for _, key := range []string{"name", "title", "id", "key", "label"} {
		if text := oneLine(w.tree.textOf(child, key)); text != "" && len(text) <= 120 {
			return text
		}
	}
	return "[" + strconv.Itoa(index) + "]"
}

// groupName joins names that stand under one heading.
func groupName(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", …"
	}
	return text
}

func (w *jsonWriter) heading(level int, text string) {
	w.flush()
	text = document.Truncate(oneLine(clean(text)), 200)
	if text == "" {
		text = "…"
	}
	w.blocks = append(w.blocks, document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take("", text)})
}

// size estimates how many runes a value takes as lines, and stops counting where it is long.
func (w *jsonWriter) size(at int32, so int) int {
	node := &w.tree[at]
	so += len(node.key) + len(node.text) + 12
	if so <= 4*declarationRunes {
		w.tree.each(at, func(child int32) bool {
			so = w.size(child, so)
			return so <= 4*declarationRunes
		})
	}
	return so
}

// plain reports arrays of scalars, which are written on one line.
func (w *jsonWriter) plain(at int32) bool {
	if w.tree[at].kind != jsonArray {
		return w.tree[at].scalar()
	}
	plain := true
	w.tree.each(at, func(child int32) bool {
		plain = w.tree[child].scalar()
		return plain
	})
	return plain
}

// path is the path of a member or element.
func (w *jsonWriter) path(path string, parent, child int32, index int) string {
	if w.tree[parent].kind == jsonArray {
		return path + "[" + strconv.Itoa(index) + "]"
	}
	return join(path, w.tree[child].key)
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

// value writes a value as lines.
func (w *jsonWriter) value(at int32, path string) error {
	if err := w.alive(); err != nil {
		return err
	}
	node := &w.tree[at]
	if node.scalar() {
		w.line(path, w.scalarText(at))
		return nil
	}
	if table, ok := w.table(at); ok {
		if path != "" {
			w.line(path+":", "")
		}
		w.flush()
		w.blocks = append(w.blocks, table)
		return nil
	}
	var run []string
	size, index := 0, 0
	flushRun := func() {
		if len(run) > 0 {
			w.line(path, strings.Join(run, ", "))
			run, size = run[:0], 0
		}
	}
	var failed error
	w.tree.each(at, func(child int32) bool {
		if node.kind == jsonArray && w.tree[child].scalar() {
			// Plain values stand on one line as far as they are short.
			text := w.scalarText(child)
			run = append(run, text)
			if size += len(text) + 2; size > declarationRunes || len(text) > 80 {
				flushRun()
			}
		} else {
			flushRun()
			failed = w.value(child, w.path(path, at, child, index))
		}
		if w.lines.Len() > 2*declarationRunes {
			w.flush()
		}
		index++
		if failed == nil && index%1024 == 0 {
			failed = w.alive()
		}
		return failed == nil
	})
	flushRun()
	return failed
}

func (w *jsonWriter) scalarText(at int32) string {
	node := &w.tree[at]
	if node.kind != jsonNumbers {
		return strings.TrimSpace(node.text)
	}
	text := strings.Join(strings.Fields(node.text), "")
	if strings.Count(text, "[") == 1 {
		text = strings.Trim(text, "[],")
	}
	return strings.ReplaceAll(text, ",", ", ")
}

func (w *jsonWriter) line(path, value string) {
	if len(path) > maxJSONPath {
		path = "…" + strings.ToValidUTF8(path[len(path)-maxJSONPath:], "")
	}
	if w.lines.Len() > 0 {
		w.lines.WriteByte('\n')
	}
	before := w.lines.Len()
	if path != "" {
		w.lines.WriteString(clean(path))
		if value != "" {
			w.lines.WriteString(": ")
		}
	}
	w.lines.WriteString(value)
	w.written += w.lines.Len() - before
}

// flush ends a paragraph.
func (w *jsonWriter) flush() {
	if w.lines.Len() > 0 {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: w.lines.String()})
		w.lines.Reset()
	}
}
