package docwatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Filter says which documents are watched: those of a collection, or of it only
// those of a connector, or one.
type Filter struct {
	Collection          uuid.UUID // always named
	Connector, Document uuid.UUID // zero: any
	// Owner is the connector of the document that is watched; the watching ends
	// with it.
	Owner uuid.UUID
}

// owner is the connector with which the watching ends; zero for none.
func (f Filter) owner() uuid.UUID {
	if f.Connector != uuid.Nil {
		return f.Connector
	}
	return f.Owner
}

// Event is one piece of news.
type Event struct {
	// Cursor is the position after this event.
	Cursor Cursor
	// Counts are set in the first event only.
	Counts *index.StatusCounts
	// Documents changed, each once; at most 100.
	Documents []index.DocumentChange
}

// mostChanges bounds the documents of one event.
const mostChanges = 100

// Cursor is a place in the news of a collection.
type Cursor struct {
	Collection uuid.UUID
	At         index.FeedPosition
}

// String is the cursor as clients keep it.
func (c Cursor) String() string {
	b := make([]byte, 0, 40)
	b = append(b, c.Collection[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.Number)) //nolint:gosec // never negative
	b = append(b, c.At.Document[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor reads what String wrote; an invalid request otherwise.
func ParseCursor(text string) (Cursor, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != 40 {
		return Cursor{}, apierr.Invalid("after", "is no cursor of this subscription")
	}
	number := binary.BigEndian.Uint64(b[16:24])
	if number >= 1<<63 {
		return Cursor{}, apierr.Invalid("after", "is no cursor of this subscription")
	}
	return Cursor{
		Collection: uuid.UUID(b[:16]),
		At:         index.FeedPosition{Number: int64(number), Document: uuid.UUID(b[24:])}, //nolint:gosec // checked above
	}, nil
}

func after(a, b index.FeedPosition) bool {
	return cmp.Or(cmp.Compare(a.Number, b.Number), bytes.Compare(a.Document[:], b.Document[:])) > 0
}

// watcher is one who watches.
type watcher struct{ filter Filter }

func (w *watcher) wants(c *index.DocumentChange) bool {
	return (w.filter.Connector == uuid.Nil || c.Connector == w.filter.Connector) &&
		(w.filter.Document == uuid.Nil || c.Document == w.filter.Document)
}

// may reports whether somebody may be told of a document. One whose row is gone
// has nothing but its id.
func may(readers viewer.Readers, c *index.DocumentChange) bool {
	return c.Connector == uuid.Nil || readers.Everything() || !c.Closed && readers.CanRead(c.Readers)
}

// Watch follows documents within a scope, of which the caller has shown that the
// viewer may read them; convert makes events what is wanted. The first event has
// the present numbers, and with a cursor the documents that changed after it.
// Documents that the viewer in ctx may not read are not told of, but counted.
// Who reads slowly gets fewer events, with the newest state of each document.
// The channel is closed when ctx ends, when what is watched is gone or being
// deleted, and when f is closed.
func Watch[T any](ctx context.Context, f *Feed, scope viewer.Scope, filter Filter, from *Cursor, convert func(Event) T) (<-chan T, error) {
	if from != nil && from.Collection != filter.Collection {
		return nil, apierr.Invalid("after", "is a cursor of another collection")
	}
	narrow, err := scope.Narrow(filter.Collection)
	if err != nil {
		return nil, apierr.NotFound("Collection")
	}
	w := &watcher{filter: filter}
	t, ok := f.join(ctx, narrow, w)
	if !ok {
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	number, counts, err := f.count(ctx, narrow, filter)
	if err != nil {
		f.leave(t, w)
		if errors.Is(err, viewer.ErrOutOfReach) {
			return nil, apierr.NotFound("Collection")
		}
		return nil, apierr.Wrap("count the documents to watch", err)
	}
	f.begin(t, number)
	first := Event{Cursor: Cursor{filter.Collection, index.FeedEnd(number)}, Counts: &counts}
	// A position beyond the present one is of a database that was restored since.
	if from != nil && !after(from.At, first.Cursor.At) {
		first.Cursor = *from
	}
	out := make(chan T)
	go func() {
		defer f.leave(t, w)
		defer close(out)
		r := &reader[T]{feed: f, topic: t, watcher: w, at: first.Cursor.At, out: out, convert: convert}
		if from == nil {
			if !r.send(ctx, first) {
				return
			}
			first = Event{}
		}
		r.run(ctx, &first)
	}()
	return out, nil
}

// reader is the goroutine of one who watches.
type reader[T any] struct {
	feed    *Feed
	topic   *topic
	watcher *watcher
	at      index.FeedPosition
	out     chan<- T
	convert func(Event) T
}

// run tells what changes until the end.
func (r *reader[T]) run(ctx context.Context, first *Event) {
	f, t := r.feed, r.topic
	for {
		f.mu.Lock()
		changed := t.changed
		gone := t.gone || t.missing[r.watcher.filter.owner()]
		behind := t.known && after(t.at, r.at)
		f.mu.Unlock()
		if gone || ctx.Err() != nil {
			return
		}
		var again <-chan time.Time
		if behind || first.Counts != nil {
			err := r.step(ctx, first)
			if err == nil {
				continue
			}
			if ctx.Err() == nil {
				f.log.WarnContext(ctx, "changes of watched documents cannot be read at the moment", slog.Any("error", err))
			}
			again = time.After(4 * f.poll)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.closing:
			return
		case <-changed:
		case <-again:
		}
	}
}

// errEnded says that there is nobody to tell any more.
var errEnded = errors.New("the watching has ended")

// step tells the next changes: out of memory where they are there, else read for
// this one alone.
func (r *reader[T]) step(ctx context.Context, first *Event) error {
	changes, to := r.shared()
	if to == r.at {
		var err error
		if changes, to, err = r.read(ctx); err != nil {
			return err
		}
	}
	readers, err := viewer.ReadersOf(ctx) // anew for each: who watches for hours may lose a right meanwhile
	if err != nil {
		return err
	}
	wanted := make([]index.DocumentChange, 0, min(len(changes), mostChanges))
	for i := range changes {
		if !after(changes[i].At, r.at) || !r.watcher.wants(&changes[i]) || !may(readers, &changes[i]) {
			continue
		}
		wanted = append(wanted, changes[i])
		if len(wanted) == mostChanges {
			if !r.tell(ctx, changes[i].At, wanted, first) {
				return errEnded
			}
			wanted = make([]index.DocumentChange, 0, mostChanges)
		}
	}
	if len(wanted) > 0 || first.Counts != nil {
		if !r.tell(ctx, to, wanted, first) {
			return errEnded
		}
	}
	r.at = to
	return nil
}

// read reads the changes after the reader's position, and says how far they go.
func (r *reader[T]) read(ctx context.Context) ([]index.DocumentChange, index.FeedPosition, error) {
	// Taken before the reading: what comes in between is not skipped.
	r.feed.mu.Lock()
	to := r.at
	if r.topic.known && after(r.topic.at, to) {
		to = r.topic.at
	}
	r.feed.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	changes, err := r.feed.store.DocumentChanges(limited, r.topic.scope, r.topic.collection, r.at, batchSize)
	if err != nil {
		return nil, r.at, err
	}
	if n := len(changes); n == batchSize {
		to = changes[n-1].At
	} else if n > 0 {
		if end := index.FeedEnd(changes[n-1].At.Number); after(end, to) {
			to = end
		}
	}
	return changes, to, nil
}

// shared are the changes after the reader's position that are in memory, and
// how far they go; no further than the position when they are not.
func (r *reader[T]) shared() ([]index.DocumentChange, index.FeedPosition) {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	for _, b := range r.topic.batches {
		if !after(b.from, r.at) && after(b.to, r.at) {
			return b.changes, b.to
		}
	}
	return nil, r.at
}

func (r *reader[T]) tell(ctx context.Context, to index.FeedPosition, changes []index.DocumentChange, first *Event) bool {
	e := Event{Cursor: Cursor{r.topic.collection, to}, Counts: first.Counts, Documents: changes}
	if !r.send(ctx, e) {
		return false
	}
	*first = Event{}
	r.at = to
	return true
}

func (r *reader[T]) send(ctx context.Context, e Event) bool {
	select {
	case r.out <- r.convert(e):
		return true
	case <-ctx.Done():
	case <-r.feed.closing:
	}
	return false
}
