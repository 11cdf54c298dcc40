package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// follower is a reader that keeps what it is told.
type follower struct {
	at        index.Position
	model     string
	documents map[uuid.UUID]index.Entry
	told      int // entries of the last call
	all       bool
	order     []uuid.UUID
}

func (r *follower) Begin(at index.Position, model string, all bool) error {
	r.at, r.model, r.told, r.all, r.order = at, model, 0, all, nil
	if all || r.documents == nil {
		r.documents = map[uuid.UUID]index.Entry{}
	}
	return nil
}

func (r *follower) Entry(e *index.Entry) error {
	r.told++
	r.order = append(r.order, e.Document)
	if !e.Live {
		if r.all || !reflect.DeepEqual(*e, index.Entry{Document: e.Document, Passages: e.Passages}) || len(e.Passages) > 0 {
			return fmt.Errorf("a document that is gone is told as %+v", e)
		}
		delete(r.documents, e.Document)
		return nil
	}
	kept := *e
	kept.Tags, kept.Readers = slices.Clone(e.Tags), slices.Clone(e.Readers)
	kept.Passages = slices.Clone(e.Passages)
	for i := range kept.Passages {
		p := &kept.Passages[i]
		p.Lexemes, p.Vector = slices.Clone(p.Lexemes), slices.Clone(p.Vector)
	}
	r.documents[e.Document] = kept
	return nil
}

// follow reads on from where the follower is.
func (f *fixture) follow(id tenant, r *follower) {
	f.Helper()
	if err := f.store.Changes(f.Context(), id.scope, index.State{Collection: id.collection}, r.at, r); err != nil {
		f.Fatal(err)
	}
}

// agrees checks that a follower has what a fresh reader gets.
func (f *fixture) agrees(id tenant, r *follower) {
	f.Helper()
	var fresh follower
	f.follow(id, &fresh)
	if fresh.at != r.at || fresh.model != r.model || !reflect.DeepEqual(fresh.documents, r.documents) {
		f.Fatalf("a follower at %v has %d documents, a fresh reader at %v has %d:\n%+v\n%+v",
			r.at, len(r.documents), fresh.at, len(fresh.documents), r.documents, fresh.documents)
	}
	state := f.state(id)
	words, passages := int64(0), int64(0)
	for _, e := range fresh.documents {
		for _, p := range e.Passages {
			passages++
			words += int64(p.Words[index.FieldBody])
		}
	}
	want := index.State{Name: "C",
		Collection: id.collection, Position: fresh.at, Required: state.Required, Model: fresh.model,
		Documents: int64(len(fresh.documents)), Passages: passages, Words: words, Restricted: state.Restricted,
	}
	for _, e := range fresh.documents {
		if e.Readers != nil && !state.Restricted {
			f.Fatal("a document is not for everybody, and the state does not know")
		}
	}
	if !reflect.DeepEqual(state, want) {
		f.Fatalf("the state is %+v, want %+v", state, want)
	}
}

func (f *fixture) state(id tenant) index.State {
	f.Helper()
	states, err := f.store.States(f.Context(), id.scope)
	if err != nil {
		f.Fatal(err)
	}
	at := slices.IndexFunc(states, func(s index.State) bool { return s.Collection == id.collection })
	if at < 0 {
		f.Fatalf("the collection has no state among %v", states)
	}
	return states[at]
}

func terms(t *testing.T, l index.Lexemes) map[string][]uint16 {
	t.Helper()
	found := map[string][]uint16{}
	if err := l.Each(func(term []byte, positions []uint16) { found[string(term)] = slices.Clone(positions) }); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestChangesTellADocumentAsItWasPut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	r := id.record("a", "first passage", "second passage of text")
	r.Section, r.Version, r.DocType, r.Tags = "guides", "2.1", "md", []string{"x", "ü"}
	r.CreatedAt = time.Date(1969, 12, 31, 23, 59, 59, 123456000, time.UTC)
	r.Readers = []string{"user:a@example.org", "group:\"staff\",{all}"}
	out := f.put(id, r)
	bare := id.record("b")
	bare.Language, bare.Readers = "", []string{}
	empty := f.put(id, bare)
	var got follower
	f.follow(id, &got)
	if !got.all || got.model != "test" || got.at != (index.Position{Change: 2}) || len(got.documents) != 2 {
		t.Fatalf("told %+v", got)
	}
	if !slices.IsSortedFunc(got.order, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		t.Errorf("the documents come as %v", got.order)
	}
	e := got.documents[out.Document]
	passages := e.Passages
	e.Passages = nil
	if want := (index.Entry{
		Document: out.Document, Live: true, Section: "guides", Version: "2.1", Language: "en", DocType: "md",
		Tags: r.Tags, Time: r.CreatedAt, Readers: r.Readers, Source: "file_upload", Connector: id.connector.String(),
	}); !reflect.DeepEqual(e, want) {
		t.Errorf("the entry is %+v, want %+v", e, want)
	}
	if len(passages) != 2 {
		t.Fatalf("%d passages", len(passages))
	}
	for i, p := range passages {
		if p.Ordinal != int32(i) || p.Words != [index.FieldCount]int32{1, 1, 1, []int32{2, 4}[i]} || !slices.Equal(p.Vector, vector(r.Passages[i].Text)) {
			t.Errorf("passage %d is %+v", i, p)
		}
	}
	lexemes := terms(t, passages[1].Lexemes)
	if text := lexemes["text"]; len(text) != 1 || index.FieldOf(text[0]) != index.FieldBody {
		t.Errorf("the lexemes are %v", lexemes)
	}
	if title := lexemes["titl"]; len(title) != 1 || index.FieldOf(title[0]) != index.FieldTitle {
		t.Errorf("the lexemes are %v", lexemes)
	}
	if e := got.documents[empty.Document]; !reflect.DeepEqual(e, index.Entry{Document: empty.Document, Live: true, Readers: []string{}, Source: "file_upload", Connector: id.connector.String()}) {
		t.Errorf("a document without passages is %+v", e)
	}
	f.follow(id, &got)
	if got.told != 0 || got.all {
		t.Errorf("nothing changed, and %d entries were told", got.told)
	}
	f.agrees(id, &got)
}

func TestVectorsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	r := id.record("a", "text")
	// One, the smallest subnormal, the largest subnormal and smallest normal number of binary16, and fractions.
	r.Vectors[0] = []float32{1, -1, 0, 5.9604645e-08, 6.097555e-05, -6.1035156e-05, 0.33325195, 0.1}
	f.put(id, r)
	var got follower
	f.follow(id, &got)
	want := slices.Clone(r.Vectors[0])
	want[7] = 0.099975586
	for _, e := range got.documents {
		if !slices.Equal(e.Passages[0].Vector, want) {
			t.Errorf("the vector is %v, want %v", e.Passages[0].Vector, want)
		}
	}
	f.exec("update collections set embedding_model = 'other' where id = $1", id.collection)
	f.follow(id, &got)
	if got.model != "other" || !got.all || got.at.Generation != 1 {
		t.Errorf("after a change of the model: %+v", got)
	}
	for _, e := range got.documents {
		if e.Passages[0].Vector != nil {
			t.Errorf("a vector of the old model is told: %v", e.Passages[0].Vector)
		}
	}
}

func TestEveryWriteIsTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	second := f.collection(id)
	var mine, other follower
	follow := func(step string, entries int, required bool) {
		t.Helper()
		before := f.state(id)
		f.follow(id, &mine)
		f.follow(second, &other)
		if mine.told != entries {
			t.Errorf("%s: %d entries were told, want %d", step, mine.told, entries)
		}
		if must := before.Required == before.Change; must != required {
			t.Errorf("%s: %d of %d is required", step, before.Required, before.Change)
		}
		f.agrees(id, &mine)
		f.agrees(second, &other)
	}
	job := f.job(id)
	refresh := func(fence index.Fence, r *index.Record) {
		t.Helper()
		if err := f.store.Refresh(t.Context(), id.scope, fence, r); err != nil {
			t.Fatal(err)
		}
	}
	put := func(fence index.Fence, r *index.Record) uuid.UUID {
		t.Helper()
		out, err := f.store.Put(t.Context(), id.scope, fence, r)
		if err != nil {
			t.Fatal(err)
		}
		return out.Document
	}
	follow("nothing", 0, true)
	a := put(index.Fence{}, id.record("a", "one", "two"))
	follow("Put", 1, true)
	b := put(job, id.record("b", "three"))
	follow("fenced Put", 1, false)
	put(job, id.record("a", "four"))
	follow("fenced Put again", 1, false)
	refresh(job, id.record("a"))
	follow("Refresh of the same", 0, false)
	timed := id.record("a")
	timed.UpdatedAt = time.Date(2026, 4, 5, 6, 7, 8, 9999, time.UTC)
	refresh(job, timed)
	follow("Refresh with another time", 1, false)
	change := f.state(id).Change
	refresh(job, timed)
	created := id.record("a")
	created.CreatedAt = time.Date(2025, 4, 5, 6, 7, 8, 0, time.UTC)
	refresh(job, created)
	if now := f.state(id).Change; now != change {
		t.Errorf("refreshes that leave the time alone raised the change number from %d to %d", change, now)
	}
	refresh(index.Fence{}, id.record("b"))
	follow("Refresh of the same without a fence", 0, false)
	timed = id.record("b")
	timed.CreatedAt = created.CreatedAt
	refresh(index.Fence{}, timed)
	follow("Refresh with a first time", 1, true)
	if n, err := f.store.SoftDelete(t.Context(), id.scope, job, []uuid.UUID{a, b}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	follow("fenced SoftDelete", 2, true)
	if n, err := f.store.Restore(t.Context(), id.scope, index.Fence{}, []uuid.UUID{a}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	follow("Restore", 1, true)
	refresh(job, id.record("b"))
	follow("fenced Refresh that revives", 1, false)
	if _, err := f.store.Recount(t.Context(), id.scope, id.collection); err != nil {
		t.Fatal(err)
	}
	follow("Recount", 0, true)
	f.put(second, second.record("other", "text"))
	put(job, id.record("c", "five"))
	follow("fenced Put of a new one", 1, false)
	f.exec("update sync_jobs set revision = 2 where id = $1", job.Job)
	if s := f.state(id); s.Required == s.Change {
		t.Error("a heartbeat of a job made its writes required")
	}
	f.exec("update sync_jobs set status = 'FAILED' where id = $1", job.Job)
	follow("the end of the job", 0, true)
	if n, err := f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{b}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	follow("SoftDelete", 1, true)
	if _, err := f.db.Pool.Exec(t.Context(), "delete from connectors where id = $1", id.connector); err != nil {
		t.Fatal(err)
	}
	follow("the end of the connector", 2, true)
	if len(mine.documents) != 0 || len(other.documents) != 1 {
		t.Errorf("%d and %d documents are left", len(mine.documents), len(other.documents))
	}
	f.exec("delete from collections where id = $1", id.collection)
	if err := f.store.Changes(t.Context(), id.scope, index.State{Collection: id.collection}, mine.at, &mine); !errors.Is(err, viewer.ErrOutOfScope) {
		t.Errorf("Changes of a collection that is gone: %v", err)
	}
	if n := f.count(id, "select count(*) from document_changes where collection_id = $1", id.collection); n != 0 {
		t.Errorf("%d notes of changes are left", n)
	}
}

func TestChangesStayWithinTheScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	second := f.collection(mine)
	f.put(mine, mine.record("a", "one"))
	f.put(theirs, theirs.record("b", "two"))
	narrow, err := mine.scope.Narrow(second.collection)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope      viewer.Scope
		collection uuid.UUID
		want       error
	}{
		"another workspace's":      {mine.scope, theirs.collection, viewer.ErrOutOfScope},
		"one that does not exist":  {mine.scope, uuid.New(), viewer.ErrOutOfScope},
		"one outside of the scope": {narrow, mine.collection, viewer.ErrOutOfScope},
		"without a scope":          {viewer.Scope{}, mine.collection, viewer.ErrNoScope},
	} {
		for _, after := range []index.Position{{}, {Change: 1}} {
			var got follower
			if err := f.store.Changes(t.Context(), c.scope, index.State{Collection: c.collection}, after, &got); !errors.Is(err, c.want) || got.documents != nil {
				t.Errorf("%s: %v, told %+v", name, err, got)
			}
		}
	}
	for name, c := range map[string]struct {
		scope viewer.Scope
		want  []uuid.UUID
	}{
		"everything": {mine.scope, []uuid.UUID{mine.collection, second.collection}},
		"narrow":     {narrow, []uuid.UUID{second.collection}},
		"theirs":     {theirs.scope, []uuid.UUID{theirs.collection}},
	} {
		states, err := f.store.States(t.Context(), c.scope)
		if err != nil {
			t.Fatal(err)
		}
		var got []uuid.UUID
		for _, s := range states {
			got = append(got, s.Collection)
		}
		slices.SortFunc(c.want, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the states of %v, want %v", name, got, c.want)
		}
	}
	if _, err := f.store.States(t.Context(), viewer.Scope{}); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("States without a scope: %v", err)
	}
}

func TestOldestStateIsThatOfTheOldestCollectionInScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.tenant()
	second, third := f.collection(first), f.collection(first)
	f.exec("update collections set created_at = '2001-01-01' where id = any($1)", []uuid.UUID{second.collection, third.collection})
	twins := []uuid.UUID{second.collection, third.collection}
	slices.SortFunc(twins, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	theirs := f.tenant()
	f.exec("update collections set created_at = '2000-01-01' where id = $1", theirs.collection)
	narrow := func(ids ...uuid.UUID) viewer.Scope {
		scope, err := first.scope.Narrow(ids...)
		if err != nil {
			t.Fatal(err)
		}
		return scope
	}
	check := func(name string, scope viewer.Scope, want uuid.UUID) {
		t.Helper()
		got, err := f.store.OldestState(t.Context(), scope)
		if want == uuid.Nil {
			if !errors.Is(err, index.ErrNoCollection) {
				t.Errorf("%s: OldestState() = %+v, %v, want ErrNoCollection", name, got, err)
			}
			return
		}
		if err != nil || got.Collection != want {
			t.Errorf("%s: OldestState() = %+v, %v, want %v", name, got, err, want)
		}
		states, err := f.store.States(t.Context(), scope)
		if i := slices.IndexFunc(states, func(s index.State) bool { return s.Collection == want }); err != nil || i < 0 || !reflect.DeepEqual(states[i], got) {
			t.Errorf("%s: OldestState() = %+v, States() = %+v, %v", name, got, states, err)
		}
	}
	check("all, with two oldest", first.scope, twins[0])
	check("some", narrow(first.collection, twins[1]), twins[1])
	check("one", narrow(first.collection), first.collection)
	check("none", narrow(), uuid.Nil)
	check("another workspace's", narrow(theirs.collection), uuid.Nil)
	check("another workspace", theirs.scope, theirs.collection)
	f.exec("update collections set deleting_at = now() where id = $1", twins[0])
	check("all, with one that is being deleted", first.scope, twins[1])
	check("one that is being deleted", narrow(twins[0]), uuid.Nil)
	if _, err := f.store.OldestState(t.Context(), viewer.Scope{}); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("the zero scope: error %v, want ErrNoScope", err)
	}
}

// failing is a reader that has enough.
type failing struct {
	follower
	begin, entry error
}

func (r *failing) Begin(at index.Position, model string, all bool) error {
	return errors.Join(r.begin, r.follower.Begin(at, model, all))
}

func (r *failing) Entry(e *index.Entry) error { return errors.Join(r.entry, r.follower.Entry(e)) }

func TestAReaderMayEndTheTelling(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for i := range 20 {
		f.put(id, id.record(fmt.Sprint(i), strings.Repeat("text ", 100)))
	}
	full := errors.New("full")
	for range 20 { // more than there are connections
		begin, entry := &failing{begin: full}, &failing{entry: full}
		if err := f.store.Changes(t.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, begin); !errors.Is(err, full) || begin.told != 0 {
			t.Fatalf("Begin fails: %v, told %d", err, begin.told)
		}
		if err := f.store.Changes(t.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, entry); !errors.Is(err, full) || entry.told != 1 {
			t.Fatalf("Entry fails: %v, told %d", err, entry.told)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.store.Changes(ended, id.scope, index.State{Collection: id.collection}, index.Position{}, &follower{}); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
}

// TestAFollowerHasWhatAFreshReaderHas writes at random and compares after each step.
func TestAFollowerHasWhatAFreshReaderHas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	random := rand.New(rand.NewPCG(7, 11))
	job := f.job(id)
	var known []uuid.UUID
	var every, now follower // one follows each step, one now and then
	for step := range 300 {
		fence := index.Fence{}
		if random.IntN(2) == 0 {
			fence = job
		}
		source := fmt.Sprint(random.IntN(12))
		record := id.record(source)
		switch random.IntN(4) {
		case 0:
			record.UpdatedAt = time.Unix(int64(random.IntN(3)), 0)
		case 1:
			record.CreatedAt = time.Unix(int64(random.IntN(3)), 0)
		}
		some := func() (ids []uuid.UUID) {
			for range 1 + random.IntN(3) {
				if len(known) > 0 {
					ids = append(ids, known[random.IntN(len(known))])
				}
			}
			return ids
		}
		var err error
		switch random.IntN(10) {
		case 0, 1, 2, 3:
			texts := make([]string, random.IntN(4))
			for i := range texts {
				texts[i] = fmt.Sprint("text ", random.IntN(50))
			}
			full := id.record(source, texts...)
			full.CreatedAt, full.UpdatedAt = record.CreatedAt, record.UpdatedAt
			if random.IntN(3) == 0 {
				full.Readers = []string{"a", "b"}[:random.IntN(3)]
			}
			var out index.Outcome
			out, err = f.store.Put(t.Context(), id.scope, fence, full)
			if !slices.Contains(known, out.Document) {
				known = append(known, out.Document)
			}
		case 4, 5:
			if err = f.store.Refresh(t.Context(), id.scope, fence, record); err != nil && strings.Contains(err.Error(), "not found") {
				err = nil
			}
		case 6:
			_, err = f.store.SoftDelete(t.Context(), id.scope, fence, some())
		case 7:
			_, err = f.store.Restore(t.Context(), id.scope, index.Fence{}, some())
		case 8:
			_, err = f.store.Recount(t.Context(), id.scope, id.collection)
		case 9:
			_, err = f.db.Pool.Exec(t.Context(), "delete from documents where id = any($1)", some())
		}
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		f.follow(id, &every)
		f.agrees(id, &every)
		if random.IntN(10) == 0 {
			f.follow(id, &now)
			f.agrees(id, &now)
		}
	}
}

func TestNoChangeIsMissedWhileOthersWrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	job := f.job(id)
	var writers sync.WaitGroup
	for w := range 5 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 5))
			for i := range 40 {
				out, err := f.store.Put(t.Context(), id.scope, job, id.record(fmt.Sprint(random.IntN(15)), fmt.Sprint("text ", w, i)))
				if err != nil {
					t.Error(err)
					return
				}
				if random.IntN(4) == 0 {
					if _, err := f.store.SoftDelete(t.Context(), id.scope, job, []uuid.UUID{out.Document}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	var r follower
	last := index.Position{}
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		f.follow(id, &r)
		if r.at.Change < last.Change {
			t.Fatalf("the position went from %v to %v", last, r.at)
		}
		last = r.at
	}
	f.agrees(id, &r)
}
