package search_test

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

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/memory"
	"github.com/magpie-search/magpie/internal/viewer"
)

// distributed is an engine in memory with the collections that a test projects.
type distributed struct {
	*fixture
	backend *memory.Backend
	tier    *engine.Tier
	search  *search.Engine

	mutex     sync.Mutex
	projected map[uuid.UUID]engine.Projection
	workspace map[uuid.UUID]uuid.UUID // by collection
}

// newDistributed returns an engine of three nodes whose tier has room for overlays of so
// many bytes.
func newDistributed(f *fixture, overlayMemory int64) *distributed {
	f.Helper()
	d := &distributed{fixture: f, backend: memory.New(3), projected: map[uuid.UUID]engine.Projection{}, workspace: map[uuid.UUID]uuid.UUID{}}
	d.tier = engine.New(d.backend, engine.Options{
		Projections: d.projections, Feed: f.index, OverlayMemory: overlayMemory, Timeout: 5 * time.Second,
	})
	f.Cleanup(d.tier.Close)
	d.search = newEngine(f, f.db, analysis.New(), f.models, search.Options{Memory: -1, Distributed: d.tier})
	return d
}

func (d *distributed) projections(_ context.Context, workspace uuid.UUID) (map[uuid.UUID]engine.Projection, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	out := map[uuid.UUID]engine.Projection{}
	for id, p := range d.projected {
		if d.workspace[id] == workspace {
			out[id] = p
		}
	}
	return out, nil
}

// projector writes what it reads to a class.
type projector struct {
	objects []engine.Object
	dead    []uuid.UUID
	at      index.Position
}

func (p *projector) Begin(at index.Position, _ string, _ bool) error { p.at = at; return nil }

func (p *projector) Entry(e *index.Entry) (err error) {
	p.dead = append(p.dead, e.Document)
	p.objects, err = engine.AppendObjects(p.objects, e, p.at.Change)
	return err
}

// project brings the class of a collection up to date.
func (d *distributed) project(id tenant) engine.Projection {
	d.Helper()
	states, err := d.index.States(d.Context(), id.scope)
	if err != nil {
		d.Fatal(err)
	}
	i := slices.IndexFunc(states, func(s index.State) bool { return s.Collection == id.collection })
	d.mutex.Lock()
	before := d.projected[id.collection]
	d.mutex.Unlock()
	class := fmt.Sprintf("M%x", id.collection[:])
	if err := d.backend.Create(d.Context(), engine.Class{Name: class, Dimensions: 256, Replicas: 2}); err != nil {
		d.Fatal(err)
	}
	var p projector
	if err := d.index.Changes(d.Context(), id.scope, states[i], before.Position, &p); err != nil {
		d.Fatal(err)
	}
	var refused *engine.RefusedError
	if err := d.backend.Put(d.Context(), class, p.objects); err != nil && !errors.As(err, &refused) {
		d.Fatal(err)
	}
	if err := d.backend.Delete(d.Context(), class, p.dead, p.at.Change); err != nil {
		d.Fatal(err)
	}
	now := engine.Projection{Class: class, Position: p.at, Model: embed.BuiltinModel}
	now.Refused = slices.DeleteFunc(slices.Clone(before.Refused), func(id uuid.UUID) bool { return slices.Contains(p.dead, id) })
	for i := range p.objects {
		if refused != nil && refused.Reasons[p.objects[i].Passage] != "" {
			now.Refused = append(now.Refused, p.objects[i].Document)
		}
	}
	d.mutex.Lock()
	d.projected[id.collection], d.workspace[id.collection] = now, id.workspace
	d.mutex.Unlock()
	return now
}

// tiers returns the tiers that explanations of the results name.
func tiers(r *search.Results) []search.Tier {
	var out []search.Tier
	for _, h := range r.Hits {
		if !slices.Contains(out, h.Explanation.Tier) {
			out = append(out, h.Explanation.Tier)
		}
	}
	return out
}

func (d *distributed) find(ctx context.Context, id tenant, q search.Query) *search.Results {
	d.Helper()
	q.Explain = true
	if q.Limit == 0 {
		q.Limit = 10
	}
	r, err := d.search.Search(ctx, id.scope, q)
	if err != nil {
		d.Fatalf("search %q: %v", q.Text, err)
	}
	return r
}

// agree compares the results of the demonstration's questions: 99 % of them have the same
// first ten, with the same scores, through each of some filters.
func agree(t *testing.T, id tenant, stored, distributed *search.Engine) {
	t.Helper()
	for name, filters := range map[string]search.Filters{
		"all":        {},
		"version":    {Version: "v2.0"},
		"German":     {Language: "de"},
		"no version": {Version: "v9"},
	} {
		same, questions := 0, 0
		for _, q := range demoQuestions(t) {
			query := search.Query{Text: q.Query, Limit: 10, Filters: filters, Facets: allFacets(), Explain: true}
			want, err := stored.Search(t.Context(), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := distributed.Search(t.Context(), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			if got := tiers(got); len(got) > 1 || len(got) == 1 && got[0] != search.TierEngine {
				t.Fatalf("%s: %q is searched in %v", name, q.Query, got)
			}
			questions++
			if slices.EqualFunc(want.Hits, got.Hits, func(a, b search.Hit) bool {
				return a.Passage == b.Passage && a.Score-b.Score < 0.01 && b.Score-a.Score < 0.01
			}) {
				same++
			} else {
				t.Logf("%s: %q differs", name, q.Query)
			}
		}
		if 100*same < 99*questions {
			t.Errorf("%s: %d of %d questions have the same first ten", name, same, questions)
		}
	}
}

// TestAnEngineFindsWhatPostgreSQLFinds compares the engine with the stored tier, which scans
// so small a collection.
func TestAnEngineFindsWhatPostgreSQLFinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	d := newDistributed(f, 0)
	d.project(id)
	agree(t, id, newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1}), d.search)
	// Only a filter that selects nothing makes PostgreSQL look.
	if s := d.tier.Stats(); s.Searches == 0 || s.Failures > 0 || s.Fallbacks != s.Doubts || s.Doubts > s.Searches/3 {
		t.Errorf("Stats = %+v", s)
	}
}

// TestAnAnswerThatLacksWhatPostgreSQLKnowsIsNotBelieved asks replicas that say nothing, or
// not everything, though they have confirmed all.
func TestAnAnswerThatLacksWhatPostgreSQLKnowsIsNotBelieved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	d := newDistributed(f, 0)
	d.project(id)
	d.backend.Lag("node1", true) // has the first document alone
	f.add(id, "b.md", "# Badgers\n\nBadgers dig setts.", func(r *index.Record) { r.Readers = []string{"user:ann"} })
	d.project(id)
	d.backend.Prefer("node1")
	everyone, ann := viewerWith(t, nil), viewerWith(t, []string{"user:ann"})
	finds := func(ctx context.Context, question, path string, doubted bool) {
		t.Helper()
		before := d.tier.Stats()
		r := d.find(ctx, id, search.Query{Text: question, MinScore: 0.3})
		if len(r.Hits) != 1 || !strings.HasPrefix(r.Hits[0].URL, "https://docs.example/"+path) {
			t.Errorf("%q finds %d passages, want one of %s", question, len(r.Hits), path)
		}
		if after := d.tier.Stats(); (after.Doubts > before.Doubts) != doubted || after.Failures > 0 {
			t.Errorf("%q: Stats = %+v, before %+v", question, after, before)
		}
	}
	finds(everyone, "otters kelp", "a.md", false)
	finds(everyone, "badgers setts", "b.md", true) // though the answer has vectors
	finds(ann, "badgers setts", "b.md", true)
	d.backend.Blank("node1", true)
	finds(everyone, "otters kelp", "a.md", true)
	finds(ann, "otters kelp", "a.md", true)
	d.backend.Blank("node1", false)
	d.backend.Prefer("node2")
	finds(everyone, "otters kelp", "a.md", false)
	finds(everyone, "badgers setts", "b.md", false)
	finds(ann, "badgers setts", "b.md", false)
}

// TestAFinishedWriteIsSeenBeforeTheEngineHasIt changes documents that the engine has.
func TestAFinishedWriteIsSeenBeforeTheEngineHasIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	gone := f.add(id, "b.md", "# Badgers\n\nBadgers sleep in setts.", nil)
	f.add(id, "c.md", "# Foxes\n\nFoxes sleep in dens.", nil)
	d := newDistributed(f, 0)
	d.project(id)
	finds := func(question string, want ...string) {
		t.Helper()
		r := d.find(t.Context(), id, search.Query{Text: question, MinScore: 0.3})
		var got []string
		for _, h := range r.Hits {
			path, _, _ := strings.Cut(strings.TrimPrefix(h.URL, "https://docs.example/"), "#")
			got = append(got, path)
			if h.Explanation.Tier != search.TierEngine {
				t.Errorf("%q is searched in tier %s", question, h.Explanation.Tier)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", question, got, want)
		}
	}
	finds("otters kelp", "a.md")
	f.add(id, "d.md", "# Wolves\n\nWolves sleep in the open.", nil)
	finds("wolves", "d.md")
	f.add(id, "a.md", "# Otters\n\nOtters sleep in rivers.", nil)
	finds("kelp")
	finds("otters rivers", "a.md")
	if _, err := f.index.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{gone}); err != nil {
		t.Fatal(err)
	}
	finds("badgers setts")
	before := d.tier.Stats().Overlays.Loads
	if before == 0 {
		t.Error("no overlay was read")
	}
	d.project(id)
	d.projectionsExpire()
	finds("otters rivers", "a.md")
	finds("wolves", "d.md")
	if s := d.tier.Stats(); s.Failures > 0 || s.Fallbacks > 0 {
		t.Errorf("Stats = %+v", s)
	}
}

// projectionsExpire waits until the tier reads projections again.
func (d *distributed) projectionsExpire() {
	d.Helper()
	<-time.NewTimer(1100 * time.Millisecond).C
}

// TestAReplicaWithOldDataDoesNotAnswerWithIt lets a replica miss a change that another has.
func TestAReplicaWithOldDataDoesNotAnswerWithIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	secret := f.add(id, "plan.md", "# Plan\n\nThe falcon plan is public.", nil)
	f.add(id, "other.md", "# Other\n\nNothing about birds.", nil)
	d := newDistributed(f, 0)
	d.project(id)
	d.backend.Lag("node1", true)
	f.add(id, "plan.md", "# Plan\n\nThe falcon plan is for Ann.", func(r *index.Record) { r.Readers = []string{"user:ann"} })
	d.project(id)
	d.projectionsExpire()
	d.backend.Prefer("node1")
	if r := d.find(viewerWith(t, []string{"user:ben"}), id, search.Query{Text: "falcon plan"}); len(r.Hits) > 0 {
		for _, h := range r.Hits {
			if h.Document == secret {
				t.Errorf("a replica that missed a change of readers shows %q", h.Text)
			}
		}
	}
	r := d.find(viewerWith(t, []string{"user:ann"}), id, search.Query{Text: "falcon plan"})
	for _, h := range r.Hits {
		if h.Document == secret && h.Text != "The falcon plan is for Ann." {
			t.Errorf("a replica that missed a change shows %q", h.Text)
		}
	}
}

// TestPostgreSQLAnswersWhenTheEngineFails breaks the engine in every way that a search meets.
func TestPostgreSQLAnswersWhenTheEngineFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	for name, breakIt := range map[string]func(*distributed){
		"fails": func(d *distributed) { d.backend.Fail(engine.ErrUnavailable) },
		"lost":  func(d *distributed) { d.backend.Lose() },
		"hangs": func(d *distributed) {
			d.backend.Intercept(func(ctx context.Context, _ memory.Call) error { <-ctx.Done(); return ctx.Err() })
		},
		"stops":  func(d *distributed) { d.backend.Stop("node1"); d.backend.Stop("node2"); d.backend.Stop("node3") },
		"absurd": func(d *distributed) { d.backend.Fail(errors.New("no")) },
	} {
		d := newDistributed(f, 0)
		d.tier = engine.New(d.backend, engine.Options{Projections: d.projections, Feed: f.index, Timeout: 50 * time.Millisecond})
		t.Cleanup(d.tier.Close)
		d.search = newEngine(f, f.db, analysis.New(), f.models, search.Options{Memory: -1, Distributed: d.tier})
		d.project(id)
		breakIt(d)
		for range 5 {
			if r := d.find(t.Context(), id, search.Query{Text: "otters"}); len(r.Hits) != 1 {
				t.Errorf("%s: %d results", name, len(r.Hits))
			}
		}
		if s := d.tier.Stats(); s.Failures == 0 || s.Failures > 3 || s.Fallbacks != s.Searches {
			t.Errorf("%s: Stats = %+v, want a pause after three failures at most", name, s)
		}
	}
}

// TestAClassThatIsGoneConcernsItsCollectionAlone loses the class of one of two collections.
func TestAClassThatIsGoneConcernsItsCollectionAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	whole, broken := f.tenant(), f.tenant()
	f.add(whole, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	f.add(broken, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	d := newDistributed(f, 0)
	d.project(whole)
	if err := d.backend.Drop(t.Context(), d.project(broken).Class); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		before := d.tier.Stats()
		if r := d.find(t.Context(), broken, search.Query{Text: "otters"}); len(r.Hits) != 1 {
			t.Errorf("%d results without the class", len(r.Hits))
		}
		between := d.tier.Stats()
		if r := d.find(t.Context(), whole, search.Query{Text: "otters"}); len(r.Hits) != 1 {
			t.Errorf("%d results of the other collection", len(r.Hits))
		}
		after := d.tier.Stats()
		if between.Fallbacks == before.Fallbacks || after.Fallbacks > between.Fallbacks {
			t.Errorf("PostgreSQL alone answered %d, %d and %d times", before.Fallbacks, between.Fallbacks, after.Fallbacks)
		}
	}
	if s := d.tier.Stats(); s.Failures != 1 {
		t.Errorf("the engine was asked for the class %d times within a moment", s.Failures)
	}
}

// TestWhatTheEngineRefusesIsFound has a document that the engine does not take, though the
// watermark is past it.
func TestWhatTheEngineRefusesIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	f.add(id, "b.md", "# Badgers\n\nBadgers dig setts.", nil)
	d := newDistributed(f, 0)
	d.backend.Refuse(func(o *engine.Object) string {
		if slices.Contains(o.Fields[index.FieldBody], "badger") {
			return "no badgers"
		}
		return ""
	})
	if p := d.project(id); len(p.Refused) != 1 {
		t.Fatalf("%d documents are refused", len(p.Refused))
	}
	for question, want := range map[string]int{"badgers setts": 1, "otters kelp": 1, "wolves": 0} {
		if r := d.find(t.Context(), id, search.Query{Text: question, MinScore: 0.3}); len(r.Hits) != want {
			t.Errorf("%q finds %d passages, want %d", question, len(r.Hits), want)
		}
	}
	f.add(id, "c.md", "# Wolves\n\nWolves sleep in the open.", nil)
	d.project(id)
	d.projectionsExpire()
	for _, question := range []string{"badgers setts", "wolves"} {
		if r := d.find(t.Context(), id, search.Query{Text: question, MinScore: 0.3}); len(r.Hits) != 1 {
			t.Errorf("after a change %q finds %d passages", question, len(r.Hits))
		}
	}
	if s := d.tier.Stats(); s.Failures > 0 || s.Fallbacks > 0 {
		t.Errorf("Stats = %+v", s)
	}
}

// TestAnOverlayThatDoesNotFit leaves the search to PostgreSQL.
func TestAnOverlayThatDoesNotFit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	d := newDistributed(f, 1)
	d.project(id)
	f.add(id, "b.md", "# Otters\n\nOtters swim.", nil)
	r := d.find(t.Context(), id, search.Query{Text: "otters"})
	if got := tiers(r); len(r.Hits) != 2 || !slices.Equal(got, []search.Tier{search.TierStored}) {
		t.Errorf("%d results of %v, want 2 of PostgreSQL", len(r.Hits), got)
	}
	if s := d.tier.Stats(); s.Fallbacks == 0 {
		t.Errorf("Stats = %+v", s)
	}
}

// TestAnotherGenerationIsNotSearched changes the generation of a collection that the engine has.
func TestAnotherGenerationIsNotSearched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, other := f.tenant(), f.tenant()
	f.add(id, "a.md", "# Otters\n\nOtters sleep in kelp.", nil)
	d := newDistributed(f, 0)
	d.project(id)
	f.exec("update collection_state set generation = generation + 1 where collection_id = $1", id.collection)
	if got := tiers(d.find(t.Context(), id, search.Query{Text: "otters"})); !slices.Equal(got, []search.Tier{search.TierStored}) {
		t.Errorf("another generation is searched in %v", got)
	}
	stranger, err := other.scope.Narrow(id.collection)
	if err == nil {
		if r, err := d.search.Search(t.Context(), stranger, search.Query{Text: "otters", Limit: 10}); err == nil && len(r.Hits) > 0 {
			t.Errorf("another workspace finds %+v", r.Hits)
		}
	} else if !errors.Is(err, viewer.ErrOutOfScope) {
		t.Error(err)
	}
}
