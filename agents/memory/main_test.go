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

// house is a workspace with an agent: ada owns it, bob and cyd only look; eve
// owns another one.
type house struct {
	db                 *store.DB
	memories           *memory.Store
	ada, bob, cyd, eve context.Context
	agent, eves        uuid.UUID
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

func newHouse(t testing.TB, embedders ...embed.Embedder) *house {
	t.Helper()
	db := must[*store.DB](t)(store.Open(t.Context(), testkit.Database(t).AppURL, 8))
	t.Cleanup(db.Close)
	h := &house{db: db, now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	h.memories = h.over(t, embedders...)
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
	h.eves = must[*ent.Agent](t)(db.Ent.Agent.Create().SetName("Spy").SetSystemPrompt("Look.").Save(h.eve)).ID
	return h
}

// over is a store over the same database with other embedders; the builtin one
// where none is given.
func (h *house) over(t testing.TB, embedders ...embed.Embedder) *memory.Store {
	t.Helper()
	if len(embedders) == 0 {
		embedders = []embed.Embedder{embed.NewBuiltin()}
	}
	models := must[*embed.Registry](t)(embed.NewRegistry(embedders...))
	return memory.NewStore(h.db.Ent, models, memory.Options{Now: func() time.Time { return h.now }})
}

func (h *house) create(t testing.TB, ctx context.Context, content string, change ...func(*memory.New)) *ent.AgentMemory { //nolint:revive // t comes first, as everywhere
	t.Helper()
	in := memory.New{Content: content}
	for _, c := range change {
		c(&in)
	}
	return must[*ent.AgentMemory](t)(h.memories.Create(ctx, h.agent, in))
}

func personal(in *memory.New) { no := false; in.Shared = &no }

func importance(v float64) func(*memory.New) { return func(in *memory.New) { in.Importance = &v } }

func code(err error) apierr.Code {
	var e *apierr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// broken is an embedder that does not work, until it does.
type broken struct {
	embed.Embedder

	name  string
	works bool
	calls int
}

func (b *broken) Model() string { return b.name }

func (b *broken) Embed(ctx context.Context, texts []string, p embed.Purpose) ([][]float32, error) {
	if b.calls++; !b.works {
		return nil, errors.New("the service is away")
	}
	return b.Embedder.Embed(ctx, texts, p)
}
