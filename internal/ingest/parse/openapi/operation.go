package openapi

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
)

func isMethod(key string) bool {
	switch key {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace", "query":
		return true
	}
	return false
}

// operations writes a section for each operation of each path.
func (w *writer) operations(paths int32) error {
	var err error
	w.Tree.Members(paths, func(path int32) {
		item := w.resolve(path)
		w.Tree.Members(item, func(operation int32) {
			if err == nil && isMethod(w.Tree[operation].Key) && w.Tree[operation].Kind == datatree.Object {
				err = w.operation(w.Tree[path].Key, item, operation)
			}
		})
	})
	return err
}

func (w *writer) operation(path string, item, at int32) error {
	if err := w.Err(); err != nil {
		return err
	}
	tree := w.Tree
	title := strings.ToUpper(tree[at].Key) + " " + path
	if summary := strings.Join(strings.Fields(tree.TextOf(at, "summary")), " "); summary != "" {
		title += " — " + summary
	}
	id := tree.TextOf(at, "operationId")
	anchor := id
	if strings.ContainsAny(anchor, " \n\t#?&%\"'<>") {
		anchor = ""
	}
	w.heading(2, title, anchor)
	var facts []string
	if id != "" {
		facts = append(facts, "Operation: "+id)
	}
	if tags := tree.Get(at, "tags"); tags >= 0 {
		text, _ := tree.Compact(tags, 300)
		facts = append(facts, "Tags: "+text)
	}
	if tree.TextOf(at, "deprecated") == "true" {
		facts = append(facts, "Deprecated")
	}
	if len(facts) > 0 {
		w.paragraph(strings.Join(facts, ". ") + ".")
	}
	w.prose(tree.TextOf(item, "description"), 2)
	w.prose(tree.TextOf(at, "description"), 2)
	w.body(w.parameters(item, at))
	w.body(w.resolve(tree.Get(at, "requestBody")))
	w.responses(tree.Get(at, "responses"))
	return w.Members(at, tree[at].Key+" "+path, "summary", "operationId", "tags", "deprecated", "description", "parameters", "requestBody", "responses",
		"consumes", "produces")
}

// parameters writes the table of parameters, those of the path first. It returns the parameter of Swagger that is a body, or
// -1.
func (w *writer) parameters(item, operation int32) int32 {
	var rows [][]string
	body := int32(-1)
	for _, owner := range []int32{item, operation} {
		w.Tree.Members(w.Tree.Get(owner, "parameters"), func(child int32) {
			child = w.resolve(child)
			if w.Tree.TextOf(child, "in") == "body" {
				body = child
				return
			}
			schema := child
			if inner := w.Tree.Get(child, "schema"); inner >= 0 {
				schema = inner
			}
			name := w.Tree.TextOf(child, "name")
			if name == "" {
				name = w.Tree.TextOf(child, "$ref")
			}
			rows = append(rows, []string{
				name, w.Tree.TextOf(child, "in"), w.typeName(schema, 0), yesNo(w.Tree.TextOf(child, "required")),
				joinSentences(w.Tree.TextOf(child, "description"), w.constraints(schema)),
			})
		})
	}
	w.table([]string{"Parameter", "In", "Type", "Required", "Description"}, rows)
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

// body writes the content of a request. The index -1 stands for none.
func (w *writer) body(at int32) {
	if at < 0 {
		return
	}
	line := "Request body"
	if w.Tree.TextOf(at, "required") == "true" {
		line += ", required"
	}
	schema := w.Tree.Get(at, "schema")
	w.Tree.Members(w.Tree.Get(at, "content"), func(media int32) {
		inner := w.Tree.Get(media, "schema")
		line += ", " + w.Tree[media].Key + ": " + w.typeName(inner, 0)
		if schema < 0 {
			schema = inner
		}
	})
	if w.Tree.Get(at, "schema") >= 0 {
		line += ": " + w.typeName(schema, 0)
	}
	if description := strings.Join(strings.Fields(w.Tree.TextOf(at, "description")), " "); description != "" {
		line += ". " + description
	}
	w.paragraph(line)
	if schema >= 0 && w.Tree.Get(schema, "$ref") < 0 {
		w.fieldTable(schema)
	}
	w.examples(at)
}

// examples writes the examples of each media type of a body.
func (w *writer) examples(at int32) {
	w.Tree.Members(w.Tree.Get(at, "content"), func(media int32) {
		w.example(w.Tree.Get(media, "example"))
		w.Tree.Members(w.Tree.Get(media, "examples"), func(example int32) {
			w.example(w.Tree.Get(w.resolve(example), "value"))
		})
	})
}

// example writes a value as JSON. A longer one is left out.
func (w *writer) example(at int32) {
	const maxBytes = 4000
	if at < 0 {
		return
	}
	if text, fits := w.Tree.JSON(at, maxBytes); fits && strings.TrimSpace(text) != "" {
		w.Append(document.Block{Kind: document.Code, Language: "json", Text: text}, len(text))
	}
}

func (w *writer) responses(at int32) {
	var rows [][]string
	w.Tree.Members(at, func(child int32) {
		response := w.resolve(child)
		var types []string
		w.Tree.Members(w.Tree.Get(response, "content"), func(media int32) {
			types = append(types, joinWords(w.Tree[media].Key+":", w.typeName(w.Tree.Get(media, "schema"), 0)))
		})
		if schema := w.Tree.Get(response, "schema"); schema >= 0 {
			types = append(types, w.typeName(schema, 0))
		}
		rows = append(rows, []string{w.Tree[child].Key, w.Tree.TextOf(response, "description"), strings.Join(types, ", ")})
	})
	w.table([]string{"Response", "Description", "Content"}, rows)
	w.Tree.Members(at, func(child int32) { w.examples(w.resolve(child)) })
}
