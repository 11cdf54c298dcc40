package restructured

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// blockQuote reads an indented block. Without a paragraph in it, such as for a list that is merely indented, it is no
// quotation.
func (b *body) blockQuote(lines []string) int {
	n := compose.IndentedLines(lines, 1)
	inner := b.nested(compose.TrimBlankLines(compose.DedentLines(lines[:n])))
	for i := range inner {
		if inner[i].Kind == document.Paragraph {
			compose.Quote(inner, b.emit)
			return n
		}
	}
	for i := range inner {
		b.emit(inner[i])
	}
	return n
}

// textBlock reads a paragraph, and the literal block that two colons at its end announce.
func (b *body) textBlock(lines []string) int {
	n := 1
	for n < len(lines) && !compose.IsBlank(lines[n]) && lines[n][0] != ' ' {
		if b.hasTitles && n+1 < len(lines) && isUnderlined(lines[n:]) {
			break
		}
		n++
	}
	text := strings.TrimRight(strings.Join(lines[:n], "\n"), " ")
	if !strings.HasSuffix(text, "::") {
		b.paragraph(b.p.inline(text))
		return n
	}
	block, used := cutLiteralBlock(lines[n:])
	if text = strings.TrimSuffix(text, "::"); strings.HasSuffix(text, " ") || strings.HasSuffix(text, "\n") || text == "" {
		text = strings.TrimSpace(text)
	} else {
		text += ":"
	}
	b.paragraph(b.p.inline(text))
	b.emit(compose.CodeBlock(b.p.language, block))
	return n + used
}

// isUnderlined reports whether a title follows a paragraph without a blank line, which is a frequent mistake.
func isUnderlined(lines []string) bool {
	_, _, used := cutTitle(lines)
	return used == 2 && len(strings.TrimRight(lines[1], " ")) >= displayWidth(strings.TrimSpace(lines[0]))
}

// cutLiteralBlock returns the lines of a literal block, which are indented or quoted with the same character. It also
// returns how many lines the block takes, including blank lines before it.
func cutLiteralBlock(lines []string) ([]string, int) {
	begin := 0
	for begin < len(lines) && compose.IsBlank(lines[begin]) {
		begin++
	}
	if begin == len(lines) || begin == 0 {
		return nil, 0
	}
	if lines[begin][0] == ' ' {
		n := compose.IndentedLines(lines, 1)
		return lines[begin:n], n
	}
	if sign := lines[begin][0]; sign > ' ' && sign < 0x7F && !ascii.IsAlphanumeric(sign) && !strings.HasPrefix(lines[begin], ".. ") {
		end := begin
		for end < len(lines) && lines[end] != "" && lines[end][0] == sign {
			end++
		}
		if end > begin && (end == len(lines) || compose.IsBlank(lines[end])) && sign == '>' {
			return lines[begin:end], end
		}
	}
	return nil, 0
}

// doctest reads a session of the Python interpreter.
func (b *body) doctest(lines []string) int {
	n := 0
	for n < len(lines) && !compose.IsBlank(lines[n]) {
		n++
	}
	b.emit(compose.CodeBlock("python", lines[:n]))
	return n
}

// lineBlock reads lines whose line breaks count.
func (b *body) lineBlock(lines []string) int {
	var text strings.Builder
	n := 0
	for ; n < len(lines) && !compose.IsBlank(lines[n]); n++ {
		line, isNew := strings.CutPrefix(lines[n], "|")
		switch {
		case isNew && n > 0:
			text.WriteByte('\n')
		case !isNew && lines[n][0] != ' ':
			b.paragraph(b.p.inline(strings.Trim(text.String(), "\n")))
			return n
		case !isNew:
			text.WriteByte(' ')
		}
		text.WriteString(strings.TrimSpace(line))
	}
	b.paragraph(b.p.inline(strings.Trim(text.String(), "\n")))
	return n
}

// bulletWidth returns the length of the bullet that a line begins with, or 0.
func bulletWidth(line string) int {
	for _, bullet := range []string{"-", "*", "+", "•", "‣", "⁃"} {
		if rest, found := strings.CutPrefix(line, bullet); found && (rest == "" || rest[0] == ' ') {
			return len(bullet)
		}
	}
	return 0
}

func isBullet(line string) bool { return bulletWidth(line) > 0 }

// cutItem returns the lines of a list item after a marker of width bytes, and how many lines it takes.
func cutItem(lines []string, width int) ([]string, int) {
	first := lines[0][width:]
	indent := width
	if strings.HasPrefix(lines[0], "•") || strings.HasPrefix(lines[0], "‣") || strings.HasPrefix(lines[0], "⁃") {
		indent = width - len("•") + 1
	}
	if text := strings.TrimLeft(first, " "); text != "" {
		indent += len(first) - len(text)
		first = text
	} else {
		first = ""
		indent++
		if len(lines) > 1 && !compose.IsBlank(lines[1]) {
			indent = max(compose.Indent(lines[1]), 1)
		}
	}
	n := 1 + compose.IndentedLines(lines[1:], indent)
	return append([]string{first}, compose.CutColumns(lines[1:n], indent)...), n
}

func (b *body) bulletList(lines []string) int {
	items := compose.List{Emit: b.emit}
	i := 0
	for i < len(lines) && b.p.ok() {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		width := bulletWidth(lines[i])
		if width == 0 || i > 0 && lines[i][:width] != lines[0][:min(width, len(lines[0]))] {
			break
		}
		item, n := cutItem(lines[i:], width)
		items.Item("- ", 0, b.nested(item))
		i += n
	}
	items.Flush()
	return i
}

// enumerator returns the width of an enumerator such as "1.", "(a)" or "#)", its form, and its text without
// punctuation. The items of a list share the form.
func enumerator(line string) (width int, form, text string) {
	begin := 0
	if strings.HasPrefix(line, "(") {
		begin = 1
	}
	end := begin
	for end < len(line) && end < begin+8 && (ascii.IsAlphanumeric(line[end]) || line[end] == '#') {
		end++
	}
	if end == begin || end >= len(line) || line[end] != '.' && line[end] != ')' || begin == 1 && line[end] == '.' {
		return 0, "", ""
	}
	if end+1 < len(line) && line[end+1] != ' ' {
		return 0, "", ""
	}
	text = line[begin:end]
	switch {
	case text == "#" || strings.Trim(text, "0123456789") == "":
		form = "1"
	case len(text) == 1 && 'a' <= text[0] && text[0] <= 'z' || len(text) > 1 && strings.Trim(text, "ivxlcdm") == "":
		form = "a"
	case len(text) == 1 || strings.Trim(text, "IVXLCDM") == "":
		form = "A"
	default:
		return 0, "", ""
	}
	return end + 1, line[:begin] + form + line[end:end+1], text
}

// isEnumerated reports whether the lines begin with an item of a numbered list. A paragraph that begins with a number
// continues at the margin.
func isEnumerated(lines []string) bool {
	width, form, _ := enumerator(lines[0])
	if width == 0 || len(lines[0]) == width && len(lines) > 1 && !compose.IsBlank(lines[1]) && lines[1][0] != ' ' {
		return false
	}
	if len(lines) == 1 || compose.IsBlank(lines[1]) || lines[1][0] == ' ' {
		return true
	}
	_, next, _ := enumerator(lines[1])
	return next == form
}

func (b *body) enumeratedList(lines []string) int {
	items := compose.List{Emit: b.emit}
	_, form, _ := enumerator(lines[0])
	number := 0
	i := 0
	for i < len(lines) && b.p.ok() {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		width, same, text := enumerator(lines[i])
		if width == 0 || same != form || !isEnumerated(lines[i:]) {
			break
		}
		item, n := cutItem(lines[i:], width)
		number++
		if value, err := strconv.Atoi(text); err == nil {
			number = value
		}
		inner := b.nested(item)
		if strings.Contains(form, "1") {
			items.Item(strconv.Itoa(number)+". ", 0, inner)
		} else {
			items.Item("- ", 0, compose.Labelled(text+". ", inner))
		}
		i += n
	}
	items.Flush()
	return i
}

// definitionList reads terms, each with an indented definition below.
func (b *body) definitionList(lines []string) int {
	items := compose.List{Emit: b.emit}
	i := 0
	for i < len(lines) && b.p.ok() {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		if i+1 >= len(lines) || lines[i][0] == ' ' || compose.IsBlank(lines[i+1]) || lines[i+1][0] != ' ' || strings.HasPrefix(lines[i], ".. ") ||
			i > 0 && (isBullet(lines[i]) || isEnumerated(lines[i:]) || FieldNameWidth(lines[i]) > 0) {
			break
		}
		term, classifiers, _ := strings.Cut(lines[i], " : ")
		label := b.p.inline(strings.TrimSpace(term))
		if classifiers != "" {
			label += " (" + b.p.inline(strings.ReplaceAll(strings.TrimSpace(classifiers), " : ", ", ")) + ")"
		}
		n := compose.IndentedLines(lines[i+1:], 1)
		items.Item("- ", 0, compose.Labelled(label+": ", b.nested(compose.DedentLines(lines[i+1:i+1+n]))))
		i += 1 + n
	}
	items.Flush()
	return i
}

// FieldNameWidth returns the length of the ":name:" that a line begins with, or 0.
func FieldNameWidth(line string) int {
	if len(line) < 3 || line[0] != ':' || line[1] == ':' || line[1] == ' ' || line[1] == '`' {
		return 0
	}
	for i := 1; i < min(len(line), 300); i++ {
		switch line[i] {
		case '\\':
			i++
		case '`':
			return 0
		case ':':
			if i+1 == len(line) || line[i+1] == ' ' {
				return i + 1
			}
		}
	}
	return 0
}

// field is an entry of a field list.
type field struct {
	name  string
	lines []string
}

// cutFields returns the fields that the lines begin with, and how many lines they take.
func cutFields(lines []string) ([]field, int) {
	var fields []field
	i := 0
	for i < len(lines) {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		width := FieldNameWidth(lines[i])
		if width == 0 {
			break
		}
		n := 1 + compose.IndentedLines(lines[i+1:], 1)
		content := append([]string{strings.TrimSpace(lines[i][width:])}, compose.DedentLines(lines[i+1:i+n])...)
		fields = append(fields, field{strings.TrimSpace(strings.ReplaceAll(lines[i][1:width-1], `\`, "")), content})
		i += n
	}
	return fields, i
}

// fieldList reads a field list. At the top of a file, the fields are facts about it.
func (b *body) fieldList(lines []string) int {
	fields, n := cutFields(lines)
	if b.depth == 0 && !b.p.hasContent && b.hasTitles {
		b.addFacts(fields)
		return n
	}
	items := compose.List{Emit: b.emit}
	for _, f := range fields {
		if !b.p.ok() {
			break
		}
		items.Item("- ", 0, compose.Labelled(fieldLabel(f.name)+": ", b.nested(f.lines)))
	}
	items.Flush()
	return n
}

// fieldLabel returns the label for a field in the description of a member.
func fieldLabel(name string) string {
	kind, rest, _ := strings.Cut(name, " ")
	switch kind {
	case "param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "kwparam":
		if words := strings.Fields(rest); len(words) > 1 {
			return words[len(words)-1] + " (" + strings.Join(words[:len(words)-1], " ") + ")"
		}
		return rest
	case "type", "vartype":
		return "Type of " + rest
	case "var", "ivar", "cvar":
		return rest
	case "returns", "return":
		return "Returns"
	case "rtype":
		return "Return type"
	case "raises", "raise", "except", "exception":
		return strings.TrimSpace("Raises " + rest)
	}
	return name
}

// addFacts adds fields to the facts of the file. An abstract or a dedication is text instead.
func (b *body) addFacts(fields []field) {
	for _, f := range fields {
		value := b.p.plain(strings.TrimSpace(strings.Join(f.lines, "\n")))
		key := strings.ToLower(f.name)
		switch key {
		case "abstract", "dedication":
			for _, block := range b.nested(f.lines) {
				b.emit(block)
			}
			continue
		case "orphan", "tocdepth", "nocomments", "nosearch", "no-search":
			continue
		case "authors":
			key, value = "author", strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == '\n' }), ", ")
			value = strings.ReplaceAll(strings.ReplaceAll(value, "- ", ""), ", ,", ",")
		case "revision", "release":
			key = "version"
		case "last-modified", "last_modified":
			key = "updated"
		}
		if value = strings.Join(strings.Fields(value), " "); value == "" || len(b.p.meta) >= compose.MaxFacts || strings.HasPrefix(value, "$") {
			continue
		}
		if _, known := b.p.meta[key]; !known {
			b.p.meta[key] = safetext.TruncateBytes(value, 2000)
		}
	}
}

// isOption reports whether a line describes a command-line option: -a, --all, -f FILE, /V.
func isOption(line string) bool { return optionWidth(line) > 0 }

// optionWidth returns the length of the options that a line begins with, which end at two blanks or at the end of the
// line.
func optionWidth(line string) int {
	if len(line) < 2 || line[0] != '-' && line[0] != '/' && line[0] != '+' || line[1] == ' ' {
		return 0
	}
	options, _, _ := strings.Cut(line, "  ")
	for option := range strings.SplitSeq(options, ", ") {
		words := strings.Fields(option)
		if len(words) == 0 || len(words) > 2 || len(words[0]) < 2 {
			return 0
		}
		switch name := strings.TrimLeft(words[0], "-"); {
		case strings.HasPrefix(words[0], "--") && name != "" && ascii.IsAlphanumeric(name[0]):
		case words[0][0] == '-' && len(name) >= 1 && len(words[0])-len(name) == 1 && (len(name) == 1 || !ascii.IsAlphanumeric(name[1])) && ascii.IsAlphanumeric(name[0]),
			words[0][0] == '-' && len(words) == 1 && len(name) > 1 && len(words[0])-len(name) == 1 && ascii.IsAlphanumeric(name[0]):
		case words[0][0] == '/' && len(words[0]) == 2 && 'A' <= words[0][1] && words[0][1] <= 'Z':
		default:
			return 0
		}
	}
	return len(options)
}

func (b *body) optionList(lines []string) int {
	items := compose.List{Emit: b.emit}
	i := 0
	for i < len(lines) && b.p.ok() {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		width := optionWidth(lines[i])
		n := 1
		if i+1 < len(lines) {
			n += compose.IndentedLines(lines[i+1:], 1)
		}
		if width == 0 || width == len(strings.TrimRight(lines[i], " ")) && n == 1 {
			break
		}
		content := append([]string{strings.TrimSpace(lines[i][width:])}, compose.DedentLines(lines[i+1:i+n])...)
		items.Item("- ", 0, compose.Labelled(inline.CodeSpan(lines[i][:width])+": ", b.nested(compose.TrimBlankLines(content))))
		i += n
	}
	items.Flush()
	if i == 0 {
		return b.textBlock(lines)
	}
	return i
}
