package index_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

func newProjection(id tenant) *index.Projection {
	return &index.Projection{
		Collection: id.collection, Class: "M" + id.collection.String(), ClassGeneration: 1, Model: "test", Dimensions: dimensions, Replicas: 2, History: "a/b/c",
	}
}

// project adds a projection of the tenant's collection.
func (f *fixture) project(id tenant) *index.Projection {
	f.Helper()
	p := newProjection(id)
	if err := f.store.AddProjection(f.Context(), id.scope, p, time.Hour); err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *fixture) work() map[uuid.UUID]index.ProjectionWork {
	f.Helper()
	list, err := f.store.ProjectionWork(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	work := map[uuid.UUID]index.ProjectionWork{}
	for _, w := range list {
		work[w.Collection] = w
	}
	return work
}

func TestAnInstallationHasItsOwnName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, err := f.store.Instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.store.Instance(t.Context())
	if err != nil || again != first || len(first.Name) != 12 || strings.Count(first.History, "/") != 2 {
		t.Errorf("the instance is %+v, then %+v, %v", first, again, err)
	}
	// A copy of the database is another installation.
	f.exec("update engine_instance set origin = 'elsewhere'")
	other, err := f.store.Instance(t.Context())
	if err != nil || other.Name == first.Name || other.History != first.History {
		t.Errorf("a copy is %+v beside %+v, %v", other, first, err)
	}
}

func TestWorkIsWhatIsLargeOrChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	empty := f.collection(id)
	f.put(id, id.record("a", "one", "two", "three", "four"))
	wanted := func(step string, want ...uuid.UUID) {
		t.Helper()
		got := 0
		work := f.work()
		for _, w := range work {
			if w.Wanted {
				got++
			}
		}
		if got != len(want) {
			t.Errorf("%s: %d collections are wanted, want %d", step, got, len(want))
		}
		for _, c := range want {
			if w := work[c]; !w.Wanted || !w.Due || w.Workspace != id.workspace || w.Model != "test" {
				t.Errorf("%s: the work is %+v", step, w)
			}
		}
	}
	wanted("by default")
	f.exec("update search_settings set engine_passages = 5")
	wanted("below the limit")
	f.exec("update search_settings set engine_passages = 4")
	wanted("at the limit", id.collection)
	if w := f.work()[id.collection]; w.Passages != 4 || w.Change != 1 || w.Generation != 0 || w.Projection != nil {
		t.Errorf("the work is %+v", w)
	}
	f.exec("update collections set search_tier = 'POSTGRESQL' where id = $1", id.collection)
	wanted("not chosen")
	f.exec("update collections set search_tier = 'ENGINE' where id = $1", empty.collection)
	wanted("chosen", empty.collection)
	f.exec("update collections set search_tier = 'AUTO'")
	f.exec("update search_settings set engine_passages = null")
	wanted("without a limit")
	f.exec("update search_settings set engine_passages = 4")
	p := f.project(id)
	if w := f.work()[id.collection]; w.Due || w.Projection == nil || w.Projection.Class != p.Class {
		t.Errorf("of another process: %+v", w)
	}
	if err := f.store.SaveProjection(t.Context(), id.scope, p, 0); err != nil {
		t.Fatal(err)
	}
	f.exec("update search_settings set engine_passages = 8")
	wanted("half of the limit", id.collection)
	f.exec("update search_settings set engine_passages = 9")
	wanted("less than half of it")
	if w := f.work()[id.collection]; !w.Due || w.Projection == nil {
		t.Errorf("what is not wanted any more: %+v", w)
	}
	f.exec("update search_settings set engine_passages = 1")
	f.exec("update collections set deleting_at = now() where id = $1", id.collection)
	wanted("being deleted")
	f.exec("delete from collections where id = $1", id.collection)
	if work := f.work(); len(work) != 0 {
		t.Errorf("the work of a collection that is gone: %v", work)
	}
	if n := f.count(id, "select count(*) from engine_collections"); n != 0 {
		t.Errorf("%d projections are left", n)
	}
}

func TestOneOfManyAddsAProjection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 20 {
		id := f.tenant()
		start := make(chan struct{})
		added := make(chan error)
		for range 6 {
			go func() {
				<-start
				added <- f.store.AddProjection(f.Context(), id.scope, newProjection(id), time.Hour)
			}()
		}
		close(start)
		mine := 0
		for range 6 {
			switch err := <-added; {
			case err == nil:
				mine++
			case !errors.Is(err, index.ErrProjectionHeld):
				t.Error(err)
			}
		}
		if mine != 1 {
			t.Errorf("%d of 6 processes added the projection", mine)
		}
	}
}

func TestAProjectionBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.put(id, id.record("a", "one"))
	first := f.project(id)
	if first.State != index.ProjectionBuilding || !first.IsBehind {
		t.Errorf("a new projection is %+v", first)
	}
	again := *first
	if err := f.store.AddProjection(t.Context(), id.scope, &again, time.Hour); !errors.Is(err, index.ErrProjectionHeld) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := f.store.ClaimProjection(t.Context(), id.scope, id.collection, time.Hour); !errors.Is(err, index.ErrProjectionHeld) {
		t.Errorf("a claim meanwhile: %v", err)
	}
	first.Written, first.Objects, first.LastError, first.Failures = index.Covered{Change: 1, Document: uuid.Max}, 7, "no room", 2
	first.Refused = []uuid.UUID{uuid.New(), uuid.New()}
	if err := f.store.SaveProjection(t.Context(), id.scope, first, time.Hour); err != nil {
		t.Fatal(err)
	}
	// The process is held up, and its claim ends.
	f.exec("update engine_collections set held_until = now() - interval '1 second'")
	second, err := f.store.ClaimProjection(t.Context(), id.scope, id.collection, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if second.Class != first.Class || second.Written != first.Written || second.Objects != 7 || second.LastError != "no room" || second.Failures != 2 || second.History != "a/b/c" ||
		second.Workspace != id.workspace || second.Dimensions != dimensions || second.Replicas != 2 || !slices.Equal(second.Refused, first.Refused) {
		t.Errorf("the second process reads %+v, the first stored %+v", second, first)
	}
	first.Written = index.Covered{Change: 100}
	if err := f.store.SaveProjection(t.Context(), id.scope, first, time.Hour); !errors.Is(err, index.ErrProjectionHeld) {
		t.Errorf("the first process stores: %v", err)
	}
	if err := f.store.RemoveProjection(t.Context(), id.scope, first); !errors.Is(err, index.ErrProjectionHeld) {
		t.Errorf("the first process removes: %v", err)
	}
	second.State, second.LastError, second.Failures, second.IsBehind = index.ProjectionReady, "", 0, false
	second.Written, second.Confirmed = index.Covered{Change: 1}, index.Covered{Change: 1}
	if err := f.store.SaveProjection(t.Context(), id.scope, second, 0); err != nil {
		t.Fatal(err)
	}
	all, err := f.store.Projections(t.Context(), id.scope)
	if err != nil || len(all) != 1 || all[0].State != index.ProjectionReady || all[0].Written.Change != 1 || all[0].IsBehind || all[0].LastError != "" {
		t.Errorf("the projections are %+v, %v", all, err)
	}
	// A claim that ended does not come back.
	if err := f.store.SaveProjection(t.Context(), id.scope, second, time.Hour); !errors.Is(err, index.ErrProjectionHeld) {
		t.Errorf("after the end of the claim: %v", err)
	}
	third, err := f.store.ClaimProjection(t.Context(), id.scope, id.collection, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if classes, err := f.store.ProjectionClasses(t.Context()); err != nil || len(classes) != 1 || !classes[third.Class] {
		t.Errorf("the classes are %v, %v", classes, err)
	}
	if err := f.store.RemoveProjection(t.Context(), id.scope, third); err != nil {
		t.Error(err)
	}
	if _, err := f.store.ClaimProjection(t.Context(), id.scope, id.collection, time.Hour); !errors.Is(err, index.ErrProjectionHeld) {
		t.Errorf("a claim of nothing: %v", err)
	}
}

func TestProjectionsOfOthersCannotBeReached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	p := f.project(theirs)
	second := f.collection(mine)
	narrow, err := mine.scope.Narrow(second.collection)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope viewer.Scope
		want  error
	}{
		"another workspace": {mine.scope, index.ErrProjectionHeld},
		"a narrow scope":    {narrow, viewer.ErrOutOfScope},
		"no scope":          {viewer.Scope{}, viewer.ErrNoScope},
	} {
		stolen := *p
		if err := f.store.SaveProjection(t.Context(), c.scope, &stolen, time.Hour); !errors.Is(err, c.want) {
			t.Errorf("%s saves: %v", name, err)
		}
		if err := f.store.RemoveProjection(t.Context(), c.scope, &stolen); !errors.Is(err, c.want) {
			t.Errorf("%s removes: %v", name, err)
		}
		f.exec("update engine_collections set held_until = null")
		if _, err := f.store.ClaimProjection(t.Context(), c.scope, theirs.collection, time.Hour); !errors.Is(err, c.want) {
			t.Errorf("%s claims: %v", name, err)
		}
		fresh := &index.Projection{Collection: theirs.collection, Class: "Other" + name, Replicas: 1}
		if err := f.store.AddProjection(t.Context(), c.scope, fresh, time.Hour); !errors.Is(err, viewer.ErrOutOfScope) && !errors.Is(err, c.want) {
			t.Errorf("%s adds: %v", name, err)
		}
		if got, err := f.store.Projections(t.Context(), c.scope); len(got) != 0 || err != nil && !errors.Is(err, viewer.ErrNoScope) {
			t.Errorf("%s lists %v, %v", name, got, err)
		}
	}
	if got, err := f.store.Projections(t.Context(), theirs.scope); err != nil || len(got) != 1 {
		t.Errorf("the owner lists %v, %v", got, err)
	}
}

func TestTotalsAreThoseOfAllProjections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if totals, err := f.store.ProjectionTotals(t.Context()); err != nil || totals != (index.ProjectionTotals{}) {
		t.Errorf("without any: %+v, %v", totals, err)
	}
	for i := range 3 {
		id := f.tenant()
		for n := range i + 2 {
			f.put(id, id.record(fmt.Sprint(n), "text"))
		}
		p := f.project(id)
		p.State, p.Confirmed = index.ProjectionReady, index.Covered{Change: 1}
		if i == 0 {
			p.State = index.ProjectionBuilding
		}
		if err := f.store.SaveProjection(t.Context(), id.scope, p, 0); err != nil {
			t.Fatal(err)
		}
	}
	f.exec("update engine_collections set behind_since = now() - interval '2 minutes' where state = 'READY'")
	f.exec("update engine_collections set behind_since = now() - interval '2 hours' where state = 'BUILDING'")
	totals, err := f.store.ProjectionTotals(t.Context())
	if err != nil || totals.Ready != 2 || totals.Building != 1 || totals.Failed != 0 || totals.LagChanges != 3 || totals.Lag < 2*time.Minute || totals.Lag > 3*time.Minute {
		t.Errorf("the totals are %+v, %v", totals, err)
	}
}
