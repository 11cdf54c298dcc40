package ole

import (
	"encoding/binary"
	"math"
)

// A view is a part of a file. Bytes outside of it read as zero or empty.
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

// i16 returns a signed number.
func (v view) i16(at int) int {
	n := v.u16(at)
	if n > math.MaxInt16 {
		n -= 1 << 16
	}
	return n
}

// u32 returns an unsigned number. Numbers above math.MaxInt32 are returned as that.
func (v view) u32(at int) int {
	if at < 0 || at > len(v)-4 {
		return 0
	}
	return int(min(binary.LittleEndian.Uint32(v[at:]), math.MaxInt32))
}

// part returns length bytes at an offset, or as many as there are.
func (v view) part(at, length int) view {
	if at < 0 || at >= len(v) || length <= 0 {
		return nil
	}
	return v[at:][:min(length, len(v)-at)]
}

// from returns the bytes from an offset.
func (v view) from(at int) view { return v.part(at, len(v)) }

// i32 returns a signed number.
func (v view) i32(at int) int {
	if at < 0 || at > len(v)-4 {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(v[at:]))) //nolint:gosec // the sign is meant
}
