package rank

// Both runs two functions that do not touch what the other one writes, at the
// same time or one after the other, and returns when both have ended. Whoever
// starts a search knows whether a processor is free for the second one; nil runs
// one after the other.
type Both func(first, second func())

// Run runs two functions.
func (b Both) Run(first, second func()) {
	if b == nil {
		first()
		second()
		return
	}
	b(first, second)
}

// leastHalf is how many things are worth a second processor: waking it up takes
// as long as some tens of them.
const leastHalf = 128

// Halves runs f for the numbers below n: for all of them, or for two halves. f
// is told which half it is, 0 or 1.
func (b Both) Halves(n int, f func(half, from, to int)) {
	if b == nil || n < 2*leastHalf {
		f(0, 0, n)
		return
	}
	b(func() { f(0, 0, n/2) }, func() { f(1, n/2, n) })
}
