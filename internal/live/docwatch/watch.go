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

// A Filter selects the documents to watch: those of a collection, of a connector in
// it, or a single one.
type Filter struct {
	Collection          uuid.UUID // required
	Connector, Document uuid.UUID // zero: any
	// Owner is the connector of a watched document. The watch ends with it.
	Owner uuid.UUID
}

// owner returns the connector with which the watch ends, or uuid.Nil.
func (f Filter) owner() uuid.UUID {
	if f.Connector != uuid.Nil {
		return f.Connector
	}
	return f.Owner
}

// An Event is a group of changes.
type Event struct {
	// Cursor is the cursor after this event.
	Cursor Cursor
	// Counts are set in the first event only.
	Counts *index.StatusCounts
	// Documents are the changed documents, each once, at most 100.
	Documents []index.DocumentChange
}

// maxChanges is the most documents of an event.
const maxChanges = 100

// A Cursor is a position in the events of a collection.
type Cursor struct {
	Collection uuid.UUID
	At         index.FeedPosition
}

// String returns the cursor as text for clients.
func (c Cursor) String() string {
	b := make([]byte, 0, 40)
	b = append(b, c.Collection[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.At.Number)) //nolint:gosec // never negative
	b = append(b, c.At.Document[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor parses a text of String. Any other text is an invalid request.
func ParseCursor(text string) (Cursor, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != 40 {
		return Cursor{}, apierr.Invalid("after", "is not a cursor of this subscription")
	}
	number := binary.BigEndian.Uint64(b[16:24])
	if number >= 1<<63 {
		return Cursor{}, apierr.Invalid("after", "is not a cursor of this subscription")
	}
	return Cursor{
		Collection: uuid.UUID(b[:16]),
		At:         index.FeedPosition{Number: int64(number), Document: uuid.UUID(b[24:])}, //nolint:gosec // checked above
	}, nil
}

func after(a, b index.FeedPosition) bool {
	return cmp.Or(cmp.Compare(a.Number, b.Number), bytes.Compare(a.Document[:], b.Document[:])) > 0
}

// A watcher is a subscriber.
type watcher struct{ filter Filter }

// matches reports whether the filter selects a document.
func (w *watcher) matches(c *index.DocumentChange) bool {
	return (w.filter.Connector == uuid.Nil || c.Connector == w.filter.Connector) &&
		(w.filter.Document == uuid.Nil || c.Document == w.filter.Document)
}

// mayRead reports whether the readers may see the change of a document. The change of
// a deleted row has only its id.
func mayRead(readers viewer.Readers, c *index.DocumentChange) bool {
	return c.Connector == uuid.Nil || readers.Everything() || !c.Closed && readers.CanRead(c.Readers, c.Restriction)
}

// Watch returns the events of documents in a scope, as converted by convert. The
// caller has checked that the viewer may read the scope. The first event has the
// current counts and, with a cursor, the documents that changed after it. Documents
// that the viewer in ctx may not read are counted and have no events. A slow reader
// gets fewer events with the newest state of each document. Watch closes the channel
// when ctx ends, when the watched object is deleted, and when f is closed.
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
	number, counts, err := f.countDocuments(ctx, narrow, filter)
	if err != nil {
		f.leave(t, w)
		if errors.Is(err, viewer.ErrOutOfScope) {
			return nil, apierr.NotFound("Collection")
		}
		return nil, apierr.Wrap("count the documents to watch", err)
	}
	f.begin(t, number)
	first := Event{Cursor: Cursor{filter.Collection, index.FeedEnd(number)}, Counts: &counts}
	// A cursor beyond the current one is from before a restore of the database.
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

// A reader is the goroutine of a watcher.
type reader[T any] struct {
	feed    *Feed
	topic   *topic
	watcher *watcher
	at      index.FeedPosition
	out     chan<- T
	convert func(Event) T
}

// run sends events until the watch ends.
func (r *reader[T]) run(ctx context.Context, first *Event) {
	f, t := r.feed, r.topic
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		f.mu.Lock()
		changed := t.changed
		ended := t.gone || t.missing[r.watcher.filter.owner()]
		behind := t.known && after(t.at, r.at)
		f.mu.Unlock()
		if ended || ctx.Err() != nil {
			return
		}
		retry.Stop()
		if behind || first.Counts != nil {
			err := r.step(ctx, first)
			if err == nil {
				continue
			}
			if ctx.Err() == nil {
				f.log.WarnContext(ctx, "document changes not read, will retry", slog.Any("error", err))
			}
			retry.Reset(4 * f.poll)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.closing:
			return
		case <-changed:
		case <-retry.C:
		}
	}
}

// errEnded says that the watch has ended.
var errEnded = errors.New("the watch has ended")

// step sends the next changes, from the shared batches or from its own reading.
func (r *reader[T]) step(ctx context.Context, first *Event) error {
	changes, to := r.shared()
	if to == r.at {
		var err error
		if changes, to, err = r.read(ctx); err != nil {
			return err
		}
	}
	readers, err := viewer.ReadersOf(ctx) // each time: a watcher may lose a right
	if err != nil {
		return err
	}
	selected := make([]index.DocumentChange, 0, min(len(changes), maxChanges))
	for i := range changes {
		if !after(changes[i].At, r.at) || !r.watcher.matches(&changes[i]) || !mayRead(readers, &changes[i]) {
			continue
		}
		selected = append(selected, changes[i])
		if len(selected) == maxChanges {
			if !r.sendChanges(ctx, changes[i].At, selected, first) {
				return errEnded
			}
			selected = make([]index.DocumentChange, 0, maxChanges)
		}
	}
	if len(selected) > 0 || first.Counts != nil {
		if !r.sendChanges(ctx, to, selected, first) {
			return errEnded
		}
	}
	r.at = to
	return nil
}

// read reads the changes after the position of the reader, and returns the position
// after them.
func (r *reader[T]) read(ctx context.Context) ([]index.DocumentChange, index.FeedPosition, error) {
	// The position is read first, so that no change in between is skipped.
	r.feed.mu.Lock()
	to := r.at
	if r.topic.known && after(r.topic.at, to) {
		to = r.topic.at
	}
	r.feed.mu.Unlock()
	limitedCtx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	changes, err := r.feed.store.DocumentChanges(limitedCtx, r.topic.scope, r.topic.collection, r.at, batchSize)
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

// shared returns the changes after the position of the reader from the shared batches,
// and the position after them. Without a batch it returns the position of the reader.
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

// sendChanges sends an event with changes.
func (r *reader[T]) sendChanges(ctx context.Context, to index.FeedPosition, changes []index.DocumentChange, first *Event) bool {
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
