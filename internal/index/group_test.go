package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

// storedAtOnce bounds the transactions that store new documents of a job at a time.
const storedAtOnce = 2

// A queue is a job whose first documents wait for its row, so that new documents after
// them stand in line.
type queue struct {
	*fixture

	id      tenant
	fence   index.Fence
	first   []*attempt
	holder  pgx.Tx
	release func() // ends the wait
}

func (f *fixture) queue(id tenant) *queue {
	f.Helper()
	q := &queue{fixture: f, id: id, fence: f.job(id)}
	q.holder = f.transaction()
	if _, err := q.holder.Exec(f.Context(), "select from sync_jobs where id = $1 for update", q.fence.Job); err != nil {
		f.Fatal(err)
	}
	q.release = func() { _ = q.holder.Rollback(context.Background()) }
	for i := range storedAtOnce {
		q.first = append(q.first, q.start(f.Context(), q.record(fmt.Sprint("first", i), "text")))
	}
	f.untilWaiting(storedAtOnce)
	return q
}

// transaction begins a transaction on a connection of its own.
func (f *fixture) transaction() pgx.Tx {
	f.Helper()
	connection, err := pgx.Connect(f.Context(), f.urls.OwnerURL)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = connection.Close(context.Background()) })
	tx, err := connection.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return tx
}

// untilWaiting waits until so many connections to the database wait for a lock.
func (f *fixture) untilWaiting(connections int) {
	f.Helper()
	watcher, err := pgx.Connect(f.Context(), f.urls.OwnerURL)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = watcher.Close(context.Background()) }()
	for n := -1; n != connections; {
		// The database waits a little between two looks.
		if err := watcher.QueryRow(f.Context(), `select count(distinct l.pid) from pg_sleep(0.005), pg_locks l join pg_stat_activity a on a.pid = l.pid
			where not l.granted and a.datname = current_database()`).Scan(&n); err != nil {
			f.Fatal(err)
		}
	}
}

// record is a new document of the job.
func (q *queue) record(source string, texts ...string) *index.Record {
	r := q.id.record(source, texts...)
	r.IsNew, r.Ledger = true, index.LedgerEntry{JobID: q.fence.Job, PipelineVersion: 3}
	return r
}

// An attempt is a Put that has begun.
type attempt struct {
	outcome index.Outcome
	err     error
	done    chan struct{}
}

func (q *queue) start(ctx context.Context, r *index.Record) *attempt {
	a := &attempt{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.outcome, a.err = q.store.Put(ctx, q.id.scope, q.fence, r)
	}()
	q.Cleanup(func() { <-a.done })
	return a
}

// A watched context tells when somebody begins to wait for its end.
type watched struct {
	context.Context

	begun func()
}

// Done implements context.Context.
func (w watched) Done() <-chan struct{} {
	w.begun()
	return w.Context.Done()
}

// stand puts a document at the end of the line.
func (q *queue) stand(ctx context.Context, r *index.Record) *attempt {
	begun := make(chan struct{})
	a := q.start(watched{ctx, sync.OnceFunc(func() { close(begun) })}, r)
	<-begun
	return a
}

func (a *attempt) wait() (index.Outcome, error) {
	<-a.done
	return a.outcome, a.err
}

// expectAdded waits for documents, all of which are new.
func (q *queue) expectAdded(attempts ...*attempt) {
	q.Helper()
	for i, a := range attempts {
		if out, err := a.wait(); err != nil || !out.Added {
			q.Errorf("document %d of %d: %+v, %v", i, len(attempts), out, err)
		}
	}
}

// expectTrue compares the counters with the rows and the ledger with the documents.
func (q *queue) expectTrue(want index.Stats) {
	q.Helper()
	got := q.stats(q.id)
	counted, err := q.store.Recount(q.Context(), q.id.scope, q.id.collection)
	if err != nil {
		q.Fatal(err)
	}
	counted.ChangeNumber = got.ChangeNumber
	if got != counted {
		q.Errorf("the counters say %+v, the rows %+v", got, counted)
	}
	want.StorageBytes = got.StorageBytes
	if got != want {
		q.Errorf("the counters say %+v, want %+v", got, want)
	}
	if n := q.count(q.id, `select count(*) from documents d full join sync_items i on i.document_id = d.id
			where d.id is null or i.id is null or i.status <> 'INDEXED' or i.job_id <> $1 or i.source_id <> d.source_id or i.pipeline_version <> 3 or i.path <> d.path`,
		q.fence.Job); n != 0 {
		q.Errorf("the ledger differs from the documents in %d rows", n)
	}
}

func TestNewDocumentsOfAJobShareATransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(f.tenant())
	var line []*attempt
	for i := range 20 {
		line = append(line, q.stand(t.Context(), q.record(fmt.Sprint("new", i), fmt.Sprint("text of ", i), "the same")))
	}
	q.release()
	q.expectAdded(q.first...)
	q.expectAdded(line...)
	q.expectTrue(index.Stats{Documents: 22, Embeddings: 42, ChangeNumber: storedAtOnce + 1})
	if n := f.count(q.id, "select count(*) from sync_items where added"); n != 22 {
		t.Errorf("%d items are added ones", n)
	}
	if n := f.count(q.id, "select count(distinct change_number) from document_changes"); n != storedAtOnce+1 {
		t.Errorf("the documents have %d change numbers", n)
	}
	for i, a := range line {
		if text, err := f.store.Content(t.Context(), q.id.scope, a.outcome.Document); err != nil || text != fmt.Sprintf("text of %dthe same", i) {
			t.Errorf("document %d is %q, %v", i, text, err)
		}
	}
}

func TestALoneDocumentDoesNotWaitForOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	q := &queue{fixture: f, id: id, fence: f.job(id)}
	for i := range 3 {
		q.expectAdded(q.start(t.Context(), q.record(fmt.Sprint("lone", i), "text")))
	}
	q.expectTrue(index.Stats{Documents: 3, Embeddings: 3, ChangeNumber: 3})
}

// Whatever a document has, its rows are those of one that is stored by itself.
func TestADocumentIsTheSameInAGroupAndAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	alone, shared := f.tenant(), f.tenant()
	for _, id := range []tenant{alone, shared} {
		f.exec("insert into document_restrictions (workspace_id, connector_id, source_id, readers) values ($1, $2, 'restricted', '{user:a}')", id.workspace, id.connector)
	}
	at := time.Date(2026, 3, 1, 10, 20, 30, 456_789_000, time.UTC)
	records := func(id tenant) (all []*index.Record) {
		for name, change := range map[string]func(*index.Record){
			"plain":      func(*index.Record) {},
			"restricted": func(*index.Record) {},
			"everything": func(r *index.Record) {
				r.URL, r.Section, r.Version, r.DocType, r.Author, r.SourceVersion, r.Summary = "https://x.example/a", "guides", "v1", "page", "Ann", "etag", "In short."
				r.Tags, r.Pages, r.Metadata = []string{"x", "y"}, 7, map[string]any{"stars": 3, "list": []any{"a", nil, true}}
				r.Readers, r.ReadersAt = []string{"user:b", "group:a", "user:b"}, at
				r.CreatedAt, r.UpdatedAt, r.Bytes, r.Ledger.Reason = at, at.Add(time.Hour), 99, "a note"
				r.Passages[0].Page, r.Passages[0].Sections = 3, []passage.Section{{Anchor: "x", Headings: []string{"A", "B"}}}
				r.Passages[1].Headings, r.Passages[1].Stub = nil, true
			},
			"of nobody":         func(r *index.Record) { r.Readers = []string{} },
			"an unnamed reader": func(r *index.Record) { r.Readers = []string{""} },
			"an odd reader":     func(r *index.Record) { r.Readers = []string{"user:a\x1fuser:b"} },
			"without passages":  func(r *index.Record) { r.Passages, r.Vectors, r.Text = nil, nil, "too short" },
			"unknown":           func(r *index.Record) { r.Language, r.Title, r.Hash, r.Path = "", "", nil, "" },
			"dirty\x00\xff": func(r *index.Record) {
				r.Title, r.Path, r.URL, r.Summary, r.Tags = "a\x00\xff", "a\x00\xff", "\xed\xa0\x80", "\xff", []string{"\x00"}
				r.Passages[0].Headings, r.Passages[0].Anchor = []string{"x\x1fy", "\xff"}, "\x00"
			},
		} {
			r := id.record(name, "first text of "+name, "second text")
			r.ProcessedAt = at
			r.Ledger.PipelineVersion = 3
			change(r)
			all = append(all, r)
		}
		return all
	}
	fence := f.job(alone)
	for _, r := range records(alone) {
		r.Ledger.JobID = fence.Job
		if _, err := f.store.Put(t.Context(), alone.scope, fence, r); err != nil {
			t.Fatal(err)
		}
	}
	q := f.queue(shared)
	var line []*attempt
	odd := 0
	for _, r := range records(shared) {
		r.IsNew, r.Ledger.JobID = true, q.fence.Job
		if strings.Contains(r.SourceID, "reader") {
			line = append(line, q.start(t.Context(), r)) // it is stored by itself
			odd++
			continue
		}
		line = append(line, q.stand(t.Context(), r))
	}
	q.release()
	q.expectAdded(line...)
	if got := f.stats(shared).ChangeNumber; got != int64(storedAtOnce+1+odd) {
		t.Errorf("the documents have %d change numbers", got)
	}
	want, got := f.dump(alone), f.dump(shared)
	for source, rows := range want {
		if got[source] != rows {
			t.Errorf("%q in a group is\n%s\nalone\n%s", source, got[source], rows)
		}
	}
}

// dump returns the rows of documents by source id, without what is never the same.
func (f *fixture) dump(id tenant) map[string]string {
	f.Helper()
	tx, err := f.owner.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(f.Context(), "select set_config('magpie.workspace', $1, true)", id.workspace.String()); err != nil {
		f.Fatal(err)
	}
	const own = "array['id', 'passage_id', 'document_id', 'collection_id', 'connector_id', 'workspace_id', 'job_id', 'created_at', 'updated_at', 'indexed_at']"
	dump := map[string]string{}
	for _, from := range []string{
		"documents d cross join lateral (select d.*) x",
		"document_texts x join documents d on d.id = x.document_id",
		"passages x join documents d on d.id = x.document_id",
		"passage_index x join documents d on d.id = x.document_id",
		"sync_items x join documents d on d.id = x.document_id",
	} {
		query := "select d.source_id, (to_jsonb(x) - " + own + ")::text from " + from + " where d.workspace_id = $1 order by d.source_id, to_jsonb(x)->'ordinal'"
		rows, err := tx.Query(f.Context(), query, id.workspace)
		if err != nil {
			f.Fatal(err)
		}
		var source, row string
		if _, err := pgx.ForEachRow(rows, []any{&source, &row}, func() error {
			dump[source] += row + "\n"
			return nil
		}); err != nil {
			f.Fatalf("%s: %v", query, err)
		}
	}
	return dump
}

func TestTwoDocumentsOfOneItemInALine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(f.tenant())
	older := q.stand(t.Context(), q.record("same", "older"))
	other := q.stand(t.Context(), q.record("other", "text"))
	newer := q.stand(t.Context(), q.record("same", "newer", "and longer"))
	q.release()
	q.expectAdded(older, other)
	out, err := newer.wait()
	if err != nil || out.Added || out.Document != older.outcome.Document {
		t.Errorf("the second document of the item is %+v, %v; the first %+v", out, err, older.outcome)
	}
	q.expectAdded(q.first...)
	q.expectTrue(index.Stats{Documents: 4, Embeddings: 5, ChangeNumber: storedAtOnce + 2})
	if text, err := f.store.Content(t.Context(), q.id.scope, out.Document); err != nil || text != "newerand longer" {
		t.Errorf("the document is %q, %v", text, err)
	}
	if _, added := f.ledger(q.id, "same"); !added {
		t.Error("the item is not an added one of its job any more")
	}
}

func TestADocumentThatIsKnownFallsOutOfItsGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	before := f.put(id, id.record("grows", "one"))
	failed, err := f.store.Fail(t.Context(), id.scope, index.Fence{}, id.record("failed"), "broken")
	if err != nil {
		t.Fatal(err)
	}
	deleted := f.put(id, id.record("deleted", "one"))
	if _, err := f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{deleted.Document}); err != nil {
		t.Fatal(err)
	}
	q := f.queue(id)
	first := q.stand(t.Context(), q.record("new0", "text"))
	grows := q.stand(t.Context(), q.record("grows", "one", "two", "three"))
	again := q.stand(t.Context(), q.record("failed", "well again"))
	back := q.stand(t.Context(), q.record("deleted", "back"))
	second := q.stand(t.Context(), q.record("new1", "text"))
	q.release()
	q.expectAdded(first, second, again, back)
	q.expectAdded(q.first...)
	if out, err := grows.wait(); err != nil || out.Added || out.Document != before.Document {
		t.Errorf("the document that grew is %+v, %v; it was %s", out, err, before.Document)
	}
	if again.outcome.Document != failed || back.outcome.Document != deleted.Document {
		t.Errorf("the documents are %s and %s, they were %s and %s", again.outcome.Document, back.outcome.Document, failed, deleted.Document)
	}
	q.expectTrue(index.Stats{Documents: 7, Embeddings: 9, ChangeNumber: 4 + storedAtOnce + 1 + 3})
}

// A document that the database refuses has its error, and no other one has.
func TestADocumentThatCannotBeStoredFailsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(`create function refuse() returns trigger language plpgsql as $$
		begin
			if new.source_id = 'bad' then
				raise exception 'no' using errcode = '22023';
			end if;
			return new;
		end $$`)
	f.exec("create trigger refuse before insert on documents for each row execute function refuse()")
	q := f.queue(f.tenant())
	var good []*attempt
	var bad *attempt
	for i := range 9 {
		if i == 4 {
			bad = q.stand(t.Context(), q.record("bad", "text"))
		}
		good = append(good, q.stand(t.Context(), q.record(fmt.Sprint("good", i), "text")))
	}
	q.release()
	q.expectAdded(good...)
	q.expectAdded(q.first...)
	var refusal *pgconn.PgError
	if _, err := bad.wait(); !errors.As(err, &refusal) || refusal.Code != "22023" {
		t.Errorf("the bad document: %v", err)
	}
	q.expectTrue(index.Stats{Documents: 11, Embeddings: 11, ChangeNumber: storedAtOnce + 9})
	q.expectAdded(q.start(t.Context(), q.record("later", "text")))
}

func TestACallerThatGivesUpLeavesTheLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(f.tenant())
	ctx, cancel := context.WithCancel(t.Context())
	before := q.stand(t.Context(), q.record("before", "text"))
	impatient := q.stand(ctx, q.record("impatient", "text"))
	after := q.stand(t.Context(), q.record("after", "text"))
	cancel()
	if _, err := impatient.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that gave up: %v", err)
	}
	q.release()
	q.expectAdded(before, after)
	q.expectAdded(q.first...)
	q.expectTrue(index.Stats{Documents: 4, Embeddings: 4, ChangeNumber: storedAtOnce + 1})
}

// contest makes the group of an item wait for a document of it that is not committed.
func (q *queue) contest(source string) (give func()) {
	q.Helper()
	tx := q.transaction()
	if _, err := tx.Exec(q.Context(), `insert into documents (id, created_at, updated_at, workspace_id, connector_id, collection_id, source_id, path, title, tags, status)
		values ($1, now(), now(), $2, $3, $4, $5, 'p', 't', '[]', 'PENDING')`, gid.New(gid.Document), q.id.workspace, q.id.connector, q.id.collection, source); err != nil {
		q.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

// Any of those whose documents are being stored may give up, also the one that stores
// them, and the others do not notice.
func TestACallerThatGivesUpDoesNotFailItsGroup(t *testing.T) {
	t.Parallel()
	for _, gone := range []int{0, 2} {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			q := f.queue(f.tenant())
			ctx, cancel := context.WithCancel(t.Context())
			var group []*attempt
			for i := range 4 {
				own := t.Context()
				if i == gone {
					own = ctx
				}
				group = append(group, q.stand(own, q.record(fmt.Sprint("new", i), "text")))
			}
			give := q.contest("new3")
			q.release()
			q.expectAdded(q.first...)
			f.untilWaiting(1)
			cancel()
			give()
			stored := storedAtOnce
			for i, a := range group {
				out, err := a.wait()
				if err == nil && out.Added {
					stored++
				} else if i != gone || !errors.Is(err, context.Canceled) {
					t.Errorf("document %d: %+v, %v", i, out, err)
				}
			}
			q.expectTrue(index.Stats{Documents: stored, Embeddings: stored, ChangeNumber: storedAtOnce + 1})
		})
	}
}

func TestAGroupEndsWhenAllOfItsCallersGiveUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(f.tenant())
	ctx, cancel := context.WithCancel(t.Context())
	var group []*attempt
	for i := range 4 {
		group = append(group, q.stand(ctx, q.record(fmt.Sprint("new", i), "text")))
	}
	give := q.contest("new3")
	q.release()
	q.expectAdded(q.first...)
	f.untilWaiting(1)
	cancel()
	for i, a := range group {
		if _, err := a.wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("document %d: %v", i, err)
		}
	}
	f.untilWaiting(0) // the database has noticed, too
	give()
	q.expectAdded(q.start(t.Context(), q.record("later", "text")))
	q.expectTrue(index.Stats{Documents: storedAtOnce + 1, Embeddings: storedAtOnce + 1, ChangeNumber: storedAtOnce + 1})
}

func TestALineOfALostJobIsFenced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(f.tenant())
	var all []*attempt
	for i := range 5 {
		all = append(all, q.stand(t.Context(), q.record(fmt.Sprint("new", i), "text")))
	}
	if _, err := q.holder.Exec(t.Context(), "update sync_jobs set attempt = 2 where id = $1", q.fence.Job); err != nil {
		t.Fatal(err)
	}
	if err := q.holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, a := range append(all, q.first...) {
		if _, err := a.wait(); !errors.Is(err, index.ErrFenced) {
			t.Errorf("document %d: %v", i, err)
		}
	}
	if n := f.count(q.id, "select count(*) from documents"); n != 0 {
		t.Errorf("%d documents were stored", n)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ documents, passages, groups int }{
		"in documents": {150, 1, 3},
		"in passages":  {20, 64, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			q := f.queue(f.tenant())
			var line []*attempt
			for i := range c.documents {
				texts := make([]string, c.passages)
				for p := range texts {
					texts[p] = fmt.Sprintf("passage %d of %d", p, i)
				}
				line = append(line, q.stand(t.Context(), q.record(fmt.Sprint("new", i), texts...)))
			}
			q.release()
			q.expectAdded(line...)
			q.expectAdded(q.first...)
			q.expectTrue(index.Stats{
				Documents: c.documents + storedAtOnce, Embeddings: c.documents*c.passages + storedAtOnce, ChangeNumber: int64(storedAtOnce + c.groups),
			})
		})
	}
}

// Documents that are not as new as they say, of few items, from many callers.
func TestConcurrentNewDocumentsLeaveTrueCounters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	q := &queue{fixture: f, id: id, fence: f.job(id)}
	var mu sync.Mutex
	added := map[string]int{}
	var group sync.WaitGroup
	for w := range 12 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 5))
			for range 40 {
				name := fmt.Sprint("doc", random.IntN(150))
				r := q.record(name, []string{"one", "two", "three"}[:1+random.IntN(3)]...)
				r.IsNew = random.IntN(4) > 0
				out, err := f.store.Put(t.Context(), id.scope, q.fence, r)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if out.Added {
					added[name]++
				} else {
					added[name] += 0
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for name, n := range added {
		if n != 1 {
			t.Errorf("%d Puts say that they added %s", n, name)
		}
	}
	got := f.stats(id)
	q.expectTrue(index.Stats{Documents: len(added), Embeddings: got.Embeddings, ChangeNumber: got.ChangeNumber})
	if n := f.count(id, "select count(*) from passages p full join passage_index i on i.passage_id = p.id where p.id is null or i.passage_id is null"); n != 0 {
		t.Errorf("%d passages are not searched, or searched and not there", n)
	}
}
