package notion

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A property is a value of a row. Value is that of its type.
type property struct {
	ID, Type string
	Title    []richText
	Value    json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *property) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	_ = json.Unmarshal(fields["id"], &p.ID)
	_ = json.Unmarshal(fields["type"], &p.Type)
	if p.Type == "" && p.ID == "title" {
		p.Type = "title"
	}
	p.Value = fields[p.Type]
	if p.Type == "title" {
		_ = json.Unmarshal(p.Value, &p.Title)
	}
	return nil
}

// renderProperties returns the properties of a row as a list, in the order of their
// names.
func renderProperties(properties map[string]property) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name]
		if p.Type == "title" {
			continue
		}
		if text := strings.Join(strings.Fields(valueText(p.Type, p.Value, 0)), " "); text != "" {
			b.WriteString("- " + strings.Join(strings.Fields(name), " ") + ": " + text + "\n")
		}
	}
	return b.String()
}

// valueText returns a value of a type. Ids of pages and files are left out.
func valueText(kind string, value json.RawMessage, depth int) string {
	if len(value) == 0 || string(value) == "null" || depth > 5 {
		return ""
	}
	switch kind {
	case "title", "rich_text":
		var list []richText
		_ = json.Unmarshal(value, &list)
		return plainText(list)
	case "number", "checkbox", "url", "email", "phone_number", "string", "boolean", "created_time", "last_edited_time":
		return scalarText(value)
	case "select", "status":
		return nameIn(value)
	case "multi_select", "people":
		return namesIn(value)
	case "files":
		var list []hosted
		_ = json.Unmarshal(value, &list)
		var names []string
		for _, f := range list {
			names = append(names, f.Name)
		}
		return strings.Join(names, ", ")
	case "created_by", "last_edited_by", "button", "relation", "verification":
		if kind == "created_by" || kind == "last_edited_by" {
			return nameIn(value)
		}
		return ""
	case "date":
		var date struct{ Start, End string }
		_ = json.Unmarshal(value, &date)
		if date.End != "" {
			return date.Start + " to " + date.End
		}
		return date.Start
	case "unique_id":
		var id struct {
			Prefix string
			Number *int64
		}
		_ = json.Unmarshal(value, &id)
		if id.Number == nil {
			return ""
		}
		return strings.TrimPrefix(id.Prefix+"-"+strconv.FormatInt(*id.Number, 10), "-")
	case "formula":
		var typed map[string]json.RawMessage
		_ = json.Unmarshal(value, &typed)
		inner := ""
		_ = json.Unmarshal(typed["type"], &inner)
		return valueText(inner, typed[inner], depth+1)
	case "rollup":
		return rollupText(value, depth)
	}
	return ""
}

func rollupText(value json.RawMessage, depth int) string {
	var typed map[string]json.RawMessage
	_ = json.Unmarshal(value, &typed)
	inner := ""
	_ = json.Unmarshal(typed["type"], &inner)
	if inner != "array" {
		return valueText(inner, typed[inner], depth+1)
	}
	var entries []property
	_ = json.Unmarshal(typed["array"], &entries)
	var texts []string
	for _, entry := range entries {
		if text := valueText(entry.Type, entry.Value, depth+1); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

func scalarText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	switch text := string(value); text {
	case "true":
		return "yes"
	case "false":
		return "no"
	default:
		return text
	}
}

func nameIn(value json.RawMessage) string {
	var one struct{ Name string }
	_ = json.Unmarshal(value, &one)
	return one.Name
}

func namesIn(value json.RawMessage) string {
	var list []struct{ Name string }
	_ = json.Unmarshal(value, &list)
	var names []string
	for _, entry := range list {
		if entry.Name != "" {
			names = append(names, entry.Name)
		}
	}
	return strings.Join(names, ", ")
}

// name returns the name of a file, from its address if it has none.
func (h *hosted) name() string {
	address := ""
	if h.File != nil {
		address = h.File.URL
	}
	return cmp.Or(h.Name, fileName(address), "file")
}
