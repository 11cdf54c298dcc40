package journal

import (
	"context"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	// pageSize bounds the events that a reader gets at once.
	pageSize = 500
	// farewell bounds the time of a reader for the rest, while its process closes.
	farewell = time.Second
)

// A Reader follows one stream. All fields but Log are required.
type Reader struct {
	// Read returns events after a number, at most limit, and Open reports whether others
	// may follow. The error not_found ends the following; others are tried again.
	Read func(ctx context.Context, after int64, limit int) ([]Event, error)
	Open func(ctx context.Context) (bool, error)
	// Last reports whether nothing follows an event.
	Last func(Event) bool
	// Announce tells the process of the stream that it has a reader. It is called often.
	Announce func(ctx context.Context)
	// AwaitLast waits a moment for the last event of a stream that this closing process
	// ends, and reports whether to read again.
	AwaitLast func(ctx context.Context) bool
	Wake      <-chan struct{} // new events
	Closing   <-chan struct{} // closed when the process closes
	Every     time.Duration   // between two looks without a Wake
	Log       *slog.Logger    // nil discards
}

// Follow sends the events after a number to out, as converted by convert. It returns after
// the last event, when ctx ends, when the stream is deleted, and when the process closes.
func Follow[T any](ctx context.Context, r Reader, after int64, out chan<- T, convert func(Event) T) {
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	for {
		r.Announce(ctx)
		open, err := r.Open(ctx)
		var events []Event
		if err == nil {
			events, err = r.Read(ctx, after, pageSize)
		}
		switch {
		case ctx.Err() != nil || apierr.From(err).Code == apierr.CodeNotFound:
			return
		case err != nil:
			r.Log.WarnContext(ctx, "events not read, will retry", slog.Any("error", err))
		case len(events) == 0 && !open:
			return // all events of the ended stream have been read
		}
		for _, e := range events {
			if !send(ctx, r, out, convert(e), tick.C) {
				return
			}
			if after = e.Seq; r.Last(e) {
				return
			}
		}
		if len(events) == pageSize {
			continue
		}
		select {
		case <-r.Wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-r.Closing:
			if !r.AwaitLast(ctx) {
				return
			}
		}
	}
}

// send passes an event to the reader and reports whether the reader is still there. While
// the process closes, the reader has a second left.
func send[T any](ctx context.Context, r Reader, out chan<- T, e T, tick <-chan time.Time) bool {
	closing := r.Closing
	late := time.NewTimer(time.Hour)
	late.Stop() // starts when the process closes
	defer late.Stop()
	for {
		select {
		case out <- e:
			return true
		case <-tick:
			r.Announce(ctx)
		case <-closing:
			closing = nil
			late.Reset(farewell)
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
