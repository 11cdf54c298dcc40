package reembed_test

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

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/reembed"
)

func TestACollectionChangesItsModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 7)
	f.put(f.old, "b", 1)
	f.put(f.old, "empty", 0)
	gone := f.put(f.old, "gone", 2)
	if _, err := f.index.SoftDelete(t.Context(), f.scope, index.Fence{}, []uuid.UUID{gone}); err != nil {
		t.Fatal(err)
	}
	f.work()
	f.expectSettled(f.old)
	before := f.read(0)
	f.setNext("new")
	f.work()
	f.expectSettled(f.new)
	after := f.read(0)
	if after.at.Generation != before.at.Generation+1 || after.at.Change <= before.at.Change || len(after.documents) != 3 {
		t.Errorf("the reader went from %v to %v, %d documents", before.at, after.at, len(after.documents))
	}
	states, err := f.index.States(t.Context(), f.scope)
	if err != nil || states[0].Model != "new" || states[0].Required <= before.at.Change {
		t.Errorf("the state is %+v, %v", states, err)
	}
	if n := f.new.embedded(); n != 10 {
		t.Errorf("%d texts were embedded for 10 passages", n)
	}
	if n, err := f.index.Restore(t.Context(), f.scope, index.Fence{}, []uuid.UUID{gone}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if r := f.read(0); r.passages != 10 {
		t.Errorf("%d passages after the restore", r.passages)
	}
	f.setNext("old")
	f.work()
	f.expectSettled(f.old)
}

func TestAnEmptyCollectionChangesItsModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setNext("new")
	f.work()
	f.expectSettled(f.new)
	f.put(f.new, "a", 2)
	f.work()
	f.expectSettled(f.new)
}

func TestTheOldModelCancelsAChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 8)
	f.setNext("new")
	calls := 0
	f.new.before(func() error {
		if calls++; calls == 2 {
			f.setNext(nil)
		}
		return nil
	})
	before := f.read(0).at
	f.work()
	f.expectSettled(f.old)
	if at := f.read(0).at; at.Generation != before.Generation {
		t.Errorf("a cancelled change moved the generation to %v", at)
	}
	if n := f.new.embedded(); n != 6 {
		t.Errorf("%d texts were embedded before the cancellation", n)
	}
}

func TestTheNextModelChangesDuringAChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 8)
	f.setNext("new")
	k := &killer{Store: f.index, after: -1}
	k.at = func(call string) {
		if call == "FoldVectors" && k.after == -1 {
			k.after = 0
			f.setNext("old") // while some vectors are in place
		}
	}
	if err := f.engine(k).Reembed(t.Context(), f.task()); err != nil {
		t.Fatal(err)
	}
	f.work()
	f.expectSettled(f.old)
}

// A killer is an index whose process dies before one of its calls.
type killer struct {
	*index.Store
	calls int
	after int // calls that succeed; below 0 all
	at    func(call string)
	kill  context.CancelFunc
}

func (k *killer) call(name string) {
	k.calls++
	if k.at != nil {
		k.at(name)
	}
	if k.kill != nil && k.calls > k.after {
		k.kill()
	}
}

func (k *killer) Lacking(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, after int64, from uuid.UUID, limit int) ([]index.Unembedded, error) {
	k.call("Lacking")
	return k.Store.Lacking(ctx, scope, collection, model, after, from, limit)
}

func (k *killer) AddVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, passages []index.Unembedded, vectors [][]float32) error {
	k.call("AddVectors")
	return k.Store.AddVectors(ctx, scope, collection, model, passages, vectors)
}

func (k *killer) SwitchModel(ctx context.Context, scope viewer.Scope, collection uuid.UUID, next string, after int64) (bool, error) {
	k.call("SwitchModel")
	return k.Store.SwitchModel(ctx, scope, collection, next, after)
}

func (k *killer) FoldVectors(ctx context.Context, scope viewer.Scope, collection uuid.UUID, limit int) (int, error) {
	k.call("FoldVectors")
	return k.Store.FoldVectors(ctx, scope, collection, limit)
}

func (k *killer) Settle(ctx context.Context, scope viewer.Scope, collection uuid.UUID, model string, after int64) (bool, error) {
	k.call("Settle")
	return k.Store.Settle(ctx, scope, collection, model, after)
}

// A worker dies before each call in turn. Readers always find every passage with a
// vector of the collection's model.
func TestAKillAtAnyStepLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	from, to := f.old, f.new
	for i := range 4 {
		f.put(from, fmt.Sprint(i), 2+2*i)
	}
	killed := true
	for after := 0; killed; after++ {
		f.setNext(to.name)
		killed = false
		// The first worker dies after some calls, the next ones after few.
		for worker := range 3 {
			ctx, kill := context.WithCancel(t.Context())
			k := &killer{Store: f.index, after: after, kill: kill}
			if worker > 0 {
				k.after = after % 5
			}
			if err := f.engine(k).Reembed(ctx, f.task()); err != nil {
				t.Fatal(err)
			}
			killed = killed || ctx.Err() != nil && worker == 0
			kill()
			f.read(0)
		}
		f.put(from, "0", 1+after%4) // by a writer that has not seen the change
		f.work()
		f.expectSettled(to)
		from, to = to, from
	}
}

func TestADocumentStoredAcrossTheSwitchGetsItsVectors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 8)
	f.put(f.old, "b", 2)
	f.setNext("new")
	k := &killer{Store: f.index, after: -1}
	folds := 0
	k.at = func(call string) {
		if call != "FoldVectors" {
			return
		}
		// Its writer starts before the switch and commits after it.
		if folds++; folds == 2 {
			f.put(f.old, "b", 4)
			f.put(f.old, "c", 3)
			f.read(7)
		}
	}
	if err := f.engine(k).Reembed(t.Context(), f.task()); err != nil {
		t.Fatal(err)
	}
	f.expectSettled(f.new)
	if folds < 3 {
		t.Errorf("there were %d folds", folds)
	}
	// A worker that was away stores a document long after the change.
	at := f.read(0).at
	f.put(f.old, "d", 5)
	f.read(5)
	f.work()
	f.expectSettled(f.new)
	if now := f.read(0).at; now.Generation != at.Generation || now.Change < at.Change+2 {
		t.Errorf("the change number went from %v to %v without the vectors", at, now)
	}
}

func TestWritersAndReadersGoOnDuringTheChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 10 {
		f.put(f.old, fmt.Sprint(i), 4)
	}
	f.setNext("new")
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				// A slice of a sync keeps its first model.
				out, err := f.index.Put(t.Context(), f.scope, index.Fence{}, f.record(f.old, fmt.Sprint(w, i%7), 1+i%5))
				if err == nil && i%3 == 0 {
					_, err = f.index.SoftDelete(t.Context(), f.scope, index.Fence{}, []uuid.UUID{out.Document})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	e := f.engine(f.index)
	var embedders sync.WaitGroup
	for range 2 { // two workers have the same task
		embedders.Go(func() {
			if err := reembed.New(f.index, f.models(f.old, f.new), reembed.Options{Slice: 16, SliceTime: 500 * time.Millisecond}).Reembed(t.Context(), f.task()); err != nil {
				t.Error(err)
			}
		})
	}
	embedders.Wait()
	close(stop)
	writers.Wait()
	if err := e.Reembed(t.Context(), f.task()); err != nil {
		t.Fatal(err)
	}
	f.work()
	f.expectSettled(f.new)
}

func TestAnUnavailableModelIsRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 4)
	f.setNext("new")
	away := errors.New("the service is away")
	f.new.before(func() error { return away })
	if err := f.engine(f.index).Reembed(t.Context(), f.task()); !errors.Is(err, away) || !strings.Contains(err.Error(), provider.Brief(away)) {
		t.Errorf("Reembed = %v", err)
	}
	f.read(0)
	f.new.before(nil)
	f.work()
	f.expectSettled(f.new)
}

func TestTheProgressOfAChangeIsCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 8)
	f.setNext("new")
	var seen []index.Embedded
	f.new.before(func() error {
		found, err := f.index.Embedded(t.Context(), f.scope, f.collection, "new")
		seen = append(seen, found)
		return err
	})
	f.work()
	if want := []index.Embedded{{Passages: 8, Lacking: 8}, {Passages: 8, Lacking: 5}, {Passages: 8, Lacking: 2}}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	if found, err := f.index.Embedded(t.Context(), f.scope, f.collection, "new"); err != nil || found != (index.Embedded{Passages: 8}) {
		t.Errorf("at the end: %v, %v", found, err)
	}
	other, err := viewer.System(gid.New(gid.Workspace)).Scope()
	if err != nil {
		t.Fatal(err)
	}
	if found, err := f.index.Embedded(t.Context(), other, f.collection, "new"); err != nil || found != (index.Embedded{}) {
		t.Errorf("another workspace: %v, %v", found, err)
	}
}

func TestOnlyConfiguredModelsArePending(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 2)
	f.setNext("new")
	e := reembed.New(f.index, f.models(f.old), reembed.Options{})
	if pending, err := e.Pending(t.Context()); err != nil || len(pending) != 0 {
		t.Errorf("without the model Pending = %v, %v", pending, err)
	}
	if err := e.Reembed(t.Context(), f.task()); err != nil {
		t.Error(err)
	}
	both := f.engine(f.index)
	if pending, err := both.Pending(t.Context()); err != nil || !slices.Equal(pending, []queue.Reembed{f.task()}) {
		t.Errorf("Pending = %v, %v", pending, err)
	}
	for name, task := range map[string]queue.Reembed{
		"a collection that is gone":      {Workspace: f.workspace, Collection: gid.New(gid.Collection)},
		"another workspace's collection": {Workspace: gid.New(gid.Workspace), Collection: f.collection},
	} {
		if err := both.Reembed(t.Context(), task); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.new.embedded(); n != 0 {
		t.Errorf("%d texts were embedded", n)
	}
	f.read(0)
}

func TestARetiredModelIsReplaced(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"builtin-hash-384", "builtin-static-256"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.newCollection(name)
			retired := &model{name: name, dimensions: 5}
			f.put(retired, "a", 3)
			builtin := &model{name: embed.BuiltinModel, dimensions: 6}
			there := reembed.New(f.index, f.models(builtin, retired), reembed.Options{})
			if pending, err := there.Pending(t.Context()); err != nil || len(pending) != 0 {
				t.Errorf("with the old model configured Pending = %v, %v", pending, err)
			}
			f.workWith(builtin)
			f.settledAs(builtin)
		})
	}
}

// An upgrade may come while a collection still changes to the model that it retires.
func TestAChangeToARetiredModelGoesOnToItsReplacement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 3)
	f.setNext("builtin-static-256")
	builtin := &model{name: embed.BuiltinModel, dimensions: 6}
	f.workWith(builtin)
	f.settledAs(builtin)
}

// workWith works with one configured model until there is nothing to do.
func (f *fixture) workWith(m *model) {
	f.Helper()
	e := reembed.New(f.index, f.models(m), reembed.Options{Log: f.log})
	for range 2 {
		pending, err := e.Pending(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		for _, task := range pending {
			if err := e.Reembed(f.Context(), task); err != nil {
				f.Fatal(err)
			}
		}
	}
}

func (f *fixture) settledAs(m *model) {
	f.Helper()
	f.new = m
	f.expectSettled(m)
}

func TestVectorsOfAnotherWorkspaceAreOutOfReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(f.old, "a", 2)
	f.setNext("new")
	theirs, err := viewer.System(gid.New(gid.Workspace)).Scope()
	if err != nil {
		t.Fatal(err)
	}
	lacking, err := f.index.Lacking(t.Context(), f.scope, f.collection, "new", 0, uuid.Nil, 10)
	if err != nil || len(lacking) != 2 {
		t.Fatal(lacking, err)
	}
	vectors := [][]float32{f.new.vector("a"), f.new.vector("b")}
	if got, err := f.index.Lacking(t.Context(), theirs, f.collection, "new", 0, uuid.Nil, 10); err != nil || len(got) != 0 {
		t.Errorf("Lacking = %v, %v", got, err)
	}
	if err := f.index.AddVectors(t.Context(), theirs, f.collection, "new", lacking, vectors); err == nil {
		t.Error("AddVectors for another workspace")
	}
	for name, n := range map[string]func() (int, error){
		"FoldVectors": func() (int, error) { return f.index.FoldVectors(t.Context(), theirs, f.collection, 10) },
		"DropVectors": func() (int, error) { return f.index.DropVectors(t.Context(), theirs, f.collection, 10) },
		"SwitchModel": func() (int, error) {
			did, err := f.index.SwitchModel(t.Context(), theirs, f.collection, "new", 0)
			if did {
				return 1, err
			}
			return 0, err
		},
		"Settle": func() (int, error) {
			did, err := f.index.Settle(t.Context(), theirs, f.collection, "old", 0)
			if did {
				return 1, err
			}
			return 0, err
		},
	} {
		if got, err := n(); got != 0 || err != nil {
			t.Errorf("%s = %d, %v", name, got, err)
		}
	}
	if err := f.index.AddVectors(t.Context(), f.scope, f.collection, "third", lacking, vectors); !errors.Is(err, index.ErrModel) {
		t.Errorf("AddVectors of another model: %v", err)
	}
	if err := f.index.AddVectors(t.Context(), f.scope, f.collection, "new", lacking, vectors[:1]); !errors.Is(err, index.ErrRecord) {
		t.Errorf("AddVectors of too few: %v", err)
	}
	var n int
	if err := f.owner.QueryRow(t.Context(), "select count(*) from passage_vectors").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d vectors were kept, %v", n, err)
	}
}
