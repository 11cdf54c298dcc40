package resident

import "encoding/binary"

// A varint takes one byte below twoBytes, two below threeBytes, three below
// fiveBytes, else five. Most terms of a text have small numbers: a prefix code with
// 24,704 numbers of at most two bytes is smaller than groups of seven bits, and is
// read with one branch.
const (
	twoBytes   = 0x80
	threeBytes = twoBytes + 0x60<<8
	fiveBytes  = threeBytes + 0x1f<<16
)

func varintSize(v uint32) uint32 {
	switch {
	case v < twoBytes:
		return 1
	case v < threeBytes:
		return 2
	case v < fiveBytes:
		return 3
	default:
		return 5
	}
}

func appendVarint(b []byte, v uint32) []byte {
	switch {
	case v < twoBytes:
		return append(b, byte(v))
	case v < threeBytes:
		v -= twoBytes
		return append(b, 0x80|byte(v>>8), byte(v))
	case v < fiveBytes:
		v -= threeBytes
		return append(b, 0xe0+byte(v>>16), byte(v>>8), byte(v))
	default:
		return binary.LittleEndian.AppendUint32(append(b, 0xff), v)
	}
}

// longVarint reads the rest of a varint whose first byte c, at least twoBytes, is
// b[i-1]. It returns the number and the index after the varint. Callers read the
// first byte themselves, because most varints have no other.
func longVarint(c uint32, b []byte, i int) (uint32, int) {
	switch {
	case c < 0xe0:
		return twoBytes + (c-0x80)<<8 + uint32(b[i]), i + 1
	case c < 0xff:
		return threeBytes + (c-0xe0)<<16 + uint32(b[i])<<8 + uint32(b[i+1]), i + 2
	default:
		return binary.LittleEndian.Uint32(b[i:]), i + 4
	}
}
