package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/testkit"
)

// replicated is a fixture whose server has a streaming replica, with an engine of each tier
// that reads it.
type replicated struct {
	*fixture
	replica  *devstack.Replica
	readers  *replica.Readers
	control  *pgx.Conn // to the replica, as superuser
	resident *search.Engine
	stored   *search.Engine
}

// migratedCluster returns the database of a PostgreSQL of the test's own.
func migratedCluster(t testing.TB) (*devstack.Stack, *testkit.DB) {
	t.Helper()
	stack := testkit.MigratedCluster(t)
	return stack, &testkit.DB{Name: devstack.DefaultDatabase, OwnerURL: stack.OwnerURL, AppURL: stack.DatabaseURL, AdminURL: stack.AdminURL}
}

func newReplicated(t testing.TB, settings ...string) *replicated {
	t.Helper()
	stack, urls := migratedCluster(t)
	r := &replicated{fixture: fixtureAt(t, urls), replica: testkit.Replica(t, stack, settings...)}
	r.control = r.connect()
	r.readers = r.open(r.replica.DatabaseURL)
	r.resident = newEngine(t, r.db, analysis.New(), r.models, search.Options{Readers: r.readers})
	r.stored = newEngine(t, r.db, analysis.New(), r.models, search.Options{Memory: -1, Readers: r.readers})
	return r
}

func (r *replicated) open(urls ...string) *replica.Readers {
	r.Helper()
	readers, err := r.db.Readers(r.Context(), urls, 8, nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(readers.Close)
	return readers
}

func (r *replicated) connect() *pgx.Conn {
	r.Helper()
	conn, err := pgx.Connect(r.Context(), r.replica.AdminURL)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// flushed returns the position after everything that was committed, which the replica gets.
func (r *replicated) flushed() (end string) {
	r.Helper()
	// Commits are not flushed at once here, and only what is flushed is sent.
	r.exec("set synchronous_commit = on")
	r.exec("select pg_logical_emit_message(true, 'test', 'flush')")
	if err := r.owner.QueryRow(r.Context(), "select pg_current_wal_flush_lsn()::text").Scan(&end); err != nil {
		r.Fatal(err)
	}
	return end
}

// caughtUp waits until the replica has replayed everything.
func (r *replicated) caughtUp() {
	r.Helper()
	end := r.flushed()
	testkit.WaitFor(r, "the replica", func() (reached bool) {
		if err := r.control.QueryRow(r.Context(), "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", end).Scan(&reached); err != nil {
			r.Fatal(err)
		}
		return reached
	})
}

func (r *replicated) pause() {
	r.Helper()
	if _, err := r.control.Exec(r.Context(), "select pg_wal_replay_pause()"); err != nil {
		r.Fatal(err)
	}
	testkit.WaitFor(r, "the pause of the replica", func() (paused bool) {
		if err := r.control.QueryRow(r.Context(), "select pg_get_wal_replay_pause_state() = 'paused'").Scan(&paused); err != nil {
			r.Fatal(err)
		}
		return paused
	})
}

func (r *replicated) resume() {
	r.Helper()
	if _, err := r.control.Exec(r.Context(), "select pg_wal_replay_resume()"); err != nil {
		r.Fatal(err)
	}
	r.caughtUp()
}

// reads runs do and returns the reads that it caused: on replicas, and on the primary by
// reason.
func (r *replicated) reads(do func()) (onReplicas int64, onPrimary map[string]int64) {
	before := r.readers.Stats()
	do()
	after := r.readers.Stats()
	onPrimary = map[string]int64{}
	for reason, n := range after.OnPrimary {
		if n -= before.OnPrimary[reason]; n > 0 {
			onPrimary[reason] = n
		}
	}
	return after.OnReplicas - before.OnReplicas, onPrimary
}

// sees checks what every kind of read finds of a word that documents have.
func (r *replicated) sees(engine *search.Engine, id tenant, word string, documents int, one uuid.UUID) {
	r.Helper()
	q := search.Query{Text: word, Limit: 20, Distinct: search.DistinctDocument, Facets: &search.FacetQuery{Fields: []search.Field{search.FieldSource}, Values: 5}}
	results, err := engine.Search(r.Context(), id.scope, q)
	if err != nil {
		r.Fatal(err)
	}
	if len(results.Hits) != documents || results.Facets[0].Documents != documents {
		r.Errorf("%s: %d hits and %d counted, want %d", word, len(results.Hits), results.Facets[0].Documents, documents)
	}
	facets, err := engine.Facets(r.Context(), id.scope, q)
	if err != nil {
		r.Fatal(err)
	}
	if facets[0].Documents != documents {
		r.Errorf("%s: facets count %d, want %d", word, facets[0].Documents, documents)
	}
	suggestions, err := engine.Complete(r.Context(), id.scope, search.Query{Text: word, Limit: 10})
	if err != nil {
		r.Fatal(err)
	}
	if len(suggestions.Titles) != documents {
		r.Errorf("%s: %d titles, want %d", word, len(suggestions.Titles), documents)
	}
	standing, err := engine.Standing(r.Context(), id.scope, q, one, id.collection)
	if err != nil {
		r.Fatal(err)
	}
	if standing.Readable != (documents > 0) {
		r.Errorf("%s: readable %t with %d documents", word, standing.Readable, documents)
	}
}

func text(word string) string { return "# About " + word + "\n\nThe " + word + " is described here." }

func TestReadsUseAReplicaThatHasWhatTheyMustSee(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	id := r.tenant()
	first := r.add(id, "first.md", text("heron"), nil)
	r.caughtUp()
	engines := map[string]*search.Engine{"resident": r.resident, "stored": r.stored}
	for name, engine := range engines {
		on, primary := r.reads(func() { r.sees(engine, id, "heron", 1, first) })
		if on == 0 || len(primary) != 0 {
			t.Errorf("%s: %d reads on the replica, on the primary %v", name, on, primary)
		}
	}

	// A replica that stands still: every search sees every write at once.
	r.pause()
	second := r.add(id, "second.md", "# More about herons\n\nA heron is a bird.", nil)
	for name, engine := range engines {
		_, primary := r.reads(func() { r.sees(engine, id, "heron", 2, second) })
		if primary["behind"] == 0 {
			t.Errorf("%s: no read was given to the primary because the replica is behind: %v", name, primary)
		}
	}
	r.exec("select set_config('magpie.workspace', $1, false)", id.workspace.String())
	for name, engine := range engines {
		other := r.collection(id, name, "builtin-static-256-2") // it does not exist on the replica
		found := r.add(other, "third.md", text("egret"), nil)
		other.scope, _ = id.scope.Narrow(other.collection)
		r.sees(engine, other, "egret", 1, found)
	}
	r.exec("update connectors set deleting_at = now() where id = $1", id.connector)
	for _, engine := range engines {
		results, err := engine.Search(t.Context(), id.scope, search.Query{Text: "heron", Limit: 5, Collection: &id.collection})
		if err != nil {
			t.Fatal(err)
		}
		if len(results.Hits) != 0 {
			t.Errorf("%d documents of a deleted connector were found", len(results.Hits))
		}
	}
	r.exec("update connectors set deleting_at = null where id = $1", id.connector)

	r.resume()
	for name, engine := range engines {
		on, primary := r.reads(func() {
			if _, err := engine.Search(t.Context(), id.scope, search.Query{Text: "heron describes " + name, Limit: 5}); err != nil {
				t.Fatal(err)
			}
		})
		if name == "stored" && on == 0 || len(primary) != 0 {
			t.Errorf("%s: %d reads on the replica, on the primary %v", name, on, primary)
		}
	}
}

// canceler is a reranker that makes replay cancel what runs on the replica.
type canceler struct{ once func() }

func (canceler) Model() string { return "canceler" }

func (c canceler) Rerank(_ context.Context, _ string, passages []string) ([]float64, error) {
	c.once()
	return make([]float64, len(passages)), nil
}

// conflict makes replay cancel the transactions of the replica that have read a table.
func (r *replicated) conflict(table string) {
	r.Helper()
	tx, err := r.owner.Begin(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if _, err := tx.Exec(r.Context(), "lock table "+table+" in access exclusive mode"); err != nil {
		r.Fatal(err)
	}
	if err := tx.Commit(r.Context()); err != nil {
		r.Fatal(err)
	}
	end := r.flushed()
	// Replay has passed the lock, or waits for a reader that is canceled when it goes on.
	testkit.WaitFor(r, "the conflict", func() (met bool) {
		const query = "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn or exists (select from pg_locks where not granted)"
		if err := r.control.QueryRow(r.Context(), query, end).Scan(&met); err != nil {
			r.Fatal(err)
		}
		return met
	})
}

func TestAReadThatReplayCancelsIsRepeatedOnThePrimary(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, "max_standby_streaming_delay = 0", "hot_standby_feedback = off")
	id := r.tenant()
	r.add(id, "first.md", text("heron"), nil)
	r.caughtUp()
	var once sync.Once
	engine := newEngine(t, r.db, analysis.New(), r.models, search.Options{
		Memory: -1, Readers: r.readers, Reranker: canceler{func() { once.Do(func() { r.conflict("search_settings") }) }},
	})
	on, primary := r.reads(func() { // the facets are counted after the results are reranked
		results, err := engine.Search(t.Context(), id.scope, search.Query{Text: "heron", Limit: 5, Facets: &search.FacetQuery{Fields: []search.Field{search.FieldSource}, Values: 5}})
		if err != nil {
			t.Fatal(err)
		}
		if len(results.Hits) != 1 || results.Facets[0].Documents != 1 {
			t.Errorf("%d hits and %d counted, want 1 of each", len(results.Hits), results.Facets[0].Documents)
		}
	})
	// The replica ends the connection of a transaction that waits for its client, who may
	// meet the closed connection before he reads why.
	if on != 1 || primary["conflict"]+primary["unavailable"] != 1 || len(primary) != 1 {
		t.Errorf("%d reads on the replica, on the primary %v", on, primary)
	}
	if state := r.readers.Stats().Replicas[0]; !state.Used {
		t.Error("the replica is left out after a conflict")
	}
}

// rereader counts the documents of a read and interrupts it at the first.
type rereader struct {
	begun, documents int
	interrupt        func()
}

func (c *rereader) Begin(index.Position, string, bool) error {
	c.begun++
	c.documents = 0
	return nil
}

func (c *rereader) Entry(*index.Entry) error {
	if c.documents++; c.documents == 1 && c.begun == 1 {
		c.interrupt()
	}
	return nil
}

func TestALoadThatReplayCancelsStartsOver(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, "max_standby_streaming_delay = 0", "hot_standby_feedback = off")
	id := r.tenant()
	// More than the buffers between the server and the reader hold.
	const documents = 60
	for i := range documents {
		var b strings.Builder
		for j := range 40 {
			fmt.Fprintf(&b, "# Section %d\n\n%s\n\n", j, strings.Repeat(fmt.Sprintf("word%d heron%d egret%d ", i, j, i*j), 40))
		}
		r.add(id, fmt.Sprintf("%d.md", i), b.String(), nil)
	}
	r.caughtUp()
	c := &rereader{interrupt: func() { r.conflict("passage_index") }}
	on, primary := r.reads(func() {
		store := index.New(r.db.Pool, analysis.New()).ReadFrom(r.readers)
		if err := store.Changes(t.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, c); err != nil {
			t.Fatal(err)
		}
	})
	if c.begun != 2 || c.documents != documents {
		t.Errorf("the read began %d times and told %d documents, want 2 and %d", c.begun, c.documents, documents)
	}
	if on != 1 || primary["conflict"] != 1 {
		t.Errorf("%d reads on the replica, on the primary %v", on, primary)
	}
}

func TestNoSearchFailsWithItsReplica(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	id := r.tenant()
	first := r.add(id, "first.md", text("heron"), nil)
	r.caughtUp()
	ctx, stop := context.WithCancel(t.Context())
	var searches atomic.Int64
	var searching sync.WaitGroup
	for i := range 4 {
		searching.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				engine := r.stored
				if i == 0 {
					engine = r.resident
				}
				q := search.Query{Text: fmt.Sprintf("heron word%d", n), Limit: 5, Facets: &search.FacetQuery{Fields: []search.Field{search.FieldSource}, Values: 5}}
				results, err := engine.Search(ctx, id.scope, q)
				switch {
				case errors.Is(err, context.Canceled):
				case err != nil:
					t.Errorf("search: %v", err)
				case len(results.Hits) != 1 || results.Hits[0].Document != first:
					t.Errorf("%d hits", len(results.Hits))
				}
				searches.Add(1)
			}
		})
	}
	further := func() {
		t.Helper()
		from := searches.Load()
		testkit.WaitFor(t, "further searches", func() bool { return searches.Load() > from+50 })
	}
	further()
	if err := r.replica.Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	further()
	stats := r.readers.Stats()
	if stats.OnPrimary["unavailable"] == 0 || stats.Replicas[0].Used {
		t.Errorf("after the replica was stopped: %+v", stats)
	}
	if err := r.replica.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := stats.OnReplicas
	testkit.WaitFor(t, "the replica to answer reads again", func() bool { return r.readers.Stats().OnReplicas > before })
	further()
	stop()
	searching.Wait()
	t.Logf("%d searches, none failed; %+v", searches.Load(), r.readers.Stats())
}

func TestReplicasAreCheckedAtTheStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t) // of the shared server
	stack, _ := migratedCluster(t)
	_, err := f.db.Readers(t.Context(), []string{stack.DatabaseURL}, 2, nil)
	var mismatch *store.Mismatch
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "another cluster") || !strings.Contains(err.Error(), "DATABASE_READ_URL") {
		t.Errorf("a server of another cluster: %v", err)
	}
	// The primary itself, and a server that is away, are left out.
	readers, err := f.db.Readers(t.Context(), []string{f.urls.AppURL, "postgres://nobody@127.0.0.1:1/none"}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer readers.Close()
	for _, s := range readers.Stats().Replicas {
		if s.Used {
			t.Errorf("%s is used", s.Name)
		}
	}
	engine := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1, Readers: readers})
	id := f.tenant()
	f.add(id, "first.md", text("heron"), nil)
	results, err := engine.Search(t.Context(), id.scope, search.Query{Text: "heron", Limit: 5})
	if err != nil || len(results.Hits) != 1 {
		t.Errorf("%v, %v", results, err)
	}
	if n := readers.Stats().OnPrimary["unavailable"]; n == 0 {
		t.Error("no read was counted for the primary")
	}
}
