package odf

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/ingest/document"
)

// line collects the text of one paragraph.
type line struct {
	buf     []byte
	code    bool // blanks and line ends count
	plain   bool // no Markdown, and no line ends
	hidden  bool // a field in it hides all of it
	blank   bool // the last character was a blank of the XML, which swallows those after it
	codeEnd int  // where the last code span ended, 0 for none
	page    int  // on which it begins
	after   []document.Block
}

// openLine gives a buffer for a paragraph, to be given back by closeLine. Paragraphs may stand in each other.
func (w *walker) openLine(code, plain bool) *line {
	if w.open == len(w.lines) {
		w.lines = append(w.lines, new(line))
	}
	ln := w.lines[w.open]
	w.open++
	*ln = line{buf: ln.buf[:0], code: code, plain: plain, page: w.page}
	return ln
}

func (w *walker) closeLine() { w.open-- }

// write adds characters of the XML: blanks in a row count as one, controls are dropped.
func (l *line) write(text []byte) {
	run := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c > ' ' && c < 0x7F {
			i++
			continue
		}
		size := 1
		special, blank := true, c <= ' '
		if c >= 0x80 {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			blank = unicode.IsSpace(r)
			special = blank || unicode.IsControl(r) || r == '\u00AD' || r == '\uFEFF' || r == '\uFFFC'
		}
		if special {
			l.add(text[run:i])
			switch {
			case blank && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
				l.space()
			case blank && c >= 0x80:
				l.blanks(1)
			}
			run = i + size
		}
		i += size
	}
	l.add(text[run:])
}

func (l *line) add(text []byte) {
	if len(text) > 0 {
		l.buf = append(l.buf, text...)
		l.blank = false
	}
}

// space adds a blank of the XML.
func (l *line) space() {
	if len(l.buf) == 0 || l.blank || !l.code && l.ends() {
		return
	}
	l.buf = append(l.buf, ' ')
	l.blank = true
}

// ends reports a blank or the end of a line as the last character.
func (l *line) ends() bool {
	n := len(l.buf)
	return n == 0 || l.buf[n-1] == ' ' || l.buf[n-1] == '\n'
}

// maxBlanks bounds the blanks that one element may stand for.
const maxBlanks = 200

// blanks adds blanks that are meant; in prose they are one.
func (l *line) blanks(n int) {
	if !l.code {
		if !l.ends() {
			l.buf = append(l.buf, ' ')
		}
		return
	}
	l.blank = false
	for range min(n, maxBlanks) {
		l.buf = append(l.buf, ' ')
	}
}

func (l *line) tab() {
	if l.code {
		l.buf, l.blank = append(l.buf, '\t'), false
		return
	}
	l.blanks(1)
}

// end ends a line within the paragraph.
func (l *line) end() {
	switch {
	case l.code:
		l.buf = append(l.buf, '\n')
	case l.plain:
		l.blanks(1)
	case len(l.buf) > 0 && l.buf[len(l.buf)-1] != '\n':
		l.buf = append(bytes.TrimRight(l.buf, " "), '\n')
	}
	l.blank = false
}

// word adds text as it is, parted by blanks from what is around it.
func (l *line) word(text string) {
	if text == "" {
		return
	}
	l.blanks(1)
	l.write([]byte(text))
	l.blanks(1)
}

// link makes a link of what was written from an offset on.
func (l *line) link(from int, target string) {
	from = min(from, len(l.buf))
	label := bytes.TrimSpace(l.buf[from:])
	if l.plain || l.code || target == "" || len(label) == 0 || bytes.Contains(label, []byte("](")) {
		return
	}
	if shown := strings.TrimSuffix(strings.TrimPrefix(target, "mailto:"), "/"); string(bytes.TrimSuffix(label, []byte("/"))) == shown {
		return // the text is the address
	}
	if l.buf[from] == ' ' {
		from++
	}
	trailing := l.ends()
	made := make([]byte, 0, len(label)+len(target)+5)
	made = append(append(append(made, '['), bytes.ReplaceAll(label, []byte("\n"), []byte(" "))...), "]("...)
	made = append(append(made, target...), ')')
	l.buf = append(l.buf[:from], made...)
	l.blank = false
	if trailing {
		l.blanks(1)
	}
}

// codeSpan makes code of what was written from an offset on. Neighbours become one: programs split what looks the same.
func (l *line) codeSpan(from int) {
	from = min(from, len(l.buf))
	text := l.buf[from:]
	if l.plain || l.code || len(bytes.TrimSpace(text)) == 0 || bytes.ContainsAny(text, "`\n") || bytes.Contains(text, []byte("](")) {
		return
	}
	made := append(make([]byte, 0, len(text)+2), text...)
	if from > 0 && from == l.codeEnd {
		l.buf = append(append(l.buf[:from-1], made...), '`')
	} else {
		l.buf = append(append(append(l.buf[:from], '`'), made...), '`')
	}
	l.blank, l.codeEnd = false, len(l.buf)
}

// text returns what was written.
func (l *line) text() string {
	if l.code {
		return string(bytes.TrimRight(l.buf, " \t\n"))
	}
	return string(bytes.TrimSpace(l.buf))
}
