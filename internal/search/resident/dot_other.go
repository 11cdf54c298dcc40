//go:build !amd64

package resident

// dot multiplies vectors of the same length.
func dot(a []int8, b []int16) int { return dotPlain(a, b) }
