package code

import (
	"strings"

	"github.com/magpie-search/magpie/internal/safetext"
)

// documentKind is the kind of a document of several in one file of YAML.
const documentKind = ":document"

// yamlDocuments cuts a file of several documents, nil when it has one.
func (o *codeOutline) yamlDocuments() []codeItem {
	if o.grammar.name != "yaml" {
		return nil
	}
	var items []codeItem
	from, filled := 0, false
	end := func(to int) {
		if filled {
			items = append(items, codeItem{from: from, to: to, sign: from, kind: documentKind})
			from, filled = to, false
		}
	}
	for i := range o.lines {
		line := o.line(i)
		if line == "---" || strings.HasPrefix(line, "--- ") {
			end(i)
			continue
		}
		filled = filled || !o.lines[i].comment && strings.TrimSpace(line) != ""
	}
	end(len(o.lines))
	if len(items) < 2 {
		return nil
	}
	items[len(items)-1].to = len(o.lines)
	for i := range items {
		item := &items[i]
		text := o.span(item.from, item.to)
		item.runes = runesOf(text)
		item.name = yamlDocumentName(text)
		for item.sign < item.to-1 && (o.lines[item.sign].comment || o.blank(item.sign) || strings.HasPrefix(o.line(item.sign), "---")) {
			item.sign++
		}
	}
	return items
}

// yamlDocumentName names a document by what it says its kind and its name are, as objects of Kubernetes do.
func yamlDocumentName(text string) string {
	var kind, name string
	metadata := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		value := func(key string) string {
			rest, _ := strings.CutPrefix(trimmed, key)
			rest, _, _ = strings.Cut(rest, " #")
			return strings.Trim(strings.TrimSpace(rest), `"'`)
		}
		switch {
		case strings.HasPrefix(line, "kind:") && kind == "":
			kind = value("kind:")
		case strings.HasPrefix(line, "name:") && name == "":
			name = value("name:")
		case strings.HasPrefix(line, "metadata:"):
			metadata = true
		case metadata && name == "" && (strings.HasPrefix(line, "  name:") || strings.HasPrefix(line, "    name:")):
			name = value("name:")
		case line != "" && line[0] != ' ' && line[0] != '#' && line[0] != '\n':
			metadata = false
		}
	}
	return safetext.TruncateBytes(strings.TrimSpace(kind+" "+name), 120)
}
