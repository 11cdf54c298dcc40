package ooxml

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// look is how a piece of text looks, as far as Markdown shows it.
type look struct {
	bold, italic, code bool
	// aside marks what is no text of a heading: the number of a note, the description of a picture.
	aside bool
	// link is an address for Markdown, "" for none.
	link string
}

// line collects the text of one paragraph. The zero value is empty.
type line struct {
	text   []byte
	pieces []piece
}

// piece is text that looks the same, up to an offset.
type piece struct {
	look look
	end  int
}

func (l *line) reset() { l.text, l.pieces = l.text[:0], l.pieces[:0] }

// add appends text as it stands in XML: line ends are blanks there. Characters that only steer the layout go, and so does
// what has no place in text; those of fonts that draw symbols become what they show.
func (l *line) add(text []byte, as look, font string) {
	start := len(l.text)
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] >= ' ' && text[n] < 0x7F {
			n++
		}
		l.text = append(l.text, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\r':
			l.text = append(l.text, ' ')
		case r == '\t':
			l.text = append(l.text, '\t')
		case r == utf8.RuneError && size <= 1:
			l.text = append(l.text, "\uFFFD"...)
		case r < ' ' || r == 0x7F || r == '\u00AD' || r == '\u200B' || r == '\uFEFF':
		case r >= '\uF020' && r <= '\uF0FF':
			l.text = append(l.text, symbol(font, r)...)
		default:
			l.text = append(l.text, text[:size]...)
		}
		text = text[size:]
	}
	l.mark(start, as)
}

// put appends text that is as it should be, \n for a line break.
func (l *line) put(text string, as look) {
	start := len(l.text)
	l.text = append(l.text, text...)
	l.mark(start, as)
}

func (l *line) mark(start int, as look) {
	if len(l.text) == start {
		return
	}
	if n := len(l.pieces); n > 0 && l.pieces[n-1].look == as {
		l.pieces[n-1].end = len(l.text)
		return
	}
	l.pieces = append(l.pieces, piece{look: as, end: len(l.text)})
}

// verbatim returns the text with its blanks.
func (l *line) verbatim() string {
	return strings.TrimRight(strings.ReplaceAll(string(l.text), "\u00A0", " "), " \t\n")
}

// plain returns the text without marks, links, the numbers of notes and pictures, on one line.
func (l *line) plain() string {
	var f folder
	start := 0
	for _, p := range l.pieces {
		if !p.look.aside {
			f.write(l.text[start:p.end])
		}
		start = p.end
	}
	return strings.ReplaceAll(f.String(), "\n", " ")
}

// markdown returns the text as Markdown: blanks folded, line breaks kept, links and code as such, bold and italic where
// they take in whole words.
func (l *line) markdown() string {
	var f folder
	f.out = make([]byte, 0, len(l.text)+16)
	start := 0
	for i := 0; i < len(l.pieces); i++ {
		as, end := l.pieces[i].look, l.pieces[i].end
		if as.link != "" {
			for i+1 < len(l.pieces) && l.pieces[i+1].look.link == as.link {
				i++
				end = l.pieces[i].end
			}
		}
		text := l.text[start:end]
		switch {
		case as.link != "":
			f.framed(text, func(core string) string { return linked(core, as.link) })
		case as.code:
			f.framed(text, func(core string) string { return codeSpan(core) })
		case (as.bold || as.italic) && f.marked(text, l.text[end:]):
			marks := "*"
			switch {
			case as.bold && as.italic:
				marks = "***"
			case as.bold:
				marks = "**"
			}
			f.framed(text, func(core string) string { return marks + core + marks })
		default:
			f.write(text)
		}
		start = end
	}
	return f.String()
}

func linked(core, link string) string {
	core = strings.ReplaceAll(core, "\n", " ")
	if address := strings.TrimSuffix(link, "/"); strings.TrimSuffix(core, "/") == address || "mailto:"+core == address {
		return core
	}
	return "[" + core + "](" + link + ")"
}

func codeSpan(core string) string {
	if strings.ContainsAny(core, "`\n") {
		return core
	}
	return "`" + core + "`"
}

// folder folds runs of blanks into one blank, or into a line break where there is one among them.
type folder struct {
	out   []byte
	blank byte // what stands before the next text: 0, a blank or a line break
}

func (f *folder) String() string { return string(f.out) }

func (f *folder) write(text []byte) {
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] > ' ' && text[n] < 0x80 {
			n++
		}
		if n == 0 {
			r, size := utf8.DecodeRune(text)
			if unicode.IsSpace(r) {
				switch {
				case r == '\n':
					f.blank = '\n'
				case f.blank == 0:
					f.blank = ' '
				}
				text = text[size:]
				continue
			}
			n = size
		}
		if f.blank != 0 && len(f.out) > 0 {
			f.out = append(f.out, f.blank)
		}
		f.blank = 0
		f.out = append(f.out, text[:n]...)
		text = text[n:]
	}
}

// framed writes text whose folded core a function puts marks around; blanks stay outside of them.
func (f *folder) framed(text []byte, frame func(core string) string) {
	var inner folder
	inner.write(text)
	if len(inner.out) == 0 {
		f.write(text)
		return
	}
	trimmed := bytes.TrimLeftFunc(text, unicode.IsSpace)
	f.write(text[:len(text)-len(trimmed)])
	if f.blank != 0 && len(f.out) > 0 {
		f.out = append(f.out, f.blank)
	}
	f.out = append(f.out, frame(inner.String())...)
	f.blank = inner.blank
}

// marked tells whether marks around text would show it as it is shown in the file: it begins and ends with whole words.
func (f *folder) marked(text, after []byte) bool {
	core := bytes.TrimSpace(text)
	if len(core) == 0 || bytes.ContainsAny(core, "*\n") || bytes.IndexFunc(core, isWordRune) < 0 {
		return false
	}
	first, _ := utf8.DecodeRune(text)
	if f.blank == 0 && len(f.out) > 0 && !unicode.IsSpace(first) {
		if before, _ := utf8.DecodeLastRune(f.out); before == '*' || isWordRune(before) {
			return false
		}
	}
	last, _ := utf8.DecodeLastRune(text)
	if len(after) > 0 && !unicode.IsSpace(last) {
		if next, _ := utf8.DecodeRune(after); next == '*' || isWordRune(next) {
			return false
		}
	}
	return true
}

// oneLine is the text of the file without what has no place in text, on one line.
func oneLine(text string) string {
	var l line
	l.add([]byte(text), look{}, "")
	return l.plain()
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// maxLink is the longest address that is kept, in bytes.
const maxLink = 1000

// webLink returns an address as Markdown takes it, "" for those that lead nowhere outside of the file.
func webLink(address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxLink {
		return ""
	}
	lower := strings.ToLower(address[:min(len(address), 8)])
	if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") && !strings.HasPrefix(lower, "mailto:") {
		return ""
	}
	if strings.ContainsFunc(address, unicode.IsControl) {
		return ""
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", `"`, "%22").Replace(address)
}

// pictureText returns what stands for a picture in the text, "" where its description is only a file's name.
func pictureText(description string) string {
	text := oneLine(description)
	if at := strings.Index(text, "Description automatically generated"); at >= 0 {
		text = strings.TrimSpace(text[:at])
	}
	if len(text) > maxDescription {
		return ""
	}
	lower := strings.ToLower(text)
	for _, extension := range []string{".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".bmp", ".tif", ".tiff", ".svg", ".webp"} {
		if strings.HasSuffix(lower, extension) {
			return ""
		}
	}
	return text
}

// maxDescription is the longest description of a picture, in bytes, that is taken for one.
const maxDescription = 4000
