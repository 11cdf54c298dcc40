package asciidoc

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// inline returns inline markup as Markdown, with attribute references replaced.
func (p *parser) inline(text string) string { return p.spans(p.expand(text), true, 0) }

// plain returns text without markup, on one line.
func (p *parser) plain(text string) string {
	return strings.Join(strings.Fields(p.spans(p.expand(text), false, 0)), " ")
}

// maxInlineDepth is how deep inline markup may be nested.
const maxInlineDepth = 8

const inlineMarks = "\\`*_#+^~<[(:'\"&\n"

func (p *parser) spans(text string, markup bool, depth int) string {
	if depth > maxInlineDepth || !strings.ContainsAny(text, inlineMarks) {
		return text
	}
	w := inlineWriter{p: p, text: text, markup: markup, depth: depth}
	w.out.Grow(len(text) + 16)
	for w.at < len(text) && p.ok() {
		next := strings.IndexAny(text[w.at:], inlineMarks)
		if next < 0 {
			break
		}
		w.out.WriteString(text[w.at : w.at+next])
		w.at += next
		if n := w.span(text[w.at:]); n > 0 {
			w.at += n
			continue
		}
		w.out.WriteByte(text[w.at])
		w.at++
	}
	w.out.WriteString(text[w.at:])
	return w.out.String()
}

// inlineWriter writes one text as Markdown, or as plain text if markup is not set.
type inlineWriter struct {
	p      *parser
	text   string
	at     int
	markup bool
	depth  int
	out    bytes.Buffer
}

// span writes the markup at the current position and returns its length, or 0 if there is none.
func (w *inlineWriter) span(rest string) int {
	switch rest[0] {
	case '\\':
		return w.escape(rest)
	case '`', '*', '_', '#', '^', '~', '+':
		return w.quote(rest, rest[0], 0)
	case '<':
		return w.reference(rest)
	case '[':
		return w.bracket(rest)
	case '(':
		return w.parenthesis(rest)
	case ':':
		return w.macro(rest)
	case '\'', '"':
		return w.curvedQuotes(rest)
	case '&':
		if n := inline.EntityLength(rest); n > 1 {
			w.out.WriteString(html.UnescapeString(rest[:n]))
			return n
		}
	case '\n':
		if bytes.HasSuffix(w.out.Bytes(), []byte(" +")) {
			w.out.Truncate(w.out.Len() - 2) // a line break
		}
	}
	return 0
}

// escape writes an escaped mark without its backslash. Other backslashes are text.
func (w *inlineWriter) escape(rest string) int {
	if len(rest) < 2 {
		return 0
	}
	switch next := rest[1]; {
	case strings.IndexByte("`*_#+^~<[(:'\"{&", next) >= 0:
		n := 2
		for n < len(rest) && rest[n] == next {
			n++
		}
		w.out.WriteString(rest[1:n])
		return n
	case isScheme(rest[1:]) || strings.HasPrefix(rest[1:], "link:") || strings.HasPrefix(rest[1:], "xref:") || strings.HasPrefix(rest[1:], "image:"):
		end := strings.IndexByte(rest, ':')
		w.out.WriteString(rest[1 : end+1])
		return end + 1
	}
	return 0
}

func isScheme(text string) bool {
	scheme, rest, found := strings.Cut(text[:min(len(text), 12)], "://")
	return found && (rest != "" || len(text) > 10) && (scheme == "http" || scheme == "https" || scheme == "ftp" || scheme == "irc")
}

func (w *inlineWriter) window(rest string) string {
	if w.p.searchBudget <= 0 {
		return ""
	}
	return rest[:min(len(rest), compose.MaxInlineSpan)]
}

func (w *inlineWriter) charge(window string) int {
	w.p.searchBudget -= len(window)
	return 0
}

// quote writes a text between single marks at word borders, or between double marks anywhere. An attribute list of
// skipped bytes has been passed before.
func (w *inlineWriter) quote(rest string, mark byte, skipped int) int {
	window := w.window(rest)
	width := len(window) - len(strings.TrimLeft(window, string(rune(mark))))
	if mark == '+' && width == 3 || width >= 2 && mark != '^' && mark != '~' {
		double := window[:2]
		if mark == '+' && width >= 3 {
			double = window[:3]
		}
		if end := strings.Index(window[len(double):], double); end > 0 {
			n := len(double) + end
			for n+len(double) < len(window) && window[n+len(double)] == mark && mark != '+' {
				n++
			}
			w.markedText(mark, window[len(double):n])
			return n + len(double)
		}
	}
	if width == 0 {
		return 0
	}
	if mark == '^' || mark == '~' {
		end := strings.IndexByte(window[1:], mark)
		if end <= 0 || strings.ContainsAny(window[1:1+end], " \n\t") {
			return 0
		}
		w.markedText(mark, window[1:1+end])
		return end + 2
	}
	if !w.canOpen(skipped) || width > 1 && mark != '`' || len(window) < 3 || window[1] == ' ' || window[1] == '\n' {
		w.out.WriteString(rest[:max(width, 1)])
		return max(width, 1)
	}
	for i := 2; i < len(window); i++ {
		if window[i] != mark || window[i-1] == ' ' || window[i-1] == '\n' {
			continue
		}
		after, size := utf8.DecodeRuneInString(window[i+1:])
		if size > 0 && (unicode.IsLetter(after) || unicode.IsNumber(after) || after == '_' || after == rune(mark) && mark != '`') {
			continue
		}
		w.markedText(mark, window[1:i])
		return i + 1
	}
	w.charge(window)
	w.out.WriteByte(mark)
	return 1
}

// canOpen reports whether a mark may begin at the current position, which it may not after a word.
func (w *inlineWriter) canOpen(skipped int) bool {
	if w.at-skipped <= 0 {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(w.text[:w.at-skipped])
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != ':' && r != ';' && r != '}' && r != '_' || skipped > 0
}

// markedText writes a text that stood between marks.
func (w *inlineWriter) markedText(mark byte, inner string) {
	switch mark {
	case '`':
		if strings.HasPrefix(inner, "+") && strings.HasSuffix(inner, "+") && len(inner) > 2 {
			inner = inner[1 : len(inner)-1]
		} else if strings.ContainsAny(inner, "<[\\:{") {
			inner = w.p.spans(inner, false, w.depth+2)
		}
		inner = strings.Join(strings.Fields(inner), " ")
		if w.markup {
			inner = inline.CodeSpan(inner)
		}
	case '*':
		inner = w.withMark("**", w.p.spans(inner, w.markup, w.depth+1))
	case '_':
		inner = w.withMark("*", w.p.spans(inner, w.markup, w.depth+1))
	case '^':
		inner = inline.Superscript(w.p.spans(inner, false, w.depth+1))
	case '+':
		inner = inline.FromHTML(inner)
	default:
		inner = w.p.spans(inner, w.markup, w.depth+1)
	}
	w.out.WriteString(inner)
}

func (w *inlineWriter) withMark(mark, text string) string {
	if !w.markup || strings.TrimSpace(text) != text || text == "" || strings.Contains(strings.Trim(text, "*"), mark) {
		return text
	}
	return mark + text + mark
}

// curvedQuotes writes "`text`" and '`text`' with curved quotation marks.
func (w *inlineWriter) curvedQuotes(rest string) int {
	if len(rest) < 4 || rest[1] != '`' {
		return 0
	}
	window := w.window(rest)
	end := strings.Index(window[min(2, len(window)):], "`"+rest[:1])
	if end <= 0 {
		return w.charge(window)
	}
	open, shut := "“", "”"
	if rest[0] == '\'' {
		open, shut = "‘", "’"
	}
	w.out.WriteString(open + w.p.spans(rest[2:2+end], w.markup, w.depth+1) + shut)
	return end + 4
}

// reference writes <<id,text>>.
func (w *inlineWriter) reference(rest string) int {
	if !strings.HasPrefix(rest, "<<") {
		return 0
	}
	window := rest[:min(len(rest), 500)]
	end := strings.Index(window, ">>")
	if end <= 2 || strings.Contains(window[:end], "\n\n") {
		return 0
	}
	id, text, _ := strings.Cut(window[2:end], ",")
	w.crossReference(strings.TrimSpace(id), strings.TrimSpace(text))
	return end + 2
}

// crossReference writes a reference within the file as its text, and one to another file as a link.
func (w *inlineWriter) crossReference(id, text string) {
	if w.depth > 2 {
		text = strings.TrimSpace(text + " ")
	}
	text = w.p.spans(unquote(text), w.markup, w.depth+1)
	file, part, _ := strings.Cut(id, "#")
	name := strings.TrimPrefix(id, "#")
	if text == "" {
		for _, key := range []string{name, part} {
			if title := w.p.titles[key]; key != "" && title != "" && text == "" && w.depth < 3 {
				text = w.p.spans(title, false, w.depth+3)
			}
		}
	}
	if text == "" {
		text = name
	}
	if w.markup && (strings.HasSuffix(file, ".adoc") || strings.HasSuffix(file, ".html") || strings.HasSuffix(file, ".asciidoc")) {
		text = inline.Link(text, id)
	}
	w.out.WriteString(text)
}

// bracket reads anchors, and attribute lists before marks: [[id]], [#id]#text#, [.role]*text*.
func (w *inlineWriter) bracket(rest string) int {
	window := rest[:min(len(rest), 200)]
	if strings.HasPrefix(rest, "[[[") {
		if end := strings.Index(window, "]]]"); end > 3 {
			label, _, _ := strings.Cut(window[3:end], ",")
			w.out.WriteString("[" + label + "]")
			return end + 3
		}
	}
	if strings.HasPrefix(rest, "[[") {
		if end := strings.Index(window, "]]"); end > 2 && !strings.ContainsAny(window[2:end], " \n[") {
			return end + 2
		}
		return 0
	}
	end := strings.IndexByte(window, ']')
	if end < 1 || end+1 >= len(rest) || strings.IndexByte("#*_`", rest[end+1]) < 0 || strings.ContainsAny(window[1:end], "\n[") {
		return 0
	}
	if end > 1 && strings.IndexByte(".#", window[1]) < 0 && strings.Trim(window[1:end], "abcdefghijklmnopqrstuvwxyz-. ") != "" {
		return 0
	}
	at := w.at
	w.at += end + 1
	length := w.out.Len()
	n := w.quote(rest[end+1:], rest[end+1], end+1)
	w.at = at
	if n <= 1 {
		w.out.Truncate(length)
		return 0
	}
	return end + 1 + n
}

// parenthesis reads index entries and the signs (C), (R) and (TM).
func (w *inlineWriter) parenthesis(rest string) int {
	for sign, written := range map[string]string{"(C)": "©", "(R)": "®", "(TM)": "™"} {
		if strings.HasPrefix(rest, sign) {
			w.out.WriteString(written)
			return len(sign)
		}
	}
	window := rest[:min(len(rest), 500)]
	if strings.HasPrefix(rest, "(((") {
		if end := strings.Index(window, ")))"); end > 3 {
			return end + 3
		}
		return 0
	}
	if strings.HasPrefix(rest, "((") {
		if end := strings.Index(window, "))"); end > 2 && !strings.ContainsAny(window[2:end], "()") {
			w.out.WriteString(w.p.spans(window[2:end], w.markup, w.depth+1))
			return end + 2
		}
	}
	return 0
}

// macro reads name:target[text] and addresses. The name has already been written.
func (w *inlineWriter) macro(rest string) int {
	begin := w.at
	for begin > 0 && w.at-begin < 20 && (ascii.IsAlphanumeric(w.text[begin-1]) || w.text[begin-1] == '_') {
		begin--
	}
	name := w.text[begin:w.at]
	if strings.HasSuffix(name, "footnote") {
		name = "footnote" // the macro may follow a word without a blank
	}
	if name == "" || !bytes.HasSuffix(w.out.Bytes(), []byte(name)) {
		return 0
	}
	if strings.HasPrefix(rest, "://") {
		if name == "http" || name == "https" || name == "ftp" || name == "irc" {
			return w.address(name, rest)
		}
		return 0
	}
	if !isInlineMacro(name) {
		return 0
	}
	window := w.window(rest)
	open := strings.IndexByte(window, '[')
	if open < 1 || strings.ContainsAny(window[:open], " \n\t") && name != "menu" && name != "link" && name != "image" || window[1] == ':' {
		return 0
	}
	shut := closingBracket(window[open:])
	if shut == 0 {
		return w.charge(window)
	}
	w.out.Truncate(w.out.Len() - len(name))
	w.writeMacro(name, window[1:open], window[open+1:open+shut])
	return open + shut + 1
}

func isInlineMacro(name string) bool {
	switch name {
	case "link", "mailto", "xref", "image", "icon", "kbd", "btn", "menu", "footnote", "footnoteref", "stem", "latexmath", "asciimath", "pass",
		"indexterm", "indexterm2", "anchor", "term", "span", "text", "javadoc", "issue", "commit", "user", "emoji", "fn":
		return true
	}
	return false
}

// closingBracket returns the index of the bracket that closes the first one, or 0.
func closingBracket(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

func (w *inlineWriter) writeMacro(name, target, text string) {
	text = strings.ReplaceAll(text, `\]`, "]")
	switch name {
	case "link":
		w.link(unescapeTarget(target), text)
	case "mailto":
		w.link("mailto:"+target, text)
	case "xref":
		w.crossReference(target, macroText(text))
	case "image":
		w.out.WriteString(macroText(text))
	case "icon", "indexterm", "anchor":
	case "kbd":
		w.markedText('`', text)
	case "menu":
		parts := append([]string{target}, strings.Split(text, ">")...)
		kept := parts[:0]
		for _, part := range parts {
			if part = strings.TrimSpace(part); part != "" {
				kept = append(kept, part)
			}
		}
		w.out.WriteString(strings.Join(kept, " > "))
	case "footnote", "footnoteref", "fn":
		w.footnote(name, target, text)
	case "stem", "latexmath", "asciimath":
		w.out.WriteString("$" + strings.Trim(text, "$") + "$")
	case "pass":
		w.out.WriteString(inline.FromHTML(text))
	default:
		if text == "" {
			text = target
		}
		w.out.WriteString(w.p.spans(text, w.markup, w.depth+1))
	}
}

// unescapeTarget removes the plus signs around a target that protect it from being parsed.
func unescapeTarget(target string) string {
	if strings.HasPrefix(target, "++") && strings.HasSuffix(target, "++") && len(target) > 4 {
		return target[2 : len(target)-2]
	}
	return target
}

// macroText returns the text among the attributes of a macro.
func macroText(text string) string {
	if !strings.Contains(text, "=") {
		return unquote(text)
	}
	var a attributeList
	a.add(text)
	if alt := a.named["alt"]; alt != "" {
		return alt
	}
	return a.at(0)
}

func (w *inlineWriter) link(target, text string) {
	label := text
	if strings.Contains(text, "=") || strings.HasPrefix(text, `"`) {
		if parts := splitAttributes(text); len(parts) > 1 || strings.HasPrefix(text, `"`) || !strings.Contains(text, " ") {
			label = macroText(text)
		}
	}
	label = strings.TrimSuffix(label, "^")
	if label == "" {
		label = strings.TrimPrefix(target, "mailto:")
	} else {
		label = strings.Join(strings.Fields(w.p.spans(label, w.markup, w.depth+1)), " ")
	}
	if w.markup && !strings.Contains(label, "](") {
		label = inline.Link(label, target)
	}
	w.out.WriteString(label)
}

// address writes an address with the label in brackets after it, or the bare address.
func (w *inlineWriter) address(name, rest string) int {
	end := strings.IndexAny(rest, " \n\t[]<>\"")
	if end < 0 {
		end = len(rest)
	}
	if end < len(rest) && rest[end] == '[' {
		window := w.window(rest[end:])
		if shut := closingBracket(window); shut > 0 {
			w.out.Truncate(w.out.Len() - len(name))
			w.link(name+rest[:end], strings.ReplaceAll(window[1:shut], `\]`, "]"))
			return end + shut + 1
		}
		w.charge(window)
	}
	for end > 3 && strings.IndexByte(".,;:!?)'", rest[end-1]) >= 0 {
		end--
	}
	w.out.WriteString(rest[:end])
	return end
}

// footnote writes the number of a footnote and keeps its text for the end.
func (w *inlineWriter) footnote(name, target, text string) {
	if name == "footnoteref" {
		target, text, _ = strings.Cut(text, ",")
	}
	if text == "" {
		if number := w.p.footnoteNumbers[target]; number > 0 {
			w.out.WriteString("[" + strconv.Itoa(number) + "]")
		}
		return
	}
	if w.depth > 3 || len(w.p.footnotes) >= compose.MaxNames {
		w.out.WriteString("(" + text + ")")
		return
	}
	at := len(w.p.footnotes)
	w.p.footnotes = append(w.p.footnotes, "")
	if target != "" {
		w.p.footnoteNumbers[target] = at + 1
	}
	w.out.WriteString("[" + strconv.Itoa(at+1) + "]")
	w.p.footnotes[at] = strings.Join(strings.Fields(w.p.spans(text, w.markup, w.depth+1)), " ")
}
