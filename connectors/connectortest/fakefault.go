package connectortest

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// Call is a kind of call of a source.
type Call string

// The calls that faults are for.
const (
	OnNew     Call = "new"
	OnWalk    Call = "walk"
	OnOpen    Call = "open"
	OnResolve Call = "resolve"
	OnReaders Call = "readers"
	OnCheck   Call = "check"
)

// Fault is what goes wrong at some calls of a [Fake]. What is set of the parts
// that say what happens all happens.
type Fault struct {
	// On is the call it is for, Path, when set, the item or cursor.
	On   Call
	Path string
	// After is how many such calls go well before, Times how many do not: 1 when
	// it is 0, all of them when it is negative.
	After, Times int

	Delay time.Duration // the call takes longer, until its context ends
	Err   error         // is what the call comes to
	Panic bool          // the call panics
	// CutAt, of an Open, is after how many bytes the content breaks off with an
	// error; Short, after how many it ends as if it were whole. 0 is not at all.
	CutAt, Short int64
	// Loop, of a Walk, lets the page name itself as the next one.
	Loop bool
	// Twice, of a Walk, names each item of the page twice.
	Twice bool
	// Stale, of a Walk, gives the items versions that they do not have.
	Stale bool
	// Oversized, of a Walk, adds items beyond every limit of an id, a path, a
	// version and a size, and ones that cannot be stored.
	Oversized bool
}

// Script adds faults. Each counts its calls for itself.
func (f *Fake) Script(faults ...Fault) {
	f.Lock()
	defer f.Unlock()
	for _, fault := range faults {
		if fault.Times == 0 {
			fault.Times = 1
		}
		f.faults = append(f.faults, &fault)
	}
}

// Left counts the faults that have still to come.
func (f *Fake) Left() (n int) {
	f.Lock()
	defer f.Unlock()
	for _, fault := range f.faults {
		if fault.Times > 0 {
			n++
		}
	}
	return n
}

// Repair takes all faults away.
func (f *Fake) Repair() {
	f.Lock()
	defer f.Unlock()
	f.faults = nil
}

// meet counts a call and lets happen what is due; what is left of the fault is
// for the caller.
func (f *Fake) meet(ctx context.Context, on Call, at string) (Fault, error) {
	f.Lock()
	f.calls[on]++
	var due Fault
	for _, fault := range f.faults {
		if fault.On != on || fault.Path != "" && fault.Path != at || fault.Times == 0 {
			continue
		}
		if fault.After > 0 {
			fault.After--
			continue
		}
		fault.Times = max(fault.Times-1, -1)
		due = *fault
		break
	}
	delay := f.Latency + due.Delay
	f.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return due, err
	}
	if due.Panic {
		panic("the fake was told to panic")
	}
	return due, due.Err
}

// spoil makes a page what the fault says.
func (due Fault) spoil(page connectors.Page, cursor string) connectors.Page {
	if due.Stale {
		for i := range page.Items {
			page.Items[i].Version += " of another time"
		}
	}
	if due.Twice {
		page.Items = append(page.Items, page.Items...)
	}
	if due.Oversized {
		page.Items = append(page.Items, oversized()...)
	}
	if due.Loop {
		page.Next, page.Done = cursor, false
	}
	return page
}

// oversized are items that no sync can make documents of.
func oversized() []connectors.Item {
	long := make([]byte, 3*connectors.MaxIDBytes)
	for i := range long {
		long[i] = 'x'
	}
	return []connectors.Item{
		{ID: "", Path: "without-an-id.md"},
		{ID: string(long), Path: "long-id.md"},
		{ID: "nul\x00.md", Path: "nul.md"},
		{ID: "\xff\xfe.md", Path: "no-text.md"},
		{ID: "huge.md", Path: "huge.md", Version: "1", Size: 1 << 50},
		{ID: "long-path", Path: string(long) + ".bin", Version: string(long), Size: -1},
	}
}
