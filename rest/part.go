package rest

import (
	"bytes"
	"encoding/json"
	"errors"
)

// part is a field of a JSON object, or with no key an item of an array, as it
// stands in the text. Parts are cut out of what the executor wrote, which is
// JSON and has keys without escapes: they are found, not checked.
type part struct {
	key   []byte
	value json.RawMessage
}

var errParts = errors.New("this is no object and no array")

// parts cuts an object or an array, with room for as many parts as are expected.
// null has none, and nor has nothing at all.
func parts(raw json.RawMessage, expected int) ([]part, error) {
	if isNull(raw) {
		return nil, nil
	}
	at := skipSpace(raw, 0)
	if at == len(raw) || raw[at] != '{' && raw[at] != '[' {
		return nil, errParts
	}
	object := raw[at] == '{'
	end := raw[at] + 2 // in ASCII
	found := make([]part, 0, expected)
	for at = skipSpace(raw, at+1); at < len(raw); at = skipSpace(raw, at+1) { // past the comma
		if raw[at] == end && len(found) == 0 {
			return found, nil
		}
		var p part
		if object {
			after := endOfValue(raw, at)
			colon := skipSpace(raw, max(after, 0))
			if after < at+2 || raw[at] != '"' || colon == len(raw) || raw[colon] != ':' {
				return nil, errParts
			}
			p.key = raw[at+1 : after-1]
			at = skipSpace(raw, colon+1)
		}
		after := endOfValue(raw, at)
		if after <= at {
			return nil, errParts
		}
		p.value = raw[at:after]
		found = append(found, p)
		if at = skipSpace(raw, after); at == len(raw) {
			break
		}
		if raw[at] == end {
			return found, nil
		}
		if raw[at] != ',' {
			break
		}
	}
	return nil, errParts
}

// valueOf is the value of a key; nil without one.
func valueOf(fields []part, key string) json.RawMessage {
	for i := range fields {
		if string(fields[i].key) == key {
			return fields[i].value
		}
	}
	return nil
}

func skipSpace(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r') {
		at++
	}
	return at
}

// endOfValue is where the value ends that begins at a place; -1 when the text
// ends first.
func endOfValue(raw []byte, at int) int {
	depth := 0
	for ; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			if at = endOfString(raw, at); at < 0 || depth == 0 {
				return at
			}
			at-- // the loop goes on past it
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
			if depth == 0 {
				return at + 1
			}
		default:
			if depth == 0 {
				return endOfWord(raw, at)
			}
		}
	}
	return -1
}

// endOfString is where the string ends that begins at a place.
func endOfString(raw []byte, at int) int {
	for next := at + 1; ; {
		quote := bytes.IndexByte(raw[next:], '"')
		if quote < 0 {
			return -1
		}
		quote += next
		back := quote
		for raw[back-1] == '\\' {
			back--
		}
		if next = quote + 1; (quote-back)%2 == 0 {
			return next
		}
	}
}

// endOfWord is where a number, true, false or null ends.
func endOfWord(raw []byte, at int) int {
	for ; at < len(raw); at++ {
		switch raw[at] {
		case ',', ':', ']', '}', ' ', '\n', '\t', '\r':
			return at
		}
	}
	return at
}
