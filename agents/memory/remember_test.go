package memory_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

func littleEndian(values []float32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func (h *fixture) count(t *testing.T) (n int) {
	t.Helper()
	if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from agent_memories").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func fact(content string) memory.Note {
	return memory.Note{Kind: memory.Fact, Content: content, Importance: 0.4}
}

func TestRememberedFactsBelongToThePersonAndAreMerged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	run := gid.New(gid.AgentRun)
	remember := func(n memory.Note) memory.Item {
		t.Helper()
		return must[memory.Item](t)(h.memories.Remember(h.bob, h.agent, run, n))
	}
	first := remember(memory.Note{Kind: memory.Fact, Content: "Bob's team releases every second Thursday.", Importance: 0.8})
	v, _ := viewer.From(h.bob)
	row := must[*ent.AgentMemory](t)(h.memories.Get(h.bob, h.agent, first.ID))
	if row.PersonID == nil || *row.PersonID != v.Subject || row.RunID == nil || *row.RunID != run {
		t.Errorf("remembered as %+v", row)
	}
	for _, again := range []string{"Bob's team releases every second Thursday.", "  bob's team releases every second thursday", "Bob's team releases every second Thursday morning."} {
		got := remember(fact(again))
		if got.ID != first.ID || got.Content != strings.TrimSpace(again) || got.Importance != 0.8 {
			t.Errorf("%q became %+v", again, got)
		}
	}
	for _, another := range []memory.Note{
		{Kind: memory.Insight, Content: "Bob's team releases every second Thursday morning."},
		fact("Bob's team meets every second Tuesday."),
		fact("The metrics port of the gateway in the first region is 9090."),
		fact("The metrics port of the gateway in the first region is 9191."),
		fact("Alice owns billing."), fact("Carol owns billing."),
		fact("Alice reports to Carol at work."), fact("Carol reports to Alice at work."),
	} {
		before := h.count(t)
		if remember(another); h.count(t) != before+1 {
			t.Errorf("%q was merged into another memory", another.Content)
		}
	}
	cyds := must[memory.Item](t)(h.memories.Remember(h.cyd, h.agent, run, fact("Bob's team releases every second Thursday morning.")))
	if cyds.ID == first.ID {
		t.Error("a memory of Bob became a memory of Cyd")
	}
	shared := h.create(t, h.ada, "The canteen is closed in August.")
	if got := remember(fact("the canteen is closed in august")); got.ID != shared.ID || got.Content != shared.Content {
		t.Errorf("the shared memory became %+v", got)
	}
}

func TestRememberRejectsInvalidNotes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	run := gid.New(gid.AgentRun)
	for name, n := range map[string]memory.Note{
		"nothing": fact(""), "blanks": fact(" \n "), "too much": fact(strings.Repeat("a ", 2001)), "NUL": fact("a\x00"), "an unknown kind": {Kind: "GOSSIP", Content: "a"},
		"a credential and nothing else": fact("ghp_0123456789abcdefghijABCDEFGHIJ012345"),
	} {
		if _, err := h.memories.Remember(h.bob, h.agent, run, n); code(err) != apierr.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	for weight, want := range map[float64]float64{-3: 0, 7: 1, math.Inf(1): 1} {
		got := must[memory.Item](t)(h.memories.Remember(h.bob, h.agent, uuid.Nil, memory.Note{Kind: memory.Fact, Content: fmt.Sprint("Weight number ", weight), Importance: weight}))
		if got.Importance != want {
			t.Errorf("importance %v became %v", weight, got.Importance)
		}
	}
	v, _ := viewer.From(h.ada)
	for who, v := range map[string]viewer.Viewer{"Magpie itself": viewer.System(v.Workspace), "a key": {Workspace: v.Workspace, Kind: viewer.KindKey, Subject: uuid.New(), AllCollections: true}} {
		if _, err := h.memories.Remember(viewer.With(t.Context(), v), h.agent, run, fact("a")); code(err) != apierr.Forbidden {
			t.Errorf("%s: %v", who, err)
		}
	}
}

func TestARunRemembersAtMostTen(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	run := gid.New(gid.AgentRun)
	words := strings.Fields("apple bridge candle desert engine forest guitar harbour island jungle kettle")
	for i, w := range words {
		_, err := h.memories.Remember(h.bob, h.agent, run, fact("The "+w+" stands alone."))
		if want := i >= memory.MaxPerRun; (code(err) == apierr.Conflict) != want || !want && err != nil {
			t.Errorf("memory %d: %v", i+1, err)
		}
	}
	if _, err := h.memories.Remember(h.bob, h.agent, run, fact("The apple stands alone!")); err != nil {
		t.Errorf("a known fact counts as a new memory: %v", err)
	}
	if _, err := h.memories.Remember(h.bob, h.agent, gid.New(gid.AgentRun), fact("The kettle stands alone.")); err != nil {
		t.Errorf("another run: %v", err)
	}
}

func TestConcurrentIdenticalFactsMakeOneMemory(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			_, errs[i] = h.memories.Remember(h.bob, h.agent, gid.New(gid.AgentRun), fact("The key to the archive hangs behind the door."))
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := h.count(t); n != 1 {
		t.Errorf("%d memories", n)
	}
}

func TestAFullAgentDropsTheLeastImportantMemory(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	fillAgent(t, h)
	if _, err := h.memories.Create(h.ada, h.agent, memory.Input{Content: "One more."}); code(err) != apierr.Conflict {
		t.Errorf("shared: %v", err)
	}
	if _, err := h.memories.Create(h.bob, h.agent, memory.Input{Content: "One more."}); code(err) != apierr.Conflict {
		t.Errorf("bob's: %v", err)
	}
	if _, err := h.memories.Create(h.cyd, h.agent, memory.Input{Content: "One more.", Shared: new(bool)}); err != nil {
		t.Errorf("another person has room: %v", err)
	}
	// A run does not delete memories that a person wrote.
	if _, err := h.memories.Remember(h.bob, h.agent, gid.New(gid.AgentRun), fact("Peacocks cannot fly far.")); code(err) != apierr.Conflict {
		t.Errorf("a run: %v", err)
	}
	var least uuid.UUID
	if err := h.db.Pool.QueryRow(t.Context(), `update agent_memories set run_id = gen_random_uuid(), importance = 0.1
		where id = (select id from agent_memories where person_id is not null and content like 'Machine m-77 %') returning id`).Scan(&least); err != nil {
		t.Fatal(err)
	}
	item := must[memory.Item](t)(h.memories.Remember(h.bob, h.agent, gid.New(gid.AgentRun), fact("Peacocks cannot fly far.")))
	if _, err := h.memories.Get(h.bob, h.agent, least); code(err) != apierr.CodeNotFound {
		t.Errorf("the least important memory still exists: %v", err)
	}
	if _, err := h.memories.Remember(h.bob, h.agent, gid.New(gid.AgentRun), memory.Note{Kind: memory.Fact, Content: "Herons can.", Importance: 0.3}); code(err) != apierr.Conflict {
		t.Errorf("a less important memory replaced %v: %v", item, err)
	}
}

func TestRememberWithoutAnEmbedder(t *testing.T) {
	t.Parallel()
	h := newFixture(t, &unreliableEmbedder{Embedder: embed.NewBuiltin(), name: "away"})
	first := must[memory.Item](t)(h.memories.Remember(h.bob, h.agent, uuid.Nil, fact("The lift is out of order.")))
	if again := must[memory.Item](t)(h.memories.Remember(h.bob, h.agent, uuid.Nil, fact("The lift is out of order!"))); again.ID != first.ID {
		t.Error("the same words make two memories")
	}
	if other := must[memory.Item](t)(h.memories.Remember(h.bob, h.agent, uuid.Nil, fact("The printer is out of order."))); other.ID == first.ID {
		t.Error("other words make one memory")
	}
}
