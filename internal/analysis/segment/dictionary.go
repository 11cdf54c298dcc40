package segment

import (
	_ "embed"
	"encoding/binary"
)

// The dictionaries.
var (
	//go:embed data/thaidict.dict
	thaiWords string
	//go:embed data/laodict.dict
	laoWords string
	//go:embed data/khmerdict.dict
	khmerWords string
	//go:embed data/burmesedict.dict
	burmeseWords string
)

// A dictionary is a set of words of one script: a byte-serialized trie as ICU's
// class BytesTrie defines it (icu/source/common/unicode/bytestrie.h), in which a
// character is one byte, its distance from the start of its script's block.
type dictionary struct {
	trie string
	base rune
}

// open returns the dictionary of a script, of which r is a letter. ok is false
// for other scripts.
func open(r rune) (d dictionary, ok bool) {
	switch {
	case 0x0E00 <= r && r <= 0x0E7F:
		return parse(thaiWords), true
	case 0x0E80 <= r && r <= 0x0EFF:
		return parse(laoWords), true
	case 0x1000 <= r && r <= 0x109F:
		return parse(burmeseWords), true
	case 0x1780 <= r && r <= 0x17FF:
		return parse(khmerWords), true
	}
	return dictionary{}, false
}

// parse reads the header of a dictionary: its own length in the first two bytes,
// and after it eight numbers, of which the first is the offset of the trie and the
// sixth has the base character in its low 21 bits (DictionaryData in
// icu/source/common/dictionarydata.h).
func parse(file string) dictionary {
	body := file[binary.LittleEndian.Uint16([]byte(file[:2])):]
	number := func(i int) uint32 { return binary.LittleEndian.Uint32([]byte(body[4*i : 4*i+4])) }
	return dictionary{trie: body[number(0):], base: rune(number(5) & 0x1FFFFF)} // #nosec G115 -- 21 bits
}

// prefixes calls found with the length, in characters, of each word of the
// dictionary that text begins with, the shortest first.
func (d dictionary) prefixes(text []rune, found func(length int)) {
	at := position{}
	for i, r := range text {
		key, ok := d.key(r)
		if !ok {
			return
		}
		if at, ok = d.next(at, key); !ok {
			return
		}
		if at.run > 0 {
			continue // inside a linear match there is no value
		}
		if node := d.trie[at.offset]; node >= minValueLead {
			found(i + 1)
			if node&isFinal != 0 {
				return
			}
		}
	}
}

// key returns the byte that stands for a character. The two joiners have bytes of
// their own.
func (d dictionary) key(r rune) (byte, bool) {
	switch offset := r - d.base; {
	case r == 0x200D:
		return 0xFF, true
	case r == 0x200C:
		return 0xFE, true
	case 0 <= offset && offset <= 0xFD:
		return byte(offset), true
	}
	return 0, false
}

// Lead bytes of the nodes of a trie.
const (
	minLinearMatch = 0x10 // below: a branch of as many keys and one more
	minValueLead   = 0x20 // below: a linear match; from here on: a value
	isFinal        = 1    // the bit of a value's lead byte after which nothing follows
	maxLinearKeys  = 5    // a branch of more keys begins with a binary search
)

// position is a place in a trie: the offset of the next node, or inside a linear
// match of its next byte, of which run are left.
type position struct{ offset, run int }

// next follows one byte from a position.
func (d dictionary) next(at position, key byte) (position, bool) {
	offset := at.offset
	if at.run > 0 {
		return position{offset + 1, at.run - 1}, d.trie[offset] == key
	}
	for {
		node := int(d.trie[offset])
		offset++
		switch {
		case node < minLinearMatch:
			return d.branch(offset, node, key)
		case node < minValueLead:
			return position{offset + 1, node - minLinearMatch}, d.trie[offset] == key
		case node&isFinal != 0:
			return position{}, false
		default:
			offset += valueBytes(node >> 1)
		}
	}
}

// branch follows one byte from a branch node whose lead byte was count.
func (d dictionary) branch(offset, count int, key byte) (position, bool) {
	if count == 0 {
		count = int(d.trie[offset])
		offset++
	}
	count++
	for count > maxLinearKeys {
		middle := d.trie[offset]
		delta, after := d.delta(offset + 1)
		if key < middle {
			count, offset = count/2, after+delta
		} else {
			count, offset = count-count/2, after
		}
	}
	for ; count > 1; count-- {
		same := d.trie[offset] == key
		lead := int(d.trie[offset+1])
		after := offset + 2 + valueBytes(lead>>1)
		switch {
		case same && lead&isFinal != 0:
			return position{offset: offset + 1}, true // the key's own value
		case same:
			return position{offset: after + d.value(offset+1)}, true // a jump
		}
		offset = after
	}
	return position{offset: offset + 1}, d.trie[offset] == key
}

// Values above which a lead byte, without its lowest bit, is followed by one, two,
// three and four more bytes.
const (
	minOneByte    = 0x10
	minTwoBytes   = 0x51
	minThreeBytes = 0x6C
	fourBytes     = 0x7E
)

// valueBytes returns how many bytes follow the lead byte of a value.
func valueBytes(lead int) int {
	switch {
	case lead < minTwoBytes:
		return 0
	case lead < minThreeBytes:
		return 1
	case lead < fourBytes:
		return 2
	case lead == fourBytes:
		return 3
	}
	return 4
}

// value returns the value whose lead byte is at an offset.
func (d dictionary) value(offset int) int {
	lead := int(d.trie[offset]) >> 1
	size := valueBytes(lead)
	value := 0
	for i := range size {
		value = value<<8 | int(d.trie[offset+1+i])
	}
	switch size {
	case 0:
		return lead - minOneByte
	case 1:
		return (lead-minTwoBytes)<<8 | value
	case 2:
		return (lead-minThreeBytes)<<16 | value
	}
	return value
}

// delta returns the distance that is written at an offset, and the offset after it.
func (d dictionary) delta(offset int) (delta, after int) {
	lead := int(d.trie[offset])
	size, base := 0, 0
	switch {
	case lead < 0xC0:
		return lead, offset + 1
	case lead < 0xF0:
		size, base = 1, lead-0xC0
	case lead < 0xFE:
		size, base = 2, lead-0xF0
	case lead == 0xFE:
		size = 3
	default:
		size = 4
	}
	for i := range size {
		base = base<<8 | int(d.trie[offset+1+i])
	}
	return base, offset + 1 + size
}
