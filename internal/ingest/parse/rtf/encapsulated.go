package rtf

import (
	"bytes"
	"context"
)

// Encapsulated returns the HTML of a message that Outlook stored inside its RTF (MS-OXRTFEX). It is UTF-8, even if the
// HTML declares another encoding, and shorter than the RTF. It is false if there is none.
func Encapsulated(content []byte) (html []byte, ok bool) {
	content, found := trimStart(content)
	if !found || !hasHTML(content) {
		return nil, false
	}
	r := newReader(context.Background(), content, 4*len(content)+1)
	r.html = &bytes.Buffer{}
	if err := r.read(); err != nil || len(bytes.TrimSpace(r.html.Bytes())) == 0 {
		return nil, false
	}
	return r.html.Bytes(), true
}

// headTokens is how many tokens are searched for the mark of encapsulated HTML.
const headTokens = 100

func hasHTML(content []byte) bool {
	s := scanner{content: content}
	for range headTokens {
		t := s.next()
		switch {
		case t.kind == tokenEnd, t.kind == tokenText:
			return false
		case t.kind == tokenWord && string(t.text) == "fromhtml":
			return t.value != 0
		case t.kind == tokenWord && string(t.text) == "fonttbl":
			return false
		}
	}
	return false
}

// htmlWord handles words that stand for white space of the HTML. It is false for others.
func (r *reader) htmlWord(name string) bool {
	if r.state.dest == destText && r.state.isHTMLHidden || r.state.dest != destText && r.state.dest != destHTMLTag {
		return false
	}
	switch name {
	case "par", "line":
		r.text("\r\n")
	case "tab":
		r.text("\t")
	default:
		return false
	}
	return true
}
