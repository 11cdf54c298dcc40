package code

import "strings"

// members cuts a long declaration into those that stand in it, nil where it is not made for that.
func (o *codeOutline) members(item *codeItem) []codeItem {
	if item.kind == documentKind {
		return o.items(item.from, item.to, 0)
	}
	if item.kind != typed && item.kind != space && !o.isObject(item) {
		return nil
	}
	first, level := o.body(item)
	if first < 0 {
		return nil
	}
	items := o.items(first, item.to, level)
	if len(items) == 0 || len(items) < 2 && item.kind != space {
		return nil
	}
	items[0].from = item.from // with the line that opens it
	items[0].runes += runesOf(o.text[o.lines[item.from].start:o.lines[first].start])
	return items
}

// isObject reports the literal that a module of JavaScript exports, whose members are as good as those of a class.
func (o *codeOutline) isObject(item *codeItem) bool {
	if o.grammar.name != "javascript" || o.lines[item.sign].after != o.lines[item.sign].depth+1 {
		return false
	}
	line := strings.TrimSpace(o.line(item.sign))
	return strings.HasSuffix(line, "{") && (strings.HasPrefix(line, "export default") || strings.HasPrefix(line, "module.exports") ||
		(strings.HasPrefix(line, "const ") || strings.HasPrefix(line, "export const ") || strings.HasPrefix(line, "var ")) && strings.HasSuffix(line, "= {"))
}

// body returns the first line within a declaration, and the level its members stand at.
func (o *codeOutline) body(item *codeItem) (first, level int) {
	outer := o.levelOf(&o.lines[item.sign])
	if o.byIndent {
		for i := item.sign + 1; i < item.to; i++ {
			line := &o.lines[i]
			if o.blank(i) || line.comment || line.inside || line.depth > 0 {
				continue
			}
			if line.indent > outer || o.grammar.name == "yaml" && line.indent == outer && strings.HasPrefix(strings.TrimSpace(o.line(i)), "-") {
				return o.commentsAbove(i, item.sign+1), line.indent
			}
			if !o.grammar.layout && strings.TrimSpace(o.line(i)) == "{" {
				continue
			}
			return -1, 0
		}
		return -1, 0
	}
	for i := item.sign; i < item.to-1; i++ {
		if o.lines[i].after > outer && o.lines[i].last == '{' && o.lines[i+1].depth > outer {
			return i + 1, o.lines[i+1].depth
		}
	}
	return -1, 0
}

// commentsAbove goes up over the comments above a line.
func (o *codeOutline) commentsAbove(i, least int) int {
	for i > least && (o.lines[i-1].comment || o.blank(i-1)) {
		i--
	}
	return i
}
