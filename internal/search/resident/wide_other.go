//go:build !amd64

package resident

// dot multiplies vectors of the same length.
func dot(a []int8, b []int16) int { return dotPlain(a, b) }

// differ writes in how many bits each of the codes, one after another, differs
// from a code.
func differ(out []uint16, codes, code []uint64) { differPlain(out, codes, code) }

// prefetch says that a vector is about to be read: here to nobody.
func prefetch([]int8) {}

// prefetchCoded says that the terms of a passage are about to be read: here to nobody.
func prefetchCoded([]uint16) {}
