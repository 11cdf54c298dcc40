package mail

import (
	"bytes"
	"strings"
)

// decodeTransfer decodes a transfer encoding. Invalid input is decoded as far as possible.
func decodeTransfer(body []byte, encoding string) []byte {
	encoding, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(encoding)), ";")
	switch strings.Trim(encoding, " \t\"'") {
	case "base64":
		if isBase64Text(body) {
			return decodeBase64(body)
		}
	case "quoted-printable":
		return decodeQuoted(body, false)
	case "x-uuencode", "uuencode", "x-uue":
		if _, content, _, found := cutUUEncoded(body); found {
			return content
		}
	}
	return body
}

// isBase64Text reports whether text is encoded, not only labelled as base64. Other text has blanks and punctuation
// within its lines.
func isBase64Text(body []byte) bool {
	sample := body[:min(len(body), 4096)]
	other := 0
	for i, c := range sample {
		switch {
		case isBase64(c) || c == '=' || c == '-' || c == '_' || c == '\n' || c == '\r':
		case c == ' ' && (i == 0 || i+1 == len(sample) || !isBase64(sample[i-1]) || !isBase64(sample[i+1])):
		default:
			other++
		}
	}
	return other*20 <= len(sample)
}

// decodeBase64 ignores invalid characters, and continues after padding, since some programs join encoded pieces.
func decodeBase64(body []byte) []byte {
	out := make([]byte, 0, len(body)/4*3+3)
	var group [4]byte // digits of six bits
	digits := 0
	end := func() {
		whole := [3]byte{group[0]<<2 | group[1]>>4, group[1]<<4 | group[2]>>2, group[2]<<6 | group[3]}
		out = append(out, whole[:max(digits-1, 0)]...)
		group, digits = [4]byte{}, 0
	}
	for _, c := range body {
		var value byte
		switch {
		case 'A' <= c && c <= 'Z':
			value = c - 'A'
		case 'a' <= c && c <= 'z':
			value = c - 'a' + 26
		case '0' <= c && c <= '9':
			value = c - '0' + 52
		case c == '+' || c == '-':
			value = 62
		case c == '/' || c == '_':
			value = 63
		case c == '=':
			end()
			continue
		default:
			continue
		}
		group[digits] = value
		if digits++; digits == 4 {
			end()
		}
	}
	end()
	return out
}

// decodeQuoted decodes quoted-printable text. In header words, an underscore is a blank.
func decodeQuoted(body []byte, isWord bool) []byte {
	out := make([]byte, 0, len(body))
	encodedEnd := 0 // end of the last encoded character; unencoded blanks at the end of a line are removed
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == '_' && isWord:
			out = append(out, ' ')
		case c == '\n':
			line := len(out)
			for line > encodedEnd && (out[line-1] == ' ' || out[line-1] == '\t' || out[line-1] == '\r') {
				line--
			}
			out = append(out[:line], '\n')
		case c != '=':
			out = append(out, c)
		default:
			if i+2 < len(body) {
				high, low := hexDigit(body[i+1]), hexDigit(body[i+2])
				if high >= 0 && low >= 0 {
					out = append(out, byte(high<<4|low)) //nolint:gosec // two hexadecimal digits
					i += 2
					encodedEnd = len(out)
					continue
				}
			}
			at := i + 1
			for at < len(body) && (body[at] == ' ' || body[at] == '\t' || body[at] == '\r') {
				at++
			}
			if at < len(body) && body[at] != '\n' {
				out = append(out, c)
				continue
			}
			i = at // a soft line break
			encodedEnd = len(out)
		}
	}
	return out
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// cutUUEncoded removes a file between "begin 644 name" and "end" from a text.
func cutUUEncoded(text []byte) (name string, content, rest []byte, found bool) {
	begin := -1
	for at := 0; at < len(text); {
		line, next := nextLine(text, at)
		if name, found = uuName(line); found {
			if first, _ := nextLine(text, min(next, len(text))); isUULine(first) {
				begin = at
				break
			}
		}
		at = next
	}
	if begin < 0 {
		return "", nil, text, false
	}
	at := begin
	_, at = nextLine(text, at)
	for at < len(text) {
		line, next := nextLine(text, at)
		at = next
		if trimmed := bytes.TrimSpace(line); string(trimmed) == "end" {
			break
		}
		content = appendUULine(content, line)
	}
	rest = append(append([]byte(nil), text[:begin]...), text[at:]...)
	return name, content, rest, true
}

// uuName parses "begin 644 name".
func uuName(line []byte) (string, bool) {
	rest, found := bytes.CutPrefix(line, []byte("begin "))
	if !found || len(rest) < 5 {
		return "", false
	}
	mode, name, found := bytes.Cut(rest, []byte(" "))
	if !found || len(mode) < 3 || len(mode) > 4 || len(bytes.Trim(mode, "01234567")) > 0 {
		return "", false
	}
	return string(bytes.TrimSpace(name)), true
}

// isUULine reports whether a line begins with its length.
func isUULine(line []byte) bool {
	if len(line) < 2 || line[0] < ' ' || line[0] > '`' {
		return false
	}
	size := int(line[0]-' ') & 63
	return size > 0 && len(line) >= 1+(size*4+2)/3 && len(line) <= 1+(size+2)/3*4+2
}

func appendUULine(out, line []byte) []byte {
	if len(line) == 0 {
		return out
	}
	size := int(line[0]-' ') & 63
	line = line[1:]
	for i := 0; size > 0 && i < len(line); i += 4 {
		var group uint32
		for j := range 4 {
			group <<= 6
			if i+j < len(line) {
				group |= uint32(line[i+j]-' ') & 63
			}
		}
		decoded := [3]byte{byte(group >> 16), byte(group >> 8), byte(group)}
		n := min(size, 3)
		out = append(out, decoded[:n]...)
		size -= n
	}
	return out
}
