package browser

import (
	"context"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Memory is what a page holds.
type Memory struct {
	// Heap is the size of the objects of its scripts, in bytes.
	Heap int64
	// Nodes are those of its documents, also detached ones; Listeners the event listeners.
	Nodes, Listeners int64
}

// Memory collects the page's garbage and returns what is left.
func (b *Tab) Memory() (m Memory) {
	b.t.Helper()
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		// The second collection gets what the first one's finalizers released.
		for range 2 {
			if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
				return err
			}
		}
		used, _, _, _, err := runtime.GetHeapUsage().Do(ctx)
		if err != nil {
			return err
		}
		m.Heap = int64(used)
		_, m.Nodes, m.Listeners, err = memory.GetDOMCounters().Do(ctx)
		return err
	}))
	return m
}
