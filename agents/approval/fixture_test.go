package approval_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// fixture is a workspace with an agent, a run of Ada's that waits, and other people.
type fixture struct {
	db        *store.DB
	store     *approval.Store
	workspace uuid.UUID
	agent     *ent.Agent
	run       *ent.AgentRun
	people    map[string]context.Context

	mu      sync.Mutex
	now     time.Time
	resumed []uuid.UUID
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

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{people: map[string]context.Context{}, now: time.Now()}
	f.db = must[*store.DB](t)(store.Open(t.Context(), testkit.Database(t).AppURL, 8))
	t.Cleanup(f.db.Close)
	all := viewer.With(t.Context(), viewer.System(uuid.Nil))
	f.workspace = must[*ent.Workspace](t)(f.db.Ent.Workspace.Create().SetName("Acme").Save(all)).ID
	for name, role := range map[string]membership.Role{
		"ada": membership.RoleViewer, "bob": membership.RoleViewer, "eve": membership.RoleEditor, "joe": membership.RoleAdmin, "zoe": membership.RoleOwner,
	} {
		f.join(t, f.workspace, name, role)
	}
	other := must[*ent.Workspace](t)(f.db.Ent.Workspace.Create().SetName("Other").Save(all)).ID
	f.join(t, other, "mallory", membership.RoleOwner)
	f.agent = must[*ent.Agent](t)(f.db.Ent.Agent.Create().SetName("Guide").SetSystemPrompt("Help.").Save(f.people["eve"]))
	f.run = f.newRun(t, "ada")
	f.store = approval.New(approval.Options{
		Ent: f.db.Ent, Now: f.clock, Poll: 20 * time.Millisecond,
		Resume: func(_ context.Context, run uuid.UUID) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.resumed = append(f.resumed, run)
		},
		Validate: func(_ context.Context, _ *ent.Approval, arguments json.RawMessage) error {
			var in struct{ To string }
			if json.Unmarshal(arguments, &in) != nil || in.To == "" {
				return apierr.Invalid("arguments.to", "is required")
			}
			return nil
		},
	})
	return f
}

func (f *fixture) join(t testing.TB, workspace uuid.UUID, name string, role membership.Role) {
	t.Helper()
	all := viewer.With(t.Context(), viewer.System(uuid.Nil))
	person := must[*ent.User](t)(f.db.Ent.User.Create().SetEmail(name + "@example.com").SetName(name).Save(all))
	must[*ent.Membership](t)(f.db.Ent.Membership.Create().SetWorkspaceID(workspace).SetUserID(person.ID).SetRole(role).Save(all))
	roles := map[membership.Role]viewer.Role{
		membership.RoleViewer: viewer.RoleViewer, membership.RoleEditor: viewer.RoleEditor, membership.RoleAdmin: viewer.RoleAdmin, membership.RoleOwner: viewer.RoleOwner,
	}
	f.people[name] = viewer.With(t.Context(), viewer.Viewer{
		Workspace: workspace, Subject: person.ID, Kind: viewer.KindSession, Surface: viewer.SurfaceDashboard, Role: roles[role], AllCollections: true, Email: person.Email,
	})
}

func (f *fixture) person(name string) uuid.UUID {
	v, _ := viewer.From(f.people[name])
	return v.Subject
}

func (f *fixture) system(t testing.TB) context.Context {
	return viewer.With(t.Context(), viewer.System(f.workspace))
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) resumes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.resumed)
}

// newRun creates a run that waits.
func (f *fixture) newRun(t testing.TB, person string) *ent.AgentRun {
	t.Helper()
	ctx := f.people[person]
	talk := must[*ent.Conversation](t)(f.db.Ent.Conversation.Create().SetAgentID(f.agent.ID).Save(ctx))
	return must[*ent.AgentRun](t)(f.db.Ent.AgentRun.Create().SetAgentID(f.agent.ID).SetConversationID(talk.ID).SetMessage("Hi").SetStatus(agentrun.StatusWaiting).Save(ctx))
}

func (f *fixture) status(t testing.TB, run *ent.AgentRun) agentrun.Status {
	t.Helper()
	return must[*ent.AgentRun](t)(f.db.Ent.AgentRun.Get(f.system(t), run.ID)).Status
}

const mailArguments = `{"to": "ada@example.com",  "text": "Hello"}`

// mail is a request to send a mail.
func mail(call string) approval.Request {
	return approval.Request{
		CallID: call, Tool: "mail.send", ToolTitle: "Send a mail", Risk: policy.Send, Title: "Send a mail to ada@example.com",
		Preview: "**Hello**", Reason: "She asked for it.", Arguments: json.RawMessage(mailArguments), Configuration: "abc",
	}
}

func (f *fixture) ask(t testing.TB, run *ent.AgentRun, requests ...approval.Request) []*ent.Approval {
	t.Helper()
	var out []*ent.Approval
	err := transaction.In(f.people["ada"], f.db.Ent, func(ctx context.Context, client *ent.Client) (err error) {
		out, err = f.store.Create(ctx, client, run, requests)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (f *fixture) decide(name string, row *ent.Approval, d approval.Decision) (*ent.Approval, error) {
	return f.store.Decide(f.people[name], row.ID, d, "DASHBOARD")
}

func codeOf(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}
