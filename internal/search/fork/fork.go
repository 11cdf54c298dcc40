package fork

import "sync"

// Go does something beside the caller's own work and returns a function that
// waits for it, which may be called more than once and must be called once at
// least, in a defer where the caller may panic. A panic of f becomes one of the
// first to wait, where the caller's are looked after. What is not worth a
// goroutine is done at once.
func Go(worth bool, f func()) (wait func()) {
	if !worth {
		f()
		return func() {}
	}
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
	}()
	return sync.OnceFunc(func() {
		<-done
		if panicked != nil {
			panic(panicked)
		}
	})
}

// Halves calls f for both halves of n things at the same time, or for all of
// them at once where they are fewer than least.
func Halves(n, least int, f func(from, to int)) {
	half := n / 2
	if n < least {
		half = 0
	}
	wait := Go(half > 0, func() {
		if half > 0 {
			f(0, half)
		}
	})
	defer wait()
	f(half, n)
}
