package rtf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// look is how text looks, as far as Markdown shows it.
type look struct {
	bold, italic bool
	// note marks the number of a note, which is no text of a heading.
	note bool
	// link is an address as Markdown takes it, "" for none.
	link string
}

// run is text of one look that ends at an offset.
type run struct {
	look look
	end  int
}

// line is the text of one paragraph: \n is a line break, \t a tab. The zero value is empty.
type line struct {
	text []byte
	runs []run
	// mono and other count the characters in fonts of even width and in other fonts.
	mono, other int
}

func (l *line) reset() { l.text, l.runs, l.mono, l.other = l.text[:0], l.runs[:0], 0, 0 }

func (l *line) blank() bool { return len(strings.TrimSpace(string(l.text))) == 0 }

// add appends text without what only steers the layout.
func (l *line) add(text string, as look) {
	start := len(l.text)
	for _, r := range text {
		switch {
		case r >= ' ' && r < 0x7F:
			l.text = append(l.text, byte(r))
		case r == '\u2028' || r == '\u2029':
			l.text = append(l.text, '\n')
		case !isSteering(r):
			l.text = utf8.AppendRune(l.text, r)
		}
	}
	if len(l.text) == start {
		return
	}
	if n := len(l.runs); n > 0 && l.runs[n-1].look == as {
		l.runs[n-1].end = len(l.text)
		return
	}
	l.runs = append(l.runs, run{look: as, end: len(l.text)})
}

// isSteering reports characters that only steer the layout, and those that mean something to their maker only.
func isSteering(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u00AD', '\u200B', '\u200E', '\u200F', '\uFEFF':
		return true
	}
	return r < ' ' || r >= 0x7F && r < 0xA0 || r >= '\uE000' && r <= '\uF8FF'
}

// words returns text on one line, without what only steers the layout.
func words(text string) string {
	text = strings.Map(func(r rune) rune {
		if isSteering(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// cut takes n bytes off the beginning.
func (l *line) cut(n int) {
	l.text = l.text[n:]
	kept := l.runs[:0]
	for _, r := range l.runs {
		if r.end > n {
			kept = append(kept, run{look: r.look, end: r.end - n})
		}
	}
	l.runs = kept
}

// verbatim returns the text with its blanks.
func (l *line) verbatim() string {
	return strings.TrimRight(strings.ReplaceAll(string(l.text), "\u00A0", " "), " \t\n")
}

// plain returns the text on one line, without marks and the numbers of notes.
func (l *line) plain() string {
	var b strings.Builder
	start := 0
	for _, r := range l.runs {
		if !r.look.note {
			b.Write(l.text[start:r.end])
		}
		start = r.end
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// markdown returns the text as Markdown: blanks folded, links as such, bold and italic where they take in whole words.
func (l *line) markdown() string {
	m := markdown{out: make([]byte, 0, len(l.text)+16)}
	start := 0
	for i := 0; i < len(l.runs); i++ {
		as := l.runs[i].look
		for as.link != "" && i+1 < len(l.runs) && l.runs[i+1].look.link == as.link {
			i++
		}
		end := l.runs[i].end
		text := string(l.text[start:end])
		switch {
		case as.link != "":
			m.link(text, as.link)
		case (as.bold || as.italic) && m.emphasises(text, l.text[end:]):
			m.emphasis(text, as)
		default:
			m.write(text)
		}
		start = end
	}
	return string(m.out)
}

// markdown writes text with its blanks folded: runs of them become one, or a line break where there is one among them.
type markdown struct {
	out     []byte
	pending byte // the blank before what is written next, 0 for none
}

func (m *markdown) write(text string) {
	for _, r := range text {
		switch {
		case r == '\n':
			m.pending = '\n'
		case unicode.IsSpace(r):
			if m.pending == 0 {
				m.pending = ' '
			}
		default:
			m.settle()
			m.out = utf8.AppendRune(m.out, r)
		}
	}
}

// settle writes the blank that is due.
func (m *markdown) settle() {
	if m.pending != 0 && len(m.out) > 0 {
		m.out = append(m.out, m.pending)
	}
	m.pending = 0
}

// frame writes text between two marks that stand close to it; blanks at its ends stay outside.
func (m *markdown) frame(text, before, after string) {
	core := strings.TrimSpace(text)
	at := strings.Index(text, core)
	m.write(text[:at])
	m.settle()
	inner := markdown{out: make([]byte, 0, len(core))}
	inner.write(core)
	m.out = append(m.out, before...)
	m.out = append(m.out, inner.out...)
	m.out = append(m.out, after...)
	m.write(text[at+len(core):])
}

func (m *markdown) link(text, address string) {
	switch core := strings.TrimSpace(text); {
	case core == "" || core == address || "mailto:"+core == address:
		m.write(text)
	default:
		m.frame(strings.ReplaceAll(text, "\n", " "), "[", "]("+address+")")
	}
}

func (m *markdown) emphasis(text string, as look) {
	marks := "*"
	switch {
	case as.bold && as.italic:
		marks = "***"
	case as.bold:
		marks = "**"
	}
	m.frame(text, marks, marks)
}

// emphasises tells whether marks around the text would show as they should: it is whole words, and has no marks itself.
func (m *markdown) emphasises(text string, after []byte) bool {
	core := strings.TrimSpace(text)
	if core == "" || strings.ContainsAny(core, "*\n") || !strings.ContainsFunc(core, isWordRune) {
		return false
	}
	if first, _ := utf8.DecodeRuneInString(text); m.pending == 0 && !unicode.IsSpace(first) {
		if last, _ := utf8.DecodeLastRune(m.out); last == '*' || isWordRune(last) {
			return false
		}
	}
	if last, _ := utf8.DecodeLastRuneInString(text); !unicode.IsSpace(last) {
		if next, _ := utf8.DecodeRune(after); next == '*' || isWordRune(next) {
			return false
		}
	}
	return true
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// maxLink is the longest address that is kept, in bytes.
const maxLink = 1000

// webLink returns an address as Markdown takes it, "" for those that lead nowhere outside of the file.
func webLink(address string) string {
	address = strings.TrimSpace(address)
	lower := strings.ToLower(address[:min(len(address), 8)])
	web := strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "mailto:")
	if !web || len(address) > maxLink || strings.ContainsFunc(address, unicode.IsControl) {
		return ""
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `"`, "%22", "|", "%7C").Replace(address)
}
