package sheet

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Types of records (MS-XLS 2.3).
const (
	recordFormula     = 0x0006
	recordEOF         = 0x000A
	recordNote        = 0x001C
	recordDateMode    = 0x0022
	recordFilePass    = 0x002F
	recordContinue    = 0x003C
	recordCodePage    = 0x0042
	recordObject      = 0x005D
	recordBoundSheet  = 0x0085
	recordMulRK       = 0x00BD
	recordRString     = 0x00D6
	recordXF          = 0x00E0
	recordMergedCells = 0x00E5
	recordSST         = 0x00FC
	recordLabelSST    = 0x00FD
	recordTextObject  = 0x01B6
	recordHyperlink   = 0x01B8
	recordNumber      = 0x0203
	recordLabel       = 0x0204
	recordBoolErr     = 0x0205
	recordString      = 0x0207
	recordRK          = 0x027E
	recordFormat      = 0x041E
	recordBOF         = 0x0809
)

// Versions in a BOF record.
const (
	biff5 = 0x0500
	biff8 = 0x0600
)

// records reads a stream of records.
type records struct {
	stream []byte
	at     int
	kind   int
	data   []byte
}

// next reads the next record. It is false at the end. The last record of a truncated stream may be shorter than
// declared.
func (r *records) next() bool {
	if r.at+4 > len(r.stream) {
		return false
	}
	r.kind = int(binary.LittleEndian.Uint16(r.stream[r.at:]))
	size := int(binary.LittleEndian.Uint16(r.stream[r.at+2:]))
	r.at += 4
	r.data = r.stream[r.at:min(r.at+size, len(r.stream))]
	r.at += len(r.data)
	return true
}

// continued returns the data of the record and of its continuations.
func (r *records) continued() *pieces {
	p := &pieces{list: [][]byte{r.data}}
	for r.at+4 <= len(r.stream) && binary.LittleEndian.Uint16(r.stream[r.at:]) == recordContinue {
		if !r.next() {
			break
		}
		p.list = append(p.list, r.data)
	}
	return p
}

// u16 returns a number of the record, 0 beyond its end.
func (r *records) u16(at int) int {
	if at+2 > len(r.data) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(r.data[at:]))
}

func (r *records) u32(at int) uint32 {
	if at+4 > len(r.data) {
		return 0
	}
	return binary.LittleEndian.Uint32(r.data[at:])
}

// pieces reads data that several records contain.
type pieces struct {
	list    [][]byte // the unread rest of each record
	isShort bool     // the data ended too early
}

// rest returns the unread rest of the current piece. It is empty only at the end.
func (p *pieces) rest() []byte {
	for len(p.list) > 0 && len(p.list[0]) == 0 {
		p.list = p.list[1:]
	}
	if len(p.list) == 0 {
		p.isShort = true
		return nil
	}
	return p.list[0]
}

func (p *pieces) u8() int {
	rest := p.rest()
	if len(rest) == 0 {
		return 0
	}
	p.list[0] = rest[1:]
	return int(rest[0])
}

func (p *pieces) u16() int {
	low := p.u8()
	return low | p.u8()<<8
}

func (p *pieces) u32() int {
	low := p.u16()
	return low | p.u16()<<16
}

func (p *pieces) skip(n int) {
	for n > 0 {
		rest := p.rest()
		if len(rest) == 0 {
			return
		}
		passed := min(n, len(rest))
		p.list[0] = rest[passed:]
		n -= passed
	}
}

// Flags of the strings of BIFF8 (MS-XLS 2.5.293).
const (
	flagWide     = 1
	flagExtended = 4
	flagRich     = 8
)

// appendString appends a string of BIFF8 with a number of characters, and skips its formatting. If a string continues
// in the next record, that record starts with flags.
func (p *pieces) appendString(to []byte, characters int) []byte {
	flags := p.u8()
	runs, extension := 0, 0
	if flags&flagRich != 0 {
		runs = p.u16()
	}
	if flags&flagExtended != 0 {
		extension = p.u32()
	}
	to = p.appendCharacters(to, characters, flags&flagWide != 0)
	p.skip(4 * runs)
	p.skip(extension)
	return to
}

func (p *pieces) appendCharacters(to []byte, characters int, wide bool) []byte {
	var high rune // a high surrogate at the end of a record
	for characters > 0 && len(p.list) > 0 {
		rest := p.list[0]
		if wide {
			n := min(characters, len(rest)/2)
			to, high = appendUTF16(to, rest[:2*n], high)
			p.list[0] = rest[2*n:]
			characters -= n
		} else {
			n := min(characters, len(rest))
			for _, b := range rest[:n] {
				to = utf8.AppendRune(to, rune(b))
			}
			p.list[0] = rest[n:]
			characters -= n
		}
		if characters > 0 {
			if p.list = p.list[1:]; len(p.list) > 0 && len(p.list[0]) > 0 {
				wide = p.list[0][0]&flagWide != 0
				p.list[0] = p.list[0][1:]
			}
		}
	}
	if characters > 0 {
		p.isShort = true
	}
	return to
}

// appendUTF16 appends little-endian UTF-16. It takes a high surrogate from the text before, and returns the one at the
// end of this text.
func appendUTF16(to, text []byte, high rune) ([]byte, rune) {
	for i := 0; i+1 < len(text); i += 2 {
		r := rune(binary.LittleEndian.Uint16(text[i:]))
		switch {
		case high != 0 && utf16.IsSurrogate(r):
			r = utf16.DecodeRune(high, r)
			high = 0
		case 0xD800 <= r && r < 0xDC00:
			high = r
			continue
		case utf16.IsSurrogate(r):
			r = utf8.RuneError
		default:
			high = 0
		}
		to = utf8.AppendRune(to, r)
	}
	return to, high
}
