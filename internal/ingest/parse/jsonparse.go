package parse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// jsonParser reads JSON (RFC 8259), and what people write in its place: comments, commas at the end, names and strings as
// JavaScript has them (JSON5). It notes comments, which are not in the tree.
type jsonParser struct {
	ctx      context.Context
	text     string
	at       int
	maxDepth int
	tree     jsonTree
	comments bool
	// done is where the last complete value ended.
	done int
	// mixed are the places of arrays that were found to have other things than numbers in them.
	mixed []int
}

// errJSON says where a text is no JSON.
type errJSON struct {
	offset int
	reason string
}

func (e *errJSON) Error() string { return e.reason }

// invalid says in words that may be shown where the JSON breaks.
func (e *errJSON) invalid(text string) string {
	offset := min(e.offset, len(text))
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n')
	return fmt.Sprintf("invalid JSON at byte %d (line %d, column %d): %s", offset, line, column, e.reason)
}

func (p *jsonParser) fail(reason string) error { return &errJSON{offset: p.at, reason: reason} }

// unexpected is the error about what stands where something else should.
func (p *jsonParser) unexpected(wanted string) error {
	if p.at >= len(p.text) {
		return p.fail("the file ends too early")
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return p.fail(fmt.Sprintf("unexpected character %q, %s", r, wanted))
}

// space skips blanks and comments.
func (p *jsonParser) space() error {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\n' || c == '\t':
			p.at++
		case c == '/' && strings.HasPrefix(p.text[p.at:], "//"):
			p.comments = true
			end := strings.IndexByte(p.text[p.at:], '\n')
			if end < 0 {
				end = len(p.text) - p.at
			}
			p.at += end
		case c == '/' && strings.HasPrefix(p.text[p.at:], "/*"):
			end := strings.Index(p.text[p.at+2:], "*/")
			if end < 0 {
				return p.fail("a comment is not closed")
			}
			p.comments = true
			p.at += end + 4
		case c == 0xC2 && strings.HasPrefix(p.text[p.at:], "\u00a0"):
			p.at += 2
		default:
			return nil
		}
	}
	return nil
}

// value reads a value and returns its place.
func (p *jsonParser) value(key string, depth int) (int32, error) {
	if err := p.space(); err != nil {
		return 0, err
	}
	if len(p.tree)%4096 == 0 && p.ctx.Err() != nil {
		return 0, fmt.Errorf("parse JSON: %w", p.ctx.Err())
	}
	if len(p.tree) >= maxValues {
		return 0, &document.LimitError{Detail: fmt.Sprintf("JSON has more than %d values", maxValues)}
	}
	if p.at >= len(p.text) {
		return 0, p.unexpected("")
	}
	at := int32(len(p.tree)) //nolint:gosec // at most maxValues
	switch c := p.text[p.at]; c {
	case '{', '[':
		if depth >= p.maxDepth {
			return 0, p.fail(fmt.Sprintf("nested deeper than %d levels", p.maxDepth))
		}
		if c == '{' {
			p.tree = append(p.tree, jsonNode{kind: jsonObject, key: key})
			return at, p.members(at, depth)
		}
		if end := p.numbers(); end > 0 {
			p.tree = append(p.tree, jsonNode{kind: jsonNumbers, key: key, text: p.text[p.at:end]})
			p.at = end
			return at, nil
		}
		p.tree = append(p.tree, jsonNode{kind: jsonArray, key: key})
		return at, p.elements(at, depth)
	case '"', '\'':
		text, err := p.str(c)
		p.tree = append(p.tree, jsonNode{kind: jsonString, key: key, text: text})
		return at, err
	}
	word := p.word()
	kind := jsonNull
	switch {
	case word == "null":
	case word == "true" || word == "false":
		kind = jsonBool
	case isNumber(word):
		kind = jsonNumber
	default:
		return 0, p.unexpected("a value should stand here")
	}
	p.at += len(word)
	p.tree = append(p.tree, jsonNode{kind: kind, key: key, text: word})
	return at, nil
}

// link makes a value the last child of another.
func (p *jsonParser) link(parent, last, child int32) {
	if last == 0 {
		p.tree[parent].first = child
	} else {
		p.tree[last].next = child
	}
}

func (p *jsonParser) members(at int32, depth int) error {
	p.at++
	last := int32(0)
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.at < len(p.text) && p.text[p.at] == '}' {
			p.at++
			return nil
		}
		key, err := p.name()
		if err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		if p.at >= len(p.text) || p.text[p.at] != ':' {
			return p.unexpected("a colon should stand here")
		}
		p.at++
		before := len(p.tree)
		_, err = p.value(key, depth+1)
		if len(p.tree) > before {
			child := int32(before) //nolint:gosec // at most maxValues; also what was read of a value that breaks off
			p.link(at, last, child)
			last = child
		}
		if err != nil {
			return err
		}
		p.done = p.at
		if done, err := p.comma('}'); done || err != nil {
			return err
		}
	}
}

func (p *jsonParser) elements(at int32, depth int) error {
	p.at++
	last := int32(0)
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.at < len(p.text) && p.text[p.at] == ']' {
			p.at++
			return nil
		}
		before := len(p.tree)
		_, err := p.value("", depth+1)
		if len(p.tree) > before {
			child := int32(before) //nolint:gosec // at most maxValues
			p.link(at, last, child)
			last = child
		}
		if err != nil {
			return err
		}
		p.done = p.at
		if done, err := p.comma(']'); done || err != nil {
			return err
		}
	}
}

// comma reads what stands between members or elements, and reports the end of them.
func (p *jsonParser) comma(closing byte) (done bool, err error) {
	if err := p.space(); err != nil {
		return false, err
	}
	switch {
	case p.at < len(p.text) && p.text[p.at] == ',':
		p.at++
		return false, nil
	case p.at < len(p.text) && p.text[p.at] == closing:
		p.at++
		return true, nil
	}
	return false, p.unexpected(fmt.Sprintf("a comma or %c should stand here", closing))
}

// name reads the name of a member.
func (p *jsonParser) name() (string, error) {
	if p.at < len(p.text) && (p.text[p.at] == '"' || p.text[p.at] == '\'') {
		return p.str(p.text[p.at])
	}
	word := p.word()
	if word == "" || isDigit(word[0]) || strings.ContainsAny(word, "+-.") {
		return "", p.unexpected("a name should stand here")
	}
	p.at += len(word)
	return word, nil
}

// word returns the letters, figures and signs of numbers from here on.
func (p *jsonParser) word() string {
	end := p.at
	for end < len(p.text) && end-p.at < 1<<16 {
		c := p.text[end]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if !isDigit(c) && c != '+' && c != '-' && c != '.' && c != '_' && c != '$' {
				break
			}
		}
		end++
	}
	return p.text[p.at:end]
}

// isNumber reports numbers as JSON5 writes them.
func isNumber(word string) bool {
	rest := strings.TrimLeft(word, "+-")
	if len(word)-len(rest) > 1 {
		return false
	}
	if rest == "Infinity" || rest == "NaN" {
		return true
	}
	if len(rest) > 2 && rest[0] == '0' && rest[1]|0x20 == 'x' {
		return strings.Trim(rest[2:], "0123456789abcdefABCDEF") == ""
	}
	mantissa, exponent, scientific := strings.Cut(strings.ReplaceAll(rest, "E", "e"), "e")
	if scientific {
		exponent = strings.TrimPrefix(strings.TrimPrefix(exponent, "+"), "-")
		if exponent == "" || strings.Trim(exponent, "0123456789") != "" {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return whole+fraction != "" && strings.Trim(whole+fraction, "0123456789") == ""
}

// numbers returns the end of an array that has nothing but numbers and such arrays in it, 0 when it is no such array or
// is empty.
func (p *jsonParser) numbers() int {
	if slices.Contains(p.mixed, p.at) {
		return 0
	}
	open, digits := p.mixed[:0], false // the brackets that are open
	defer func() { p.mixed = open }()
	for i := p.at; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '[':
			if open = append(open, i); len(open) > p.maxDepth {
				return 0
			}
		case c == ']':
			if open = open[:len(open)-1]; len(open) == 0 {
				if !digits {
					return 0
				}
				return i + 1
			}
		case isDigit(c):
			digits = true
		case c == ' ' || c == '\n' || c == '\t' || c == ',' || c == '.' || c == '-' || c == '+' || c|0x20 == 'e':
		default:
			return 0
		}
	}
	return 0
}

// str reads a string in quotes.
func (p *jsonParser) str(quote byte) (string, error) {
	start := p.at + 1
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case quote:
			text := p.text[start:i]
			p.at = i + 1
			return text, nil
		case '\\':
			return p.escaped(start, quote)
		case '\n':
			p.at = i
			return p.text[start:i], p.fail("a string is not closed on its line")
		}
	}
	p.at = len(p.text)
	return p.text[start:], p.fail("the file ends too early")
}

// escaped reads a string with escapes in it.
func (p *jsonParser) escaped(start int, quote byte) (string, error) {
	var b strings.Builder
	i := start
	for i < len(p.text) {
		c := p.text[i]
		switch {
		case c == quote:
			p.at = i + 1
			return clean(b.String()), nil
		case c == '\n':
			p.at = i
			return clean(b.String()), p.fail("a string is not closed on its line")
		case c != '\\':
			next := strings.IndexAny(p.text[i:], "\\\"'\n")
			if next <= 0 {
				next = 1
			}
			b.WriteString(p.text[i : i+next])
			i += next
			continue
		}
		if i+1 >= len(p.text) {
			break
		}
		i += 2
		switch c := p.text[i-1]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r', 'b', 'f', 'v', '0', '\n':
		case 'u':
			r, size := unicodeEscape(p.text[i:])
			if size == 0 {
				p.at = i - 2
				return clean(b.String()), p.fail("a \\u escape should have four hexadecimal digits")
			}
			b.WriteRune(r)
			i += size
		default:
			b.WriteByte(c)
		}
	}
	p.at = len(p.text)
	return clean(b.String()), p.fail("the file ends too early")
}

// unicodeEscape reads the hexadecimal digits after \u, those of a second escape too where the two are one character. The
// size is 0 when they are none.
func unicodeEscape(text string) (r rune, size int) {
	first, ok := hexadecimal(text)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(first) && strings.HasPrefix(text[4:], "\\u") {
		if second, ok := hexadecimal(text[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 10
			}
		}
	}
	if utf16.IsSurrogate(first) {
		return utf8.RuneError, 4
	}
	return first, 4
}

func hexadecimal(text string) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	value, err := strconv.ParseUint(text[:4], 16, 16)
	return rune(value), err == nil
}
