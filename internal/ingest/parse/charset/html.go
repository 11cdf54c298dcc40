package charset

import (
	"bytes"
	"strings"
)

// maxMetaOffset is how far into a page its encoding may be declared. Browsers look at the first kilobyte only, but
// pages with style sheets and comments declare it later.
const maxMetaOffset = 64 << 10

// maxMetaTag is the longest meta element that is read.
const maxMetaTag = 4 << 10

// metaLabel returns the encoding in a meta element of a page: charset="…", or content="…; charset=…".
func metaLabel(content []byte) string {
	head := bytes.ToLower(content[:min(len(content), maxMetaOffset)])
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
		_, label, found := strings.Cut(string(head[:min(end, maxMetaTag)]), "charset")
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
