package xmlscan

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendUnescaped appends text with its entities and line ends replaced, and invalid UTF-8 as U+FFFD.
func appendUnescaped(to, text []byte) []byte {
	begin := len(to)
	for {
		at := 0
		for at < len(text) && text[at] != '&' && text[at] != '\r' {
			at++
		}
		to = append(to, text[:at]...)
		if at == len(text) {
			break
		}
		if text[at] == '\r' {
			to = append(to, '\n')
			text = text[at+1:]
			if len(text) > 0 && text[0] == '\n' {
				text = text[1:]
			}
			continue
		}
		semicolon := bytes.IndexByte(text[at:min(len(text), at+32)], ';')
		if semicolon < 0 {
			to = append(to, '&')
			text = text[at+1:]
			continue
		}
		entity := text[at+1 : at+semicolon]
		if r, known := entityRune(entity); known {
			to = utf8.AppendRune(to, r)
		} else {
			to = append(to, text[at:at+semicolon+1]...)
		}
		text = text[at+semicolon+1:]
	}
	if !utf8.Valid(to[begin:]) {
		return append(to[:begin], bytes.ToValidUTF8(to[begin:], []byte("\uFFFD"))...)
	}
	return to
}

func entityRune(entity []byte) (rune, bool) {
	switch string(entity) {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	case "nbsp":
		return '\u00A0', true
	}
	number, found := strings.CutPrefix(string(entity), "#")
	if !found {
		return 0, false
	}
	base := 10
	if hex, found := strings.CutPrefix(strings.ToLower(number), "x"); found {
		number, base = hex, 16
	}
	value, err := strconv.ParseUint(number, base, 32)
	if err != nil || value > utf8.MaxRune || value == 0 {
		return 0, false
	}
	return rune(value), true
}
