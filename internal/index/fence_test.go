package index_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestAStaleFenceWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	out := f.put(mine, mine.record("old", "text"))
	held := f.job(mine)
	before := f.stats(mine)
	for name, fence := range map[string]index.Fence{
		"an earlier attempt":      {Job: held.Job, Attempt: 0},
		"a later attempt":         {Job: held.Job, Attempt: 2},
		"an unknown job":          {Job: uuid.New(), Attempt: 1},
		"another workspace's job": f.job(theirs),
	} {
		if _, err := f.store.Put(t.Context(), mine.scope, fence, mine.record("new", "text")); !errors.Is(err, index.ErrFenced) {
			t.Errorf("%s: Put: %v", name, err)
		}
		if err := f.store.Refresh(t.Context(), mine.scope, fence, mine.record("old")); !errors.Is(err, index.ErrFenced) {
			t.Errorf("%s: Refresh: %v", name, err)
		}
		if _, err := f.store.SoftDelete(t.Context(), mine.scope, fence, []uuid.UUID{out.Document}); !errors.Is(err, index.ErrFenced) {
			t.Errorf("%s: SoftDelete: %v", name, err)
		}
	}
	if after := f.stats(mine); after != before {
		t.Errorf("the counters went from %+v to %+v", before, after)
	}
	if _, err := f.store.Put(t.Context(), mine.scope, held, mine.record("new", "text")); err != nil {
		t.Errorf("the holder is refused: %v", err)
	}
}

func TestAJobTakenOverWhileItsWriterWorksFencesTheWriter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	held := f.job(id)
	takeover, err := f.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := takeover.Exec(t.Context(), "update sync_jobs set attempt = 2 where id = $1", held.Job); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := f.store.Put(t.Context(), id.scope, held, id.record("a", "text"))
		result <- err
	}()
	f.untilBlocked()
	if err := takeover.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, index.ErrFenced) {
		t.Errorf("Put = %v", err)
	}
	if n := f.count(id, "select count(*) from documents"); n != 0 {
		t.Errorf("%d documents were stored", n)
	}
}

// untilBlocked waits until some connection to the database waits for a lock.
func (f *fixture) untilBlocked() {
	f.Helper()
	watcher, err := pgx.Connect(f.Context(), f.urls.OwnerURL)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = watcher.Close(context.Background()) }()
	testkit.WaitFor(f, "a connection that waits for a lock", func() (blocked bool) {
		if err := watcher.QueryRow(f.Context(), `select exists (
				select from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database())
				or exists (select from pg_locks l join pg_stat_activity a on a.pid = l.pid
					where not l.granted and a.datname = current_database())`).Scan(&blocked); err != nil {
			f.Fatal(err)
		}
		return blocked
	})
}
