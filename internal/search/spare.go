package search

import (
	"runtime"
	"sync/atomic"
)

// spare lends processors that no search needs to one that can use a second. It
// counts searches: with more of them than half of the processors, each keeps to
// its own, as all are busy and handing work over would only cost time.
type spare struct {
	searches atomic.Int32
}

// begin counts a search until the function that it returns is called.
func (s *spare) begin() (end func()) {
	s.searches.Add(1)
	return func() { s.searches.Add(-1) }
}

// both implements [rank.Both]. A panic of either function is the caller's.
func (s *spare) both(first, second func()) {
	if 2*int(s.searches.Load()) > runtime.GOMAXPROCS(0) {
		first()
		second()
		return
	}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		second()
	}()
	// It is waited for even when the first one panics: what it writes to is
	// used again.
	defer func() {
		if p := <-done; p != nil {
			panic(p)
		}
	}()
	first()
}
