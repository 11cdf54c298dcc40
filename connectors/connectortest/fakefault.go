package connectortest

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// A Call is a method of a source, or its constructor.
type Call string

// The calls that a fault can be injected at.
const (
	OnNew     Call = "new"
	OnWalk    Call = "walk"
	OnOpen    Call = "open"
	OnResolve Call = "resolve"
	OnReaders Call = "readers"
	OnCheck   Call = "check"
	OnChanges Call = "changes"
)

// A Fault makes some calls of a [Fake] fail. All effects that are set apply
// together.
type Fault struct {
	// On is the call. Path, if set, is the item or cursor.
	On   Call
	Path string
	// After is the number of matching calls that succeed first. Times is the
	// number that fail then: 0 means 1, a negative number all.
	After, Times int

	Delay time.Duration // how long the call takes, at most until its context ends
	Err   error         // the error of the call
	Panic bool
	// FailAt ends the content of an Open with an error after so many bytes,
	// EndAt without an error. 0 means not at all.
	FailAt, EndAt int64
	// RepeatCursor lets a Walk or Changes return its own cursor as the next one.
	RepeatCursor bool
	// Duplicate lists each item of a Walk twice.
	Duplicate bool
	// Stale gives the items of a Walk versions that they do not have.
	Stale bool
	// Oversized adds items to a Walk whose id, path, version or size is beyond
	// the limits or cannot be stored.
	Oversized bool
}

// Script adds faults. Each counts its own calls.
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

// PendingFaults returns the number of faults that have not happened.
func (f *Fake) PendingFaults() (n int) {
	f.Lock()
	defer f.Unlock()
	for _, fault := range f.faults {
		if fault.Times > 0 {
			n++
		}
	}
	return n
}

// ClearFaults removes all faults.
func (f *Fake) ClearFaults() {
	f.Lock()
	defer f.Unlock()
	f.faults = nil
}

// beginCall counts a call, applies the delay, panic and error of its fault, and
// returns the fault for the other effects.
func (f *Fake) beginCall(ctx context.Context, on Call, at string) (Fault, error) {
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
		panic("injected panic")
	}
	return due, due.Err
}

// alterPage applies the fault to a page.
func (due Fault) alterPage(page connectors.Page, cursor string) connectors.Page {
	if due.Stale {
		for i := range page.Items {
			page.Items[i].Version += " of another time"
		}
	}
	if due.Duplicate {
		page.Items = append(page.Items, page.Items...)
	}
	if due.Oversized {
		page.Items = append(page.Items, oversized()...)
	}
	if due.RepeatCursor {
		page.Next, page.Done = cursor, false
	}
	return page
}

// oversized returns items that cannot become documents.
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
