//go:build !cgo

package postgresql

import (
	"errors"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	wasmquery "github.com/wasilibs/go-pgquery"
)

// maxTokens bounds the statements that this parser reads. A token nests the
// statement by a few levels at most, and the stack of the parser has room for
// more than twice as many: it never overflows, after which it would be unusable.
const maxTokens = 1000

var errTokens = errors.New("it has too many words and operators")

// parse reads statements with PostgreSQL's own parser, compiled to WebAssembly:
// releases are built for every system without a C compiler. The first call
// compiles the parser, which takes seconds.
func parse(text string) (*pgquery.ParseResult, error) {
	if tokens(text) > maxTokens {
		return nil, errTokens
	}
	return wasmquery.Parse(text)
}

// tokens returns at least the number of tokens of a statement: every character
// that is no part of a word counts, in literals, too, but not white space.
func tokens(text string) int {
	n, inWord := 0, false
	for i := range len(text) {
		c := text[i]
		isWord := c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
		isSpace := c == ' ' || c >= '\t' && c <= '\r'
		if !isSpace && (!isWord || !inWord) {
			n++
		}
		inWord = isWord
	}
	return n
}
