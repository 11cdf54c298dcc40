package code

import "strings"

// members cuts a long declaration into its members, or returns nil if its kind has none.
func (o *outline) members(item *declaration) []declaration {
	if item.kind == documentKind {
		return o.declarations(item.from, item.to, 0)
	}
	if item.kind != typeKind && item.kind != namespaceKind && !o.isObject(item) {
		return nil
	}
	first, level := o.bodyStart(item)
	if first < 0 {
		return nil
	}
	items := o.declarations(first, item.to, level)
	if len(items) == 0 || len(items) < 2 && item.kind != namespaceKind {
		return nil
	}
	items[0].from = item.from // with the line that opens the declaration
	items[0].runes += countRunes(o.text[o.lines[item.from].start:o.lines[first].start])
	return items
}

// isObject reports whether a declaration of JavaScript is an object literal, whose members are like those of a class.
func (o *outline) isObject(item *declaration) bool {
	if o.grammar.name != "javascript" || o.lines[item.signature].after != o.lines[item.signature].depth+1 {
		return false
	}
	line := strings.TrimSpace(o.line(item.signature))
	return strings.HasSuffix(line, "{") && (strings.HasPrefix(line, "export default") || strings.HasPrefix(line, "module.exports") ||
		(strings.HasPrefix(line, "const ") || strings.HasPrefix(line, "export const ") || strings.HasPrefix(line, "var ")) && strings.HasSuffix(line, "= {"))
}

// bodyStart returns the first line of the body of a declaration, and the level of its members.
func (o *outline) bodyStart(item *declaration) (first, level int) {
	outer := o.lineLevel(&o.lines[item.signature])
	if o.byIndent {
		for i := item.signature + 1; i < item.to; i++ {
			line := &o.lines[i]
			if o.isBlank(i) || line.isComment || line.inLiteral || line.depth > 0 {
				continue
			}
			if line.indent > outer || o.grammar.name == "yaml" && line.indent == outer && strings.HasPrefix(strings.TrimSpace(o.line(i)), "-") {
				return o.commentsAbove(i, item.signature+1), line.indent
			}
			if !o.grammar.isIndented && strings.TrimSpace(o.line(i)) == "{" {
				continue
			}
			return -1, 0
		}
		return -1, 0
	}
	for i := item.signature; i < item.to-1; i++ {
		if o.lines[i].after > outer && o.lines[i].last == '{' && o.lines[i+1].depth > outer {
			return i + 1, o.lines[i+1].depth
		}
	}
	return -1, 0
}

// commentsAbove returns the first line of the comments above a line.
func (o *outline) commentsAbove(i, least int) int {
	for i > least && (o.lines[i-1].isComment || o.isBlank(i-1)) {
		i--
	}
	return i
}
