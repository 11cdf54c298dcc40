package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a workspace with an agent. Ada owns it, Bob is a viewer and Cyd an
// editor. Eve owns another workspace.
type fixture struct {
	db                 *store.DB
	memories           *memory.Store
	ada, bob, cyd, eve context.Context
	agent, evesAgent   uuid.UUID
	now                time.Time
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newFixture(t testing.TB, embedders ...embed.Embedder) *fixture {
	t.Helper()
	db := must[*store.DB](t)(store.Open(t.Context(), testkit.Database(t).AppURL, 8))
	t.Cleanup(db.Close)
	h := &fixture{db: db, now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	h.memories = h.newStore(t, embedders...)
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	person := func(workspace uuid.UUID, name string, role membership.Role) context.Context {
		user := must[*ent.User](t)(db.Ent.User.Create().SetEmail(name + "@example.com").Save(system))
		must[*ent.Membership](t)(db.Ent.Membership.Create().SetWorkspaceID(workspace).SetUserID(user.ID).SetRole(role).Save(system))
		return viewer.With(t.Context(), viewer.Viewer{
			Workspace: workspace, Subject: user.ID, Kind: viewer.KindSession, Role: viewer.Role(strings.ToLower(string(role))), Surface: viewer.SurfaceDashboard, AllCollections: true,
		})
	}
	here := must[*ent.Workspace](t)(db.Ent.Workspace.Create().SetName("Here").Save(system)).ID
	there := must[*ent.Workspace](t)(db.Ent.Workspace.Create().SetName("There").Save(system)).ID
	h.ada, h.bob, h.cyd = person(here, "ada", membership.RoleOwner), person(here, "bob", membership.RoleViewer), person(here, "cyd", membership.RoleEditor)
	h.eve = person(there, "eve", membership.RoleOwner)
	h.agent = must[*ent.Agent](t)(db.Ent.Agent.Create().SetName("Guide").SetSystemPrompt("Help.").Save(h.ada)).ID
	h.evesAgent = must[*ent.Agent](t)(db.Ent.Agent.Create().SetName("Spy").SetSystemPrompt("Look.").Save(h.eve)).ID
	return h
}

// newStore returns a store over the same database with other embedders, or the
// builtin one if none is given.
func (h *fixture) newStore(t testing.TB, embedders ...embed.Embedder) *memory.Store {
	t.Helper()
	if len(embedders) == 0 {
		embedders = []embed.Embedder{embed.NewBuiltin()}
	}
	models := must[*embed.Registry](t)(embed.NewRegistry(embedders...))
	return memory.NewStore(h.db.Ent, models, memory.Options{Now: func() time.Time { return h.now }})
}

func (h *fixture) create(t testing.TB, ctx context.Context, content string, change ...func(*memory.Input)) *ent.AgentMemory { //nolint:revive // t comes first, as everywhere
	t.Helper()
	in := memory.Input{Content: content}
	for _, c := range change {
		c(&in)
	}
	return must[*ent.AgentMemory](t)(h.memories.Create(ctx, h.agent, in))
}

func personal(in *memory.Input) { no := false; in.Shared = &no }

func importance(v float64) func(*memory.Input) { return func(in *memory.Input) { in.Importance = &v } }

func code(err error) apierr.Code {
	var e *apierr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// unreliableEmbedder fails until works is set.
type unreliableEmbedder struct {
	embed.Embedder

	name  string
	works bool
	calls int
}

func (b *unreliableEmbedder) Model() string { return b.name }

func (b *unreliableEmbedder) Embed(ctx context.Context, texts []string, p embed.Purpose) ([][]float32, error) {
	if b.calls++; !b.works {
		return nil, errors.New("the service is unavailable")
	}
	return b.Embedder.Embed(ctx, texts, p)
}
