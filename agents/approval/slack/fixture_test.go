package slack_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/approval/slack"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	signingSecret = "8f742231b10e8888abcd99yyyzzz85a5"
	channel       = "C024BE91L"
)

// fixture is a workspace whose approvals are posted in Slack. Ada is an admin, Bob a
// viewer; the run is Bob's.
type fixture struct {
	t           *testing.T
	db          *store.DB
	slack       *standIn
	app         *slack.App
	inbox       *inbox.Inbox
	store       *approval.Store
	workspace   uuid.UUID
	integration uuid.UUID
	agent       *ent.Agent
	run         *ent.AgentRun

	mu  sync.Mutex
	now time.Time
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

func newFixture(t *testing.T, config map[string]any) *fixture {
	t.Helper()
	f := &fixture{t: t, slack: newStandIn(t), now: time.Now()}
	f.db = must[*store.DB](t)(store.Open(t.Context(), testkit.Database(t).AppURL, 8))
	t.Cleanup(f.db.Close)
	box := must[*secret.Box](t)(secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k"))
	f.store = approval.New(approval.Options{Ent: f.db.Ent, Now: f.clock, Validate: func(_ context.Context, _ *ent.Approval, arguments json.RawMessage) error {
		var in struct{ To any }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return err
		}
		if _, isText := in.To.(string); !isText {
			return apierr.Invalid("arguments.to", "must be a string")
		}
		return nil
	}})
	f.app = slack.New(slack.Options{Ent: f.db.Ent, Store: f.store, API: slackapi.New(slackapi.Options{Transport: f.slack}), Dashboard: "https://app.example.com", Now: f.clock})
	f.inbox = inbox.New(inbox.Options{
		Ent: f.db.Ent, Pool: f.db.Pool, Providers: []event.Provider{f.app.Provider()}, Box: box, BaseURL: "https://magpie.example.com", Now: f.clock,
	})
	f.app.Use(f.inbox)
	all := viewer.With(t.Context(), viewer.System(uuid.Nil))
	f.workspace = must[*ent.Workspace](t)(f.db.Ent.Workspace.Create().SetName("Acme").Save(all)).ID
	bob := f.join("bob", membership.RoleViewer)
	f.join("ada", membership.RoleAdmin)
	f.slack.users["UADA"] = slackUser("Ada@Example.com", "T1")
	f.slack.users["UBOB"] = slackUser("bob@example.com", "T1")
	f.slack.users["UEVE"] = slackUser("eve@example.com", "T1")
	system := f.system()
	settings := map[string]any{"team_id": "T1"}
	for name, value := range config {
		settings[name] = value
	}
	made := must[inbox.Shown](t)(f.inbox.Create(system, inbox.Draft{
		Provider: slack.ProviderName, Name: "Slack", Config: settings, Credentials: map[string]any{"signing_secret": signingSecret, "bot_token": "xoxb-1"},
	}))
	if want := "https://magpie.example.com/api/v1/webhooks/slack/approvals?integration=" + made.Integration.ID.String(); made.URL != want {
		t.Errorf("the address is %s", made.URL)
	}
	f.integration = made.Integration.ID
	f.agent = must[*ent.Agent](t)(f.db.Ent.Agent.Create().SetName("Guide").SetSystemPrompt("Help.").Save(system))
	own := viewer.With(t.Context(), viewer.Viewer{Workspace: f.workspace, Subject: bob, Kind: viewer.KindSession, Role: viewer.RoleViewer, AllCollections: true})
	talk := must[*ent.Conversation](t)(f.db.Ent.Conversation.Create().SetAgentID(f.agent.ID).Save(own))
	f.run = must[*ent.AgentRun](t)(f.db.Ent.AgentRun.Create().SetAgentID(f.agent.ID).SetConversationID(talk.ID).SetMessage("Hi").SetStatus(agentrun.StatusWaiting).Save(own))
	return f
}

func slackUser(email, team string) object {
	return object{"team_id": team, "deleted": false, "is_bot": false, "is_email_confirmed": true, "profile": object{"email": email}}
}

func (f *fixture) system() context.Context {
	return viewer.With(f.t.Context(), viewer.System(f.workspace))
}

func (f *fixture) join(name string, role membership.Role) uuid.UUID {
	all := viewer.With(f.t.Context(), viewer.System(uuid.Nil))
	person := must[*ent.User](f.t)(f.db.Ent.User.Create().SetEmail(name + "@example.com").SetName(name).Save(all))
	must[*ent.Membership](f.t)(f.db.Ent.Membership.Create().SetWorkspaceID(f.workspace).SetUserID(person.ID).SetRole(role).Save(all))
	return person.ID
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

// mail is a request that admins decide about in Slack.
func (f *fixture) mail() approval.Request {
	return approval.Request{
		CallID: uuid.NewString(), Tool: "mail.send", ToolTitle: "Send a mail", Risk: policy.Send, Title: "Send a mail to <ada@example.com>", Preview: "Dear Ada & Co.",
		Reason: "She asked.", Arguments: json.RawMessage(`{"to": "ada@example.com"}`), Role: viewer.RoleAdmin, OthersOnly: true,
		Channel: &approval.Channel{Integration: f.integration, Name: channel},
	}
}

func (f *fixture) ask(r approval.Request) *ent.Approval {
	f.t.Helper()
	var out []*ent.Approval
	err := transaction.In(f.system(), f.db.Ent, func(ctx context.Context, client *ent.Client) (err error) {
		out, err = f.store.Create(ctx, client, f.run, []approval.Request{r})
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.read(out[0].ID)
}

func (f *fixture) read(id uuid.UUID) *ent.Approval {
	f.t.Helper()
	return must[*ent.Approval](f.t)(f.db.Ent.Approval.Get(f.system(), id))
}

func (f *fixture) deliver() {
	f.t.Helper()
	if err := f.app.Deliver(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// signed returns a request of Slack's.
func (f *fixture) signed(body, secret string, at time.Time) *event.Request {
	stamp := strconv.FormatInt(at.Unix(), 10)
	r := &event.Request{Header: http.Header{}, Query: url.Values{}, Body: []byte(body)}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(event.MAC(secret, []byte("v0:"+stamp+":"+body))))
	return r
}

// clear lets the outcomes be shown and removes the messages.
func (f *fixture) clear() {
	f.t.Helper()
	f.deliver()
	f.slack.mu.Lock()
	defer f.slack.mu.Unlock()
	clear(f.slack.messages)
}

func payload(o object) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return url.Values{"payload": {string(text)}}.Encode()
}

// press makes a person use a button and returns what the person alone sees.
func (f *fixture) press(user, action, value string) string {
	f.t.Helper()
	trigger, path := uuid.NewString(), "/actions/T1/"+uuid.NewString()
	f.slack.mu.Lock()
	f.slack.triggers[trigger] = true
	last := f.slack.posted
	f.slack.mu.Unlock()
	answer := must[event.Answer](f.t)(f.app.Receive(f.t.Context(), f.integration, f.signed(payload(object{
		"type": "block_actions", "team": object{"id": "T1"}, "user": object{"id": user, "team_id": "T1"}, "api_app_id": "A1", "trigger_id": trigger,
		"channel": object{"id": channel}, "message": object{"ts": nameOf(last)},
		"response_url": "https://hooks.slack.com" + path, "actions": []object{{"action_id": action, "block_id": "b", "value": value, "action_ts": "1"}},
	}), signingSecret, f.clock())))
	if answer.Body == nil || len(answer.Body) != 0 {
		f.t.Errorf("the answer to a button is %q", answer.Body)
	}
	return f.slack.whispered(path)
}

// submit sends the form that was opened last and returns the answer.
func (f *fixture) submit(user string, fields map[string]string) string {
	f.t.Helper()
	f.slack.mu.Lock()
	if len(f.slack.views) == 0 {
		f.t.Fatal("no form was opened")
	}
	view := f.slack.views[len(f.slack.views)-1]
	f.slack.mu.Unlock()
	values := object{}
	for field, value := range fields {
		values[field] = object{field: object{"type": "plain_text_input", "value": value}}
	}
	answer := must[event.Answer](f.t)(f.app.Receive(f.t.Context(), f.integration, f.signed(payload(object{
		"type": "view_submission", "team": object{"id": "T1"}, "user": object{"id": user, "team_id": "T1"}, "api_app_id": "A1", "trigger_id": "t",
		"view": object{"callback_id": view["callback_id"], "private_metadata": view["private_metadata"], "state": object{"values": values}},
	}), signingSecret, f.clock())))
	return string(answer.Body)
}

func codeOf(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}

// has checks that a text has parts.
func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q is missing in %s", what, part, text)
		}
	}
}
