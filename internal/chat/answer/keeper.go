package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/live/journal"
)

// An Owner is the person who asked. Only the owner can read an answer.
type Owner struct{ Workspace, Subject uuid.UUID }

// An Event is an event of an answer with its sequence number, from 1. Pieces of the text
// that were stored together are one event.
type Event struct {
	Seq  int
	Data chat.Event
}

// Options configure a Keeper. Ent and Bus are required.
type Options struct {
	Ent *ent.Client
	Bus journal.Bus
	Log *slog.Logger // nil discards

	Grace     time.Duration // that an answer goes on without a reader: 20 s
	Keep      time.Duration // that events are kept after the end: 1 min
	Each      int           // answers kept per owner: 20; the oldest that have ended make room
	Events    int           // the most events of an answer, which is stopped beyond: 20,000
	Heartbeat time.Duration // between signs of life of this process: 5 s
	LostAfter time.Duration // without one an answer counts as lost: 30 s
	Poll      time.Duration // of readers, in case signals are lost: 2 s
}

func (o Options) withDefaults() Options {
	o.Grace, o.Keep = cmp.Or(o.Grace, 20*time.Second), cmp.Or(o.Keep, time.Minute)
	o.Each, o.Events = cmp.Or(o.Each, 20), cmp.Or(o.Events, 20_000)
	o.Heartbeat, o.LostAfter, o.Poll = cmp.Or(o.Heartbeat, 5*time.Second), cmp.Or(o.LostAfter, 30*time.Second), cmp.Or(o.Poll, 2*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// events describes the tables of answers and their events.
var events = journal.Table{
	Streams: "answers", Open: "ended_at is null", Events: "answer_events", ID: "answer_id", Text: typeContent, Field: "Delta",
}

// batchInterval is the time between two events with pieces of the text, storeTimeout that
// of a write.
const (
	batchInterval = 80 * time.Millisecond
	storeTimeout  = 10 * time.Second
)

// A Keeper keeps answers. It is safe for concurrent use, and any number of processes may
// have one. It has two goroutines of its own, and some for each answer and each reader.
type Keeper struct {
	opt         Options
	unsubscribe func()

	mu      sync.Mutex
	closed  bool
	closing chan struct{}
	own     map[uuid.UUID]*answer // of this process
	readers map[uuid.UUID]map[*reader]struct{}
	ended   sync.WaitGroup
}

// An answer is one that this process gives. The mutex of the keeper guards the fields from
// readers on.
type answer struct {
	id     uuid.UUID
	cancel context.CancelFunc

	readers   int
	watchedAt time.Time // when another process last said that it has a reader
	timer     *time.Timer
	done      bool
}

// A reader is one reader of one answer.
type reader struct {
	wake        chan struct{}
	isLocal     bool // the answer is one of this process
	announcedAt time.Time
}

// New returns a Keeper. The caller closes it; the end of ctx has no effect.
func New(ctx context.Context, o Options) *Keeper {
	k := &Keeper{
		opt: o.withDefaults(), closing: make(chan struct{}), own: map[uuid.UUID]*answer{}, readers: map[uuid.UUID]map[*reader]struct{}{},
	}
	ctx = context.WithoutCancel(ctx)
	k.unsubscribe = o.Bus.Subscribe(ctx, k.handle)
	k.ended.Go(func() { k.repeat(ctx, k.opt.Heartbeat, k.beat) })
	k.ended.Go(func() { k.repeat(ctx, min(k.opt.LostAfter, k.opt.Keep)/2, k.sweep) })
	return k
}

// repeat calls do at an interval until Close.
func (k *Keeper) repeat(ctx context.Context, interval time.Duration, do func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-k.closing:
			return
		case <-tick.C:
			if err := do(ctx); err != nil {
				k.opt.Log.WarnContext(ctx, "answers not looked after, will retry", slog.Any("error", err))
			}
		}
	}
}

// handle handles signals of all processes, including this one.
func (k *Keeper) handle(s journal.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch s.Kind {
	case journal.SignalEvents:
		for r := range k.readers[s.Stream] {
			r.poke()
		}
	case journal.SignalWatched:
		if a := k.own[s.Stream]; a != nil {
			a.watchedAt = time.Now()
		}
	case journal.SignalCancel:
		if a := k.own[s.Stream]; a != nil {
			a.cancel()
		}
	}
}

func (r *reader) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// publish sends a signal to the other processes. A lost one is harmless, because they poll.
func (k *Keeper) publish(ctx context.Context, id uuid.UUID, kind journal.SignalKind) {
	if err := k.opt.Bus.Publish(ctx, journal.Signal{Stream: id, Kind: kind}); err != nil && ctx.Err() == nil {
		k.opt.Log.DebugContext(ctx, "answer signal not published", slog.Any("answer", id), slog.Any("error", err))
	}
}

// notify wakes the readers of an answer in all processes.
func (k *Keeper) notify(ctx context.Context, id uuid.UUID) {
	k.handle(journal.Signal{Stream: id, Kind: journal.SignalEvents})
	k.publish(ctx, id, journal.SignalEvents)
}

func errClosing() error {
	return apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
}

// Start starts an answer of an owner with an id. begin returns a channel of events, which
// it closes at the end. Its context has the values of ctx and ends when the answer is
// stopped. Start returns the error of begin. An answer without a reader is stopped after
// the grace.
func (k *Keeper) Start(ctx context.Context, owner Owner, id uuid.UUID, begin func(context.Context) (<-chan chat.Event, error)) error {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return errClosing()
	}
	k.ended.Add(1)
	k.mu.Unlock()
	begun := false
	defer func() {
		if !begun {
			k.ended.Done()
		}
	}()
	base, cancel := context.WithCancel(ent.NewTxContext(context.WithoutCancel(ctx), nil))
	in, err := begin(base)
	if err != nil {
		cancel()
		return err
	}
	if err := k.insert(ctx, owner, id); err != nil {
		cancel()
		for range in { // lets it end
		}
		return apierr.Wrap("keep an answer", err)
	}
	a := &answer{id: id, cancel: cancel}
	k.mu.Lock()
	k.own[id] = a
	k.scheduleStop(a, k.opt.Grace)
	if k.closed {
		cancel()
	}
	k.mu.Unlock()
	begun = true
	go func() {
		defer k.ended.Done()
		defer cancel()
		k.write(base, a, journal.Stream{Workspace: owner.Workspace, ID: id, Attempt: 1}, in)
	}()
	return nil
}

// insert stores the row of an answer, and deletes those of the owner that are too many.
func (k *Keeper) insert(ctx context.Context, owner Owner, id uuid.UUID) error {
	_, err := k.opt.Ent.ExecContext(ctx, `with old as (
			delete from answers where id in (select id from answers where workspace_id = $2::uuid and subject_id = $3::uuid and ended_at is not null
				order by created_at desc offset $4::bigint))
		insert into answers (id, workspace_id, subject_id) values ($1::uuid, $2::uuid, $3::uuid)`,
		id.String(), owner.Workspace.String(), owner.Subject.String(), strconv.Itoa(k.opt.Each-1))
	return err
}

// write stores the events of an answer and its end.
func (k *Keeper) write(ctx context.Context, a *answer, s journal.Stream, in <-chan chat.Event) {
	calm := context.WithoutCancel(ctx) // what was said is kept
	w := journal.NewWriter(events, k.opt.Ent, s, 0, journal.WriterOptions{
		BatchInterval: batchInterval, StoreTimeout: storeTimeout, Stored: func(ctx context.Context) { k.notify(ctx, s.ID) },
	})
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := w.Write(calm); err != nil {
			a.cancel() // nobody could read the rest
		}
	})
	n := 0
	for e := range in {
		if n++; n > k.opt.Events || add(w, e) != nil {
			a.cancel()
		}
	}
	w.Close()
	writing.Wait()
	err := k.end(calm, w, s)
	if err != nil {
		k.opt.Log.ErrorContext(ctx, "answer end not stored", slog.Any("answer", s.ID), slog.Any("error", err))
	}
	k.mu.Lock()
	a.done = true
	a.timer.Stop()
	delete(k.own, s.ID)
	k.mu.Unlock()
	k.notify(calm, s.ID)
}

func add(w *journal.Writer, e chat.Event) error {
	if content, ok := e.(chat.Content); ok {
		return w.AddText(content.Delta)
	}
	return w.Add(typeOf(e), e)
}

// end stores the events that are left, and that the answer has ended.
func (k *Keeper) end(ctx context.Context, w *journal.Writer, s journal.Stream) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if seq, entries := w.Unstored(); len(entries) > 0 {
		if err := events.Insert(ctx, k.opt.Ent, s, seq+1, entries); err != nil {
			return err
		}
	}
	_, err := k.opt.Ent.ExecContext(ctx, "update answers set ended_at = now() where id = $1::uuid and ended_at is null", s.ID.String())
	return err
}

// scheduleStop stops an answer after a time if it has no reader then. The caller holds the
// lock.
func (k *Keeper) scheduleStop(a *answer, after time.Duration) {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(after, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		switch left := k.opt.Grace - time.Since(a.watchedAt); {
		case a.done || a.readers > 0:
		case left > 0:
			k.scheduleStop(a, left)
		default:
			a.cancel()
		}
	})
}

// Follow returns the events of an answer after a sequence number, as converted by convert:
// past events at once and new events as they come. It closes the channel after the last
// event, when ctx ends and when k is closed. An unknown answer, or one of another owner, is
// not found.
func Follow[T any](ctx context.Context, k *Keeper, owner Owner, id uuid.UUID, after int, convert func(Event) T) (<-chan T, error) {
	if after < 0 {
		return nil, apierr.Invalid("after", "must be 0 or more")
	}
	reading := ent.NewTxContext(ctx, nil)
	if _, err := k.isOpen(reading, owner, id); err != nil {
		return nil, err
	}
	r := &reader{wake: make(chan struct{}, 1)}
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil, errClosing()
	}
	k.ended.Add(1)
	k.enter(id, r)
	k.mu.Unlock()
	out := make(chan T)
	go func() {
		defer k.ended.Done()
		defer close(out)
		defer k.leave(id, r)
		journal.Follow(reading, journal.Reader{
			Read: func(ctx context.Context, after int64, limit int) ([]journal.Event, error) {
				return events.Read(ctx, k.opt.Ent, journal.Stream{Workspace: owner.Workspace, ID: id}, after, limit)
			},
			Open: func(ctx context.Context) (bool, error) { return k.isOpen(ctx, owner, id) },
			Last: func(e journal.Event) bool { return e.Type == typeDone || e.Type == typeFailed },
			Announce: func(ctx context.Context) {
				if !r.isLocal && time.Since(r.announcedAt) > k.opt.Grace/6 {
					r.announcedAt = time.Now()
					k.publish(ctx, id, journal.SignalWatched)
				}
			},
			AwaitLast: func(context.Context) bool { return false },
			Wake:      r.wake, Closing: k.closing, Every: min(k.opt.Poll, k.opt.Grace/5), Log: k.opt.Log,
		}, int64(after), out, func(e journal.Event) T { return convert(Event{Seq: int(e.Seq), Data: decode(e.Type, e.Data)}) })
	}()
	return out, nil
}

// enter and leave count the readers of an answer. After the last one, it goes on for the
// grace. The caller of enter holds the lock.
func (k *Keeper) enter(id uuid.UUID, r *reader) {
	if k.readers[id] == nil {
		k.readers[id] = map[*reader]struct{}{}
	}
	k.readers[id][r] = struct{}{}
	if a := k.own[id]; a != nil {
		a.readers++
		r.isLocal = true
	}
}

func (k *Keeper) leave(id uuid.UUID, r *reader) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.readers[id], r)
	if len(k.readers[id]) == 0 {
		delete(k.readers, id)
	}
	if a := k.own[id]; a != nil && r.isLocal {
		if a.readers--; a.readers == 0 {
			k.scheduleStop(a, k.opt.Grace)
		}
	}
}

// Stop stops an answer of an owner at once, whichever process gives it. It reports whether
// the answer was still open. An unknown answer, or one of another owner, is not found. If
// another process does not learn of it, the answer ends after the grace.
func (k *Keeper) Stop(ctx context.Context, owner Owner, id uuid.UUID) (wasOpen bool, err error) {
	if wasOpen, err = k.isOpen(ctx, owner, id); err != nil || !wasOpen {
		return false, err
	}
	k.handle(journal.Signal{Stream: id, Kind: journal.SignalCancel})
	k.publish(ctx, id, journal.SignalCancel)
	return true, nil
}

// isOpen reports whether more events of an answer may come.
func (k *Keeper) isOpen(ctx context.Context, owner Owner, id uuid.UUID) (open bool, err error) {
	rows, err := k.opt.Ent.QueryContext(ctx, "select ended_at is null from answers where id = $1::uuid and workspace_id = $2::uuid and subject_id = $3::uuid",
		id.String(), owner.Workspace.String(), owner.Subject.String())
	if err != nil {
		return false, apierr.Wrap("read an answer", err)
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return false, apierr.Wrap("read an answer", err)
		}
		return false, apierr.New(apierr.CodeNotFound, "Answer not found; it ended some time ago")
	}
	if err := rows.Scan(&open); err != nil {
		return false, apierr.Wrap("read an answer", err)
	}
	return open, nil
}

// beat says that the answers of this process go on.
func (k *Keeper) beat(ctx context.Context) error {
	k.mu.Lock()
	ids := make([]string, 0, len(k.own))
	for id := range k.own {
		ids = append(ids, id.String())
	}
	k.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.opt.Heartbeat)
	defer cancel()
	_, err := k.opt.Ent.ExecContext(ctx, "update answers set heartbeat_at = now() where id = any ($1::text::uuid[]) and ended_at is null", "{"+strings.Join(ids, ",")+"}")
	return err
}

// sweep ends the answers whose process has gone, and deletes those that ended long ago.
func (k *Keeper) sweep(ctx context.Context) error {
	lost, err := json.Marshal(chat.Failed{Code: apierr.Unavailable, Message: "The server that answered went away. Ask again."})
	if err != nil {
		return err
	}
	rows, err := k.opt.Ent.QueryContext(ctx, `with expired as (delete from answers where ended_at < now() - make_interval(secs => $1::float8)),
		lost as (
			select id from answers where ended_at is null and heartbeat_at < now() - make_interval(secs => $2::float8) order by id limit 100 for no key update skip locked),
		gone as (update answers set ended_at = now() from lost where answers.id = lost.id returning answers.id, answers.workspace_id)
		insert into answer_events (workspace_id, answer_id, seq, type, data)
		select workspace_id, id, (select coalesce(max(e.seq), 0) + 1 from answer_events e where e.answer_id = gone.id), $3::text, $4::jsonb from gone returning answer_id::text`,
		k.opt.Keep.Seconds(), k.opt.LostAfter.Seconds(), typeFailed, string(lost))
	if err != nil {
		return fmt.Errorf("end lost answers: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return fmt.Errorf("end lost answers: %w", err)
		}
		if id, err := uuid.Parse(text); err == nil {
			k.notify(ctx, id)
		}
	}
	return rows.Err()
}

// Close stops the answers of this process and waits for them and all readers. It may be
// called again.
func (k *Keeper) Close() {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.closing)
		for _, a := range k.own {
			a.cancel()
		}
	}
	k.mu.Unlock()
	k.ended.Wait()
	k.unsubscribe()
}
