package syncer

import "context"

// Items are fetched and processed at places, of which a list of items has
// Options.Parallel. A new small document waits for its transaction without its place:
// the next items are processed meanwhile, and the index stores together what waits.

// waitingPerPlace is the number of documents that may wait without a place, for each
// place but the first. They are small, and those that a group stores are followed by
// as many that wait for the next one.
const waitingPerPlace = 8

// places are the places of a list of items. Both channels have a value for each that is
// taken.
type places struct {
	processing chan struct{}
	waiting    chan struct{} // documents without a place
}

func newPlaces(parallel int) *places {
	return &places{
		processing: make(chan struct{}, parallel),
		// With one place, an item has its outcome before the next one is fetched.
		waiting: make(chan struct{}, waitingPerPlace*(parallel-1)),
	}
}

// A place belongs to one item. It is for one goroutine.
type place struct {
	of      *places
	isEmpty bool // the item waits without it
}

// take waits for a place. It returns nil if ctx ends before.
func (p *places) take(ctx context.Context) *place {
	select {
	case p.processing <- struct{}{}:
		return &place{of: p}
	case <-ctx.Done():
		return nil
	}
}

// leave lets another item have the place while the document of this one waits, unless
// too many wait already.
func (p *place) leave() {
	if p.isEmpty {
		return
	}
	select {
	case p.of.waiting <- struct{}{}:
		p.isEmpty = true
		<-p.of.processing
	default:
	}
}

// end ends the work on the item.
func (p *place) end() {
	if p.isEmpty {
		<-p.of.waiting
	} else {
		<-p.of.processing
	}
}
