package restructured

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// inline returns inline markup as Markdown.
func (p *parser) inline(text string) string { return p.spans(text, true, 0) }

// plain returns text without markup, on one line.
func (p *parser) plain(text string) string {
	return strings.Join(strings.Fields(p.spans(text, false, 0)), " ")
}

func (p *parser) spans(text string, markup bool, depth int) string {
	if !strings.ContainsAny(text, "\\`*|_[") {
		return text
	}
	w := inlineWriter{p: p, text: text, markup: markup, depth: depth}
	w.out.Grow(len(text) + 16)
	for w.at < len(text) {
		next := strings.IndexAny(text[w.at:], "\\`*|_[:")
		if next < 0 {
			break
		}
		w.out.WriteString(text[w.at : w.at+next])
		w.at += next
		if n := w.span(); n > 0 {
			w.at += n
			continue
		}
		w.out.WriteByte(text[w.at])
		w.at++
	}
	if w.at < len(text) {
		w.out.WriteString(text[w.at:])
	}
	return w.out.String()
}

// inlineWriter writes one text as Markdown, or as plain text if markup is not set.
type inlineWriter struct {
	p      *parser
	text   string
	at     int
	markup bool
	depth  int // nesting of substitutions
	out    bytes.Buffer
}

// span writes the markup at the current position and returns its length, or 0 if there is none.
func (w *inlineWriter) span() int {
	rest := w.text[w.at:]
	switch rest[0] {
	case '\\':
		return w.escape(rest)
	case '`':
		if strings.HasPrefix(rest, "``") {
			return w.literal(rest)
		}
		if w.canOpen(1) {
			return w.interpreted(rest, "")
		}
	case ':':
		return w.role(rest)
	case '*':
		return w.emphasis(rest)
	case '|':
		return w.substitution(rest)
	case '_':
		return w.reference(rest)
	case '[':
		return w.footnoteReference(rest)
	}
	return 0
}

// canOpen reports whether markup of n bytes at the current position may begin: no word before it, no blank after it.
func (w *inlineWriter) canOpen(n int) bool {
	after, size := utf8.DecodeRuneInString(w.text[w.at+n:])
	if size == 0 || unicode.IsSpace(after) {
		return false
	}
	if w.at == 0 {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(w.text[:w.at])
	if unicode.IsLetter(before) || unicode.IsNumber(before) {
		return before >= 0x2E80 // scripts without blanks
	}
	return true
}

// canClose reports whether markup of n bytes at i may end.
func (w *inlineWriter) canClose(rest string, begin, i, n int) bool {
	if i <= begin || rest[i-1] == ' ' || rest[i-1] == '\n' {
		return false
	}
	after, size := utf8.DecodeRuneInString(rest[i+n:])
	return size == 0 || !unicode.IsLetter(after) && !unicode.IsNumber(after) || after >= 0x2E80
}

func (w *inlineWriter) escape(rest string) int {
	if len(rest) == 1 {
		return 0
	}
	if rest[1] == ' ' || rest[1] == '\n' {
		return 2
	}
	_, size := utf8.DecodeRuneInString(rest[1:])
	w.out.WriteString(rest[1 : 1+size])
	return 1 + size
}

// window returns the text that is searched for the end of markup. It is empty once the budget is spent: markup without
// an end would otherwise cost the length of the text each time.
func (w *inlineWriter) window(rest string) string {
	if w.p.searchBudget <= 0 {
		return ""
	}
	return rest[:min(len(rest), compose.MaxInlineSpan)]
}

// charge accounts for a search in vain. It returns 0.
func (w *inlineWriter) charge(window string) int {
	w.p.searchBudget -= len(window)
	return 0
}

func (w *inlineWriter) literal(rest string) int {
	if !w.canOpen(2) {
		return 0
	}
	window := w.window(rest)
	for at := 2; ; {
		end := strings.Index(window[min(at, len(window)):], "``")
		if end < 0 {
			return w.charge(window)
		}
		end += at
		for end+2 < len(window) && window[end+2] == '`' {
			end++
		}
		if end > 2 && window[end-1] != ' ' && window[end-1] != '\n' {
			w.code(window[2:end])
			return end + 2
		}
		at = end + 1
	}
}

func (w *inlineWriter) code(text string) {
	text = strings.Join(strings.Fields(text), " ")
	if w.markup {
		text = inline.CodeSpan(text)
	}
	w.out.WriteString(text)
}

// emphasis writes *text* and **text**, which mean the same in Markdown.
func (w *inlineWriter) emphasis(rest string) int {
	mark := "*"
	if strings.HasPrefix(rest, "**") {
		mark = "**"
	}
	if !w.canOpen(len(mark)) || w.isQuotedMark(len(mark)) {
		w.out.WriteString(mark)
		return len(mark)
	}
	window := w.window(rest)
	for i := len(mark) + 1; i < len(window); i++ {
		switch {
		case window[i] == '\\':
			i++
		case strings.HasPrefix(window[i:], mark) && w.canClose(window, len(mark), i, len(mark)):
			inner := w.p.spans(window[len(mark):i], false, w.depth)
			if w.markup {
				inner = mark + inner + mark
			}
			w.out.WriteString(inner)
			return i + len(mark)
		}
	}
	w.charge(window)
	w.out.WriteString(mark)
	return len(mark)
}

// isQuotedMark reports whether a mark stands between quotes or brackets, where the text is about the mark.
func (w *inlineWriter) isQuotedMark(n int) bool {
	if w.at == 0 || w.at+n >= len(w.text) {
		return false
	}
	before, after := w.text[w.at-1], w.text[w.at+n]
	switch before {
	case '"', '\'':
		return after == before
	case '(':
		return after == ')'
	case '[':
		return after == ']'
	case '{':
		return after == '}'
	case '<':
		return after == '>'
	}
	return false
}

func (w *inlineWriter) substitution(rest string) int {
	end := strings.IndexByte(rest[1:min(len(rest), 200)], '|') + 1
	if end <= 1 || !w.canOpen(1) || rest[end-1] == ' ' || strings.Contains(rest[:end], "\n\n") {
		return 0
	}
	name := rest[1:end]
	n := end + 1
	for n < len(rest) && rest[n] == '_' {
		n++
	}
	value, found := w.p.names.substitutions[normalizeName(name)]
	if !found || w.depth > 3 || w.p.substitutionBudget < len(value) {
		return 0
	}
	w.p.substitutionBudget -= len(value)
	value = w.p.spans(value, w.markup, w.depth+1)
	if target, known := w.p.address(name); known && n > end+1 && w.markup {
		value = inline.Link(value, target)
	}
	w.out.WriteString(value)
	return n
}

// footnoteReference writes [1]_, [#]_, [#name]_, [*]_ and [name]_ as the number or name in brackets.
func (w *inlineWriter) footnoteReference(rest string) int {
	end := strings.IndexByte(rest[:min(len(rest), 100)], ']')
	if end < 2 || end+1 >= len(rest) || rest[end+1] != '_' || strings.ContainsAny(rest[:end], " \n") {
		return 0
	}
	label := rest[1:end]
	if label == "#" {
		w.p.names.autoReferenced++
		label += strconv.Itoa(w.p.names.autoReferenced)
	}
	if number, known := w.p.names.footnoteNumbers[label]; known {
		label = number
	}
	w.out.WriteString("[" + strings.TrimPrefix(label, "#") + "]")
	return end + 2
}

// reference writes name_, name__ and _`inline target`. The name has already been written.
func (w *inlineWriter) reference(rest string) int {
	if strings.HasPrefix(rest, "_`") && w.canOpen(2) {
		end := strings.IndexByte(rest[2:min(len(rest), compose.MaxInlineSpan)], '`')
		if end > 0 {
			w.out.WriteString(rest[2 : 2+end])
			return end + 3
		}
	}
	n := 1
	for n < len(rest) && rest[n] == '_' {
		n++
	}
	begin := w.at
	for begin > 0 && (ascii.IsAlphanumeric(w.text[begin-1]) || strings.IndexByte("-_.+", w.text[begin-1]) >= 0 || w.text[begin-1] >= 0x80) {
		begin--
	}
	name := w.text[begin:w.at]
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if n > 2 || name == "" || !w.endsWith(name) || n < len(rest) && (unicode.IsLetter(after) || unicode.IsNumber(after)) {
		w.out.WriteString(rest[:n])
		return n
	}
	target, known := w.p.address(name)
	if n == 2 && w.p.names.usedAnonymous < len(w.p.names.anonymous) {
		target, known = w.nextAnonymous(), true
	}
	switch {
	case !known:
		w.out.WriteString(rest[:n])
	case target != "" && w.markup:
		w.out.Truncate(w.out.Len() - len(name))
		w.out.WriteString(inline.Link(name, target))
	}
	return n
}

// endsWith reports whether the output ends with a name.
func (w *inlineWriter) endsWith(name string) bool {
	return bytes.HasSuffix(w.out.Bytes(), []byte(name))
}

func (w *inlineWriter) nextAnonymous() string {
	target := w.p.names.anonymous[w.p.names.usedAnonymous]
	w.p.names.usedAnonymous++
	if name, indirect := strings.CutSuffix(target, "_"); indirect && !inline.IsAddress(target) {
		target, _ = w.p.address(strings.Trim(name, "`"))
	}
	return target
}

// role reads :name:`text`.
func (w *inlineWriter) role(rest string) int {
	end := 1
	for end < min(len(rest), 60) && (ascii.IsAlphanumeric(rest[end]) || strings.IndexByte("-_.+:", rest[end]) >= 0) {
		end++
	}
	if end >= len(rest) || rest[end] != '`' || end < 3 || rest[end-1] != ':' || rest[1] == ':' {
		return 0
	}
	if w.at > 0 && ascii.IsAlphanumeric(w.text[w.at-1]) {
		return 0
	}
	n := w.interpreted(rest[end:], rest[1:end-1])
	if n == 0 {
		return 0
	}
	return end + n
}

// interpreted reads `text`, with a role before it, or a role or underscores after it.
func (w *inlineWriter) interpreted(rest, role string) int {
	window := w.window(rest)
	end := 1
	for end < len(window) && (window[end] != '`' || window[end-1] == ' ' || window[end-1] == '\n') {
		if window[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(window) || end == 1 {
		return w.charge(window)
	}
	text, n := window[1:end], end+1
	after := rest[n:]
	switch {
	case role == "" && strings.HasPrefix(after, "__"):
		w.link(text, true)
		return n + 2
	case role == "" && strings.HasPrefix(after, "_"):
		w.link(text, false)
		return n + 1
	case role == "" && strings.HasPrefix(after, ":"):
		if stop := strings.IndexByte(after[1:min(len(after), 40)], ':'); stop > 0 && !strings.ContainsAny(after[1:1+stop], " \n`") {
			w.roleText(after[1:1+stop], text)
			return n + stop + 2
		}
	}
	w.roleText(role, text)
	return n
}

// link writes `text <address>`_, `text <name_>`_ and `name`_.
func (w *inlineWriter) link(text string, anonymous bool) {
	label, target := text, ""
	if open := strings.LastIndexByte(text, '<'); open >= 0 && strings.HasSuffix(text, ">") {
		label, target = strings.TrimSpace(text[:open]), strings.Join(strings.Fields(text[open+1:len(text)-1]), "")
		if label == "" {
			label = target
		}
		if name, indirect := strings.CutSuffix(target, "_"); indirect && !inline.IsAddress(target) {
			target, _ = w.p.address(strings.Trim(strings.ReplaceAll(name, `\`, ""), "`"))
		}
		target = strings.ReplaceAll(target, `\`, "")
		if strings.Contains(target, "@") && !strings.ContainsAny(target, "/:") {
			target = "mailto:" + target
		}
	} else if anonymous && w.p.names.usedAnonymous < len(w.p.names.anonymous) {
		target = w.nextAnonymous()
	} else {
		target, _ = w.p.address(label)
	}
	label = strings.Join(strings.Fields(w.p.spans(label, false, w.depth+1)), " ")
	if w.markup {
		label = inline.Link(label, target)
	}
	w.out.WriteString(label)
}

// roleText writes a text in a role.
func (w *inlineWriter) roleText(role, text string) {
	if domain := strings.LastIndexByte(role, ':'); domain >= 0 {
		role = role[domain+1:]
	}
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), `\`, "")
	switch role {
	case "ref", "numref", "doc", "term", "any", "keyword-ref", "cite", "citep", "citet", "footcite", "eq", "download", "guilabel", "abbr",
		"title", "t", "sub", "sup", "subscript", "superscript", "emphasis", "strong", "span", "bdg", "menuselection", "dfn", "issue", "pr",
		"user", "commit", "ghissue", "ghpull", "bpo", "gh", "source", "title-reference", "html", "raw-html":
		w.out.WriteString(w.referenceText(role, text))
	case "math":
		w.out.WriteString("$" + text + "$")
	case "pep", "rfc":
		w.standardLink(role, text)
	default:
		label, _ := cutTarget(text)
		label = strings.TrimPrefix(label, "!")
		if short, found := strings.CutPrefix(label, "~"); found {
			label = short[strings.LastIndexByte(strings.TrimSuffix(short, "()"), '.')+1:]
		}
		w.code(label)
	}
}

// cutTarget splits "title <target>".
func cutTarget(text string) (label, target string) {
	if open := strings.LastIndexByte(text, '<'); open > 0 && strings.HasSuffix(text, ">") {
		return strings.TrimSpace(text[:open]), text[open+1 : len(text)-1]
	}
	return text, text
}

// referenceText returns the text of a reference, which is the title of its target if that is known.
func (w *inlineWriter) referenceText(role, text string) string {
	label, target := cutTarget(text)
	if label != target {
		return strings.TrimPrefix(label, "!")
	}
	switch role {
	case "ref", "numref":
		if title, known := w.p.names.titles[normalizeName(target)]; known {
			return w.p.plain(title)
		}
	case "doc":
		return strings.Trim(target, "/")
	case "menuselection":
		return strings.ReplaceAll(text, "-->", ">")
	case "guilabel":
		return strings.ReplaceAll(text, "&", "")
	case "sup", "superscript":
		return inline.Superscript(text)
	case "html", "raw-html":
		return strings.TrimSpace(inline.FromHTML(text))
	}
	return text
}

// standardLink writes a link to an RFC or a PEP.
func (w *inlineWriter) standardLink(role, text string) {
	label, number := cutTarget(text)
	number, part, _ := strings.Cut(number, "#")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if label == text {
		label = strings.ToUpper(role) + " " + strings.TrimSpace(number)
	}
	if err != nil || !w.markup || n < 0 {
		w.out.WriteString(label)
		return
	}
	target := fmt.Sprintf("https://datatracker.ietf.org/doc/html/rfc%d", n)
	if role == "pep" {
		target = fmt.Sprintf("https://peps.python.org/pep-%04d/", n)
	}
	if part != "" {
		target += "#" + part
	}
	w.out.WriteString(inline.Link(label, target))
}
