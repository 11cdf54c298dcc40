package weaviate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// encode returns a text without white space, control characters and bytes that are not
// UTF-8, and never an empty one. Different texts stay different: what is not allowed, and
// the percent sign, becomes a percent sign with two digits for each byte, and the empty
// text one percent sign alone. So the engine neither splits nor trims it.
func encode(s string) string {
	if s == "" {
		return "%"
	}
	at := 0
	for at < len(s) && s[at] > ' ' && s[at] < utf8.RuneSelf-1 && s[at] != '%' {
		at++
	}
	if at == len(s) {
		return s
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.WriteString(s[:at])
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		if r == '%' || r == utf8.RuneError && n == 1 || unicode.IsSpace(r) || unicode.Is(unicode.C, r) {
			for _, c := range []byte(s[at : at+n]) {
				b.WriteByte('%')
				b.WriteByte(digits[c>>4])
				b.WriteByte(digits[c&15])
			}
		} else {
			b.WriteString(s[at : at+n])
		}
		at += n
	}
	return b.String()
}

// encodeAll encodes each text once, in their order, without the empty ones.
func encodeAll(list []string) []string {
	out, seen := make([]string, 0, len(list)), make(map[string]bool, len(list))
	for _, s := range list {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, encode(s))
		}
	}
	return out
}

// encodePrincipals encodes each text, the empty one too.
func encodePrincipals(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = encode(s)
	}
	return out
}

// join returns the terms as a text of the engine.
func join(terms []string) string {
	var b strings.Builder
	for _, t := range terms {
		if t == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(encode(t))
	}
	return b.String()
}
