package answer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/chat/answer"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// bus carries signals between the keepers of a test.
type bus struct {
	mu   sync.Mutex
	next int
	subs map[int]func(journal.Signal)
}

func (b *bus) Publish(_ context.Context, s journal.Signal) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, deliver := range b.subs {
		deliver(s)
	}
	return nil
}

func (b *bus) Subscribe(_ context.Context, deliver func(journal.Signal)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	n := b.next
	b.subs[n] = deliver
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, n)
	}
}

// fixture is a database with a workspace, for keepers that stand for processes.
type fixture struct {
	*testing.T
	db    *store.DB
	bus   *bus
	owner answer.Owner
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	f := &fixture{T: t, db: db, bus: &bus{subs: map[int]func(journal.Signal){}}}
	f.owner = answer.Owner{Workspace: f.workspace(), Subject: uuid.New()}
	return f
}

func (f *fixture) workspace() uuid.UUID {
	f.Helper()
	row, err := f.db.Ent.Workspace.Create().SetName("Acme").Save(viewer.With(f.Context(), viewer.System(uuid.Nil)))
	if err != nil {
		f.Fatal(err)
	}
	return row.ID
}

func (f *fixture) keeper(o answer.Options) *answer.Keeper {
	f.Helper()
	o.Ent, o.Bus = f.db.Ent, f.bus
	k := answer.New(f.Context(), o)
	f.Cleanup(k.Close)
	return k
}

// begin starts an answer of the pieces that are sent, until send is closed or the answer is
// stopped, which closes stopped.
func (f *fixture) begin(k *answer.Keeper, who answer.Owner) (id uuid.UUID, send chan<- chat.Event, stopped <-chan struct{}) {
	f.Helper()
	said, ended := make(chan chat.Event), make(chan struct{})
	id = uuid.New()
	if err := k.Start(f.Context(), who, id, func(ctx context.Context) (<-chan chat.Event, error) {
		out := make(chan chat.Event)
		go func() {
			defer close(out)
			for {
				select {
				case e, ok := <-said:
					if !ok {
						return
					}
					out <- e
				case <-ctx.Done():
					close(ended)
					return
				}
			}
		}()
		return out, nil
	}); err != nil {
		f.Fatal(err)
	}
	return id, said, ended
}

func (f *fixture) follow(ctx context.Context, k *answer.Keeper, id uuid.UUID, after int) <-chan answer.Event {
	f.Helper()
	c, err := answer.Follow(ctx, k, f.owner, id, after, func(e answer.Event) answer.Event { return e })
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// next expects an event.
func (f *fixture) next(c <-chan answer.Event, seq int, want chat.Event) {
	f.Helper()
	if e, _ := testkit.Receive(f.T, "an event", c); e.Seq != seq || fmt.Sprintf("%#v", e.Data) != fmt.Sprintf("%#v", want) {
		f.Errorf("%d %#v, not %d %#v", e.Seq, e.Data, seq, want)
	}
}

func (f *fixture) exec(statement string, arguments ...any) {
	f.Helper()
	if _, err := f.db.Pool.Exec(f.Context(), statement, arguments...); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) ends(c <-chan answer.Event) {
	f.Helper()
	testkit.WaitFor(f.T, "the end of the events", func() bool {
		select {
		case e, open := <-c:
			if open {
				f.Errorf("an event after the end: %#v", e)
			}
			return !open
		default:
			return false
		}
	})
}

func codeOf(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}

func content(text string) chat.Event { return chat.Content{Delta: text} }

func TestAReaderGoesOnInAnotherProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	here, there := f.keeper(answer.Options{}), f.keeper(answer.Options{})
	id, send, _ := f.begin(here, f.owner)
	start := chat.Start{Conversation: uuid.New(), Collection: uuid.New()}
	sources := chat.Sources{Sources: []chat.Source{{ID: uuid.New(), Title: "Keys <b>", URL: "https://docs.example.com/keys"}}}
	done := chat.Done{Usage: chat.Usage{PromptTokens: 7, CompletionTokens: 3}, Conversation: start.Conversation}
	ctx, leave := context.WithCancel(t.Context())
	first := f.follow(ctx, here, id, 0)
	send <- start
	f.next(first, 1, start)
	send <- content("Press ")
	f.next(first, 2, content("Press "))
	leave()
	second := f.follow(t.Context(), there, id, 1)
	f.next(second, 2, content("Press "))
	send <- content("the “button”.\n")
	f.next(second, 3, content("the “button”.\n"))
	send <- sources
	f.next(second, 4, sources)
	send <- chat.FollowUp{Questions: []string{}}
	f.next(second, 5, chat.FollowUp{Questions: []string{}})
	send <- done
	close(send)
	f.next(second, 6, done)
	f.ends(second)
	late := f.follow(t.Context(), there, id, 5) // after the end
	f.next(late, 6, done)
	f.ends(late)
	f.ends(f.follow(t.Context(), here, id, 99))
}

func TestPiecesThatComeFastAreJoined(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := f.keeper(answer.Options{})
	id, send, _ := f.begin(k, f.owner)
	want := ""
	for i := range 500 {
		text := fmt.Sprintf("%d ", i)
		want += text
		send <- content(text)
	}
	send <- chat.Failed{Code: apierr.Unavailable, Message: "No model."}
	close(send)
	got, n := "", 0
	for e := range f.follow(t.Context(), k, id, 0) {
		if n++; e.Seq != n {
			t.Errorf("the number %d after %d", e.Seq, n-1)
		}
		if c, ok := e.Data.(chat.Content); ok {
			got += c.Delta
		}
	}
	if got != want || n > 250 {
		t.Errorf("%d events with %q", n, got)
	}
}

func TestAnAnswerWithoutAReaderIsStoppedAfterTheGrace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const grace = 600 * time.Millisecond
	here, there := f.keeper(answer.Options{Grace: grace}), f.keeper(answer.Options{Grace: grace})
	_, _, stopped := f.begin(here, f.owner)
	began := time.Now()
	testkit.Receive(t, "the end of an answer that nobody reads", stopped)
	if waited := time.Since(began); waited < grace/2 {
		t.Errorf("stopped after %s", waited)
	}
	id, send, stopped := f.begin(here, f.owner)
	ctx, leave := context.WithCancel(t.Context())
	c := f.follow(ctx, there, id, 0)
	for i := range 8 { // longer than the grace: the reader elsewhere counts
		if err := testkit.Delay(t.Context(), grace/4); err != nil {
			t.Fatal(err)
		}
		send <- content("a")
		f.next(c, i+1, content("a"))
	}
	leave()
	testkit.Receive(t, "the end after the last reader has left", stopped)
	for range c { // until it is closed
	}
}

func TestAnAnswerIsStoppedAtOnceByAnyProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	here, there := f.keeper(answer.Options{Grace: time.Hour}), f.keeper(answer.Options{Grace: time.Hour})
	for name, k := range map[string]*answer.Keeper{"its own": here, "another": there} {
		id, send, stopped := f.begin(here, f.owner)
		c := f.follow(t.Context(), there, id, 0)
		send <- content("Press ")
		f.next(c, 1, content("Press "))
		for who, other := range map[string]answer.Owner{
			"a colleague": {Workspace: f.owner.Workspace, Subject: uuid.New()}, "the same person elsewhere": {Workspace: f.workspace(), Subject: f.owner.Subject},
		} {
			if _, err := k.Stop(t.Context(), other, id); codeOf(err) != apierr.CodeNotFound {
				t.Errorf("%s process, %s: %v", name, who, err)
			}
		}
		if open, err := k.Stop(t.Context(), f.owner, id); err != nil || !open {
			t.Errorf("%s process: %v, %v", name, open, err)
		}
		testkit.Receive(t, "the end of the answer", stopped)
		f.ends(c)
		if open, err := k.Stop(t.Context(), f.owner, id); err != nil || open {
			t.Errorf("%s process, after the end: %v, %v", name, open, err)
		}
	}
}

func TestOnlyTheOwnerReadsAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := f.keeper(answer.Options{})
	id, send, _ := f.begin(k, f.owner)
	defer close(send)
	for name, who := range map[string]answer.Owner{
		"a colleague": {Workspace: f.owner.Workspace, Subject: uuid.New()}, "the same person elsewhere": {Workspace: f.workspace(), Subject: f.owner.Subject}, "nobody": {},
	} {
		if _, err := answer.Follow(t.Context(), k, who, id, 0, func(e answer.Event) answer.Event { return e }); codeOf(err) != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := answer.Follow(t.Context(), k, f.owner, id, -1, func(e answer.Event) answer.Event { return e }); codeOf(err) != apierr.InvalidRequest {
		t.Errorf("a negative number: %v", err)
	}
}

// The process of an answer dies, and a reader in another one learns it.
func TestALostAnswerEndsWithAFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	there := f.keeper(answer.Options{LostAfter: 400 * time.Millisecond})
	id := uuid.New()
	f.exec("insert into answers (id, workspace_id, subject_id, heartbeat_at) values ($1, $2, $3, now() - interval '1 hour')", id, f.owner.Workspace, f.owner.Subject)
	f.exec("insert into answer_events (workspace_id, answer_id, seq, type, data) values ($1, $2, 1, 'content', '{\"Delta\": \"Press\"}')", f.owner.Workspace, id)
	c := f.follow(t.Context(), there, id, 0)
	f.next(c, 1, content("Press"))
	f.next(c, 2, chat.Failed{Code: apierr.Unavailable, Message: "The server that answered went away. Ask again."})
	f.ends(c)
}

func TestAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := f.keeper(answer.Options{Each: 3, Keep: 500 * time.Millisecond})
	var ids []uuid.UUID
	for range 5 {
		id, send, _ := f.begin(k, f.owner)
		c := f.follow(t.Context(), k, id, 0)
		close(send)
		f.ends(c)
		ids = append(ids, id)
	}
	kept := func() (n int) {
		if err := f.db.Pool.QueryRow(t.Context(), "select count(*) from answers where subject_id = $1", f.owner.Subject).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := kept(); n > 3 {
		t.Errorf("%d answers are kept", n)
	}
	testkit.WaitFor(t, "the end of the retention", func() bool { return kept() == 0 })
	if _, err := answer.Follow(t.Context(), k, f.owner, ids[4], 0, func(e answer.Event) answer.Event { return e }); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("after the retention: %v", err)
	}
}

func TestTooManyEventsStopAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := f.keeper(answer.Options{Events: 3})
	_, send, stopped := f.begin(k, f.owner)
	for range 4 {
		send <- content("a")
	}
	testkit.Receive(t, "the end", stopped)
}

func TestCloseStopsAnswersAndReaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := f.keeper(answer.Options{})
	id, send, stopped := f.begin(k, f.owner)
	c := f.follow(t.Context(), k, id, 0)
	send <- content("a")
	f.next(c, 1, content("a"))
	k.Close()
	testkit.Receive(t, "the end", stopped)
	f.ends(c)
	begin := func(context.Context) (<-chan chat.Event, error) { return nil, nil } //nolint:nilnil // is not called
	if err := k.Start(t.Context(), f.owner, uuid.New(), begin); codeOf(err) != apierr.Unavailable {
		t.Errorf("after Close: %v", err)
	}
	if _, err := answer.Follow(t.Context(), k, f.owner, id, 0, func(e answer.Event) answer.Event { return e }); codeOf(err) != apierr.Unavailable {
		t.Errorf("after Close: %v", err)
	}
	k.Close()
}

func TestStartReturnsTheErrorOfItsBeginning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k := f.keeper(answer.Options{})
	refused := errors.New("no model")
	if err := k.Start(t.Context(), f.owner, uuid.New(), func(context.Context) (<-chan chat.Event, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}
