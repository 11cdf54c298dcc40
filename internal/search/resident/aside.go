package resident

import "sync"

// leastAside is how many passages are worth a goroutine of their own.
const leastAside = 256

// aside does something beside the caller's own work and returns a function that
// waits for it, which may be called more than once. A panic of it becomes one of
// the first to wait, where the caller's are looked after. What is too small is
// done at once.
func aside(worth bool, f func()) (wait func()) {
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
