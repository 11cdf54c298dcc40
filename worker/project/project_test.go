package project_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/memory"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/worker/project"
)

func TestACollectionIsKeptInTheEngine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	documents := f.fill(id, 10)
	p := f.projector()
	f.tick(p)
	f.exact(id)
	if p.Objects() != 19 {
		t.Errorf("%d objects were sent, want 19", p.Objects())
	}
	f.tick(p) // nothing to do
	if p.Objects() != 19 {
		t.Errorf("%d objects were sent though nothing changed", p.Objects())
	}
	f.put(id, "document1", "other words")                            // fewer passages
	f.store(id, "document2", []string{"user:a"}, "first words of 2") // fewer and readers
	f.store(id, "document3", []string{"user:b"}, "first words of 3") // readers only: the passage keeps its id
	f.remove(id, documents[4], documents[5])                         // gone
	f.put(id, "new", strings.Repeat("a very long passage ", 300))    // larger than a batch
	f.put(id, "empty")                                               // without passages
	f.exec("update documents set restricted_to = array['user:c'] where id = $1", documents[6])
	f.put(id, "document6", "first words of 6 again")
	f.tick(p)
	f.exact(id)
	row, _ := f.row(id)
	o := objectOf(t, f.backend, row.Class, documents[3])
	if !slices.Equal(o.Readers, []string{"user:b"}) || o.Restriction != nil || !slices.Equal(o.Values[rank.FacetTag], []string{"tag", "document3"}) ||
		!slices.Equal(o.Values[rank.FacetSource], []string{"file_upload"}) || !slices.Equal(o.Values[rank.FacetConnector], []string{id.connector.String()}) ||
		o.Values[rank.FacetVersion] != nil || !slices.Equal(o.Fields[index.FieldHeading], []string{"part"}) || len(o.Vector) != dimensions {
		t.Errorf("the object is %+v", o)
	}
	if o := objectOf(t, f.backend, row.Class, documents[6]); !slices.Equal(o.Restriction, []string{"user:c"}) || o.Readers != nil {
		t.Errorf("a restricted object is %+v", o)
	}
	// The end of the connector is one change of all documents.
	f.exec("delete from connectors where id = $1", id.connector)
	f.exec("update search_settings set engine_passages = null")
	f.exec("update collections set search_tier = 'ENGINE'")
	f.tick(p)
	f.exact(id)
	if n := len(f.backend.Objects(row.Class, "node1")); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}

// objectOf returns the only object of a document.
func objectOf(t *testing.T, b *memory.Backend, class string, document uuid.UUID) engine.Object {
	t.Helper()
	var found []engine.Object
	for _, o := range b.Objects(class, "node1") {
		if o.Document == document {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("a document has %d objects", len(found))
	}
	return found[0]
}

func TestAnEmptyCollectionIsReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.exec("update collections set search_tier = 'ENGINE'")
	p := f.projector()
	f.tick(p)
	f.exact(id)
	f.put(id, "a", "text")
	f.tick(p)
	f.exact(id)
}

func TestWorkspacesHaveTheirOwnClasses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	f.fill(mine, 5)
	secret := f.put(theirs, "secret", "their secret")
	f.tick(f.projector())
	f.exact(mine)
	f.exact(theirs)
	row, _ := f.row(mine)
	for _, node := range []string{"node1", "node2"} {
		for _, o := range f.backend.Objects(row.Class, node) {
			if o.Document == secret {
				t.Error("a class has a document of another workspace")
			}
		}
	}
	if row, ok := f.row(theirs); !ok || !strings.HasSuffix(row.Class, strings.ReplaceAll(theirs.collection.String(), "-", "")+"_1") {
		t.Errorf("the class of the other workspace is %s", row.Class)
	}
}

// A first projection goes on where the last slice ended.
func TestSlicesAddUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.fill(id, 20)
	sent := int64(0)
	for n := 0; ; n++ {
		o := f.options()
		o.Slice = time.Nanosecond
		p := project.New(f.index, f.backend, o) // each time another process
		f.tick(p)
		sent += p.Objects()
		row, _ := f.row(id)
		if row.State == index.ProjectionReady {
			if n < 6 {
				t.Errorf("%d slices had room for everything", n+1)
			}
			break
		}
		if row.Confirmed != row.Written || row.Written.Change == 0 && n > 3 || n > 50 {
			t.Fatalf("after %d slices: %+v", n, row)
		}
	}
	f.exact(id)
	if sent != 39 {
		t.Errorf("%d objects were sent, want each of 39 once", sent)
	}
}

func TestAReplicaThatLagsConfirmsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fail, mend func(*memory.Backend) }{
		"behind":  {func(b *memory.Backend) { b.Lag("node2", true) }, func(b *memory.Backend) { b.Lag("node2", false) }},
		"stopped": {func(b *memory.Backend) { b.Stop("node2") }, func(b *memory.Backend) { b.Start("node2") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.tenant()
			documents := f.fill(id, 8)
			p := f.projector()
			f.tick(p)
			f.exact(id)
			before, _ := f.row(id)
			c.fail(f.backend)
			for round := range 4 {
				f.put(id, "document1", fmt.Sprintf("other words %d", round))
				f.put(id, fmt.Sprint("new", round), "new words")
				f.store(id, "document2", []string{fmt.Sprint("user:", round)}, "first words of 2", "second words", "third words")
				f.tick(p)
				if round == 2 {
					f.remove(id, documents[3])
					f.clock.advance(time.Hour) // the replicas are asked again
				}
				row, _ := f.row(id)
				if row.Confirmed != before.Confirmed || row.Written.Change <= before.Written.Change || row.State != index.ProjectionReady || !row.IsBehind || row.LastError != "" {
					t.Fatalf("in round %d: %+v, before %+v", round, row, before)
				}
			}
			if n := f.log.count("confirmation waits"); n != 1 {
				t.Errorf("%d warnings", n)
			}
			c.mend(f.backend)
			f.clock.advance(time.Hour)
			f.tick(p)
			f.exact(id)
		})
	}
}

func TestAnotherModelIsAnotherClass(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.fill(id, 6)
	p := f.projector()
	f.tick(p)
	first, _ := f.row(id)
	f.exec("update collections set embedding_model = 'longer' where id = $1", id.collection)
	f.tick(p)
	second, _ := f.row(id)
	if second.Class == first.Class || second.ClassGeneration != 2 || second.Model != "longer" || second.Dimensions != 6 || second.IndexGeneration != first.IndexGeneration+1 {
		t.Errorf("after another model: %+v", second)
	}
	f.exact(id) // the vectors are those of the other model
	f.exec("update collections set embedding_model = 'unknown' where id = $1", id.collection)
	f.tick(p)
	f.exact(id)
	if row, _ := f.row(id); row.Dimensions != 0 {
		t.Errorf("a model that is not configured: %+v", row)
	}
}

// The database may have lost what the engine was sent.
func TestAnotherHistoryIsAnotherClass(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.fill(id, 4)
	p := f.projector()
	f.tick(p)
	f.exec("update engine_collections set history = 'before the failover'")
	f.tick(p)
	f.exact(id)
	if row, _ := f.row(id); row.ClassGeneration != 2 {
		t.Errorf("the class is still %s", row.Class)
	}
	// A copy of the database leaves the classes of its origin alone.
	f.exec("update engine_instance set origin = 'elsewhere'")
	before, _ := f.row(id)
	f.tick(p)
	after, _ := f.row(id)
	if after.Class[:13] == before.Class[:13] || after.State != index.ProjectionReady {
		t.Errorf("a copy has the class %s, its origin %s", after.Class, before.Class)
	}
	if n := len(f.backend.Objects(before.Class, "node1")); n == 0 {
		t.Error("the class of the origin is gone")
	}
}

func TestALostEngineGetsEverythingAgain(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fixture, string){
		"its classes": func(f *fixture, _ string) { f.backend.Lose() },
		"its objects": func(f *fixture, class string) {
			if err := errors.Join(f.backend.Drop(f.Context(), class), f.backend.Create(f.Context(), engine.Class{Name: class, Dimensions: dimensions, Replicas: 2})); err != nil {
				f.Fatal(err)
			}
		},
	} {
		for _, changing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, changing %v", name, changing), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				id := f.tenant()
				f.fill(id, 9)
				p := f.projector()
				f.tick(p)
				row, _ := f.row(id)
				lose(f, row.Class)
				if changing {
					f.put(id, "document1", "other words")
					f.tick(p)
				}
				f.exec("update engine_collections set checked_at = now() - interval '1 hour'")
				f.tick(p)
				f.exact(id)
			})
		}
	}
}

func TestCollectionsLeaveTheEngine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	chosen, deleted, purged, stays := f.tenant(), f.tenant(), f.tenant(), f.tenant()
	for _, id := range []tenant{chosen, deleted, purged, stays} {
		f.fill(id, 3)
	}
	instance, err := f.index.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"M0123456789ab" + strings.Repeat("0", 32) + "_1", "M" + instance.Name + "_notours", "Documents"}
	for _, class := range others {
		if err := f.backend.Create(t.Context(), engine.Class{Name: class, Replicas: 1}); err != nil {
			t.Fatal(err)
		}
	}
	p := f.projector()
	f.tick(p)
	f.exec("update collections set search_tier = 'POSTGRESQL' where id = $1", chosen.collection)
	f.exec("update collections set deleting_at = now() where id = $1", deleted.collection)
	f.exec("delete from collections where id = $1", purged.collection)
	f.tick(p)
	row, ok := f.row(stays)
	classes, err := f.backend.Classes(t.Context(), "")
	if err != nil || !ok || f.projections() != 1 {
		t.Fatalf("%d projections, %v", f.projections(), err)
	}
	want := append([]string{row.Class}, others...)
	slices.Sort(want)
	if !slices.Equal(classes, want) {
		t.Errorf("the classes are %v, want %v", classes, want)
	}
	// It comes back.
	f.exec("update collections set search_tier = 'ENGINE' where id = $1", chosen.collection)
	f.tick(p)
	if row, _ := f.row(chosen); row.State != index.ProjectionReady || len(f.backend.Objects(row.Class, "node2")) != 6 {
		t.Errorf("a collection that came back: %+v", row)
	}
}

func TestAnEngineThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.fill(id, 4)
	p := f.projector()
	f.backend.Fail(engine.ErrUnavailable)
	for range 3 { // nothing begins
		f.tick(p)
	}
	f.backend.Fail(nil)
	f.tick(p)
	f.exact(id)
	f.put(id, "document1", "other words")
	f.backend.Fail(engine.ErrUnavailable)
	for range 3 {
		f.tick(p)
	}
	row, _ := f.row(id)
	if row.State != index.ProjectionReady || row.Failures != 1 || row.LastError == "" {
		t.Errorf("while it is away: %+v", row)
	}
	if n := f.log.count("cannot be used"); n != 2 {
		t.Errorf("%d warnings, want one for each time", n)
	}
	f.exec("update engine_collections set next_try_at = now()")
	f.tick(p)
	if row, _ := f.row(id); row.Failures != 2 {
		t.Errorf("after the second try: %+v", row)
	}
	f.backend.Fail(nil)
	f.tick(p)
	if row, _ := f.row(id); row.Failures != 2 {
		t.Error("the pause was not kept")
	}
	f.expire()
	f.tick(p)
	f.exact(id)
}

func TestARefusedCollectionFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.fill(id, 4)
	p := f.projector()
	full := errors.New("no room: " + strings.Repeat("x", 1000))
	f.backend.Intercept(func(_ context.Context, c memory.Call) error {
		if c.Method == "Put" {
			return full
		}
		return nil
	})
	if err := p.Tick(t.Context()); !errors.Is(err, full) {
		t.Errorf("the first try: %v", err)
	}
	row, _ := f.row(id)
	if row.State != index.ProjectionFailed || len(row.LastError) > 600 || !strings.HasPrefix(row.LastError, "no room") || row.Failures != 1 {
		t.Errorf("after a refusal: %+v", row)
	}
	f.tick(p) // in its pause
	f.backend.Intercept(nil)
	f.expire()
	f.tick(p)
	f.exact(id)
	f.backend.Fail(full)
	f.put(id, "document1", "other words")
	if err := p.Tick(t.Context()); !errors.Is(err, full) {
		t.Errorf("a refusal of a change: %v", err)
	}
	if row, _ := f.row(id); row.State != index.ProjectionReady || row.Failures != 1 {
		t.Errorf("what the engine has can still be searched: %+v", row)
	}
}

// poison makes the engine refuse the passages that have a word.
func (f *fixture) poison(word string) {
	f.backend.Refuse(func(o *engine.Object) string {
		if slices.Contains(o.Fields[index.FieldBody], word) {
			return "canary of the engine"
		}
		return ""
	})
}

func TestAnObjectThatIsRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.fill(id, 5)
	f.poison("poison")
	p := f.projector()
	bad := f.put(id, "bad", "some poison", "other words")
	f.fill(id, 9)
	f.tick(p)
	check := func(step string, refused []uuid.UUID, missing int) {
		t.Helper()
		row, _ := f.row(id)
		if row.State != index.ProjectionReady || row.Confirmed != (index.Covered{Change: f.change(id)}) || row.IsBehind || row.Failures != 0 || !slices.Equal(row.Refused, refused) {
			t.Errorf("%s: %+v at the change %d, want %v refused", step, row, f.change(id), refused)
		}
		if (row.LastError != "") != (len(refused) > 0) || len(refused) > 0 && !strings.Contains(row.LastError, "canary of the engine") {
			t.Errorf("%s: the error is %q", step, row.LastError)
		}
		want := live{}
		if err := f.index.Changes(t.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, &want); err != nil {
			t.Fatal(err)
		}
		if n := len(f.backend.Objects(row.Class, "node1")); n != len(want.objects)-missing {
			t.Errorf("%s: the engine has %d objects of %d", step, n, len(want.objects))
		}
	}
	check("at first", []uuid.UUID{bad}, 1)
	sent := p.Objects()
	f.tick(p)
	if p.Objects() != sent {
		t.Error("objects are sent though nothing has changed")
	}
	f.put(id, "new", "new words")
	f.tick(p)
	check("after another change", []uuid.UUID{bad}, 1)
	other := f.put(id, "document1", "more poison")
	f.tick(p)
	both := []uuid.UUID{bad, other}
	slices.SortFunc(both, func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) })
	check("with two", both, 2)
	f.put(id, "document1", "no more of it")
	f.tick(p)
	check("after one is mended", []uuid.UUID{bad}, 1)
	// What is refused is tried now and then, and is no loss.
	f.exec("update engine_collections set checked_at = now() - interval '1 hour'")
	f.tick(p)
	check("after a look at the replicas", []uuid.UUID{bad}, 1)
	f.poison("nothing")
	f.exec("update engine_collections set checked_at = now() - interval '1 hour'")
	f.tick(p)
	check("with another engine", nil, 0)
	f.exact(id)
}

func TestACollectionFailsIfTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.poison("poison")
	for i := range 3 {
		f.put(id, fmt.Sprint("bad", i), "poison")
	}
	o := f.options()
	o.MaxRefused = 2
	if err := project.New(f.index, f.backend, o).Tick(t.Context()); err == nil {
		t.Error("the try does not fail")
	}
	if row, _ := f.row(id); row.State != index.ProjectionFailed || row.Failures != 1 || !strings.Contains(row.LastError, "canary of the engine") {
		t.Errorf("the projection is %+v", row)
	}
	f.poison("nothing")
	f.expire()
	f.tick(f.projector())
	f.exact(id)
}

// Processes take turns at the collections while documents change.
func TestProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := []tenant{f.tenant(), f.tenant()}
	documents := [][]uuid.UUID{f.fill(ids[0], 12), f.fill(ids[1], 12)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	var processes []*project.Projector
	for range 3 {
		o := f.options()
		o.Parallel = 2
		p := project.New(f.index, f.backend, o)
		processes = append(processes, p)
		running.Go(func() {
			for ctx.Err() == nil {
				if err := p.Tick(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for round := range 15 {
		for i, id := range ids {
			f.store(id, fmt.Sprint("document", round%12), []string{fmt.Sprint("user:", round)}, "words", fmt.Sprint("of round ", round))
			f.put(id, fmt.Sprint("extra", round), "extra words")
			if round%5 == 4 {
				f.remove(id, documents[i][11-round%12])
			}
		}
	}
	testkit.WaitFor(t, "the processes to send objects", func() bool {
		return slices.ContainsFunc(processes, func(p *project.Projector) bool { return p.Objects() > 0 })
	})
	cancel()
	running.Wait()
	f.expire()
	p := f.projector()
	f.tick(p)
	for _, id := range ids {
		f.exact(id)
	}
}
