package weaviate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/magpie-search/magpie/internal/search/engine"
)

// many returns objects that fill several batches.
func many() []engine.Object {
	out := make([]engine.Object, 600)
	for i := range out {
		out[i] = passage(1, "word")
	}
	return out
}

// A node may wait for another one that has just died, as long as a request lets it.
func TestAWriteDoesNotWaitLongForNodesThatHang(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := created(t, f)
	f.refuse = func(ctx context.Context, _ int, method string) error {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 15*time.Second {
			t.Errorf("%s may take until %s", method, deadline)
		}
		return nil
	}
	put(t, b, many()...)
	f.refuse = func(ctx context.Context, node int, _ string) error {
		if node == 2 {
			return nil
		}
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if err := b.Put(ctx, class, many()); err != nil {
		t.Errorf("with one node that does not hang: %v", err)
	}
	if n := len(f.nodes[2].objects[class]); n != 1200 {
		t.Errorf("%d objects are stored, want 1200", n)
	}
}

func TestANodeThatIsAwayIsLeftOut(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := created(t, f)
	away := map[int]bool{0: true}
	f.refuse = func(_ context.Context, node int, _ string) error {
		if away[node] {
			return status.Error(codes.Unavailable, "no more")
		}
		return nil
	}
	for range 3 { // each node is asked first once
		put(t, b, passage(1, "word"))
	}
	if n := f.count("0 " + putMethod); n != 1 {
		t.Errorf("a node that is away was asked %d times", n)
	}
	before := f.count(putMethod)
	away[1], away[2] = true, true
	if err := b.Put(t.Context(), class, []engine.Object{passage(1, "word")}); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a write that no node takes: %v", err)
	}
	if n := f.count(putMethod) - before; n != 2 || f.count("0 "+putMethod) != 1 {
		t.Errorf("%d nodes were asked, want the two that were not away", n)
	}
	// Now all are: none is left out.
	if err := b.Put(t.Context(), class, []engine.Object{passage(1, "word")}); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a write that no node takes: %v", err)
	}
	if n := f.count(putMethod) - before; n != 5 {
		t.Errorf("%d nodes were asked, want two and then all", n)
	}
}

const putMethod = "/weaviate.v1.Weaviate/BatchObjects"

// An object that cannot be read makes the engine refuse its whole batch.
func TestAnObjectThatSpoilsItsBatchIsFound(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	objects := many()
	f.reject = objects[250].Passage.String()
	var refused *engine.RefusedError
	if err := b.Put(t.Context(), class, objects); !errors.As(err, &refused) || len(refused.Reasons) != 1 || refused.Reasons[objects[250].Passage] == "" {
		t.Errorf("the error is %v", err)
	}
	if n := len(f.nodes[0].objects[class]); n != len(objects)-1 {
		t.Errorf("%d of %d objects are stored", n, len(objects))
	}
	if n := f.count(putMethod); n > 25 {
		t.Errorf("%d requests were made to find one of 600 objects", n)
	}
	// Of a class that is gone no object is.
	if err := f.opened(t).Drop(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), class, objects[250:251]); !errors.Is(err, engine.ErrNoClass) || errors.As(err, &refused) {
		t.Errorf("the error is %v", err)
	}
}
