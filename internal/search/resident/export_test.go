package resident

// For tests: both ways to compare vectors must agree.
func Dot(a []int8, b []int16) int                    { return dot(a, b) }
func DotPlain(a []int8, b []int16) int               { return dotPlain(a, b) }
func Differ(out []uint16, codes, code []uint64)      { differ(out, codes, code) }
func DifferPlain(out []uint16, codes, code []uint64) { differPlain(out, codes, code) }
