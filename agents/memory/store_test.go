package memory_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMemoryLifecycle(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	row := h.create(t, h.ada, "  The office closes at six.\n")
	if row.Content != "The office closes at six." || row.Kind != "FACT" || row.Importance != 0.5 || row.PersonID != nil || len(row.Embedding) != 1024 {
		t.Errorf("made %+v", row)
	}
	kind, text, weight := memory.Procedure, "Close the windows at six.", 1.0
	changed := must[*ent.AgentMemory](t)(h.memories.Update(h.ada, h.agent, row.ID, memory.Change{Kind: &kind, Content: &text, Importance: &weight}))
	if changed.Content != text || changed.Kind != "PROCEDURE" || changed.Importance != 1 || string(changed.Embedding) == string(row.Embedding) {
		t.Errorf("changed to %+v", changed)
	}
	lighter := 0.0
	kept := must[*ent.AgentMemory](t)(h.memories.Update(h.ada, uuid.Nil, row.ID, memory.Change{Importance: &lighter}))
	if kept.Content != text || kept.Importance != 0 || kept.Kind != "PROCEDURE" || string(kept.Embedding) != string(changed.Embedding) {
		t.Errorf("an unchanged field changed: %+v", kept)
	}
	if err := h.memories.Delete(h.ada, h.agent, row.ID); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"read again":    errorOf(h.memories.Get(h.ada, h.agent, row.ID)),
		"changed again": errorOf(h.memories.Update(h.ada, h.agent, row.ID, memory.Change{})),
		"deleted again": h.memories.Delete(h.ada, h.agent, row.ID),
	} {
		if code(err) != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

func TestInvalidMemoriesAreRejected(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	huge, negative, nan := 1.01, -0.01, math.NaN()
	for field, in := range map[string]memory.Input{
		"content: must not be blank":              {Content: " \n\t "},
		"content: must have at most 4000":         {Content: strings.Repeat("ä", 4001)},
		"content: must not contain":               {Content: "a\x00b"},
		"content: must be UTF-8 text":             {Content: "a\xff"},
		"kind: must be one of fact":               {Content: "a", Kind: "RUMOUR"},
		"importance: must be between":             {Content: "a", Importance: &huge},
		"importance: must be between 0":           {Content: "a", Importance: &negative},
		"importance: must be between 0 and 1":     {Content: "a", Importance: &nan},
		"content: must have at most 4000 charact": {Content: strings.Repeat("a", 1<<20)},
	} {
		if _, err := h.memories.Create(h.ada, h.agent, in); code(err) != apierr.InvalidRequest || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	h.create(t, h.ada, strings.Repeat("ä", 4000))
	for _, query := range []string{"", " ", strings.Repeat("a", 4001)} {
		if _, err := h.memories.Search(h.ada, h.agent, query, "", 10); code(err) != apierr.InvalidRequest {
			t.Errorf("searching %.10q: %v", query, err)
		}
	}
	for _, limit := range []int{0, -1, 101} {
		if _, err := h.memories.Search(h.ada, h.agent, "a", "", limit); code(err) != apierr.InvalidRequest {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	for _, query := range []string{"\x00", "';--", "%", `{"$ne":1}`, strings.Repeat("🦄", 4000), "the of and"} {
		if _, err := h.memories.Search(h.ada, h.agent, query, "", 10); err != nil {
			t.Errorf("searching %.10q: %v", query, err)
		}
	}
}

// accessPaths tries all ways to a memory and reports for each whether it reached to
// the row.
func (h *fixture) accessPaths(t *testing.T, ctx context.Context, row *ent.AgentMemory) map[string]bool { //nolint:revive // t comes first, as everywhere
	t.Helper()
	reached := map[string]bool{}
	_, err := h.db.Ent.Noder(ctx, row.ID, ent.WithNodeType(gid.Table))
	reached["node"] = err == nil
	_, err = h.memories.Get(ctx, h.agent, row.ID)
	reached["get"] = err == nil
	listed := must[[]*ent.AgentMemory](t)(h.db.Ent.AgentMemory.Query().All(ctx))
	for _, r := range listed {
		reached["list"] = reached["list"] || r.ID == row.ID
	}
	if hits, err := h.memories.Search(ctx, h.agent, row.Content, "", 100); err == nil {
		for _, hit := range hits {
			reached["search"] = reached["search"] || hit.Memory.ID == row.ID
		}
	}
	if items, err := h.memories.Recall(ctx, h.agent, row.Content, 50); err == nil {
		for _, item := range items {
			reached["recall"] = reached["recall"] || item.ID == row.ID
		}
	}
	// Without the package: the policy itself.
	n, err := h.db.Ent.AgentMemory.Update().SetImportance(row.Importance).Save(ctx)
	reached["bulk update"] = err == nil && n > 0
	weight := row.Importance
	_, err = h.memories.Update(ctx, h.agent, row.ID, memory.Change{Importance: &weight})
	reached["update"] = err == nil
	return reached
}

func TestAPersonalMemoryIsVisibleToItsOwnerOnly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	bobs := h.create(t, h.bob, "Bob is looking for another job in Lisbon.")
	if bobs.PersonID == nil {
		t.Fatal("a viewer's memory is shared")
	}
	for name, reached := range h.accessPaths(t, h.bob, bobs) {
		if !reached {
			t.Errorf("Bob cannot reach his own memory by %s", name)
		}
	}
	v, _ := viewer.From(h.ada)
	key := v
	key.Kind, key.Subject = viewer.KindKey, uuid.New()
	nobody := v
	nobody.Subject = uuid.Nil
	for who, ctx := range map[string]context.Context{
		"the owner": h.ada, "an editor": h.cyd, "a stranger": h.eve, "Magpie itself": viewer.With(t.Context(), viewer.System(v.Workspace)),
	} {
		for name, reached := range h.accessPaths(t, ctx, bobs) {
			if reached {
				t.Errorf("%s reaches Bob's memory by %s", who, name)
			}
		}
		if err := h.memories.Delete(ctx, h.agent, bobs.ID); code(err) != apierr.CodeNotFound {
			t.Errorf("%s deletes bob's memory: %v", who, err)
		}
		if n, err := h.db.Ent.AgentMemory.Delete().Exec(ctx); err != nil || n != 0 {
			t.Errorf("%s deletes %d memories without the package, %v", who, n, err)
		}
	}
	for who, v := range map[string]viewer.Viewer{"a key": key, "a session without a person": nobody} {
		ctx := viewer.With(t.Context(), v)
		if n, err := h.db.Ent.AgentMemory.Query().Count(ctx); err == nil {
			t.Errorf("%s counts %d memories", who, n)
		}
		if _, err := h.memories.Create(ctx, h.agent, memory.Input{Content: "a"}); err == nil {
			t.Errorf("%s writes a memory", who)
		}
	}
	w, _ := viewer.From(h.bob)
	if _, err := h.db.Ent.AgentMemory.Create().SetAgentID(h.agent).SetContent("x").SetPersonID(w.Subject).Save(h.ada); err == nil {
		t.Error("the owner wrote a memory in bob's name")
	}
	if row := must[*ent.AgentMemory](t)(h.memories.Get(h.bob, h.agent, bobs.ID)); row.Content != bobs.Content {
		t.Errorf("bob's memory is %+v", row)
	}
}

func TestSharedMemoriesAreReadByAllAndWrittenByEditors(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	yes := true
	row := h.create(t, h.cyd, "Deployments happen on Tuesdays.")
	if row.PersonID != nil {
		t.Error("an editor's memory is not shared by default")
	}
	if own := h.create(t, h.cyd, "Cyd likes tea.", personal); own.PersonID == nil {
		t.Error("an editor's personal memory is shared")
	}
	reached := h.accessPaths(t, h.bob, row)
	for _, name := range []string{"node", "get", "list", "search", "recall"} {
		if !reached[name] {
			t.Errorf("a viewer cannot reach a shared memory by %s", name)
		}
	}
	if reached["update"] || reached["bulk update"] {
		t.Errorf("a viewer changes a shared memory: %v", reached)
	}
	for name, err := range map[string]error{
		"update": errorOf(h.memories.Update(h.bob, h.agent, row.ID, memory.Change{})),
		"delete": h.memories.Delete(h.bob, h.agent, row.ID),
		"create": errorOf(h.memories.Create(h.bob, h.agent, memory.Input{Content: "a", Shared: &yes})),
	} {
		if code(err) != apierr.Forbidden {
			t.Errorf("%s as a viewer: %v", name, err)
		}
	}
	if _, err := h.db.Ent.AgentMemory.Create().SetAgentID(h.agent).SetContent("x").Save(h.bob); err == nil {
		t.Error("a viewer wrote a shared memory without the package")
	}
	for who, ctx := range map[string]context.Context{"a stranger": h.eve} {
		for name, reached := range h.accessPaths(t, ctx, row) {
			if reached {
				t.Errorf("%s reaches a shared memory by %s", who, name)
			}
		}
	}
	for name, err := range map[string]error{
		"of another agent":     errorOf(h.memories.Get(h.ada, h.evesAgent, row.ID)),
		"for another's agent":  errorOf(h.memories.Create(h.eve, h.agent, memory.Input{Content: "a"})),
		"search another's":     errorOf(h.memories.Search(h.eve, h.agent, "a", "", 10)),
		"recall another's":     errorOf(h.memories.Recall(h.eve, h.agent, "a", 10)),
		"remember for another": errorOf(h.memories.Remember(h.eve, h.agent, uuid.Nil, memory.Note{Kind: memory.Fact, Content: "a"})),
	} {
		if code(err) != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeletingAnAgentDeletesItsMemories(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.create(t, h.ada, "Everybody's.")
	h.create(t, h.bob, "Bob's.")
	if err := h.db.Ent.Agent.DeleteOneID(h.agent).Exec(h.ada); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from agent_memories").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d memories are left, %v", left, err)
	}
}
