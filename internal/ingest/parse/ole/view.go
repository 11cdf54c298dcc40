package ole

import (
	"encoding/binary"
	"math"
)

// view is a part of a file whose numbers can be read without fear: what lies outside of it is zero or empty.
type view []byte

func (v view) u8(at int) int {
	if at < 0 || at >= len(v) {
		return 0
	}
	return int(v[at])
}

func (v view) u16(at int) int {
	if at < 0 || at > len(v)-2 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(v[at:]))
}

// i16 is u16 for a number that may be negative.
func (v view) i16(at int) int {
	n := v.u16(at)
	if n > math.MaxInt16 {
		n -= 1 << 16
	}
	return n
}

// u32 returns a number that is above the length of everything where it would be negative.
func (v view) u32(at int) int {
	if at < 0 || at > len(v)-4 {
		return 0
	}
	return int(min(binary.LittleEndian.Uint32(v[at:]), math.MaxInt32))
}

// part returns length bytes from an offset on, or what there is of them.
func (v view) part(at, length int) view {
	if at < 0 || at >= len(v) || length <= 0 {
		return nil
	}
	return v[at:][:min(length, len(v)-at)]
}

// from returns everything from an offset on.
func (v view) from(at int) view { return v.part(at, len(v)) }

// i32 is u32 for a number that may be negative.
func (v view) i32(at int) int {
	if at < 0 || at > len(v)-4 {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(v[at:]))) //nolint:gosec // the sign is meant
}
