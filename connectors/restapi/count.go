package restapi

import "slices"

// MaxCounted is the number of lists whose counts have room in a cursor.
const MaxCounted = 200

// IsShort reports whether a walk that saw a number of items missed more of those that the
// platform counts than come and go meanwhile: over 1 %, and over one.
func IsShort(seen, count int) bool { return count-seen > max(count/100, 1) }

// Total returns the number of items of a walk: what the platform counts in each of the
// lists, and others that it does not count. It is 0 if a count is missing or -1, which
// stands for one that the platform does not tell.
func Total(counts []int, lists, others int) int {
	if len(counts) != lists || lists == 0 || slices.Min(counts) < 0 {
		return 0
	}
	for _, n := range counts {
		others += n
	}
	return others
}
