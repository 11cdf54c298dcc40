package index_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
)

// ledger is the status of an item and whether it counts as added.
func (f *fixture) ledger(id tenant, source string) (status string, added bool) {
	f.Helper()
	if err := f.owner.QueryRow(f.Context(), "select status, added from sync_items where connector_id = $1 and source_id = $2",
		id.connector, source).Scan(&status, &added); err != nil {
		f.Fatal(err)
	}
	return status, added
}

func TestTheLedgerMovesWithTheDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	first := f.job(id)
	expect := func(what, status string, added bool) {
		t.Helper()
		if s, a := f.ledger(id, "a"); s != status || a != added {
			t.Errorf("%s: %s, added %v; want %s, %v", what, s, a, status, added)
		}
	}
	write := func(fence index.Fence, refresh bool) {
		t.Helper()
		r := id.record("a", "text")
		r.SourceVersion, r.Ledger = "v1", index.LedgerEntry{JobID: fence.Job, PipelineVersion: 3}
		var err error
		if refresh {
			err = f.store.Refresh(t.Context(), id.scope, fence, r)
		} else {
			_, err = f.store.Put(t.Context(), id.scope, fence, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(first, false)
	expect("a new document", "INDEXED", true)
	write(first, false)
	expect("the same item again in the same job", "INDEXED", true)
	write(first, true)
	expect("unchanged, but indexed by this very job", "INDEXED", true)
	f.exec("update sync_jobs set status = 'COMPLETED' where id = $1", first.Job)
	second := f.job(id)
	write(second, true)
	expect("unchanged in the next job", "UNCHANGED", false)
	write(second, false)
	expect("changed after all", "INDEXED", false)
	if n := f.count(id, `select count(*) from sync_items i join documents d on d.id = i.document_id
			where i.job_id = $1 and i.source_version = 'v1' and i.pipeline_version = 3 and i.path = 'a.md'`, second.Job); n != 1 {
		t.Error("the ledger's row is not what was put")
	}
	var document uuid.UUID
	if err := f.owner.QueryRow(t.Context(), "select id from documents").Scan(&document); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.SoftDelete(t.Context(), id.scope, second, []uuid.UUID{document}); err != nil {
		t.Fatal(err)
	}
	expect("gone from the source", "DELETED", false)
	f.put(id, id.record("b", "text"))
	if n := f.count(id, "select count(*) from sync_items"); n != 1 {
		t.Errorf("a write without a job left %d rows in the ledger", n)
	}
}

func TestRefreshMovesVersionAndTimesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	out := f.put(id, id.record("a", "one", "two"))
	f.exec("update documents set processed_at = '2020-01-01', indexed_at = '2020-01-01', failure = 'broke', status = 'FAILED'")
	before := f.stats(id)
	r := id.record("a")
	r.SourceVersion, r.Path = "v2", "moved/a.md"
	if err := f.store.Refresh(t.Context(), id.scope, index.Fence{}, r); err != nil {
		t.Fatal(err)
	}
	if n := f.count(id, `select count(*) from documents where id = $1 and source_version = 'v2' and path = 'moved/a.md'
			and processed_at > '2025-01-01' and indexed_at = '2020-01-01' and failure is null and status = 'INDEXED' and passage_count = 2`,
		out.Document); n != 1 {
		t.Error("the row is not what a refresh makes of it")
	}
	before.ChangeNumber++ // who watches documents is told that it is well again
	if after := f.stats(id); after != before {
		t.Errorf("the counters went from %+v to %+v", before, after)
	}
	if err := f.store.Refresh(t.Context(), id.scope, index.Fence{}, id.record("unknown")); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("Refresh of an unknown item: %v", err)
	}
}

func TestRefreshBringsADeletedDocumentBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	out := f.put(id, id.record("a", "one", "two"))
	before := f.stats(id)
	if _, err := f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{out.Document}); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Refresh(t.Context(), id.scope, index.Fence{}, id.record("a")); err != nil {
		t.Fatal(err)
	}
	after := f.stats(id)
	after.ChangeNumber = before.ChangeNumber
	if after != before {
		t.Errorf("the counters went from %+v to %+v", before, after)
	}
}
