package mail

import (
	"strings"
)

// maxEncodedWord is the longest encoded word. RFC 2047 allows 75 characters.
const maxEncodedWord = 4000

// decodeHeader returns the decoded text of a field on one line.
func decodeHeader(value string) string { return strings.Join(strings.Fields(decodeWords(value)), " ") }

// decodeWords decodes the encoded words of RFC 2047. Adjacent words in one encoding are decoded together, since
// programs split characters between them.
func decodeWords(value string) string {
	if !strings.Contains(value, "=?") {
		return decodeText([]byte(value), "")
	}
	var b strings.Builder
	label := ""
	var raw []byte
	flush := func() {
		if len(raw) > 0 {
			b.WriteString(decodeText(raw, label))
			raw = nil
		}
	}
	for value != "" {
		at := strings.Index(value, "=?")
		if at < 0 {
			break
		}
		next, content, size := encodedWord(value[at:])
		if size == 0 {
			flush()
			b.WriteString(decodeText([]byte(value[:at+2]), ""))
			value = value[at+2:]
			continue
		}
		if between := value[:at]; len(raw) == 0 || strings.TrimSpace(between) != "" {
			flush()
			b.WriteString(decodeText([]byte(between), ""))
		}
		if !strings.EqualFold(next, label) {
			flush()
		}
		label = next
		raw = append(raw, content...)
		value = value[at+size:]
	}
	flush()
	b.WriteString(decodeText([]byte(value), ""))
	return b.String()
}

// encodedWord decodes the word at the start of a text. It returns the size of the word, 0 if there is none.
func encodedWord(text string) (label string, content []byte, size int) {
	window := text[:min(len(text), maxEncodedWord)]
	label, rest, found := strings.Cut(window[2:], "?")
	if !found || label == "" || strings.ContainsAny(label, " \t=") || len(rest) < 3 || rest[1] != '?' {
		return "", nil, 0
	}
	encoded, _, found := strings.Cut(rest[2:], "?=")
	if !found {
		return "", nil, 0
	}
	size = 2 + len(label) + 1 + 2 + len(encoded) + 2
	label, _, _ = strings.Cut(label, "*") // the rest is a language
	switch rest[0] {
	case 'b', 'B':
		return label, decodeBase64([]byte(encoded)), size
	case 'q', 'Q':
		return label, decodeQuoted([]byte(encoded), true), size
	}
	return "", nil, 0
}
