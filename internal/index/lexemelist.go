package index

import (
	"encoding/binary"
	"errors"
)

// Lexemes are the terms of a passage in PostgreSQL's binary form of a tsvector:
// a count, then for each lexeme its text, a zero byte, a count, and the
// positions, two bytes each, whose upper two bits are a label.
type Lexemes []byte

// ErrLexemes is returned for bytes that are no tsvector.
var ErrLexemes = errors.New("not a list of lexemes")

// Each calls f for every lexeme, in the order of their bytes, with its
// positions in rising order. Both are valid during the call only. It stops with
// ErrLexemes where the bytes are malformed.
func (l Lexemes) Each(f func(term []byte, positions []uint16)) error {
	if len(l) == 0 {
		return nil
	}
	if len(l) < 4 {
		return ErrLexemes
	}
	var positions []uint16
	n, b := binary.BigEndian.Uint32(l), l[4:]
	for range n {
		end := 0
		for end < len(b) && b[end] != 0 {
			end++
		}
		if len(b) < end+3 {
			return ErrLexemes
		}
		term, count := b[:end], int(binary.BigEndian.Uint16(b[end+1:]))
		b = b[end+3:]
		if len(b) < 2*count {
			return ErrLexemes
		}
		positions = positions[:0]
		for i := range count {
			positions = append(positions, binary.BigEndian.Uint16(b[2*i:])&0x3fff)
		}
		b = b[2*count:]
		f(term, positions)
	}
	return nil
}
