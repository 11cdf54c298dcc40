package code

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// declaration is a declaration with the comments above it: the lines from from up to to.
type declaration struct {
	from, to int
	// signature is the first line of the declaration itself.
	signature int
	// kind is that of its keyword in the grammar. Kind and name may be empty.
	kind, name string
	runes      int
}

// outline finds the declarations of a text.
type outline struct {
	grammar  *grammar
	text     string
	lines    []sourceLine
	byIndent bool
}

func (o *outline) line(i int) string { return o.text[o.lines[i].start:o.lines[i].end] }

func (o *outline) isBlank(i int) bool { return strings.TrimSpace(o.line(i)) == "" }

// span returns the text of lines without empty lines at both ends.
func (o *outline) span(from, to int) string {
	for from < to && o.isBlank(from) {
		from++
	}
	for from < to && o.isBlank(to-1) {
		to--
	}
	if from >= to {
		return ""
	}
	return o.text[o.lines[from].start:o.lines[to-1].end]
}

// declarations cuts lines into the declarations at a level, which is a depth of brackets or an indentation.
func (o *outline) declarations(from, to, level int) []declaration {
	if from >= to {
		return nil
	}
	var items []declaration
	end := from // end of the previous declaration
	isOpen, isDecorated, inBody := false, false, false
	isComplete := true       // whether the previous declaration is complete
	hasCommentAbove := false // whether a comment stands above the next declaration
	for i := from; i < to; i++ {
		line := &o.lines[i]
		switch {
		case o.isBlank(i):
			isComplete = isComplete || !line.inLiteral && line.depth == level && o.grammar.name != "sql"
			continue
		case line.isComment && line.inLiteral && hasCommentAbove:
			continue // the comment above continues
		case line.isComment && !line.inLiteral && (!isOpen || o.lineLevel(line) <= level):
			hasCommentAbove = true
			continue
		case !o.isAtLevel(line, level) || line.inLiteral:
		case isDecorated:
			items[len(items)-1].signature = i
			isDecorated = o.isDecorator(i)
		case isOpen && o.isContinuation(i, items[0].signature, isComplete && !inBody):
		default:
			if isOpen {
				items[len(items)-1].to = end
			}
			items = append(items, declaration{from: end, signature: i})
			isOpen, isDecorated, inBody = true, o.isDecorator(i), o.grammar.name == "sql" && o.opensBody(i)
		}
		if inBody && i > items[len(items)-1].signature && o.closesBody(i) {
			inBody = false
		}
		hasCommentAbove = false
		if isOpen {
			end = i + 1
		}
		isComplete = !o.grammar.hasStatements || line.isDirective || line.after == level && (line.last == ';' || line.last == '}')
	}
	if !isOpen {
		items = append(items, declaration{from: from, signature: from})
	}
	items[len(items)-1].to = to
	for i := range items {
		o.setName(&items[i])
	}
	return o.mergeEquations(items)
}

// setName sets the name, the kind and the size of a declaration.
func (o *outline) setName(item *declaration) {
	item.runes = countRunes(o.text[o.lines[item.from].start:o.lines[item.to-1].end])
	if o.lines[item.signature].isComment || o.isBlank(item.signature) {
		return
	}
	signature := o.text[o.lines[item.signature].start:min(o.lines[item.to-1].end, o.lines[item.signature].start+maxSignature)]
	item.kind, item.name = o.nameOf(signature, o.span(item.signature, item.to))
	item.name = strings.ToValidUTF8(strings.Join(strings.Fields(item.name), " "), "")
	if !strings.ContainsFunc(item.name, unicode.IsLetter) {
		item.name = ""
	}
}

// maxSignature is how much of a declaration is searched for its name.
const maxSignature = 600

// mergeEquations merges the equations of a function in Haskell.
func (o *outline) mergeEquations(items []declaration) []declaration {
	if o.grammar.name != "haskell" {
		return items
	}
	out := items[:0]
	for _, item := range items {
		if last := len(out) - 1; last >= 0 && item.name != "" && item.name == out[last].name && out[last].kind != unnamedKind {
			out[last].to = item.to
			out[last].runes += item.runes
			continue
		}
		out = append(out, item)
	}
	return out
}

// lineLevel returns the level of a line.
func (o *outline) lineLevel(line *sourceLine) int {
	if o.byIndent {
		return line.indent
	}
	return line.depth
}

// isAtLevel reports whether a declaration of a level may begin on a line.
func (o *outline) isAtLevel(line *sourceLine, level int) bool {
	if o.byIndent {
		return line.indent == level && line.depth == 0
	}
	return line.depth == level
}

// isDecorator reports whether a line only annotates the declaration below.
func (o *outline) isDecorator(i int) bool {
	text := strings.TrimSpace(o.line(i))
	if o.grammar.hasPreprocessor && strings.HasPrefix(text, "template") && strings.HasSuffix(text, ">") {
		return true
	}
	for _, mark := range o.grammar.decorators {
		if !strings.HasPrefix(text, mark) {
			continue
		}
		if word, _, _ := strings.Cut(text, " "); strings.Contains(o.grammar.keywords, " "+word+":") {
			return false // @interface
		}
		// The declaration may follow the decorator on the same line.
		rest := strings.TrimLeft(text, "@[#")
		end := 0
		for end < len(rest) && (ascii.IsAlphanumeric(rest[end]) || strings.IndexByte("_.:!", rest[end]) >= 0 || rest[end] >= 0x80) {
			end++
		}
		rest = skipBrackets(strings.TrimSpace(rest[end:]))
		rest = strings.TrimSpace(strings.TrimLeft(rest, "]"))
		return rest == "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, mark) || mark == `"` || o.grammar.isIndented
	}
	return false
}

// skipBrackets removes the brackets at the beginning of a text with their content. It returns "" if they are not
// closed.
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

// isContinuation reports whether a line continues the declaration above, which isComplete says seems to be complete.
// The first declaration of the sequence begins on line first.
func (o *outline) isContinuation(i, first int, isComplete bool) bool {
	g := o.grammar
	text := strings.TrimSpace(o.line(i))
	if strings.IndexByte("{})],.?", text[0]) >= 0 || o.lines[i].isDirective && isBranch(text) {
		return text[0] != '{' || g.name != "json"
	}
	if word := firstWord(text); word != "" && g.continuations != "" && strings.Contains(g.continuations, " "+word+" ") {
		return true
	}
	switch g.name {
	case "yaml":
		return strings.HasPrefix(text, "{{") || isListElement(text) && !isListElement(strings.TrimSpace(o.line(first)))
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
	if o.byIndent && !g.isIndented {
		return strings.HasPrefix(text, "else") || strings.HasPrefix(text, "catch") || strings.HasPrefix(text, "finally")
	}
	if g.name == "sql" {
		begins := o.isBlank(i-1) && isStatement(text) || isBatchEnd(strings.TrimSpace(o.line(i-1)))
		return !isComplete && !begins
	}
	if g.hasStatements {
		return !isComplete
	}
	return o.isLineContinued(i, text)
}

// isStatement reports whether a line can hardly be anything but the beginning of an SQL statement.
func isStatement(text string) bool {
	switch strings.ToLower(firstWord(text)) {
	case "create", "alter", "drop", "insert", "grant", "revoke", "comment", "truncate":
		return true
	}
	return false
}

// isBatchEnd reports whether a line ends a batch of SQL.
func isBatchEnd(line string) bool { return strings.EqualFold(line, "go") || line == "/" }

// isLineContinued reports whether a line continues the one above, in languages whose declarations end with the line.
func (o *outline) isLineContinued(i int, text string) bool {
	if strings.IndexByte(":=+|&>*/%<-", text[0]) >= 0 && !strings.HasPrefix(text, "*/") {
		return true
	}
	switch firstWord(text) {
	case "else", "catch", "finally", "where", "extends", "implements", "throws", "with", "then":
		return true
	}
	for above := i - 1; above >= 0; above-- {
		if o.isBlank(above) {
			return false
		}
		if last := o.lines[above].last; !o.lines[above].isComment {
			return last != 0 && strings.IndexByte("=+&|(\\", last) >= 0 || last == ',' && o.lines[i].depth == 0 // between members a comma ends a member
		}
	}
	return false
}

// isBranch reports whether a directive ends a condition or separates its branches. One that begins a condition belongs
// to the lines below.
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

// isListElement reports whether a line of YAML is a list element, which may be indented as little as the key of its
// list.
func isListElement(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// opensBody reports whether an SQL statement contains other statements, which also end with semicolons.
func (o *outline) opensBody(i int) bool {
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
			// A body in dollar quotes is a string.
			rest := o.text[o.lines[i].start:min(len(o.text), o.lines[i].start+4000)]
			head, _, _ := strings.Cut(rest, "\n\n")
			return !strings.Contains(head, "$") && strings.Contains(strings.ToLower(rest), "begin")
		case "table", "view", "index", "(", "as":
			return false
		}
	}
	return false
}

func (o *outline) closesBody(i int) bool {
	if o.lines[i].indent > 0 {
		return false
	}
	text := strings.ToLower(strings.TrimSpace(o.line(i)))
	return text == "/" || text == "go" || text == "//" || text == "$$" || strings.HasPrefix(text, "end") && (strings.HasSuffix(text, ";") ||
		strings.HasSuffix(text, "//") || strings.HasSuffix(text, "$$"))
}

func countRunes(text string) int { return utf8.RuneCountInString(text) }
