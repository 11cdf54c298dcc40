package odf

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// look is how text looks, as far as Markdown can show it.
type look struct {
	bold, italic, code bool
	link               string // "" for none
}

// A piece is text of one look, up to an offset.
type piece struct {
	look look
	end  int
}

// A line collects the text of a paragraph.
type line struct {
	buf        []byte
	pieces     []piece
	look       look // of the text that comes next
	isCode     bool // keep blanks and line ends
	isPlain    bool // no Markdown and no line breaks
	noEmphasis bool // nothing is bold or italic
	isHidden   bool // a field hides the paragraph
	isFolding  bool // the last character was a blank of the XML, which is joined with following ones
	page       int  // on which it starts
	after      []document.Block
}

// openLine returns a buffer for a paragraph. It must be returned with closeLine. Paragraphs may be nested.
func (w *walker) openLine(code, plain bool) *line {
	if w.open == len(w.lines) {
		w.lines = append(w.lines, new(line))
	}
	ln := w.lines[w.open]
	w.open++
	*ln = line{buf: ln.buf[:0], pieces: ln.pieces[:0], isCode: code, isPlain: plain, page: w.page}
	return ln
}

func (w *walker) closeLine() { w.open-- }

// write adds text of the XML. White space is folded, control characters are removed.
func (l *line) write(text []byte) {
	run := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c > ' ' && c < 0x7F || c == ' ' && i > run && i+1 < len(text) && text[i+1] > ' ' {
			i++ // a single blank between two words
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
		l.isFolding = false
		l.mark()
	}
}

// mark gives the last text its look.
func (l *line) mark() {
	if n := len(l.pieces); n > 0 && l.pieces[n-1].look == l.look {
		l.pieces[n-1].end = len(l.buf)
		return
	}
	l.pieces = append(l.pieces, piece{l.look, len(l.buf)})
}

// put adds a character as it is.
func (l *line) put(c byte) {
	l.buf = append(l.buf, c)
	l.isFolding = false
	l.mark()
}

// space adds a blank of the XML.
func (l *line) space() {
	if len(l.buf) == 0 || l.isFolding || !l.isCode && l.endsInSpace() {
		return
	}
	l.put(' ')
	l.isFolding = true
}

// endsInSpace reports whether the line is empty or ends in white space.
func (l *line) endsInSpace() bool {
	n := len(l.buf)
	return n == 0 || l.buf[n-1] == ' ' || l.buf[n-1] == '\n'
}

// maxBlanks is how many blanks an element may stand for.
const maxBlanks = 80

// blanks adds explicit blanks. In prose they are one.
func (l *line) blanks(n int) {
	if !l.isCode {
		if !l.endsInSpace() {
			l.put(' ')
		}
		return
	}
	for range min(n, maxBlanks) {
		l.put(' ')
	}
}

func (l *line) tab() {
	if l.isCode {
		l.put('\t')
		return
	}
	l.blanks(1)
}

// lineBreak ends a line within the paragraph.
func (l *line) lineBreak() {
	switch {
	case l.isCode:
		l.put('\n')
	case l.isPlain:
		l.blanks(1)
	case len(l.buf) > 0 && l.buf[len(l.buf)-1] == ' ':
		l.buf[len(l.buf)-1] = '\n'
	case len(l.buf) > 0 && l.buf[len(l.buf)-1] != '\n':
		l.put('\n')
	}
	l.isFolding = false
}

// word adds a text with blanks around it.
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

// text returns the text of the line. It is Markdown unless the line is code or plain.
func (l *line) text() string {
	switch {
	case l.isCode:
		return string(bytes.TrimRight(l.buf, " \t\n"))
	case l.isPlain || len(l.pieces) == 0 || len(l.pieces) == 1 && l.pieces[0].look == look{}:
		return string(bytes.TrimSpace(l.buf))
	}
	return l.markdown()
}

// markdown marks links, code, and bold and italic text. Bold and italic text is marked if it consists of whole words
// and is not all of the paragraph.
func (l *line) markdown() string {
	bold, italic := l.noEmphasis || l.all(func(as look) bool { return as.bold }), l.noEmphasis || l.all(func(as look) bool { return as.italic })
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
			before = as.emphasis()
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

// joins reports whether two pieces are one for Markdown: parts of a link, or code.
func (a look) joins(b look) bool { return a.link == b.link && (a.link != "" || a.code && b.code) }

// emphasis returns the marks of bold and italic text.
func (a look) emphasis() string {
	switch {
	case a.bold && a.italic:
		return "***"
	case a.bold:
		return "**"
	}
	return "*"
}

// all reports whether all text has a look.
func (l *line) all(hasLook func(look) bool) bool {
	start := 0
	for _, piece := range l.pieces {
		if !hasLook(piece.look) && len(bytes.TrimSpace(l.buf[start:piece.end])) > 0 {
			return false
		}
		start = piece.end
	}
	return true
}

// isAddress reports whether the text of a link is its address.
func isAddress(text []byte, link string) bool {
	shown := strings.TrimSuffix(strings.TrimPrefix(link, "mailto:"), "/")
	return string(bytes.TrimSuffix(text, []byte("/"))) == shown
}

// isWords reports whether a text consists of whole words.
func isWords(before, text, after []byte) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '*' || r == '_' }
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	previous, _ := utf8.DecodeLastRune(before)
	next, _ := utf8.DecodeRune(after)
	return bytes.ContainsFunc(text, unicode.IsLetter) && (!inWord(previous) || unicode.IsSpace(first)) && (!inWord(next) || unicode.IsSpace(last))
}
