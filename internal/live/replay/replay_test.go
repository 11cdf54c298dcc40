package replay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/live/replay"
	"github.com/magpie-search/magpie/internal/testkit"
)

type numbered = replay.Event[string]

func owner() replay.Owner { return replay.Owner{Workspace: uuid.New(), Subject: uuid.New()} }

// begin starts a stream of the sent texts, until send is closed or the stream is
// stopped, which closes stopped.
func begin(t *testing.T, k *replay.Keeper[string], who replay.Owner) (id uuid.UUID, send chan<- string, stopped <-chan struct{}) {
	t.Helper()
	said, ended := make(chan string), make(chan struct{})
	id = uuid.New()
	if err := k.Start(t.Context(), who, id, func(ctx context.Context) (<-chan string, error) {
		out := make(chan string)
		go func() {
			defer close(out)
			for {
				select {
				case s, ok := <-said:
					if !ok {
						return
					}
					out <- s
				case <-ctx.Done():
					close(ended)
					return
				}
			}
		}()
		return out, nil
	}); err != nil {
		t.Fatal(err)
	}
	return id, said, ended
}

func follow(ctx context.Context, t *testing.T, k *replay.Keeper[string], who replay.Owner, id uuid.UUID, after int) <-chan numbered {
	t.Helper()
	c, err := replay.Follow(ctx, k, who, id, after, func(e numbered) numbered { return e })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func code(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}

func TestAReaderContinuesAfterItsLastEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := replay.New[string](replay.Options{})
		defer k.Close()
		who := owner()
		id, send, stopped := begin(t, k, who)
		ctx, leave := context.WithCancel(t.Context())
		c := follow(ctx, t, k, who, id, 0)
		send <- "a"
		if e := <-c; e != (numbered{1, "a"}) {
			t.Errorf("%+v", e)
		}
		leave()
		for range c {
		}
		testkit.Advance(t, 19*time.Second)
		send <- "b"
		select {
		case <-stopped:
			t.Fatal("it was stopped too early")
		default:
		}
		c = follow(t.Context(), t, k, who, id, 1)
		if e := <-c; e != (numbered{2, "b"}) {
			t.Errorf("%+v", e)
		}
		testkit.Advance(t, time.Hour)
		send <- "c"
		close(send)
		if e := <-c; e != (numbered{3, "c"}) {
			t.Errorf("%+v", e)
		}
		if _, open := <-c; open {
			t.Error("events come after the end")
		}
		all := 0
		for e := range follow(t.Context(), t, k, who, id, 0) {
			if all++; e.Seq != all {
				t.Errorf("%+v", e)
			}
		}
		if all != 3 {
			t.Errorf("%d events are kept", all)
		}
		if _, open := <-follow(t.Context(), t, k, who, id, 99); open {
			t.Error("an event came after the end")
		}
		testkit.Advance(t, 61*time.Second)
		if _, err := replay.Follow(t.Context(), k, who, id, 0, func(e numbered) numbered { return e }); code(err) != apierr.CodeNotFound {
			t.Errorf("after the retention: %v", err)
		}
	})
}

func TestAStreamWithoutReadersIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := replay.New[string](replay.Options{})
		defer k.Close()
		who := owner()
		_, _, never := begin(t, k, who)
		id, _, stopped := begin(t, k, who)
		ctx, leave := context.WithCancel(t.Context())
		one, two := follow(ctx, t, k, who, id, 0), follow(t.Context(), t, k, who, id, 0)
		leave()
		for range one {
		}
		testkit.Advance(t, time.Minute)
		select {
		case <-never:
		default:
			t.Error("a stream without a reader goes on")
		}
		select {
		case <-stopped:
			t.Error("a stream with a reader was stopped")
		default:
		}
		k.Close()
		if _, open := <-two; open {
			t.Error("it goes on after Close")
		}
		<-stopped
	})
}

func TestOnlyTheOwnerFindsAStream(t *testing.T) {
	t.Parallel()
	k := replay.New[string](replay.Options{Name: "Answer"})
	defer k.Close()
	who := owner()
	id, _, _ := begin(t, k, who)
	for name, other := range map[string]replay.Owner{
		"another person": {Workspace: who.Workspace, Subject: uuid.New()}, "another workspace": {Workspace: uuid.New(), Subject: who.Subject}, "nobody": {},
	} {
		if _, err := replay.Follow(t.Context(), k, other, id, 0, func(e numbered) numbered { return e }); code(err) != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := replay.Follow(t.Context(), k, who, id, -1, func(e numbered) numbered { return e }); code(err) != apierr.InvalidRequest {
		t.Errorf("a negative number: %v", err)
	}
	refused := errors.New("no")
	if err := k.Start(t.Context(), who, uuid.New(), func(context.Context) (<-chan string, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	k.Close()
	if err := k.Start(t.Context(), who, uuid.New(), nil); code(err) != apierr.Unavailable {
		t.Errorf("after the end: %v", err)
	}
}

func TestKeptStreamsAreBounded(t *testing.T) {
	t.Parallel()
	k := replay.New[string](replay.Options{Each: 3, Events: 5})
	defer k.Close()
	who := owner()
	var ids []uuid.UUID
	for range 5 {
		id, send, _ := begin(t, k, who)
		ids = append(ids, id)
		send <- "x"
		close(send)
		for range follow(t.Context(), t, k, who, id, 0) {
		}
	}
	for i, id := range ids {
		_, err := replay.Follow(t.Context(), k, who, id, 1, func(e numbered) numbered { return e })
		if want := map[bool]apierr.Code{true: apierr.CodeNotFound, false: ""}[i < 2]; code(err) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	id, send, stopped := begin(t, k, who)
	for range 6 {
		send <- "y"
	}
	<-stopped
	n := 0
	for range follow(t.Context(), t, k, who, id, 0) {
		n++
	}
	if n != 5 {
		t.Errorf("%d events are kept", n)
	}
}
