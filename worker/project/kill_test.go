package project_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/project"
)

var errKilled = errors.New("the process is dead")

// A killer ends a process at one of its calls of the database and of the engine: all calls
// from then on fail.
type killer struct {
	project.Index
	engine.Backend

	mu    sync.Mutex
	left  int  // calls before the last one
	after bool // the last one is still done
	dead  bool
}

// step does a call, unless the process is dead.
func (k *killer) step(do func() error) error {
	k.mu.Lock()
	dead := k.dead
	last := !dead && k.left == 0
	if k.left--; last {
		k.dead = true
	}
	k.mu.Unlock()
	switch {
	case dead, last && !k.after:
		return errKilled
	case last:
		_ = do()
		return errKilled
	default:
		return do()
	}
}

func (k *killer) AddProjection(ctx context.Context, scope viewer.Scope, p *index.Projection, lease time.Duration) error {
	return k.step(func() error { return k.Index.AddProjection(ctx, scope, p, lease) })
}

func (k *killer) ClaimProjection(ctx context.Context, scope viewer.Scope, collection uuid.UUID, lease time.Duration) (p *index.Projection, err error) {
	err = k.step(func() (err error) { p, err = k.Index.ClaimProjection(ctx, scope, collection, lease); return err })
	return p, err
}

func (k *killer) SaveProjection(ctx context.Context, scope viewer.Scope, p *index.Projection, lease time.Duration) error {
	return k.step(func() error { return k.Index.SaveProjection(ctx, scope, p, lease) })
}

func (k *killer) RemoveProjection(ctx context.Context, scope viewer.Scope, p *index.Projection) error {
	return k.step(func() error { return k.Index.RemoveProjection(ctx, scope, p) })
}

func (k *killer) ChangePage(ctx context.Context, scope viewer.Scope, collection uuid.UUID, page index.ChangePage, r index.ChangeReader) (end index.PageEnd, err error) {
	err = k.step(func() (err error) { end, err = k.Index.ChangePage(ctx, scope, collection, page, r); return err })
	return end, err
}

func (k *killer) Entries(ctx context.Context, scope viewer.Scope, collection uuid.UUID, documents []uuid.UUID, bare bool, r index.ChangeReader) error {
	return k.step(func() error { return k.Index.Entries(ctx, scope, collection, documents, bare, r) })
}

func (k *killer) Create(ctx context.Context, c engine.Class) error {
	return k.step(func() error { return k.Backend.Create(ctx, c) })
}

func (k *killer) Drop(ctx context.Context, class string) error {
	return k.step(func() error { return k.Backend.Drop(ctx, class) })
}

func (k *killer) Classes(ctx context.Context, prefix string) (classes []string, err error) {
	err = k.step(func() (err error) { classes, err = k.Backend.Classes(ctx, prefix); return err })
	return classes, err
}

func (k *killer) Put(ctx context.Context, class string, objects []engine.Object) error {
	return k.step(func() error { return k.Backend.Put(ctx, class, objects) })
}

func (k *killer) Delete(ctx context.Context, class string, documents []uuid.UUID, before int64) error {
	return k.step(func() error { return k.Backend.Delete(ctx, class, documents, before) })
}

func (k *killer) Missing(ctx context.Context, class string, passages []uuid.UUID, change int64) (missing []uuid.UUID, err error) {
	err = k.step(func() (err error) { missing, err = k.Backend.Missing(ctx, class, passages, change); return err })
	return missing, err
}

func (k *killer) Nodes(ctx context.Context) (nodes []engine.Node, err error) {
	err = k.step(func() (err error) { nodes, err = k.Backend.Nodes(ctx); return err })
	return nodes, err
}

// Wherever a process is killed, the next one makes the ledger exact, and nothing counts as
// confirmed before it is.
func TestAKilledProcessDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(f *fixture, id tenant, round int){
		"while documents change": func(f *fixture, id tenant, round int) {
			f.put(id, fmt.Sprint("document", round%7), fmt.Sprint("words of round ", round), "more words")
			f.store(id, "document3", []string{fmt.Sprint("user:", round)}, "first words of 3")
			gone := f.put(id, "passing", "a document that goes")
			if round%2 == 1 {
				f.remove(id, gone)
			}
		},
		"in a first projection": func(f *fixture, _ tenant, _ int) { f.exec("update engine_collections set history = 'another'") },
		"while a collection leaves": func(f *fixture, id tenant, _ int) {
			f.exec("update collections set search_tier = 'POSTGRESQL' where id = $1", id.collection)
		},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after the call %v", name, after), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				id := f.tenant()
				f.fill(id, 7)
				f.tick(f.projector())
				f.exact(id)
				for round := 0; ; round++ {
					prepare(f, id, round)
					before, _ := f.row(id)
					k := &killer{Index: f.index, Backend: f.backend, left: round, after: after}
					_ = project.New(k, k, f.options()).Tick(t.Context())
					f.confirmedIsThere(id)
					f.expire()
					if name == "while a collection leaves" {
						f.tick(f.projector())
						if classes, _ := f.backend.Classes(t.Context(), ""); f.projections() != 0 || len(classes) != 0 {
							t.Fatalf("after a kill at call %d there are %d projections and the classes %v", round, f.projections(), classes)
						}
						f.exec("update collections set search_tier = 'AUTO' where id = $1", id.collection)
					}
					f.tick(f.projector())
					f.exact(id)
					if t.Failed() {
						t.Fatalf("after a kill at call %d; before it %+v", round, before)
					}
					if !k.dead {
						if round < 4 {
							t.Errorf("only %d calls", round)
						}
						return
					}
				}
			})
		}
	}
}

// confirmedIsThere checks what searches rely on, at any moment.
func (f *fixture) confirmedIsThere(id tenant) {
	f.Helper()
	row, ok := f.row(id)
	if !ok || row.State != index.ProjectionReady {
		return
	}
	var want live
	want.lengths = row.Dimensions
	if err := f.index.Changes(f.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, &want); err != nil {
		f.Fatal(err)
	}
	newest := f.newest(id)
	for _, node := range []string{"node1", "node2"} {
		there := map[uuid.UUID]int64{}
		for _, o := range f.backend.Objects(row.Class, node) {
			there[o.Passage] = o.Change
		}
		for passage, o := range want.objects {
			if change, ok := there[passage]; newest[o.Document] <= row.Confirmed.Change && (!ok || change < newest[o.Document]) {
				f.Errorf("%s lacks a passage of change %d, and %d is confirmed", node, newest[o.Document], row.Confirmed.Change)
			}
		}
	}
}
