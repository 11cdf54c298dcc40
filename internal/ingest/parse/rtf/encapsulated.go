package rtf

import (
	"bytes"
	"context"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Encapsulated returns the HTML that a message was made of and that Outlook keeps inside its RTF (MS-OXRTFEX), in UTF-8
// whatever the HTML says of its encoding. It is false for RTF that holds no HTML. The HTML is shorter than the RTF.
func Encapsulated(content []byte) (html []byte, ok bool) {
	content, found := begin(content)
	if !found || !hasHTML(content) {
		return nil, false
	}
	r := newReader(context.Background(), content, document.Limits{MaxText: 4*len(content) + 1}.WithDefaults())
	r.html = &bytes.Buffer{}
	if err := r.read(); err != nil || len(bytes.TrimSpace(r.html.Bytes())) == 0 {
		return nil, false
	}
	return r.html.Bytes(), true
}

// headTokens is within how many tokens the mark of HTML stands.
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

// htmlWord handles words that stand for blanks of the HTML. It is false for others.
func (r *reader) htmlWord(name string) bool {
	if r.state.dest == destText && r.state.htmlHidden || r.state.dest != destText && r.state.dest != destHTMLTag {
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
