package ole

import (
	"bytes"
	"sort"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// piece is a stretch of the text (MS-DOC 2.4.1): which characters, and where they are in the main stream.
type piece struct {
	from, to int
	offset   int
	wide     bool // characters of two bytes
	// changes are properties that apply to all of it, after those of its characters and paragraphs.
	changes view
}

// at returns the offset of a character.
func (p *piece) at(char int) int {
	if p.wide {
		return p.offset + 2*(char-p.from)
	}
	return p.offset + char - p.from
}

// pieceTable is the text of a document.
type pieceTable struct {
	pieces []piece
	// whole tells that the file has said where the text is.
	whole bool
}

// maxCopies is how often the same bytes may be text: saved edits may refer to a stretch twice, but not without end.
const maxCopies = 4

// readPieces finds the text of a document.
func readPieces(f *fib) pieceTable {
	pieces, changes := pieceList(f.place(placePieces))
	if t, found := placed(f, pieces, changes); found {
		return t
	}
	if f.old {
		return f.onePiece()
	}
	return f.guessedPieces()
}

// pieceList returns the list of pieces, and the properties that they refer to (MS-DOC 2.9.38).
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

func placed(f *fib, list view, changes []view) (pieceTable, bool) {
	const position, entry = 4, 8
	count := (len(list) - position) / (position + entry)
	t := pieceTable{whole: true}
	total := 0
	for i := range count {
		at := (count+1)*position + i*entry
		p := piece{from: list.u32(i * position), to: list.u32((i + 1) * position), offset: list.u32(at + 2), wide: true}
		switch compressed := 1 << 30; {
		case f.old:
			p.wide = f.wide
		case p.offset&compressed != 0:
			p.offset, p.wide = p.offset&^compressed/2, false
		}
		if p.to <= p.from || i > 0 && p.from < t.end() {
			t.whole = t.whole && p.to == p.from
			continue
		}
		if room := f.room(&p); p.to-p.from > room {
			t.whole = false
			if p.to = p.from + room; room == 0 {
				continue
			}
		}
		if total += p.to - p.from; total > maxCopies*len(f.main) {
			t.whole = false
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

// room is how many characters of a piece are in the main stream.
func (f *fib) room(p *piece) int {
	room := max(len(f.main)-p.offset, 0)
	if p.wide {
		room /= 2
	}
	return room
}

// onePiece is the text of a document of Word 6 or 95 that was saved as a whole.
func (f *fib) onePiece() pieceTable {
	p := piece{offset: f.first, wide: f.wide}
	chars := f.last - f.first
	if f.wide {
		chars /= 2
	}
	if p.to = min(chars, f.room(&p)); p.to <= 0 {
		return pieceTable{}
	}
	return pieceTable{pieces: []piece{p}, whole: p.to == chars}
}

// guessedPieces is the text where there is no list of its pieces. It most often stands together behind the header of the
// file, and changes between one and two bytes a character only where a page of the file begins.
func (f *fib) guessedPieces() pieceTable {
	var t pieceTable
	left := f.from(stories)
	if left <= 0 {
		left = len(f.main)
	}
	for at := f.first; at < len(f.main) && left > 0; at += pageSize {
		p := piece{from: t.end(), offset: at, wide: looksWide(f.main.part(at, pageSize))}
		p.to = p.from + min(left, f.room(&p), pageSize)
		if p.wide {
			p.to = min(p.to, p.from+pageSize/2)
		}
		if left -= p.to - p.from; p.to > p.from {
			t.pieces = append(t.pieces, p)
		}
	}
	return t
}

// looksWide tells text of two bytes a character by its zeros, which no other text has.
func looksWide(text view) bool {
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

// cursor goes through a stretch of the text character by character.
type cursor struct {
	table *pieceTable
	fib   *fib
	chars *charset
	index int // of the piece
	next  int // character that is to come
	to    int

	// What was read last: which character it is, where it is in the main stream, and where its piece is read up to.
	char, offset int
	rune         rune
}

// charset tells what the bytes of a code page are.
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

// double tells code pages in which characters may have two bytes.
func (c *charset) double() bool {
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

// piece returns the piece of the character that was read last.
func (c *cursor) piece() *piece { return &c.table.pieces[c.index] }

// step reads a character; false at the end.
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
	if p.wide {
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
	if c.rune == '\uFFFD' && b >= 0x80 && !last && c.chars.double() {
		if both := []rune(cfb.Decode(c.chars.codePage, c.fib.main.part(c.offset, 2))); len(both) == 1 {
			c.rune = both[0]
			c.next++
		}
	}
	return true
}
