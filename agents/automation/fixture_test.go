package automation_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/automation/delivery"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entautomation "github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/mailer"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/smtpserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// fixture is a workspace with an agent, an integration for mails and two engines, which
// stand for two workers.
type fixture struct {
	*testing.T
	db          *store.DB
	index       *index.Store
	store       *automation.Store
	approvals   *approval.Store
	mails       *smtpserver.Server
	engines     []*automation.Engine
	workspace   uuid.UUID
	ada, bob    viewer.Viewer // the owner of the workspace, and another editor
	agent       uuid.UUID
	collection  uuid.UUID
	connector   uuid.UUID
	integration *ent.InboundIntegration
	notified    []string
	deliverers  map[string]automation.Deliverer // of both engines; tests add to it before the first tick
	box         *secret.Box
	inbound     map[uuid.UUID]connectors.Settings // of inbound integrations

	mu      sync.Mutex
	now     time.Time
	started []run.Input
	as      []viewer.Viewer
	refuse  error // of the next starts
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, now: time.Now().Truncate(time.Microsecond), mails: smtpserver.New(t)}
	f.db = must[*store.DB](t)(store.Open(t.Context(), testkit.Database(t).AppURL, 8))
	t.Cleanup(f.db.Close)
	all := viewer.With(t.Context(), viewer.System(uuid.Nil))
	f.workspace = must[*ent.Workspace](t)(f.db.Ent.Workspace.Create().SetName("Acme").Save(all)).ID
	f.ada, f.bob = f.person("ada@example.com", membership.RoleOwner), f.person("bob@example.com", membership.RoleEditor)
	f.collection = must[*ent.Collection](t)(f.db.Ent.Collection.Create().SetName("Docs").SetEmbeddingModel("m").Save(f.system())).ID
	f.connector = must[*ent.Connector](t)(f.db.Ent.Connector.Create().SetName("Files").SetType("file_upload").SetCollectionID(f.collection).Save(f.system())).ID
	f.agent = must[*ent.Agent](t)(f.db.Ent.Agent.Create().SetName("Guide").SetSystemPrompt("Help.").SetAllCollections(false).SetCollections([]uuid.UUID{f.collection}).Save(f.system())).ID
	f.integration = must[*ent.InboundIntegration](t)(f.db.Ent.InboundIntegration.Create().SetKind(inboundintegration.KindEmail).SetProvider("postmark").SetName("Support").SetToken("t").Save(f.system()))
	f.box = must[*secret.Box](t)(secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k"))
	f.index = index.New(f.db.Pool, analysis.New())
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	f.store = automation.NewStore(automation.Options{Ent: f.db.Ent, Box: f.box, Index: f.index, Deliveries: []string{automation.ReplyEmail, automation.Document, automation.SlackMessage, automation.Comment}, Now: f.clock, Log: log})
	f.approvals = approval.New(approval.Options{Ent: f.db.Ent, Now: f.clock, Log: log})
	sender := must[*mailer.Mailer](t)(mailer.New(mailer.Options{URL: f.mails.URL, From: "support@acme.example"}))
	f.deliverers = map[string]automation.Deliverer{automation.ReplyEmail: delivery.Reply{Sender: sender, Host: "acme.example", Ent: f.db.Ent, Settings: f.settings}}
	for range 2 {
		f.engines = append(f.engines, automation.NewEngine(automation.EngineOptions{
			Store: f.store, Runner: f, Approvals: automation.People{Ent: f.db.Ent, Approvals: f.approvals}, Changes: f.index,
			Deliverers: f.deliverers,
			Notify: func(_ context.Context, owner *ent.User, a *ent.Automation) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.notified = append(f.notified, owner.Email+": "+*a.DisabledReason)
				return nil
			},
		}))
	}
	return f
}

func (f *fixture) person(email string, role membership.Role) viewer.Viewer {
	f.Helper()
	all := viewer.With(f.Context(), viewer.System(uuid.Nil))
	u := must[*ent.User](f)(f.db.Ent.User.Create().SetEmail(email).SetEmailVerified(true).Save(all))
	must[*ent.Membership](f)(f.db.Ent.Membership.Create().SetWorkspaceID(f.workspace).SetUserID(u.ID).SetRole(role).Save(all))
	return viewer.Viewer{Workspace: f.workspace, Subject: u.ID, Kind: viewer.KindSession, Role: viewer.RoleEditor, AllCollections: true, Email: email, Verified: true}
}

func (f *fixture) settings(row *ent.InboundIntegration) (connectors.Settings, error) {
	return f.inbound[row.ID], nil
}

func (f *fixture) system() context.Context {
	return viewer.With(f.Context(), viewer.System(f.workspace))
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

// Start implements automation.Runner: the agent run stays queued until a test ends it.
func (f *fixture) Start(ctx context.Context, in run.Input) (*ent.AgentRun, error) {
	v, _ := viewer.From(ctx)
	f.mu.Lock()
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	if err := in.Admit(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.started, f.as = append(f.started, in), append(f.as, v)
	f.mu.Unlock()
	return f.db.Ent.AgentRun.Create().SetAgentID(in.Agent).SetSubjectID(v.Subject).SetConversationID(in.Conversation).SetMessage(in.Message).
		SetStatus(agentrun.StatusQueued).Save(ctx)
}

// create makes an automation of Ada's.
func (f *fixture) create(change func(*automation.Draft)) *ent.Automation {
	f.Helper()
	d := automation.Draft{
		Name: "Answers", Agent: f.agent, Kind: entautomation.KindEmail, Instructions: "Answer {{event.subject}}: {{event.text}}",
		Delivery: []map[string]any{{"kind": automation.ReplyEmail}}, Approval: map[string]any{"mode": "none"},
	}
	if change != nil {
		change(&d)
	}
	return must[*ent.Automation](f)(f.store.Create(viewer.With(f.Context(), f.ada), d))
}

// mail is a mail of a person whose sender is verified.
func mail(subject string) *event.Mail {
	return &event.Mail{
		MessageID: uuid.NewString() + "@customer.example", From: event.Address{Name: "Cleo", Email: "cleo@customer.example"}, To: []event.Address{{Email: "help@acme.example"}},
		Recipient: "help@acme.example", Subject: subject, Text: "How do I reset it?", Verified: true,
	}
}

// receive handles a mail as a worker does.
func (f *fixture) receive(m *event.Mail) (uuid.UUID, inbox.Outcome) {
	f.Helper()
	id := uuid.New()
	return id, f.handle(id, m)
}

func (f *fixture) handle(id uuid.UUID, m *event.Mail) inbox.Outcome {
	f.Helper()
	return must[inbox.Outcome](f)(f.store.HandleEvent(f.system(), inbox.Received{
		ID: id, Integration: f.integration, Type: "email", ReceivedAt: f.clock(), Summary: m.From.Email + ": " + m.Subject, Content: event.Content{Mail: m},
	}))
}

// tick lets every worker tick at the same time, after enough time for every wait but the
// long ones.
func (f *fixture) tick() {
	f.Helper()
	f.advance(6 * time.Second)
	var workers sync.WaitGroup
	errs := make([]error, len(f.engines))
	for i, e := range f.engines {
		workers.Go(func() { errs[i] = e.Tick(f.Context()) })
	}
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		f.Error(err)
	}
}

// runs returns the runs of an automation, the oldest first.
func (f *fixture) runs(a *ent.Automation) []*ent.AutomationRun {
	f.Helper()
	return must[[]*ent.AutomationRun](f)(f.db.Ent.AutomationRun.Query().Where(automationrun.AutomationID(a.ID)).Order(automationrun.ByCreatedAt(), automationrun.ByID()).All(f.system()))
}

// only returns the only run of an automation, which must have a status.
func (f *fixture) only(a *ent.Automation, status automationrun.Status) *ent.AutomationRun {
	f.Helper()
	rows := f.runs(a)
	if len(rows) != 1 {
		f.Fatalf("%d runs: %v", len(rows), rows)
	}
	if rows[0].Status != status {
		f.Fatalf("the run is %s, not %s: %v", rows[0].Status, status, rows[0])
	}
	return rows[0]
}

// answer ends the agent run of a run with an answer that cites a document.
func (f *fixture) answer(row *ent.AutomationRun, text string) {
	f.Helper()
	of := must[*ent.AgentRun](f)(f.db.Ent.AgentRun.UpdateOneID(*row.AgentRunID).SetStatus(agentrun.StatusCompleted).SetAnswer(text).SetPromptTokens(90).SetCompletionTokens(10).
		SetFinishedAt(f.clock()).Save(f.system()))
	must[*ent.Message](f)(f.db.Ent.Message.Create().SetConversationID(of.ConversationID).SetSubjectID(of.SubjectID).SetRole(message.RoleAssistant).SetContent(text).SetRunID(of.ID).
		SetSources([]map[string]any{{"id": uuid.NewString(), "title": "Handbook", "url": "https://docs.example.com/reset"}}).Save(f.system()))
}

// breakDown ends the agent run of a run as failed.
func (f *fixture) breakDown(row *ent.AutomationRun, code string) {
	f.Helper()
	must[*ent.AgentRun](f)(f.db.Ent.AgentRun.UpdateOneID(*row.AgentRunID).SetStatus(agentrun.StatusFailed).SetError("The chat model did not answer.").Save(f.system()))
	if _, err := f.db.Pool.Exec(f.Context(), `insert into agent_run_events (workspace_id, run_id, seq, type, data) values ($1, $2, 1, 'error', jsonb_build_object('code', $3::text))`,
		f.workspace, *row.AgentRunID, code); err != nil {
		f.Fatal(err)
	}
}
