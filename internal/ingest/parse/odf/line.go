package odf

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// look is how text looks, as far as Markdown shows it.
type look struct {
	bold, italic, code bool
	link               string // "" for none
}

// piece is text of one look, up to an offset.
type piece struct {
	look look
	end  int
}

// line collects the text of one paragraph.
type line struct {
	buf    []byte
	pieces []piece
	look   look // of what is written next
	code   bool // blanks and line ends count
	plain  bool // no Markdown, and no line ends
	sober  bool // nothing bold or italic
	hidden bool // a field in it hides all of it
	blank  bool // the last character was a blank of the XML, which swallows those after it
	page   int  // on which it begins
	after  []document.Block
}

// openLine gives a buffer for a paragraph, to be given back by closeLine. Paragraphs may stand in each other.
func (w *walker) openLine(code, plain bool) *line {
	if w.open == len(w.lines) {
		w.lines = append(w.lines, new(line))
	}
	ln := w.lines[w.open]
	w.open++
	*ln = line{buf: ln.buf[:0], pieces: ln.pieces[:0], code: code, plain: plain, page: w.page}
	return ln
}

func (w *walker) closeLine() { w.open-- }

// write adds characters of the XML: blanks in a row count as one, controls are dropped.
func (l *line) write(text []byte) {
	run := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c > ' ' && c < 0x7F || c == ' ' && i > run && i+1 < len(text) && text[i+1] > ' ' {
			i++ // a single blank between two words is as it should be
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
		l.mark()
	}
}

// mark gives what was just written its look.
func (l *line) mark() {
	if n := len(l.pieces); n > 0 && l.pieces[n-1].look == l.look {
		l.pieces[n-1].end = len(l.buf)
		return
	}
	l.pieces = append(l.pieces, piece{l.look, len(l.buf)})
}

// put adds one character that is meant.
func (l *line) put(c byte) {
	l.buf = append(l.buf, c)
	l.blank = false
	l.mark()
}

// space adds a blank of the XML.
func (l *line) space() {
	if len(l.buf) == 0 || l.blank || !l.code && l.ends() {
		return
	}
	l.put(' ')
	l.blank = true
}

// ends reports a blank or the end of a line as the last character, or none at all.
func (l *line) ends() bool {
	n := len(l.buf)
	return n == 0 || l.buf[n-1] == ' ' || l.buf[n-1] == '\n'
}

// maxBlanks bounds the blanks that one element may stand for.
const maxBlanks = 80

// blanks adds blanks that are meant; in prose they are one.
func (l *line) blanks(n int) {
	if !l.code {
		if !l.ends() {
			l.put(' ')
		}
		return
	}
	for range min(n, maxBlanks) {
		l.put(' ')
	}
}

func (l *line) tab() {
	if l.code {
		l.put('\t')
		return
	}
	l.blanks(1)
}

// end ends a line within the paragraph.
func (l *line) end() {
	switch {
	case l.code:
		l.put('\n')
	case l.plain:
		l.blanks(1)
	case len(l.buf) > 0 && l.buf[len(l.buf)-1] == ' ':
		l.buf[len(l.buf)-1] = '\n'
	case len(l.buf) > 0 && l.buf[len(l.buf)-1] != '\n':
		l.put('\n')
	}
	l.blank = false
}

// word adds text as it is, parted by blanks from what is around it.
func (l *line) word(text string) {
	if text == "" {
		return
	}
	before := l.look
	l.look.bold, l.look.italic, l.look.code = false, false, false
	l.blanks(1)
	l.write([]byte(text))
	l.blanks(1)
	l.look = before
}

// text returns what was written, in Markdown save for code and plain text.
func (l *line) text() string {
	switch {
	case l.code:
		return string(bytes.TrimRight(l.buf, " \t\n"))
	case l.plain || len(l.pieces) == 0 || len(l.pieces) == 1 && l.pieces[0].look == look{}:
		return string(bytes.TrimSpace(l.buf))
	}
	return l.markdown()
}

// markdown marks links and code, and what is bold or italic where that takes in whole words and not all of the paragraph,
// which would be its style.
func (l *line) markdown() string {
	bold, italic := l.sober || l.all(func(as look) bool { return as.bold }), l.sober || l.all(func(as look) bool { return as.italic })
	out := make([]byte, 0, len(l.buf)+64)
	start := 0
	for i := 0; i < len(l.pieces); i++ {
		as := l.pieces[i].look
		for i+1 < len(l.pieces) && as.joins(l.pieces[i+1].look) {
			i++
		}
		end := l.pieces[i].end
		text := l.buf[start:end]
		start = end
		core := bytes.TrimSpace(text)
		as.bold, as.italic = as.bold && !bold, as.italic && !italic
		before, after := "", ""
		switch {
		case len(core) == 0:
		case as.link != "":
			if !isAddress(core, as.link) {
				before, after = "[", "]("+as.link+")"
			}
			core = bytes.ReplaceAll(core, []byte("\n"), []byte(" "))
		case as.code && !bytes.ContainsAny(core, "`\n"):
			before, after = "`", "`"
		case (as.bold || as.italic) && !bytes.ContainsAny(core, "*\n") && isWords(out, text, l.buf[end:]):
			before = as.stars()
			after = before
		}
		if before == "" && as.link == "" {
			out = append(out, text...)
			continue
		}
		if at := bytes.Index(text, core[:1]); at > 0 {
			out = append(out, text[:at]...)
		}
		out = append(append(append(out, before...), core...), after...)
		out = append(out, text[len(bytes.TrimRightFunc(text, unicode.IsSpace)):]...)
	}
	return string(bytes.TrimSpace(out))
}

// joins tells whether two pieces are one for Markdown: a link whatever it looks like inside, or code.
func (a look) joins(b look) bool { return a.link == b.link && (a.link != "" || a.code && b.code) }

// stars returns the marks of bold and italic.
func (a look) stars() string {
	switch {
	case a.bold && a.italic:
		return "***"
	case a.bold:
		return "**"
	}
	return "*"
}

// all tells whether everything that is no blank looks so.
func (l *line) all(so func(look) bool) bool {
	start := 0
	for _, piece := range l.pieces {
		if !so(piece.look) && len(bytes.TrimSpace(l.buf[start:piece.end])) > 0 {
			return false
		}
		start = piece.end
	}
	return true
}

// isAddress tells whether the text of a link is its address.
func isAddress(text []byte, link string) bool {
	shown := strings.TrimSuffix(strings.TrimPrefix(link, "mailto:"), "/")
	return string(bytes.TrimSuffix(text, []byte("/"))) == shown
}

// isWords tells whether text between what stands before and after it begins and ends with a word.
func isWords(before, text, after []byte) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '*' || r == '_' }
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	previous, _ := utf8.DecodeLastRune(before)
	next, _ := utf8.DecodeRune(after)
	return bytes.ContainsFunc(text, unicode.IsLetter) && (!inWord(previous) || unicode.IsSpace(first)) && (!inWord(next) || unicode.IsSpace(last))
}
