package resident

// For tests: both ways to multiply must agree.
func Dot(a []int8, b []int16) int      { return dot(a, b) }
func DotPlain(a []int8, b []int16) int { return dotPlain(a, b) }
