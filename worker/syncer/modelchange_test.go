package syncer_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// An otherModel is a second model.
type otherModel struct{ *model }

func (otherModel) Model() string { return "other" }

// vectors counts the passages that a reader gets, with and without a vector.
type vectors struct {
	model         string
	with, without int
}

func (v *vectors) Begin(_ index.Position, model string, _ bool) error {
	*v = vectors{model: model}
	return nil
}

func (v *vectors) Entry(e *index.Entry) error {
	for _, p := range e.Passages {
		if p.Vector != nil {
			v.with++
		} else {
			v.without++
		}
	}
	return nil
}

func (f *fixture) read() vectors {
	f.Helper()
	var v vectors
	f.must(f.index.Changes(f.ctx, f.scope, index.State{Collection: f.row.CollectionID}, index.Position{}, &v))
	return v
}

// waitSettled waits until the collection has the model and all vectors are in place.
func (f *fixture) waitSettled(model string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			f.Fatal("the change of the model does not end")
		case <-tick.C:
		}
		changes, err := f.index.ModelChanges(ctx)
		f.must(err)
		if row := f.collection(); len(changes) == 0 && row.EmbeddingModel == model && row.NextEmbeddingModel == nil {
			tick.Stop()
			return
		}
	}
}

func (f *fixture) collection() *ent.Collection {
	f.Helper()
	row, err := f.db.Ent.Collection.Query().Where(collection.ID(f.row.CollectionID)).Only(f.ctx)
	f.must(err)
	return row
}

func TestSyncsGoOnWhileTheModelChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.others = []embed.Embedder{otherModel{&model{}}}
	f.work()
	f.script.fill(30, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 30, Added: 30})
	// During the next sync, whose slice keeps the model that it started with.
	var once sync.Once
	f.model.hook(func(context.Context, int) (err error) {
		once.Do(func() {
			err = f.db.Ent.Collection.UpdateOneID(f.row.CollectionID).SetNextEmbeddingModel("other").Exec(f.ctx)
		})
		return err
	})
	f.script.fill(30, "v2")
	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 30, Modified: 30})
	f.waitSettled("other")
	if v := f.read(); v.model != "other" || v.with < 30 || v.without != 0 {
		t.Errorf("a reader gets %+v", v)
	}
	f.model.embedded()
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 31, Added: 1, Unchanged: 30})
	f.waitSettled("other")
	if n := f.model.embedded(); n != 0 {
		t.Errorf("the old model embedded %d texts after the change", n)
	}
}

func TestASyncWithoutItsModelUsesTheNextOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.embedder = otherModel{&model{}}
	row := f.collection() // has the model "counting", which is no longer configured
	f.must(f.db.Ent.Collection.UpdateOneID(row.ID).SetNextEmbeddingModel("other").Exec(f.ctx))
	f.work()
	f.script.fill(5, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 5})
	f.waitSettled("other")
	if v := f.read(); v.with < 5 || v.without != 0 {
		t.Errorf("a reader gets %+v", v)
	}
}
