package code

import (
	"strings"

	"github.com/magpie-search/magpie/internal/safetext"
)

// documentKind is the kind of one of several documents in a YAML file.
const documentKind = ":document"

// yamlDocuments cuts a file of several documents, or returns nil.
func (o *outline) yamlDocuments() []declaration {
	if o.grammar.name != "yaml" {
		return nil
	}
	var items []declaration
	from, hasContent := 0, false
	end := func(to int) {
		if hasContent {
			items = append(items, declaration{from: from, to: to, signature: from, kind: documentKind})
			from, hasContent = to, false
		}
	}
	for i := range o.lines {
		line := o.line(i)
		if line == "---" || strings.HasPrefix(line, "--- ") {
			end(i)
			continue
		}
		hasContent = hasContent || !o.lines[i].isComment && strings.TrimSpace(line) != ""
	}
	end(len(o.lines))
	if len(items) < 2 {
		return nil
	}
	items[len(items)-1].to = len(o.lines)
	for i := range items {
		item := &items[i]
		text := o.span(item.from, item.to)
		item.runes = countRunes(text)
		item.name = yamlDocumentName(text)
		for item.signature < item.to-1 && (o.lines[item.signature].isComment || o.isBlank(item.signature) || strings.HasPrefix(o.line(item.signature), "---")) {
			item.signature++
		}
	}
	return items
}

// yamlDocumentName returns the name of a document: its kind and name, as Kubernetes objects have them.
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
