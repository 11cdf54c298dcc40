package markdown

import (
	"strings"

	"github.com/yuin/goldmark/util"

	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// maxExpansion is how many bytes of targets the references of a short text may expand to.
const maxExpansion = 1 << 20

// resolveReferences replaces link references by links with a target, since the passage may not contain the definition.
func (w *walker) resolveReferences(raw string) string {
	if !strings.Contains(raw, "[") {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '`':
			n := inline.SpanLength(raw[i:])
			b.WriteString(raw[i : i+n])
			i += n
			continue
		case '\\':
			n := min(2, len(raw)-i)
			b.WriteString(raw[i : i+n])
			i += n
			continue
		case '[':
			if link, n := w.resolveReference(raw[i:]); n > 0 {
				b.WriteString(link)
				i += n
				continue
			}
		}
		b.WriteByte(raw[i])
		i++
	}
	return b.String()
}

// resolveReference returns [label](target) for the [label][name], [label][] or [label] that raw starts with, and its
// length. The length is 0 if there is no definition.
func (w *walker) resolveReference(raw string) (string, int) {
	end := inline.ClosingBracket(raw, '[', ']')
	if end <= 1 {
		return "", 0
	}
	label, name, n := raw[1:end], raw[1:end], end+1
	if n < len(raw) && raw[n] == '(' {
		return "", 0
	}
	if n < len(raw) && raw[n] == '[' {
		if stop := inline.ClosingBracket(raw[n:], '[', ']'); stop > 0 {
			if stop > 1 {
				name = raw[n+1 : n+stop]
			}
			n += stop + 1
		}
	}
	reference, found := w.references.Reference(util.ToLinkReference([]byte(name)))
	if !found {
		return "", 0
	}
	target := inline.EscapeTarget(string(reference.Destination()))
	if w.expandedBytes += len(target); w.expandedBytes > maxExpansion+4*len(w.content) {
		return "", 0 // too much text would come from references
	}
	return "[" + label + "](" + target + ")", n
}
