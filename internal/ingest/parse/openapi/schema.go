package openapi

import (
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
)

const (
	// maxFields is how many fields of one schema are written out.
	maxFields = 400
	// maxSchemaDepth is how deep fields within fields are written out.
	maxSchemaDepth = 4
)

// schemas writes a section for each schema.
func (w *writer) schemas(at int32) error {
	var err error
	w.Tree.Members(at, func(schema int32) {
		if err == nil {
			err = w.Err()
		}
		if err != nil || w.Tree[schema].Kind != datatree.Object {
			return
		}
		w.heading(2, "Schema "+w.Tree[schema].Key, "")
		w.prose(w.Tree.TextOf(schema, "title"), 2)
		w.prose(w.Tree.TextOf(schema, "description"), 2)
		if !w.fieldTable(schema) {
			w.paragraph(joinSentences(w.typeName(schema, 0), w.constraints(schema)))
		}
		w.example(w.Tree.Get(schema, "example"))
	})
	return err
}

// fieldTable writes the table of the fields of a schema, and reports whether the schema has any.
func (w *writer) fieldTable(schema int32) bool {
	rows := w.fields(nil, schema, "", 0)
	if len(rows) == 0 {
		return false
	}
	w.table([]string{"Field", "Type", "Required", "Description"}, rows)
	return true
}

// fields appends a row for each field of an object, including the fields of its allOf schemas and of anonymous objects in it.
func (w *writer) fields(rows [][]string, schema int32, prefix string, depth int) [][]string {
	if schema < 0 || depth > maxSchemaDepth || len(rows) >= maxFields {
		return rows
	}
	schema = w.resolve(schema)
	w.Tree.Members(w.Tree.Get(schema, "allOf"), func(part int32) {
		rows = w.fields(rows, part, prefix, depth+1)
	})
	var requiredNames []string
	w.Tree.Members(w.Tree.Get(schema, "required"), func(name int32) { requiredNames = append(requiredNames, w.Tree[name].Text) })
	w.Tree.Members(w.Tree.Get(schema, "properties"), func(field int32) {
		if len(rows) >= maxFields {
			return
		}
		name := prefix + w.Tree[field].Key
		required := ""
		if slices.Contains(requiredNames, w.Tree[field].Key) {
			required = "yes"
		}
		rows = append(rows, []string{name, w.typeName(field, 0), required, joinSentences(w.description(field), w.constraints(field))})
		// The fields of an anonymous object are described nowhere else.
		switch {
		case w.Tree.Get(field, "$ref") >= 0:
		case w.Tree.Get(field, "properties") >= 0:
			rows = w.fields(rows, field, name+".", depth+1)
		default:
			if items := w.Tree.Get(field, "items"); items >= 0 && w.Tree.Get(items, "$ref") < 0 {
				rows = w.fields(rows, items, name+"[].", depth+1)
			}
		}
	})
	return rows
}

// description returns the description of a field, or the first paragraph of that of its schema.
func (w *writer) description(field int32) string {
	if text := w.Tree.TextOf(field, "description"); text != "" {
		return text
	}
	if w.Tree.Get(field, "$ref") >= 0 {
		text, _, _ := strings.Cut(w.Tree.TextOf(w.resolve(field), "description"), "\n\n")
		return text
	}
	return w.Tree.TextOf(field, "title")
}

// typeName returns the type of a schema in words: "string (date)", "Pet[]", "Cat | Dog".
func (w *writer) typeName(schema int32, depth int) string {
	if schema < 0 || depth > maxSchemaDepth {
		return ""
	}
	tree := w.Tree
	if target := tree.TextOf(schema, "$ref"); target != "" {
		return target[strings.LastIndexByte(target, '/')+1:]
	}
	for _, choice := range [][2]string{{"oneOf", " | "}, {"anyOf", " | "}, {"allOf", " & "}} {
		var names []string
		tree.Members(tree.Get(schema, choice[0]), func(part int32) {
			if name := w.typeName(part, depth+1); name != "" && len(names) < 20 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
		if len(names) > 0 {
			return strings.Join(names, choice[1])
		}
	}
	kind := tree.TextOf(schema, "type")
	if at := tree.Get(schema, "type"); at >= 0 && tree[at].Kind == datatree.Array {
		kind, _ = tree.Compact(at, 200)
		kind = strings.ReplaceAll(kind, ", ", " | ")
	}
	if items := tree.Get(schema, "items"); items >= 0 {
		name := w.typeName(items, depth+1)
		if strings.Contains(name, " ") {
			name = "(" + name + ")"
		}
		return name + "[]"
	}
	if kind == "" && tree.Get(schema, "properties") >= 0 {
		kind = "object"
	}
	if values := tree.Get(schema, "additionalProperties"); values >= 0 && tree[values].Kind == datatree.Object {
		if name := w.typeName(values, depth+1); name != "" {
			kind = "map of " + name
		}
	}
	if form := tree.TextOf(schema, "format"); form != "" {
		kind += " (" + form + ")"
	}
	if tree.TextOf(schema, "nullable") == "true" {
		kind += " | null"
	}
	return strings.TrimSpace(kind)
}

// constraints returns sentences about the values that a schema allows.
func (w *writer) constraints(schema int32) string {
	if schema < 0 {
		return ""
	}
	var parts []string
	if values := w.Tree.Get(schema, "enum"); values >= 0 {
		text, _ := w.Tree.Compact(values, 1000)
		parts = append(parts, "One of: "+text+".")
	}
	for _, limit := range [][2]string{
		{"default", "Default"}, {"const", "Always"}, {"minimum", "At least"}, {"maximum", "At most"}, {"minLength", "Shortest"}, {"maxLength", "Longest"},
		{"minItems", "Fewest"}, {"maxItems", "Most"}, {"pattern", "Pattern"}, {"example", "Example"},
	} {
		if text := strings.Join(strings.Fields(w.Tree.TextOf(schema, limit[0])), " "); text != "" && len(text) <= 200 {
			parts = append(parts, limit[1]+": "+text+".")
		}
	}
	if w.Tree.TextOf(schema, "deprecated") == "true" {
		parts = append(parts, "Deprecated.")
	}
	if w.Tree.TextOf(schema, "readOnly") == "true" {
		parts = append(parts, "Read only.")
	}
	return strings.Join(parts, " ")
}
