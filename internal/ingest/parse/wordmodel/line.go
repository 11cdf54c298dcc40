package wordmodel

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Look is how text looks, as far as Markdown can show it.
type Look struct {
	Bold, Italic, Code bool
	// Aside marks text that does not belong into a heading: the number of a note, the description of a picture.
	Aside bool
	// Link is an address that WebLink returned, "" for none.
	Link string
}

// A Line collects the text of one paragraph, in which \n is a line break. The zero value is empty.
type Line struct {
	// Text is the text so far. After text is appended to it, Mark must be called.
	Text []byte
	runs []run
}

// run is text of one look, up to an offset.
type run struct {
	look Look
	end  int
}

// Reset makes the line empty.
func (l *Line) Reset() { l.Text, l.runs = l.Text[:0], l.runs[:0] }

// Mark gives the text that was appended since the last call a look.
func (l *Line) Mark(look Look) {
	switch n := len(l.runs); {
	case n == 0 && len(l.Text) == 0, n > 0 && l.runs[n-1].end == len(l.Text):
	case n > 0 && l.runs[n-1].look == look:
		l.runs[n-1].end = len(l.Text)
	default:
		l.runs = append(l.runs, run{look: look, end: len(l.Text)})
	}
}

// Append appends text with a look.
func (l *Line) Append(text string, look Look) {
	l.Text = append(l.Text, text...)
	l.Mark(look)
}

// AppendRune appends a character with a look.
func (l *Line) AppendRune(r rune, look Look) {
	l.Text = utf8.AppendRune(l.Text, r)
	l.Mark(look)
}

// Cut removes the first n bytes.
func (l *Line) Cut(n int) {
	l.Text = l.Text[n:]
	kept := l.runs[:0]
	for _, r := range l.runs {
		if r.end > n {
			kept = append(kept, run{look: r.look, end: r.end - n})
		}
	}
	l.runs = kept
}

// Runs returns how many times the look changes.
func (l *Line) Runs() int { return len(l.runs) }

// IsBlank reports whether the line has only white space.
func (l *Line) IsBlank() bool { return len(bytes.TrimSpace(l.Text)) == 0 }

// Verbatim returns the text with its blanks, as code needs it.
func (l *Line) Verbatim() string {
	return strings.TrimRight(strings.ReplaceAll(string(l.Text), "\u00A0", " "), " \t\n")
}

// Plain returns the text on one line, without markup and asides.
func (l *Line) Plain() string {
	var f folder
	start := 0
	for _, r := range l.runs {
		if !r.look.Aside {
			f.write(l.Text[start:r.end])
		}
		start = r.end
	}
	return strings.ReplaceAll(f.String(), "\n", " ")
}

// Markdown returns the text as Markdown. White space is folded, line breaks stay. Links and code are marked, bold and italic
// text only if it consists of whole words.
func (l *Line) Markdown() string {
	f := folder{out: make([]byte, 0, len(l.Text)+16)}
	start := 0
	for i := 0; i < len(l.runs); i++ {
		look := l.runs[i].look
		for look.Link != "" && i+1 < len(l.runs) && l.runs[i+1].look.Link == look.Link {
			i++
		}
		end := l.runs[i].end
		text := l.Text[start:end]
		switch {
		case look.Link != "":
			f.writeMarked(text, func(core string) string { return link(core, look.Link) })
		case look.Code:
			f.writeMarked(text, CodeSpan)
		case (look.Bold || look.Italic) && f.canEmphasise(text, l.Text[end:]):
			mark := "*"
			switch {
			case look.Bold && look.Italic:
				mark = "***"
			case look.Bold:
				mark = "**"
			}
			f.writeMarked(text, func(core string) string { return mark + core + mark })
		default:
			f.write(text)
		}
		start = end
	}
	return f.String()
}

// link returns a Markdown link, or only its text if that is the address.
func link(text, address string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if bare := strings.TrimSuffix(address, "/"); strings.TrimSuffix(text, "/") == bare || "mailto:"+text == bare {
		return text
	}
	return "[" + text + "](" + address + ")"
}

// CodeSpan returns a text as a code span if it can be one.
func CodeSpan(text string) string {
	if strings.ContainsAny(text, "`\n") {
		return text
	}
	return "`" + text + "`"
}

// folder folds each run of white space into a blank, or into a line break if it contains one.
type folder struct {
	out   []byte
	space byte // pending white space: 0, a blank or a line break
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
					f.space = '\n'
				case f.space == 0:
					f.space = ' '
				}
				text = text[size:]
				continue
			}
			n = size
		}
		f.writeSpace()
		f.out = append(f.out, text[:n]...)
		text = text[n:]
	}
}

// writeSpace writes the pending white space.
func (f *folder) writeSpace() {
	if f.space != 0 && len(f.out) > 0 {
		f.out = append(f.out, f.space)
	}
	f.space = 0
}

// writeMarked writes a text to which mark adds markup. White space at its ends stays outside.
func (f *folder) writeMarked(text []byte, mark func(core string) string) {
	var inner folder
	inner.write(text)
	if len(inner.out) == 0 {
		f.write(text)
		return
	}
	trimmed := bytes.TrimLeftFunc(text, unicode.IsSpace)
	f.write(text[:len(text)-len(trimmed)])
	f.writeSpace()
	f.out = append(f.out, mark(inner.String())...)
	f.space = inner.space
}

// canEmphasise reports whether marks around a text would be read as emphasis: it begins and ends with whole words and contains
// no marks.
func (f *folder) canEmphasise(text, after []byte) bool {
	core := bytes.TrimSpace(text)
	if len(core) == 0 || bytes.ContainsAny(core, "*\n") || bytes.IndexFunc(core, IsWordRune) < 0 {
		return false
	}
	first, _ := utf8.DecodeRune(text)
	if f.space == 0 && len(f.out) > 0 && !unicode.IsSpace(first) {
		if before, _ := utf8.DecodeLastRune(f.out); before == '*' || IsWordRune(before) {
			return false
		}
	}
	last, _ := utf8.DecodeLastRune(text)
	if len(after) > 0 && !unicode.IsSpace(last) {
		if next, _ := utf8.DecodeRune(after); next == '*' || IsWordRune(next) {
			return false
		}
	}
	return true
}

// IsWordRune reports whether a character is a letter or a number.
func IsWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// maxAddress is the longest address, in bytes, that is kept.
const maxAddress = 1000

// WebLink returns an address in the form that Markdown needs, or "" if it is no web or mail address.
func WebLink(address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxAddress || strings.ContainsFunc(address, unicode.IsControl) {
		return ""
	}
	scheme := strings.ToLower(address[:min(len(address), 8)])
	if !strings.HasPrefix(scheme, "http://") && !strings.HasPrefix(scheme, "https://") && !strings.HasPrefix(scheme, "mailto:") {
		return ""
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", `"`, "%22").Replace(address)
}
