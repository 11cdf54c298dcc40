package parse

import (
	"bytes"
	"strings"
)

// maxHead is how far into a page its encoding is looked for. Browsers give up after 1 KB, pages with style sheets and comments
// first name it later.
const maxHead = 64 << 10

// metaCharset returns the name of the encoding that a meta element of a page gives: charset="…", or content="…; charset=…".
func metaCharset(content []byte) string {
	head := bytes.ToLower(content[:min(len(content), maxHead)])
	for {
		at := bytes.Index(head, []byte("<meta"))
		if at < 0 {
			return ""
		}
		head = head[at+len("<meta"):]
		end := bytes.IndexByte(head, '>')
		if end < 0 {
			return ""
		}
		_, label, found := strings.Cut(string(head[:min(end, maxTag)]), "charset")
		label = strings.TrimLeft(label, " \t\n")
		if !found || !strings.HasPrefix(label, "=") {
			continue
		}
		label = strings.TrimLeft(label[1:], " \t\n\"'")
		if stop := strings.IndexAny(label, " \t\n\"';/>"); stop >= 0 {
			label = label[:stop]
		}
		return label
	}
}
