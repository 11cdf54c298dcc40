package ole

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// look is how a piece of text looks, as far as Markdown shows it.
type look struct {
	bold, italic bool
	// aside marks what is no text of a heading: the number of a note.
	aside bool
	// link is an address for Markdown, "" for none.
	link string
}

// line collects the text of one paragraph, \n for a line break. The zero value is empty.
type line struct {
	text   []byte
	pieces []piecedLook
}

// piecedLook is how the text looks up to an offset.
type piecedLook struct {
	look look
	end  int
}

func (l *line) reset() { l.text, l.pieces = l.text[:0], l.pieces[:0] }

func (l *line) put(r rune, as look) {
	l.text = utf8.AppendRune(l.text, r)
	l.mark(as)
}

// add appends a character as it stands in a file. Those that only steer the layout go.
func (l *line) add(r rune, as look) {
	switch {
	case r >= ' ' && r < 0x7F:
		l.put(r, as)
	case r == '\t':
		l.put('\t', as)
	case r == markLine:
		l.put('\n', as)
	case r == markColumn:
		l.put(' ', as)
	case r == hyphenHard:
		l.put('-', as)
	case r < ' ' || unicode.IsControl(r) || r == '\u00AD' || r == '\u200B' || r == '\uFEFF' || r == utf8.RuneError:
	case r >= 0xF020 && r <= 0xF0FF:
		l.puts(symbolText("", r), as)
	case r >= 0xE000 && r <= 0xF8FF:
	default:
		l.put(r, as)
	}
}

func (l *line) puts(text string, as look) {
	if text != "" {
		l.text = append(l.text, text...)
		l.mark(as)
	}
}

func (l *line) mark(as look) {
	if n := len(l.pieces); n > 0 && l.pieces[n-1].look == as {
		l.pieces[n-1].end = len(l.text)
		return
	}
	l.pieces = append(l.pieces, piecedLook{look: as, end: len(l.text)})
}

func (l *line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

// verbatim returns the text with its blanks.
func (l *line) verbatim() string {
	return strings.TrimRight(strings.ReplaceAll(string(l.text), "\u00A0", " "), " \t\n")
}

// plain returns the text without marks, links and the numbers of notes, on one line.
func (l *line) plain() string {
	var b strings.Builder
	start := 0
	for _, p := range l.pieces {
		if !p.look.aside {
			b.Write(l.text[start:p.end])
		}
		start = p.end
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// clean returns the characters of a text that are seen.
func clean(text string) string {
	var l line
	for _, r := range text {
		l.add(r, look{})
	}
	return string(l.text)
}

// folded puts the words of each line one blank apart, without empty lines.
func folded(text string) string {
	if !strings.Contains(text, "\n") {
		return strings.Join(strings.Fields(text), " ")
	}
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		if part = strings.Join(strings.Fields(part), " "); part != "" {
			lines = append(lines, part)
		}
	}
	return strings.Join(lines, "\n")
}

// markdown returns the text as Markdown: blanks folded, line breaks kept, links as such, bold and italic where they take
// in whole words.
func (l *line) markdown() string {
	var b strings.Builder
	start := 0
	for i := 0; i < len(l.pieces); i++ {
		as := l.pieces[i].look
		for i+1 < len(l.pieces) && as.link != "" && l.pieces[i+1].look.link == as.link {
			i++
		}
		end := l.pieces[i].end
		text := string(l.text[start:end])
		core := strings.TrimSpace(text)
		switch marks := ""; {
		case core == "":
			b.WriteString(text)
		case as.link != "":
			before, after, _ := strings.Cut(text, core)
			b.WriteString(before + linked(strings.Join(strings.Fields(core), " "), as.link) + after)
		default:
			if as.bold {
				marks += "**"
			}
			if as.italic {
				marks += "*"
			}
			if marks == "" || !l.whole(start, end) || strings.ContainsAny(core, "*\n") {
				b.WriteString(text)
				break
			}
			before, after, _ := strings.Cut(text, core)
			b.WriteString(before + marks + core + marks + after)
		}
		start = end
	}
	return folded(b.String())
}

// whole tells whether a piece begins and ends with whole words, so that marks around it show it as the file does.
func (l *line) whole(start, end int) bool {
	text := l.text[start:end]
	if bytes.IndexFunc(text, isWordRune) < 0 {
		return false
	}
	before, _ := utf8.DecodeLastRune(l.text[:start])
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	after, _ := utf8.DecodeRune(l.text[end:])
	joins := func(a, b rune) bool { return (isWordRune(a) || a == '*') && !unicode.IsSpace(b) }
	return (start == 0 || !joins(before, first)) && (end == len(l.text) || !joins(after, last))
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func linked(core, link string) string {
	if core == link || "mailto:"+core == link {
		return core
	}
	return "[" + core + "](" + link + ")"
}

// maxLink is the longest address that is kept, in bytes.
const maxLink = 1000

// webLink returns an address as Markdown takes it, "" for those that lead nowhere outside of the file.
func webLink(address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxLink || strings.ContainsFunc(address, unicode.IsControl) {
		return ""
	}
	lower := strings.ToLower(address[:min(len(address), 8)])
	if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") && !strings.HasPrefix(lower, "mailto:") {
		return ""
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", `"`, "%22").Replace(address)
}
