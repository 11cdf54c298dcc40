package quickselect

import "slices"

const (
	minPartition = 16 // shorter parts of the list are sorted
	maxRounds    = 64 // after which the part is sorted, too
)

// First moves the first n elements of a list to its front, in no particular order, and
// returns them. The order is that of compare, as in slices.SortFunc. First is Hoare's
// quickselect, and sorts where the pivots are unlucky.
func First[T any](list []T, n int, compare func(a, b T) int) []T {
	if n >= len(list) {
		return list
	}
	low, high := 0, len(list)
	for round := 0; high-low > minPartition && round < maxRounds; round++ {
		a, b, c := list[low], list[(low+high)/2], list[high-1]
		if compare(b, a) < 0 {
			a, b = b, a
		}
		if compare(c, b) < 0 {
			b = c
			if compare(b, a) < 0 {
				b = a
			}
		}
		i, j := low, high-1
		for i <= j {
			for compare(list[i], b) < 0 {
				i++
			}
			for compare(b, list[j]) < 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			high = j + 1
		case n > i:
			low = i
		default:
			return list[:n]
		}
	}
	slices.SortFunc(list[low:high], compare)
	return list[:n]
}
