package datatree

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
)

// Parser parses the values of a text one after the other: JSON (RFC 8259), and JSON5 with its comments, trailing commas,
// unquoted names and single quotes. It is for one goroutine.
type Parser struct {
	// Tree holds the value that Next parsed last, or as much of that value as could be parsed.
	Tree Tree
	// HasComments reports whether the text contained a comment so far. Comments are not in the tree.
	HasComments bool

	ctx      context.Context
	text     string
	at       int
	maxDepth int
	complete int // end of the last complete value
	// mixed holds the offsets of open brackets whose arrays are known to hold more than numbers.
	mixed []int
}

// NewParser returns a parser of a text. Values may be nested maxDepth levels deep.
func NewParser(ctx context.Context, text string, maxDepth int) *Parser {
	return &Parser{ctx: ctx, text: text, maxDepth: maxDepth, Tree: make(Tree, 0, min(len(text)/16+1, MaxValues))}
}

// Reset makes the parser parse another text. It reuses the memory of the tree.
func (p *Parser) Reset(text string) {
	*p = Parser{ctx: p.ctx, text: text, maxDepth: p.maxDepth, Tree: p.Tree[:0]}
}

// Next parses the next value and returns the index of its root in Tree. The error is a *SyntaxError, a *document.LimitError, or
// wraps that of the context.
func (p *Parser) Next() (root int32, err error) {
	p.complete = p.at
	p.Tree = p.Tree[:0]
	root, err = p.value("", 0)
	if err == nil {
		p.complete = p.at
	}
	return root, err
}

// More skips blanks and comments and reports whether text is left. The error is a *SyntaxError.
func (p *Parser) More() (bool, error) {
	err := p.space()
	return p.at < len(p.text), err
}

// Complete returns the offset at which the last complete value ends. Where a value breaks off, this is the end of its last
// complete member.
func (p *Parser) Complete() int { return p.complete }

// SyntaxError reports where a text is no JSON.
type SyntaxError struct {
	Offset int
	Reason string
}

// Error returns the reason.
func (e *SyntaxError) Error() string { return e.Reason }

// In returns a message with the position of the error in a text. It quotes at most one character of the text.
func (e *SyntaxError) In(text string) string {
	offset := min(e.Offset, len(text))
	before := text[:offset]
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n')
	return fmt.Sprintf("invalid JSON at byte %d (line %d, column %d): %s", offset, line, column, e.Reason)
}

func (p *Parser) fail(reason string) error { return &SyntaxError{Offset: p.at, Reason: reason} }

// Unexpected returns the error for the character at the current position.
func (p *Parser) Unexpected(expected string) error {
	if p.at >= len(p.text) {
		return p.fail("the file ends too early")
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return p.fail(fmt.Sprintf("unexpected character %q, %s", r, expected))
}

// space skips white space and comments.
func (p *Parser) space() error {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\n' || c == '\t':
			p.at++
		case c == '/' && strings.HasPrefix(p.text[p.at:], "//"):
			p.HasComments = true
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
			p.HasComments = true
			p.at += end + 4
		case c == 0xC2 && strings.HasPrefix(p.text[p.at:], "\u00a0"):
			p.at += 2
		default:
			return nil
		}
	}
	return nil
}

// value parses a value and returns its index.
func (p *Parser) value(key string, depth int) (int32, error) {
	if err := p.space(); err != nil {
		return 0, err
	}
	if len(p.Tree)%4096 == 0 && p.ctx.Err() != nil {
		return 0, fmt.Errorf("parse JSON: %w", p.ctx.Err())
	}
	if len(p.Tree) >= MaxValues {
		return 0, &document.LimitError{Detail: fmt.Sprintf("JSON has more than %d values", MaxValues)}
	}
	if p.at >= len(p.text) {
		return 0, p.Unexpected("")
	}
	at := int32(len(p.Tree)) //nolint:gosec // at most MaxValues
	switch c := p.text[p.at]; c {
	case '{', '[':
		if depth >= p.maxDepth {
			return 0, p.fail(fmt.Sprintf("nested deeper than %d levels", p.maxDepth))
		}
		if c == '{' {
			p.Tree = append(p.Tree, Node{Kind: Object, Key: key})
			return at, p.members(at, depth)
		}
		if end := p.numbers(); end > 0 {
			p.Tree = append(p.Tree, Node{Kind: Numbers, Key: key, Text: p.text[p.at:end]})
			p.at = end
			return at, nil
		}
		p.Tree = append(p.Tree, Node{Kind: Array, Key: key})
		return at, p.elements(at, depth)
	case '"', '\'':
		text, err := p.str(c)
		p.Tree = append(p.Tree, Node{Kind: String, Key: key, Text: text})
		return at, err
	}
	word := p.word()
	kind := Null
	switch {
	case word == "null":
	case word == "true" || word == "false":
		kind = Bool
	case isNumber(word):
		kind = Number
	default:
		return 0, p.Unexpected("a value should stand here")
	}
	p.at += len(word)
	p.Tree = append(p.Tree, Node{Kind: kind, Key: key, Text: word})
	return at, nil
}

// link appends a value to the children of another.
func (p *Parser) link(parent, last, child int32) {
	if last == 0 {
		p.Tree[parent].First = child
	} else {
		p.Tree[last].Next = child
	}
}

func (p *Parser) members(at int32, depth int) error {
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
			return p.Unexpected("a colon should stand here")
		}
		p.at++
		before := len(p.Tree)
		_, err = p.value(key, depth+1)
		if len(p.Tree) > before {
			child := int32(before) //nolint:gosec // at most MaxValues; a value that breaks off is kept too
			p.link(at, last, child)
			last = child
		}
		if err != nil {
			return err
		}
		p.complete = p.at
		if isLast, err := p.comma('}'); isLast || err != nil {
			return err
		}
	}
}

func (p *Parser) elements(at int32, depth int) error {
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
		before := len(p.Tree)
		_, err := p.value("", depth+1)
		if len(p.Tree) > before {
			child := int32(before) //nolint:gosec // at most MaxValues
			p.link(at, last, child)
			last = child
		}
		if err != nil {
			return err
		}
		p.complete = p.at
		if isLast, err := p.comma(']'); isLast || err != nil {
			return err
		}
	}
}

// comma reads the separator between members or elements, and reports whether the closing bracket was there instead.
func (p *Parser) comma(closing byte) (isLast bool, err error) {
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
	return false, p.Unexpected(fmt.Sprintf("a comma or %c should stand here", closing))
}

// name parses the name of a member.
func (p *Parser) name() (string, error) {
	if p.at < len(p.text) && (p.text[p.at] == '"' || p.text[p.at] == '\'') {
		return p.str(p.text[p.at])
	}
	word := p.word()
	if word == "" || ascii.IsDigit(word[0]) || strings.ContainsAny(word, "+-.") {
		return "", p.Unexpected("a name should stand here")
	}
	p.at += len(word)
	return word, nil
}

// word returns the letters, digits and number signs at the current position.
func (p *Parser) word() string {
	end := p.at
	for end < len(p.text) && end-p.at < 1<<16 {
		c := p.text[end]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if !ascii.IsDigit(c) && c != '+' && c != '-' && c != '.' && c != '_' && c != '$' {
				break
			}
		}
		end++
	}
	return p.text[p.at:end]
}

// isNumber reports whether a word is a number of JSON5.
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

// numbers returns the end of an array that holds only numbers or such arrays, and at least one digit. It is 0 for others.
func (p *Parser) numbers() int {
	if slices.Contains(p.mixed, p.at) {
		return 0
	}
	open, hasDigit := p.mixed[:0], false // offsets of the open brackets
	defer func() { p.mixed = open }()
	for i := p.at; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '[':
			if open = append(open, i); len(open) > p.maxDepth {
				return 0
			}
		case c == ']':
			if open = open[:len(open)-1]; len(open) == 0 {
				if !hasDigit {
					return 0
				}
				return i + 1
			}
		case ascii.IsDigit(c):
			hasDigit = true
		case c == ' ' || c == '\n' || c == '\t' || c == ',' || c == '.' || c == '-' || c == '+' || c|0x20 == 'e':
		default:
			return 0
		}
	}
	return 0
}

// str parses a quoted string.
func (p *Parser) str(quote byte) (string, error) {
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

// escaped parses a quoted string that contains escapes.
func (p *Parser) escaped(start int, quote byte) (string, error) {
	var b strings.Builder
	i := start
	for i < len(p.text) {
		c := p.text[i]
		switch {
		case c == quote:
			p.at = i + 1
			return charset.Clean(b.String()), nil
		case c == '\n':
			p.at = i
			return charset.Clean(b.String()), p.fail("a string is not closed on its line")
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
				return charset.Clean(b.String()), p.fail("a \\u escape should have four hexadecimal digits")
			}
			b.WriteRune(r)
			i += size
		default:
			b.WriteByte(c)
		}
	}
	p.at = len(p.text)
	return charset.Clean(b.String()), p.fail("the file ends too early")
}

// unicodeEscape decodes the hexadecimal digits after \u, including a second escape that completes a surrogate pair. The size
// is 0 if there are no such digits.
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
