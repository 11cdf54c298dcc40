package openapi

import (
	"context"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatext"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
	"github.com/magpie-search/magpie/internal/ingest/parse/markdown"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Is reports whether a tree is a description of an HTTP interface.
func Is(tree datatree.Tree, root int32) bool {
	if tree.TextOf(root, "openapi") == "" && tree.TextOf(root, "swagger") == "" {
		return false
	}
	for _, key := range []string{"paths", "components", "definitions", "webhooks"} {
		if at := tree.Get(root, key); at >= 0 && tree[at].Kind == datatree.Object {
			return true
		}
	}
	return false
}

// Read reads a description as a reference: a section for each operation with its parameters and responses, and one for each
// schema with its fields. Everything else follows as lines "path: value".
func Read(ctx context.Context, tree datatree.Tree, root int32, limits document.Limits) (*document.Draft, error) {
	w := &writer{Writer: datatext.NewWriter(ctx, tree, limits), ctx: ctx, root: root}
	info := tree.Get(root, "info")
	w.prose(tree.TextOf(info, "description"), 1)
	w.servers()
	w.tags()
	for _, group := range []string{"paths", "webhooks"} {
		if err := w.operations(tree.Get(root, group)); err != nil {
			return nil, err
		}
	}
	w.securitySchemes(w.lookup("components", "securitySchemes"))
	w.securitySchemes(w.lookup("securityDefinitions"))
	for _, path := range [][]string{{"components", "schemas"}, {"definitions"}} {
		if err := w.schemas(w.lookup(path...)); err != nil {
			return nil, err
		}
	}
	if err := w.remainder(); err != nil {
		return nil, err
	}
	title, meta := datatext.Facts(tree, root)
	if meta == nil {
		meta = make(map[string]any)
	}
	if version := tree.TextOf(info, "version"); version != "" {
		meta["version"] = version
	}
	return &document.Draft{Blocks: w.Blocks, Title: title, Meta: meta, DocType: "api", Prose: true}, nil
}

// writer writes a description.
type writer struct {
	*datatext.Writer
	ctx  context.Context
	root int32
	// resolved counts the references that were followed: each may lead to many others.
	resolved int
}

// maxResolved is how many references of one file are followed.
const maxResolved = 200_000

// lookup returns the value at a path below the root, or -1.
func (w *writer) lookup(path ...string) int32 {
	at := w.root
	for _, key := range path {
		if at = w.Tree.Get(at, key); at < 0 {
			return -1
		}
	}
	return at
}

// resolve returns the value that a $ref within the file refers to, or the value itself.
func (w *writer) resolve(at int32) int32 {
	const maxSteps = 8
	for range maxSteps {
		target := w.Tree.TextOf(at, "$ref")
		if target == "" || !strings.HasPrefix(target, "#/") || w.resolved >= maxResolved {
			return at
		}
		w.resolved++
		next := w.root
		for key := range strings.SplitSeq(target[2:], "/") {
			key = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(key)
			if next = w.Tree.Get(next, key); next < 0 {
				return at
			}
		}
		at = next
	}
	return at
}

// prose writes a description, which may be Markdown. Its headings become levelShift levels deeper.
func (w *writer) prose(text string, levelShift int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if !strings.ContainsAny(text, "\n#*`|[<>") {
		w.Append(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(text)}, len(text))
		return
	}
	blocks, err := markdown.Fragment(w.ctx, text, w.Anchors)
	if err != nil {
		return // the context has ended, which Err reports
	}
	size := len(text)
	for _, block := range blocks {
		if block.Kind == document.Heading {
			block.Level = min(block.Level+levelShift, 6)
		}
		w.Append(block, size)
		size = 0
	}
}

func (w *writer) paragraph(text string) {
	w.Append(document.Block{Kind: document.Paragraph, Text: text}, len(text))
}

// heading writes a heading with the given anchor, or with one made from its text.
func (w *writer) heading(level int, text, anchor string) {
	const maxBytes = 300
	text = safetext.TruncateBytes(strings.Join(strings.Fields(charset.Clean(text)), " "), maxBytes)
	w.Append(document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.Anchors.Take(anchor, text)}, 0)
}

// table writes a table without its empty columns. A table without rows is left out.
func (w *writer) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	for column := len(header) - 1; column > 0; column-- {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" }) {
			header = slices.Delete(slices.Clone(header), column, column+1)
			for i := range rows {
				rows[i] = slices.Delete(rows[i], column, column+1)
			}
		}
	}
	w.Append(document.NewTable(header, rows), 0)
}

func (w *writer) servers() {
	var rows [][]string
	w.Tree.Members(w.lookup("servers"), func(child int32) {
		rows = append(rows, []string{w.Tree.TextOf(child, "url"), w.Tree.TextOf(child, "description")})
	})
	if host := w.Tree.TextOf(w.root, "host"); host != "" {
		rows = append(rows, []string{host + w.Tree.TextOf(w.root, "basePath"), ""})
	}
	w.table([]string{"Server", "Description"}, rows)
}

func (w *writer) tags() {
	var rows [][]string
	w.Tree.Members(w.lookup("tags"), func(child int32) {
		if description := w.Tree.TextOf(child, "description"); description != "" {
			rows = append(rows, []string{w.Tree.TextOf(child, "name"), description})
		}
	})
	w.table([]string{"Tag", "Description"}, rows)
}

func (w *writer) securitySchemes(at int32) {
	var rows [][]string
	w.Tree.Members(at, func(child int32) {
		scheme := w.resolve(child)
		kind := joinWords(w.Tree.TextOf(scheme, "type"), w.Tree.TextOf(scheme, "scheme"), w.Tree.TextOf(scheme, "bearerFormat"))
		place := joinWords(w.Tree.TextOf(scheme, "in"), w.Tree.TextOf(scheme, "name"), w.Tree.TextOf(scheme, "openIdConnectUrl"))
		rows = append(rows, []string{w.Tree[child].Key, kind, place, w.Tree.TextOf(scheme, "description")})
	})
	if len(rows) > 0 {
		w.heading(2, "Security", "")
		w.table([]string{"Scheme", "Type", "In", "Description"}, rows)
	}
}

// remainder writes everything that no section holds.
func (w *writer) remainder() error {
	const title = "Further settings"
	before := len(w.Blocks)
	if err := w.Members(w.root, "", "openapi", "swagger", "info", "paths", "webhooks", "components", "definitions", "servers", "host", "basePath", "tags",
		"securityDefinitions", "$schema"); err != nil {
		return err
	}
	if err := w.Members(w.lookup("info"), "info", "title", "description", "version"); err != nil {
		return err
	}
	if err := w.Members(w.lookup("components"), "components", "schemas", "securitySchemes", "parameters", "responses", "requestBodies"); err != nil {
		return err
	}
	if len(w.Blocks) > before {
		heading := document.Block{Kind: document.Heading, Level: 2, Text: title, Anchor: w.Anchors.Take("", title)}
		w.Blocks = slices.Insert(w.Blocks, before, heading)
	}
	return w.Err()
}

// joinWords joins the texts that are not empty.
func joinWords(texts ...string) string {
	var words []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

// joinSentences joins a description and further sentences.
func joinSentences(description, more string) string {
	description = strings.TrimSpace(description)
	if description != "" && more != "" && !strings.HasSuffix(description, ".") && !strings.HasSuffix(description, "。") {
		description += "."
	}
	return joinWords(description, more)
}
