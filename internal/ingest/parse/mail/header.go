package mail

import (
	"bytes"
	"strings"
)

// Limits of a header.
const (
	maxField      = 64 << 10
	maxFieldLines = 4096 // of a field
)

// header holds fields by name in lower case. Values are unfolded but not decoded.
type header map[string]string

// isKept reports whether a field is kept.
func isKept(name string) bool {
	switch name {
	case "from", "sender", "to", "cc", "bcc", "subject", "date", "message-id", "in-reply-to", "content-type",
		"content-transfer-encoding", "content-disposition", "content-id", "content-description", "content-location", "received",
		"mime-version":
		return true
	}
	return false
}

// isMail reports whether a header has a field of mails.
func (h header) isMail() bool {
	for _, name := range []string{"from", "to", "subject", "date", "message-id", "received", "content-type", "cc", "sender", "mime-version"} {
		if _, found := h[name]; found {
			return true
		}
	}
	return false
}

// set keeps a field. Repeated lists of addresses are joined, the first of other fields is kept.
func (h header) set(name string, value []byte) {
	before, found := h[name]
	switch {
	case !found:
		h[name] = string(value)
	case (name == "to" || name == "cc" || name == "bcc") && len(before)+len(value) < maxField:
		h[name] = before + ", " + string(value)
	}
}

// nextLine returns the line at an offset without its end, and the start of the next line.
func nextLine(content []byte, at int) (line []byte, next int) {
	end := bytes.IndexByte(content[at:], '\n')
	if end < 0 {
		return content[at:], len(content)
	}
	return bytes.TrimSuffix(content[at:at+end], []byte("\r")), at + end + 1
}

// fieldName returns the name of the field that a line starts, in lower case, or "".
func fieldName(line []byte) string {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || colon > 100 {
		return ""
	}
	name := bytes.TrimRight(line[:colon], " \t")
	for _, c := range name {
		if c <= ' ' || c >= 0x7F {
			return ""
		}
	}
	return strings.ToLower(string(name))
}

// readHeader reads the fields at an offset and returns the start of the body. The header ends with an empty line, or
// before a line for which ends is true. It also ends before a line that is no field, unless a known field follows: such
// a line continues the field before it.
func readHeader(content []byte, at int, ends func(line []byte) bool) (header, int) {
	h := make(header)
	name := ""
	var value []byte
	lines := 0
	keep := func() {
		if name != "" && isKept(name) {
			h.set(name, bytes.TrimSpace(value))
		}
		name, value, lines = "", nil, 0
	}
	for at < len(content) {
		line, next := nextLine(content, at)
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			keep()
			return h, next
		case ends(line):
			keep()
			return h, at
		case line[0] == ' ' || line[0] == '\t':
		case fieldName(line) != "":
			keep()
			name = fieldName(line)
			line = line[bytes.IndexByte(line, ':')+1:]
		case name == "" || !isFieldAt(content, next):
			keep()
			return h, at
		}
		if isKept(name) && len(value)+len(line) < maxField && lines < maxFieldLines {
			if lines > 0 {
				value = append(value, ' ')
			}
			value = append(value, bytes.TrimSpace(line)...)
			lines++
		}
		at = next
	}
	keep()
	return h, len(content)
}

// isFieldAt reports whether a known field starts at an offset.
func isFieldAt(content []byte, at int) bool {
	if at >= len(content) {
		return false
	}
	line, _ := nextLine(content, at)
	name := fieldName(line)
	return isKept(name) || strings.HasPrefix(name, "x-")
}
