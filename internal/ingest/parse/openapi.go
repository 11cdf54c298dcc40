package parse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// isInterface reports a description of an HTTP interface: OpenAPI 3, or Swagger 2.
func (t jsonTree) isInterface(root int32) bool {
	if t.textOf(root, "openapi") == "" && t.textOf(root, "swagger") == "" {
		return false
	}
	for _, key := range []string{"paths", "components", "definitions", "webhooks"} {
		if at := t.get(root, key); at >= 0 && t[at].kind == jsonObject {
			return true
		}
	}
	return false
}

// readInterface reads a description of an HTTP interface (OpenAPI Specification 3.1.1, and Swagger 2.0 before it) as the
// reference that people look things up in: a section for each operation with its parameters and responses, and one for
// each schema with its fields. What has no place in these follows as lines "path: value".
func readInterface(ctx context.Context, r request, tree jsonTree, root int32) (*document.Draft, error) {
	w := &interfaceWriter{jsonWriter: newJSONWriter(ctx, tree, r.limits), root: root}
	info := tree.get(root, "info")
	w.prose(tree.textOf(info, "description"), 1)
	w.servers()
	w.tags()
	for _, group := range []string{"paths", "webhooks"} {
		if err := w.paths(tree.get(root, group)); err != nil {
			return nil, err
		}
	}
	for _, path := range [][]string{{"components", "securitySchemes"}, {"securityDefinitions"}} {
		w.security(w.follow(path...))
	}
	for _, path := range [][]string{{"components", "schemas"}, {"definitions"}} {
		if err := w.schemas(w.follow(path...)); err != nil {
			return nil, err
		}
	}
	if err := w.others(); err != nil {
		return nil, err
	}
	title, meta := tree.facts(root)
	if meta == nil {
		meta = make(map[string]any)
	}
	if version := tree.textOf(info, "version"); version != "" {
		meta["version"] = version
	}
	return &document.Draft{Blocks: w.blocks, Title: title, Meta: meta, DocType: "api", Prose: true}, nil
}

// interfaceWriter writes the description of an interface.
type interfaceWriter struct {
	*jsonWriter
	root int32
	// resolved counts references that were followed, which may multiply.
	resolved int
}

// maxResolved is how many references of one file are followed.
const maxResolved = 200_000

// follow returns a member of a member of the root, or -1.
func (w *interfaceWriter) follow(path ...string) int32 {
	at := w.root
	for _, key := range path {
		if at = w.tree.get(at, key); at < 0 {
			return -1
		}
	}
	return at
}

// resolve returns what a value with a $ref refers to within the file, else the value.
func (w *interfaceWriter) resolve(at int32) int32 {
	for range 8 {
		target := w.tree.textOf(at, "$ref")
		if target == "" || !strings.HasPrefix(target, "#/") || w.resolved >= maxResolved {
			return at
		}
		w.resolved++
		next := w.root
		for key := range strings.SplitSeq(target[2:], "/") {
			key = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(key)
			if next = w.tree.get(next, key); next < 0 {
				return at
			}
		}
		at = next
	}
	return at
}

// prose writes a description, which may be Markdown. Its headings stand below a level.
func (w *interfaceWriter) prose(text string, below int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	w.flush()
	w.written += len(text)
	if !strings.ContainsAny(text, "\n#*`|[<>") {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(text)})
		return
	}
	inner := markdownWalker{ctx: w.ctx, anchors: w.anchors}
	inner.parse(text)
	for _, block := range inner.blocks {
		if block.Kind == document.Heading {
			block.Level = min(block.Level+below, 6)
		}
		w.blocks = append(w.blocks, block)
	}
}

func (w *interfaceWriter) paragraph(text string) {
	w.flush()
	w.written += len(text)
	w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
}

func (w *interfaceWriter) rows(header []string, rows [][]string) {
	if len(rows) > 0 {
		w.flush()
		// Columns that are empty throughout say nothing.
		for column := len(header) - 1; column > 0; column-- {
			if !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" }) {
				header = slices.Delete(slices.Clone(header), column, column+1)
				for i := range rows {
					rows[i] = slices.Delete(rows[i], column, column+1)
				}
			}
		}
		w.blocks = append(w.blocks, document.NewTable(header, rows))
	}
}

func (w *interfaceWriter) servers() {
	var rows [][]string
	w.tree.members(w.follow("servers"), func(child int32) {
		rows = append(rows, []string{w.tree.textOf(child, "url"), w.tree.textOf(child, "description")})
	})
	if host := w.tree.textOf(w.root, "host"); host != "" {
		rows = append(rows, []string{host + w.tree.textOf(w.root, "basePath"), ""})
	}
	w.rows([]string{"Server", "Description"}, rows)
}

func (w *interfaceWriter) tags() {
	var rows [][]string
	w.tree.members(w.follow("tags"), func(child int32) {
		if description := w.tree.textOf(child, "description"); description != "" {
			rows = append(rows, []string{w.tree.textOf(child, "name"), description})
		}
	})
	w.rows([]string{"Tag", "Description"}, rows)
}

// members calls visit for each member or element of a value, of -1 for none.
func (t jsonTree) members(at int32, visit func(child int32)) {
	if at < 0 {
		return
	}
	t.each(at, func(child int32) bool {
		visit(child)
		return true
	})
}

func isMethod(key string) bool {
	switch key {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace", "query":
		return true
	}
	return false
}

func (w *interfaceWriter) paths(at int32) error {
	var failed error
	w.tree.members(at, func(path int32) {
		item := w.resolve(path)
		w.tree.members(item, func(operation int32) {
			if failed == nil && isMethod(w.tree[operation].key) && w.tree[operation].kind == jsonObject {
				failed = w.operation(w.tree[path].key, item, operation)
			}
		})
	})
	return failed
}

// operation writes the section of one operation.
func (w *interfaceWriter) operation(path string, item, at int32) error {
	if err := w.alive(); err != nil {
		return err
	}
	tree := w.tree
	title := strings.ToUpper(tree[at].key) + " " + path
	if summary := oneLine(tree.textOf(at, "summary")); summary != "" {
		title += " — " + summary
	}
	id := tree.textOf(at, "operationId")
	if strings.ContainsAny(id, " \n\t#?&%\"'<>") {
		id = ""
	}
	w.headingAs(2, title, id)
	var facts []string
	if name := tree.textOf(at, "operationId"); name != "" {
		facts = append(facts, "Operation: "+name)
	}
	if tags := tree.get(at, "tags"); tags >= 0 {
		text, _ := tree.compact(tags, 300)
		facts = append(facts, "Tags: "+text)
	}
	if tree.textOf(at, "deprecated") == "true" {
		facts = append(facts, "Deprecated")
	}
	if len(facts) > 0 {
		w.paragraph(strings.Join(facts, ". ") + ".")
	}
	w.prose(tree.textOf(item, "description"), 2)
	w.prose(tree.textOf(at, "description"), 2)
	body := w.parameters(item, at)
	w.body(body)
	w.body(w.resolve(tree.get(at, "requestBody")))
	w.responses(tree.get(at, "responses"))
	return w.rest(at, tree[at].key+" "+path, "summary", "operationId", "tags", "deprecated", "description", "parameters", "requestBody", "responses",
		"consumes", "produces")
}

// headingAs writes a heading with an anchor of its own.
func (w *interfaceWriter) headingAs(level int, text, anchor string) {
	w.flush()
	text = document.Truncate(oneLine(clean(text)), 300)
	w.blocks = append(w.blocks, document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take(anchor, text)})
}

// parameters writes the table of parameters, those of the path first, and returns the one that is a body, or -1.
func (w *interfaceWriter) parameters(item, operation int32) int32 {
	var rows [][]string
	body := int32(-1)
	for _, owner := range []int32{item, operation} {
		w.tree.members(w.tree.get(owner, "parameters"), func(child int32) {
			child = w.resolve(child)
			if w.tree.textOf(child, "in") == "body" {
				body = child
				return
			}
			schema := child
			if inner := w.tree.get(child, "schema"); inner >= 0 {
				schema = inner
			}
			name := w.tree.textOf(child, "name")
			if name == "" {
				name = w.tree.textOf(child, "$ref")
			}
			rows = append(rows, []string{
				name, w.tree.textOf(child, "in"), w.typeOf(schema, 0), yesNo(w.tree.textOf(child, "required")),
				described(w.tree.textOf(child, "description"), w.limitsOf(schema)),
			})
		})
	}
	w.rows([]string{"Parameter", "In", "Type", "Required", "Description"}, rows)
	return body
}

func yesNo(text string) string {
	switch text {
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	return ""
}

// sentence joins what is said about something.
func sentence(parts ...string) string {
	var filled []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			filled = append(filled, part)
		}
	}
	return strings.Join(filled, " ")
}

// described joins a description and what is said after it.
func described(description, more string) string {
	description = strings.TrimSpace(description)
	if description != "" && more != "" && !strings.HasSuffix(description, ".") && !strings.HasSuffix(description, "。") {
		description += "."
	}
	return sentence(description, more)
}

// body writes what a request or a response holds.
func (w *interfaceWriter) body(at int32) {
	if at < 0 {
		return
	}
	line := "Request body"
	if w.tree.textOf(at, "required") == "true" {
		line += ", required"
	}
	schema := w.tree.get(at, "schema")
	w.tree.members(w.tree.get(at, "content"), func(media int32) {
		inner := w.tree.get(media, "schema")
		line += ", " + w.tree[media].key + ": " + w.typeOf(inner, 0)
		if schema < 0 {
			schema = inner
		}
	})
	if w.tree.get(at, "schema") >= 0 {
		line += ": " + w.typeOf(schema, 0)
	}
	if description := oneLine(w.tree.textOf(at, "description")); description != "" {
		line += ". " + description
	}
	w.paragraph(line)
	if schema >= 0 && w.tree.get(schema, "$ref") < 0 {
		w.fieldTable(schema)
	}
	w.examples(at)
}

// examples writes the examples of the media types of a body.
func (w *interfaceWriter) examples(at int32) {
	w.tree.members(w.tree.get(at, "content"), func(media int32) {
		w.example(w.tree.get(media, "example"))
		w.tree.members(w.tree.get(media, "examples"), func(example int32) {
			w.example(w.tree.get(w.resolve(example), "value"))
		})
	})
}

func (w *interfaceWriter) example(at int32) {
	const longest = 4000
	if at < 0 {
		return
	}
	var b strings.Builder
	if w.tree.writeJSON(&b, at, 0, longest) && strings.TrimSpace(b.String()) != "" {
		w.flush()
		w.written += b.Len()
		w.blocks = append(w.blocks, document.Block{Kind: document.Code, Language: "json", Text: b.String()})
	}
}

func (w *interfaceWriter) responses(at int32) {
	var rows [][]string
	w.tree.members(at, func(child int32) {
		status := w.tree[child].key
		response := w.resolve(child)
		var types []string
		w.tree.members(w.tree.get(response, "content"), func(media int32) {
			types = append(types, sentence(w.tree[media].key+":", w.typeOf(w.tree.get(media, "schema"), 0)))
		})
		if schema := w.tree.get(response, "schema"); schema >= 0 {
			types = append(types, w.typeOf(schema, 0))
		}
		rows = append(rows, []string{status, w.tree.textOf(response, "description"), strings.Join(types, ", ")})
	})
	w.rows([]string{"Response", "Description", "Content"}, rows)
	w.tree.members(at, func(child int32) { w.examples(w.resolve(child)) })
}

func (w *interfaceWriter) security(at int32) {
	var rows [][]string
	w.tree.members(at, func(child int32) {
		scheme := w.resolve(child)
		kind := sentence(w.tree.textOf(scheme, "type"), w.tree.textOf(scheme, "scheme"), w.tree.textOf(scheme, "bearerFormat"))
		where := sentence(w.tree.textOf(scheme, "in"), w.tree.textOf(scheme, "name"), w.tree.textOf(scheme, "openIdConnectUrl"))
		rows = append(rows, []string{w.tree[child].key, kind, where, w.tree.textOf(scheme, "description")})
	})
	if len(rows) > 0 {
		w.headingAs(2, "Security", "")
		w.rows([]string{"Scheme", "Type", "In", "Description"}, rows)
	}
}

// rest writes the members of a value that have no place of their own.
func (w *interfaceWriter) rest(at int32, path string, handled ...string) error {
	var failed error
	w.tree.members(at, func(child int32) {
		if failed == nil && !slices.Contains(handled, w.tree[child].key) {
			failed = w.value(child, join(path, w.tree[child].key))
		}
	})
	w.flush()
	return failed
}

// others writes what is left of the file.
func (w *interfaceWriter) others() error {
	before := len(w.blocks)
	if err := w.rest(w.root, "", "openapi", "swagger", "info", "paths", "webhooks", "components", "definitions", "servers", "host", "basePath", "tags",
		"securityDefinitions", "$schema"); err != nil {
		return err
	}
	info := w.follow("info")
	if info >= 0 {
		if err := w.rest(info, "info", "title", "description", "version"); err != nil {
			return err
		}
	}
	if components := w.follow("components"); components >= 0 {
		if err := w.rest(components, "components", "schemas", "securitySchemes", "parameters", "responses", "requestBodies"); err != nil {
			return err
		}
	}
	if len(w.blocks) > before {
		name := "Further settings"
		heading := document.Block{Kind: document.Heading, Level: 2, Text: name, Anchor: w.anchors.Take("", name)}
		w.blocks = slices.Insert(w.blocks, before, heading)
	}
	return w.alive()
}

// writeJSON writes a value as JSON with line breaks, and reports whether it has at most so many bytes.
func (t jsonTree) writeJSON(b *strings.Builder, at int32, depth, limit int) bool {
	node := &t[at]
	indent := strings.Repeat("  ", min(depth, 40))
	switch node.kind {
	case jsonString:
		fmt.Fprintf(b, "%q", node.text)
	case jsonNull:
		b.WriteString("null")
	case jsonBool, jsonNumber, jsonNumbers:
		b.WriteString(node.text)
	case jsonArray, jsonObject:
		brackets := "[]"
		if node.kind == jsonObject {
			brackets = "{}"
		}
		b.WriteByte(brackets[0])
		first, fits := true, true
		t.each(at, func(child int32) bool {
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteString("\n" + indent + "  ")
			if node.kind == jsonObject {
				fmt.Fprintf(b, "%q: ", t[child].key)
			}
			fits = t.writeJSON(b, child, depth+1, limit)
			return fits
		})
		if !first {
			b.WriteString("\n" + indent)
		}
		b.WriteByte(brackets[1])
		if !fits {
			return false
		}
	}
	return b.Len() <= limit
}
