package ole

import (
	"bytes"
	"sort"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// A piece is a range of characters that is stored in one place of the main stream (MS-DOC 2.4.1).
type piece struct {
	from, to int
	offset   int
	isWide   bool // characters have two bytes
	// changes are properties of the whole piece. They apply after those of its characters and paragraphs.
	changes view
}

// at returns the offset of a character.
func (p *piece) at(char int) int {
	if p.isWide {
		return p.offset + 2*(char-p.from)
	}
	return p.offset + char - p.from
}

// pieceTable is the text of a document.
type pieceTable struct {
	pieces []piece
	// isComplete is set if the file locates all of the text.
	isComplete bool
}

// maxCopies is how often the same bytes may be text. Fast saves may refer to a range twice.
const maxCopies = 4

// readPieces returns the text of a document.
func readPieces(f *fib) pieceTable {
	pieces, changes := pieceList(f.structure(atPieces))
	if t, found := parsePieces(f, pieces, changes); found {
		return t
	}
	if f.isOld {
		return f.onePiece()
	}
	return f.guessedPieces()
}

// pieceList returns the list of pieces and the properties to which they refer (MS-DOC 2.9.38).
func pieceList(list view) (pieces view, changes []view) {
	for at := 0; at < len(list); {
		switch list.u8(at) {
		case 1:
			length := list.u16(at + 1)
			changes = append(changes, list.part(at+3, length))
			at += 3 + length
		case 2:
			return list.part(at+5, list.u32(at+1)), changes
		default:
			return nil, nil
		}
	}
	return nil, nil
}

func parsePieces(f *fib, list view, changes []view) (pieceTable, bool) {
	const position, entry = 4, 8
	count := (len(list) - position) / (position + entry)
	t := pieceTable{isComplete: true}
	total := 0
	for i := range count {
		at := (count+1)*position + i*entry
		p := piece{from: list.u32(i * position), to: list.u32((i + 1) * position), offset: list.u32(at + 2), isWide: true}
		switch compressed := 1 << 30; {
		case f.isOld:
			p.isWide = f.isWide
		case p.offset&compressed != 0:
			p.offset, p.isWide = p.offset&^compressed/2, false
		}
		if p.to <= p.from || i > 0 && p.from < t.end() {
			t.isComplete = t.isComplete && p.to == p.from
			continue
		}
		if capacity := f.capacity(&p); p.to-p.from > capacity {
			t.isComplete = false
			if p.to = p.from + capacity; capacity == 0 {
				continue
			}
		}
		if total += p.to - p.from; total > maxCopies*len(f.main) {
			t.isComplete = false
			break
		}
		if change := list.u16(at + 6); change&1 != 0 && change>>1 < len(changes) {
			p.changes = changes[change>>1]
		} else if change&1 == 0 {
			p.changes = shortChange(change)
		}
		t.pieces = append(t.pieces, p)
	}
	return t, len(t.pieces) > 0
}

// capacity returns how many characters at the offset of a piece are in the main stream.
func (f *fib) capacity(p *piece) int {
	room := max(len(f.main)-p.offset, 0)
	if p.isWide {
		room /= 2
	}
	return room
}

// onePiece returns the text of a document of Word 6 or 95 without a piece table.
func (f *fib) onePiece() pieceTable {
	p := piece{offset: f.first, isWide: f.isWide}
	chars := f.last - f.first
	if f.isWide {
		chars /= 2
	}
	if p.to = min(chars, f.capacity(&p)); p.to <= 0 {
		return pieceTable{}
	}
	return pieceTable{pieces: []piece{p}, isComplete: p.to == chars}
}

// guessedPieces returns the text of a document without a piece table. The text usually follows the header. The size of
// its characters changes only at page boundaries.
func (f *fib) guessedPieces() pieceTable {
	var t pieceTable
	left := f.firstChar(stories)
	if left <= 0 {
		left = len(f.main)
	}
	for at := f.first; at < len(f.main) && left > 0; at += pageSize {
		p := piece{from: t.end(), offset: at, isWide: isWide(f.main.part(at, pageSize))}
		p.to = p.from + min(left, f.capacity(&p), pageSize)
		if p.isWide {
			p.to = min(p.to, p.from+pageSize/2)
		}
		if left -= p.to - p.from; p.to > p.from {
			t.pieces = append(t.pieces, p)
		}
	}
	return t
}

// isWide reports whether text has two bytes a character. Such text contains zeros.
func isWide(text view) bool {
	zeros := [2]int{}
	for i, b := range bytes.TrimRight(text, "\x00") {
		if b == 0 {
			zeros[i&1]++
		}
	}
	return zeros[1] > zeros[0]
}

// end returns the number of characters.
func (t *pieceTable) end() int {
	if len(t.pieces) == 0 {
		return 0
	}
	return t.pieces[len(t.pieces)-1].to
}

// A cursor reads a range of characters.
type cursor struct {
	table *pieceTable
	fib   *fib
	chars *charset
	index int // of the piece
	next  int // character to read next
	to    int

	// The last character: its number, offset and value.
	char, offset int
	rune         rune
}

// charset decodes the bytes of a code page.
type charset struct {
	codePage int
	single   [256]rune
}

func newCharset(codePage int) *charset {
	c := &charset{codePage: codePage}
	for i := range c.single {
		c.single[i] = []rune(cfb.Decode(codePage, []byte{byte(i)}) + "\uFFFD")[0]
	}
	return c
}

// isDouble reports whether characters of the code page may have two bytes.
func (c *charset) isDouble() bool {
	switch c.codePage {
	case 932, 936, 949, 950:
		return true
	}
	return false
}

func newCursor(t *pieceTable, f *fib, chars *charset, from, to int) *cursor {
	c := &cursor{table: t, fib: f, chars: chars, next: from, to: min(to, t.end())}
	c.index = sort.Search(len(t.pieces), func(i int) bool { return t.pieces[i].to > from })
	return c
}

// piece returns the piece of the last character.
func (c *cursor) piece() *piece { return &c.table.pieces[c.index] }

// step reads the next character. It is false at the end.
func (c *cursor) step() bool {
	for c.index < len(c.table.pieces) && c.next >= c.piece().to {
		c.index++
	}
	if c.index >= len(c.table.pieces) {
		return false
	}
	p := c.piece()
	c.next = max(c.next, p.from)
	if c.next >= c.to {
		return false
	}
	c.char, c.offset = c.next, p.at(c.next)
	c.next++
	last := c.next >= min(p.to, c.to)
	if p.isWide {
		c.rune = rune(c.fib.main.u16(c.offset)) //nolint:gosec // 16 bits
		if utf16.IsSurrogate(c.rune) {
			low := rune(0)
			if !last {
				low = rune(c.fib.main.u16(c.offset + 2)) //nolint:gosec // 16 bits
			}
			if c.rune = utf16.DecodeRune(c.rune, low); c.rune != '\uFFFD' {
				c.next++
			}
		}
		return true
	}
	b := c.fib.main.u8(c.offset)
	c.rune = c.chars.single[b]
	if c.rune == '\uFFFD' && b >= 0x80 && !last && c.chars.isDouble() {
		if both := []rune(cfb.Decode(c.chars.codePage, c.fib.main.part(c.offset, 2))); len(both) == 1 {
			c.rune = both[0]
			c.next++
		}
	}
	return true
}
