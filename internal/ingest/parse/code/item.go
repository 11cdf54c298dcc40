package code

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// codeItem is a declaration with the comments above it: lines from on and before to.
type codeItem struct {
	from, to int
	// sign is the line where the declaration itself begins.
	sign int
	// kind is what the grammar says of its keyword, name what is declared; both may be empty.
	kind, name string
	runes      int
}

// codeOutline finds the declarations of a text.
type codeOutline struct {
	grammar  *grammar
	text     string
	lines    []codeLine
	byIndent bool
}

func (o *codeOutline) line(i int) string { return o.text[o.lines[i].start:o.lines[i].end] }

func (o *codeOutline) blank(i int) bool { return strings.TrimSpace(o.line(i)) == "" }

// span returns the text of lines without the empty ones around it.
func (o *codeOutline) span(from, to int) string {
	for from < to && o.blank(from) {
		from++
	}
	for from < to && o.blank(to-1) {
		to--
	}
	if from >= to {
		return ""
	}
	return o.text[o.lines[from].start:o.lines[to-1].end]
}

// items cuts lines into the declarations that stand in them at a level: a depth of brackets, or an indentation.
func (o *codeOutline) items(from, to, level int) []codeItem {
	if from >= to {
		return nil
	}
	var items []codeItem
	end := from // behind the last line that belongs to the declaration before
	open, pending, body := false, false, false
	whole := true  // whether the declaration before is complete
	above := false // whether a comment belongs to the declaration below it
	for i := from; i < to; i++ {
		line := &o.lines[i]
		switch {
		case o.blank(i):
			whole = whole || !line.inside && line.depth == level && o.grammar.name != "sql"
			continue
		case line.comment && line.inside && above:
			continue // the comment that began above goes on
		case line.comment && !line.inside && (!open || o.levelOf(line) <= level):
			above = true
			continue
		case !o.at(line, level) || line.inside:
		case pending:
			items[len(items)-1].sign = i
			pending = o.decorates(i)
		case open && o.continues(i, items[0].sign, whole && !body):
		default:
			if open {
				items[len(items)-1].to = end
			}
			items = append(items, codeItem{from: end, sign: i})
			open, pending, body = true, o.decorates(i), o.grammar.name == "sql" && o.opensBody(i)
		}
		if body && i > items[len(items)-1].sign && o.closesBody(i) {
			body = false
		}
		above = false
		if open {
			end = i + 1
		}
		whole = !o.grammar.statements || line.directive || line.after == level && (line.last == ';' || line.last == '}')
	}
	if !open {
		items = append(items, codeItem{from: from, sign: from})
	}
	items[len(items)-1].to = to
	for i := range items {
		o.describe(&items[i])
	}
	return o.merged(items)
}

// describe finds the name of a declaration and counts its runes.
func (o *codeOutline) describe(item *codeItem) {
	item.runes = runesOf(o.text[o.lines[item.from].start:o.lines[item.to-1].end])
	if o.lines[item.sign].comment || o.blank(item.sign) {
		return
	}
	signature := o.text[o.lines[item.sign].start:min(o.lines[item.to-1].end, o.lines[item.sign].start+maxSignature)]
	item.kind, item.name = o.nameOf(signature, o.span(item.sign, item.to))
	item.name = strings.ToValidUTF8(strings.Join(strings.Fields(item.name), " "), "")
	if !strings.ContainsFunc(item.name, unicode.IsLetter) {
		item.name = ""
	}
}

// maxSignature is how much of a declaration is looked at for its name.
const maxSignature = 600

// merged joins declarations that are parts of one: the equations of a function in Haskell.
func (o *codeOutline) merged(items []codeItem) []codeItem {
	if o.grammar.name != "haskell" {
		return items
	}
	out := items[:0]
	for _, item := range items {
		if last := len(out) - 1; last >= 0 && item.name != "" && item.name == out[last].name && out[last].kind != before {
			out[last].to = item.to
			out[last].runes += item.runes
			continue
		}
		out = append(out, item)
	}
	return out
}

// levelOf is the level a line is at.
func (o *codeOutline) levelOf(line *codeLine) int {
	if o.byIndent {
		return line.indent
	}
	return line.depth
}

// at reports whether a declaration of a level may begin on a line.
func (o *codeOutline) at(line *codeLine, level int) bool {
	if o.byIndent {
		return line.indent == level && line.depth == 0
	}
	return line.depth == level
}

// decorates reports lines that only say something of the declaration below.
func (o *codeOutline) decorates(i int) bool {
	text := strings.TrimSpace(o.line(i))
	if o.grammar.preprocessor && strings.HasPrefix(text, "template") && strings.HasSuffix(text, ">") {
		return true
	}
	for _, mark := range o.grammar.decorators {
		if !strings.HasPrefix(text, mark) {
			continue
		}
		if word, _, _ := strings.Cut(text, " "); strings.Contains(o.grammar.keywords, " "+word+":") {
			return false // @interface
		}
		// What follows the decorator on its line is the declaration.
		rest := strings.TrimLeft(text, "@[#")
		end := 0
		for end < len(rest) && (ascii.IsAlphanumeric(rest[end]) || strings.IndexByte("_.:!", rest[end]) >= 0 || rest[end] >= 0x80) {
			end++
		}
		rest = skipBrackets(strings.TrimSpace(rest[end:]))
		rest = strings.TrimSpace(strings.TrimLeft(rest, "]"))
		return rest == "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, mark) || mark == `"` || o.grammar.layout
	}
	return false
}

// skipBrackets takes a bracketed beginning off a text, all of it where the bracket is not closed.
func skipBrackets(text string) string {
	if text == "" || strings.IndexByte("([{<", text[0]) < 0 {
		return text
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			if depth--; depth == 0 {
				return strings.TrimSpace(text[i+1:])
			}
		}
	}
	return ""
}

// continues reports lines that go on with the declaration above them. Whole tells that it seems to be complete; first is
// where the first declaration beside it begins.
func (o *codeOutline) continues(i, first int, whole bool) bool {
	g := o.grammar
	text := strings.TrimSpace(o.line(i))
	if strings.IndexByte("{})],.?", text[0]) >= 0 || o.lines[i].directive && isBranch(text) {
		return text[0] != '{' || g.name != "json"
	}
	if word := firstWord(text); word != "" && g.goesOn != "" && strings.Contains(g.goesOn, " "+word+" ") {
		return true
	}
	switch g.name {
	case "yaml":
		return strings.HasPrefix(text, "{{") || isElement(text) && !isElement(strings.TrimSpace(o.line(first)))
	case "ini":
		return text[0] != '['
	case "dockerfile":
		return !strings.EqualFold(firstWord(text), "from")
	case "makefile":
		return o.lines[i].start < len(o.text) && o.text[o.lines[i].start] == '\t'
	case "haskell", "json":
		return false
	case "shell", "perl", "python", "ruby", "elixir", "lua", "powershell", "julia":
		above := strings.TrimRight(o.line(i-1), " \t")
		return strings.HasSuffix(above, "\\") && !strings.HasSuffix(above, "\\\\") || strings.HasSuffix(above, ",") && g.name == "ruby"
	}
	if o.byIndent && !g.layout {
		return strings.HasPrefix(text, "else") || strings.HasPrefix(text, "catch") || strings.HasPrefix(text, "finally")
	}
	if g.name == "sql" {
		begins := o.blank(i-1) && isStatement(text) || isBatchEnd(strings.TrimSpace(o.line(i-1)))
		return !whole && !begins
	}
	if g.statements {
		return !whole
	}
	return o.continuesLine(i, text)
}

// isStatement reports lines that can hardly be anything but the beginning of a statement of SQL.
func isStatement(text string) bool {
	switch strings.ToLower(firstWord(text)) {
	case "create", "alter", "drop", "insert", "grant", "revoke", "comment", "truncate":
		return true
	}
	return false
}

// isBatchEnd reports the lines that programs for SQL end a batch at.
func isBatchEnd(line string) bool { return strings.EqualFold(line, "go") || line == "/" }

// continuesLine tells, for languages whose declarations end with the line, whether they do not.
func (o *codeOutline) continuesLine(i int, text string) bool {
	if strings.IndexByte(":=+|&>*/%<-", text[0]) >= 0 && !strings.HasPrefix(text, "*/") {
		return true
	}
	switch firstWord(text) {
	case "else", "catch", "finally", "where", "extends", "implements", "throws", "with", "then":
		return true
	}
	for above := i - 1; above >= 0; above-- {
		if o.blank(above) {
			return false
		}
		if last := o.lines[above].last; !o.lines[above].comment {
			return last != 0 && strings.IndexByte("=+&|(\\", last) >= 0 || last == ',' && o.lines[i].depth == 0 // between members a comma ends one
		}
	}
	return false
}

// isBranch reports the directives that end a condition or part its branches; what begins one belongs below.
func isBranch(text string) bool {
	word := strings.TrimLeft(text[1:], " \t")
	return strings.HasPrefix(word, "el") || strings.HasPrefix(word, "endif") || strings.HasPrefix(word, "endregion")
}

func firstWord(text string) string {
	end := 0
	for end < len(text) && (ascii.IsAlphanumeric(text[end]) || text[end] == '_' || text[end] == '-') {
		end++
	}
	if end == 0 && strings.HasPrefix(text, ";;") {
		return ";;"
	}
	return text[:end]
}

// isElement reports the elements of lists in YAML, which may stand as far left as the key of their list.
func isElement(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// opensBody reports statements of SQL that hold others, which end with semicolons too.
func (o *codeOutline) opensBody(i int) bool {
	words := strings.Fields(strings.ToLower(o.text[o.lines[i].start:min(len(o.text), o.lines[i].start+200)]))
	if len(words) == 0 || words[0] != "create" && words[0] != "alter" && words[0] != "begin" && words[0] != "declare" {
		return false
	}
	if words[0] == "begin" && len(words) > 1 && strings.HasPrefix(words[0], "begin;") {
		return false
	}
	if words[0] == "declare" {
		return true
	}
	for _, word := range words[1:min(len(words), 8)] {
		switch word {
		case "procedure", "function", "trigger", "package", "event":
			// A body in dollars or quotes is a string and needs no more.
			rest := o.text[o.lines[i].start:min(len(o.text), o.lines[i].start+4000)]
			head, _, _ := strings.Cut(rest, "\n\n")
			return !strings.Contains(head, "$") && strings.Contains(strings.ToLower(rest), "begin")
		case "table", "view", "index", "(", "as":
			return false
		}
	}
	return false
}

func (o *codeOutline) closesBody(i int) bool {
	if o.lines[i].indent > 0 {
		return false
	}
	text := strings.ToLower(strings.TrimSpace(o.line(i)))
	return text == "/" || text == "go" || text == "//" || text == "$$" || strings.HasPrefix(text, "end") && (strings.HasSuffix(text, ";") ||
		strings.HasSuffix(text, "//") || strings.HasSuffix(text, "$$"))
}

func runesOf(text string) int { return utf8.RuneCountInString(text) }
