package parse

import (
	"slices"
	"strings"
)

const (
	// maxFields is how many fields the table of one schema has.
	maxFields = 400
	// schemaDepth is how deep fields within fields are written out.
	schemaDepth = 4
)

// schemas writes a section for each schema.
func (w *interfaceWriter) schemas(at int32) error {
	var failed error
	w.tree.members(at, func(schema int32) {
		if failed = w.alive(); failed != nil || w.tree[schema].kind != jsonObject {
			return
		}
		w.headingAs(2, "Schema "+w.tree[schema].key, "")
		w.prose(w.tree.textOf(schema, "title"), 2)
		w.prose(w.tree.textOf(schema, "description"), 2)
		if !w.fieldTable(schema) {
			w.paragraph(described(w.typeOf(schema, 0), w.limitsOf(schema)))
		}
		w.example(w.tree.get(schema, "example"))
	})
	return failed
}

// fieldTable writes the table of the fields of a schema, and reports whether it has any.
func (w *interfaceWriter) fieldTable(schema int32) bool {
	rows := w.fields(nil, schema, "", 0)
	if len(rows) == 0 {
		return false
	}
	w.rows([]string{"Field", "Type", "Required", "Description"}, rows)
	return true
}

// fields adds a row for each field of an object, those of what it is made of (allOf) and of objects in it included.
func (w *interfaceWriter) fields(rows [][]string, schema int32, prefix string, depth int) [][]string {
	if schema < 0 || depth > schemaDepth || len(rows) >= maxFields {
		return rows
	}
	schema = w.resolve(schema)
	w.tree.members(w.tree.get(schema, "allOf"), func(part int32) {
		rows = w.fields(rows, part, prefix, depth+1)
	})
	var required []string
	w.tree.members(w.tree.get(schema, "required"), func(name int32) { required = append(required, w.tree[name].text) })
	w.tree.members(w.tree.get(schema, "properties"), func(field int32) {
		if len(rows) >= maxFields {
			return
		}
		name := prefix + w.tree[field].key
		must := ""
		if slices.Contains(required, w.tree[field].key) {
			must = "yes"
		}
		rows = append(rows, []string{name, w.typeOf(field, 0), must, described(w.describe(field), w.limitsOf(field))})
		// Fields of an object that stands here and has no name are nowhere else.
		switch {
		case w.tree.get(field, "$ref") >= 0:
		case w.tree.get(field, "properties") >= 0:
			rows = w.fields(rows, field, name+".", depth+1)
		default:
			if items := w.tree.get(field, "items"); items >= 0 && w.tree.get(items, "$ref") < 0 {
				rows = w.fields(rows, items, name+"[].", depth+1)
			}
		}
	})
	return rows
}

// describe returns what is said about a field, there or where it refers to.
func (w *interfaceWriter) describe(field int32) string {
	if text := w.tree.textOf(field, "description"); text != "" {
		return text
	}
	if w.tree.get(field, "$ref") >= 0 {
		text, _, _ := strings.Cut(w.tree.textOf(w.resolve(field), "description"), "\n\n")
		return text
	}
	return w.tree.textOf(field, "title")
}

// typeOf names the type of a schema in words: "string (date)", "Pet[]", "Cat | Dog".
func (w *interfaceWriter) typeOf(schema int32, depth int) string {
	if schema < 0 || depth > schemaDepth {
		return ""
	}
	tree := w.tree
	if target := tree.textOf(schema, "$ref"); target != "" {
		return target[strings.LastIndexByte(target, '/')+1:]
	}
	for _, choice := range [][2]string{{"oneOf", " | "}, {"anyOf", " | "}, {"allOf", " & "}} {
		var names []string
		tree.members(tree.get(schema, choice[0]), func(part int32) {
			if name := w.typeOf(part, depth+1); name != "" && len(names) < 20 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
		if len(names) > 0 {
			return strings.Join(names, choice[1])
		}
	}
	kind := tree.textOf(schema, "type")
	if at := tree.get(schema, "type"); at >= 0 && tree[at].kind == jsonArray {
		kind, _ = tree.compact(at, 200)
		kind = strings.ReplaceAll(kind, ", ", " | ")
	}
	if items := tree.get(schema, "items"); items >= 0 {
		name := w.typeOf(items, depth+1)
		if strings.Contains(name, " ") {
			name = "(" + name + ")"
		}
		return name + "[]"
	}
	if kind == "" && tree.get(schema, "properties") >= 0 {
		kind = "object"
	}
	if values := tree.get(schema, "additionalProperties"); values >= 0 && tree[values].kind == jsonObject {
		if name := w.typeOf(values, depth+1); name != "" {
			kind = "map of " + name
		}
	}
	if form := tree.textOf(schema, "format"); form != "" {
		kind += " (" + form + ")"
	}
	if tree.textOf(schema, "nullable") == "true" {
		kind += " | null"
	}
	return strings.TrimSpace(kind)
}

// limitsOf says what values of a schema may be.
func (w *interfaceWriter) limitsOf(schema int32) string {
	if schema < 0 {
		return ""
	}
	var parts []string
	if values := w.tree.get(schema, "enum"); values >= 0 {
		text, _ := w.tree.compact(values, 1000)
		parts = append(parts, "One of: "+text+".")
	}
	for _, limit := range [][2]string{
		{"default", "Default"}, {"const", "Always"}, {"minimum", "At least"}, {"maximum", "At most"}, {"minLength", "Shortest"}, {"maxLength", "Longest"},
		{"minItems", "Fewest"}, {"maxItems", "Most"}, {"pattern", "Pattern"}, {"example", "Example"},
	} {
		if text := oneLine(w.tree.textOf(schema, limit[0])); text != "" && len(text) <= 200 {
			parts = append(parts, limit[1]+": "+text+".")
		}
	}
	if w.tree.textOf(schema, "deprecated") == "true" {
		parts = append(parts, "Deprecated.")
	}
	if w.tree.textOf(schema, "readOnly") == "true" {
		parts = append(parts, "Read only.")
	}
	return strings.Join(parts, " ")
}
