package datatext

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxPath is the longest path, in bytes, that is written out. A longer path loses its beginning.
const maxPath = 200

// Writer collects the blocks of a tree. It is for one goroutine.
type Writer struct {
	Tree    datatree.Tree
	Anchors document.Anchors
	Blocks  []document.Block

	ctx     context.Context
	limits  document.Limits
	lines   strings.Builder // of the paragraph that is not yet a block
	written int             // bytes, to be held against the limit
	steps   int
}

// NewWriter returns a writer for a tree.
func NewWriter(ctx context.Context, tree datatree.Tree, limits document.Limits) *Writer {
	return &Writer{ctx: ctx, Tree: tree, limits: limits, Anchors: make(document.Anchors)}
}

// Err returns an error if the context has ended, or a *document.LimitError if the text has become too large. It looks at the
// context once in 1024 calls.
func (w *Writer) Err() error {
	if w.steps++; w.steps%1024 == 0 && w.ctx.Err() != nil {
		return fmt.Errorf("parse JSON: %w", w.ctx.Err())
	}
	if w.written > w.limits.MaxText {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", w.limits.MaxText)}
	}
	return nil
}

// Append ends the current paragraph and adds a block. The size, in bytes, counts towards the limit on the text.
func (w *Writer) Append(block document.Block, size int) {
	w.Flush()
	w.written += size
	w.Blocks = append(w.Blocks, block)
}

// Flush ends the current paragraph.
func (w *Writer) Flush() {
	if w.lines.Len() > 0 {
		w.Blocks = append(w.Blocks, document.Block{Kind: document.Paragraph, Text: w.lines.String()})
		w.lines.Reset()
	}
}

// Heading adds a heading. An empty text becomes an ellipsis.
func (w *Writer) Heading(level int, text string) {
	const maxBytes = 200
	text = safetext.TruncateBytes(strings.Join(strings.Fields(charset.Clean(text)), " "), maxBytes)
	if text == "" {
		text = "…"
	}
	w.Append(document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.Anchors.Take("", text)}, 0)
}

// maxSectionLevel is the level of the deepest headings.
const maxSectionLevel = 4

// Section writes a value as a table, or its members as sections: a long member gets a heading of the given level, and short
// members that follow each other share one.
func (w *Writer) Section(at int32, path string, level int) error {
	if w.isPlain(at) {
		err := w.Value(at, path)
		w.Flush()
		return err
	}
	if table, ok := w.table(at); ok {
		w.Append(table, 0)
		return nil
	}
	s := section{w: w, parent: at, path: path, level: level}
	var err error
	w.Tree.Each(at, func(child int32) bool {
		err = s.add(child)
		return err == nil
	})
	if err == nil && len(s.group) > 0 {
		err = s.flush()
	}
	return err
}

// section writes the members of one value.
type section struct {
	w      *Writer
	parent int32
	path   string
	level  int
	// group holds the short members since the last heading, names their names, and size their estimated length.
	group []int32
	names []string
	size  int
	index int
	// headed is whether a heading has been written, so that later groups need one too.
	headed bool
}

func (s *section) add(child int32) error {
	w := s.w
	err := w.Err()
	length := w.size(child, 0)
	long := length > compose.BlockRunes && !w.isPlain(child)
	if err == nil && len(s.group) > 0 && (long || s.size+length > compose.BlockRunes) {
		if err = s.flush(); err == nil {
			s.headed = true
		}
	}
	if err != nil {
		return err
	}
	name := w.name(s.parent, child, s.index)
	if !long {
		s.group, s.names, s.size = append(s.group, child), append(s.names, name), s.size+length
		s.index++
		return nil
	}
	s.headed = true
	w.Heading(s.level, name)
	childPath := w.path(s.path, s.parent, child, s.index)
	if s.level < maxSectionLevel {
		err = w.Section(child, childPath, s.level+1)
	} else {
		err = w.Value(child, childPath)
	}
	w.Flush()
	s.index++
	return err
}

// flush writes the pending group.
func (s *section) flush() error {
	w := s.w
	if s.headed {
		w.Heading(s.level, groupName(s.names))
	}
	for i, child := range s.group {
		isBlock := !w.isPlain(child)
		if isBlock {
			w.Flush()
		}
		if err := w.Value(child, w.path(s.path, s.parent, child, s.index-len(s.group)+i)); err != nil {
			return err
		}
		if isBlock {
			w.Flush()
		}
	}
	w.Flush()
	s.group, s.names, s.size = s.group[:0], s.names[:0], 0
	return nil
}

// name returns how headings call a member or an element: its key, or the name that the element gives itself.
func (w *Writer) name(parent, child int32, index int) string {
	if w.Tree[parent].Kind == datatree.Object {
		return w.Tree[child].Key
	}
	for _, key := range []string{"name", "title", "id", "key", "label"} {
		if text := ownName(w.Tree, child, key); text != "" {
			return text
		}
	}
	return "[" + strconv.Itoa(index) + "]"
}

// ownName returns a member of an object as a name on one line, or "" if it is missing or too long for one.
func ownName(tree datatree.Tree, at int32, key string) string {
	const maxBytes = 120
	text := strings.Join(strings.Fields(tree.TextOf(at, key)), " ")
	if len(text) > maxBytes {
		return ""
	}
	return text
}

// groupName joins the names of members that share a heading.
func groupName(names []string) string {
	const most = 5
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", …"
	}
	return text
}

// size estimates how many runes a value takes as lines. It stops counting at four blocks.
func (w *Writer) size(at int32, total int) int {
	node := &w.Tree[at]
	total += len(node.Key) + len(node.Text) + 12
	if total <= 4*compose.BlockRunes {
		w.Tree.Each(at, func(child int32) bool {
			total = w.size(child, total)
			return total <= 4*compose.BlockRunes
		})
	}
	return total
}

// isPlain reports whether a value is written on one line: a scalar, or an array of scalars.
func (w *Writer) isPlain(at int32) bool {
	if w.Tree[at].Kind != datatree.Array {
		return w.Tree[at].Scalar()
	}
	plain := true
	w.Tree.Each(at, func(child int32) bool {
		plain = w.Tree[child].Scalar()
		return plain
	})
	return plain
}

// path returns the path of a member or an element.
func (w *Writer) path(path string, parent, child int32, index int) string {
	if w.Tree[parent].Kind == datatree.Array {
		return path + "[" + strconv.Itoa(index) + "]"
	}
	return Join(path, w.Tree[child].Key)
}

// Join appends the name of a member to a path. A name that the path syntax could not hold is quoted.
func Join(path, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '.' || r == '[' || r == ':' }) {
		name = strconv.Quote(name)
	}
	if path != "" {
		name = path + "." + name
	}
	if len(name) > 4*maxPath {
		name = lastBytes(name, maxPath)
	}
	return name
}

// lastBytes returns the end of a text after an ellipsis.
func lastBytes(text string, n int) string {
	return "…" + strings.ToValidUTF8(text[len(text)-n:], "")
}

// Value writes a value as lines, and arrays of similar records in it as tables.
func (w *Writer) Value(at int32, path string) error {
	if err := w.Err(); err != nil {
		return err
	}
	node := &w.Tree[at]
	if node.Scalar() {
		w.line(path, w.Tree.ScalarText(at))
		return nil
	}
	if table, ok := w.table(at); ok {
		if path != "" {
			w.line(path+":", "")
		}
		w.Append(table, 0)
		return nil
	}
	const longText = 80
	var run []string // scalars of an array, which share a line while they are short
	size, index := 0, 0
	flushRun := func() {
		if len(run) > 0 {
			w.line(path, strings.Join(run, ", "))
			run, size = run[:0], 0
		}
	}
	var err error
	w.Tree.Each(at, func(child int32) bool {
		if node.Kind == datatree.Array && w.Tree[child].Scalar() {
			text := w.Tree.ScalarText(child)
			run = append(run, text)
			if size += len(text) + 2; size > compose.BlockRunes || len(text) > longText {
				flushRun()
			}
		} else {
			flushRun()
			err = w.Value(child, w.path(path, at, child, index))
		}
		if w.lines.Len() > 2*compose.BlockRunes {
			w.Flush()
		}
		index++
		if err == nil && index%1024 == 0 {
			err = w.Err()
		}
		return err == nil
	})
	flushRun()
	return err
}

// line adds a line to the current paragraph.
func (w *Writer) line(path, value string) {
	if len(path) > maxPath {
		path = lastBytes(path, maxPath)
	}
	if w.lines.Len() > 0 {
		w.lines.WriteByte('\n')
	}
	before := w.lines.Len()
	if path != "" {
		w.lines.WriteString(charset.Clean(path))
		if value != "" {
			w.lines.WriteString(": ")
		}
	}
	w.lines.WriteString(value)
	w.written += w.lines.Len() - before
}

// Members writes the members of an object, except those whose keys are listed, as lines below a path.
func (w *Writer) Members(at int32, path string, except ...string) error {
	var err error
	w.Tree.Members(at, func(child int32) {
		if err == nil && !slices.Contains(except, w.Tree[child].Key) {
			err = w.Value(child, Join(path, w.Tree[child].Key))
		}
	})
	w.Flush()
	return err
}

// Facts returns the title and the description that many formats have at the top or under "info". They are "" and nil if there
// are none.
func Facts(tree datatree.Tree, root int32) (title string, meta map[string]any) {
	const maxTitle, maxDescription = 300, 2000
	for _, at := range []int32{root, tree.Get(root, "info")} {
		text := tree.TextOf(at, "title")
		if title == "" && strings.TrimSpace(text) != "" && len(text) <= maxTitle {
			title = text
		}
		description := tree.TextOf(at, "description")
		if meta == nil && strings.TrimSpace(description) != "" && len(description) <= maxDescription {
			meta = map[string]any{"description": description}
		}
	}
	return title, meta
}
