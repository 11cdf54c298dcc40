package automation_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/automation/delivery"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/all"
	tools "github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	entautomation "github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/viewer"
)

// platforms is a workspace with integrations of platforms, whose servers keep what is
// written and answer with a status.
type platforms struct {
	*fixture
	tools *tools.Store
	url   string

	mu       sync.Mutex
	written  []string // method, path and body
	statuses []int    // of the next requests; 201 after them
}

func newPlatforms(t *testing.T) *platforms {
	t.Helper()
	p := &platforms{fixture: newFixture(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		status := http.StatusCreated
		if len(p.statuses) > 0 {
			status, p.statuses = p.statuses[0], p.statuses[1:]
		}
		if status == http.StatusCreated || status >= 500 { // a server that fails may have done it
			p.written = append(p.written, r.Method+" "+r.URL.Path+" "+string(body))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		id := `"7"`
		if strings.HasPrefix(r.URL.Path, "/repos/") {
			id = "7"
		}
		_, _ = io.WriteString(w, `{"id":`+id+`,"ticket":{"id":7}}`)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	registry := must[*integration.Registry](t)(all.Registry())
	grants := oauth.New(p.db.Ent, oauth.Options{Flows: oauth.NewFlows(p.db.Pool, p.box, nil), Secrets: p.box, BaseURL: "https://magpie.example.com"})
	t.Cleanup(grants.Close)
	p.tools = tools.New(tools.Options{
		Ent: p.db.Ent, Box: p.box, Grants: grants, Dial: httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).DialContext, Now: p.clock,
		Sources: map[toolintegration.Kind]tools.Source{toolintegration.KindPack: tools.Packs(registry)},
	})
	p.deliverers[automation.Comment] = delivery.Comment{Ent: p.db.Ent, Tools: p.tools}
	return p
}

// connect makes an integration with a provider, with Ada's credentials, and one for its
// events.
func (p *platforms) connect(provider string) (*ent.ToolIntegration, *ent.InboundIntegration) {
	p.Helper()
	option := "apiUrl"
	if provider != "github" && provider != "hubspot" {
		option = "url"
	}
	credentials := map[string]any{"token": "ada-token-1"}
	if provider == "zendesk" || provider == "jira" {
		credentials = map[string]any{"email": "ada@example.com", "apiToken": "ada-token-1"}
	}
	row := must[*ent.ToolIntegration](p)(p.tools.Create(viewer.With(p.Context(), p.ada), tools.Draft{
		Provider: provider, Name: provider, Config: map[string]any{option: p.url}, Credentials: credentials,
	}))
	events := must[*ent.InboundIntegration](p)(p.db.Ent.InboundIntegration.Create().SetKind(inboundintegration.KindEvents).SetProvider(provider).SetName(provider).SetToken(provider).Save(p.system()))
	return row, events
}

// commenting makes an automation of Ada's that comments on the objects of events.
func (p *platforms) commenting(row *ent.ToolIntegration, events *ent.InboundIntegration, mode automation.Mode) *ent.Automation {
	p.Helper()
	return p.create(func(d *automation.Draft) {
		d.Kind, d.Instructions, d.Approval = entautomation.KindEvent, "Triage {{event.title}}", map[string]any{"mode": string(mode)}
		d.Trigger = map[string]any{"integrationId": events.ID.String()}
		d.Delivery = []map[string]any{{"kind": automation.Comment, "integrationId": row.ID.String()}}
	})
}

func (p *platforms) happen(events *ent.InboundIntegration, o event.Object) inbox.Outcome {
	p.Helper()
	return must[inbox.Outcome](p)(p.store.HandleEvent(p.system(), inbox.Received{
		ID: uuid.New(), Integration: events, Type: o.Kind + "." + o.Action, ReceivedAt: p.clock(), Summary: o.Title, Content: event.Content{Object: &o},
	}))
}

// answered lets the agent of the only run answer.
func (p *platforms) answered(a *ent.Automation, text string) {
	p.Helper()
	p.tick()
	p.answer(p.only(a, automationrun.StatusRunning), text)
	for range 4 {
		p.tick()
	}
}

func (p *platforms) writes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.written...)
}

func issue() event.Object {
	return event.Object{Kind: "issue", ID: "ENG-7", Parent: "ENG", Action: "created", Title: "It is red", Text: "See the build."}
}

func (p *platforms) pending() *ent.Approval {
	p.Helper()
	return must[*ent.Approval](p)(p.db.Ent.Approval.Query().Where(entapproval.StatusEQ(entapproval.StatusPending)).Only(p.system()))
}

// A comment goes to the object of the event, once, after a person has seen the very text;
// and Magpie does not answer its own comment.
func TestACommentIsMadeOnceOnTheObjectOfTheEvent(t *testing.T) {
	t.Parallel()
	for provider, c := range map[string]struct {
		object          event.Object
		target, request string // what is asked about, and the begin of what is written
		hears           bool   // its events have the comments of Magpie
	}{
		"jira":       {issue(), "ENG-7", `POST /rest/api/2/issue/ENG-7/comment {"body":"It is the cache.`, true},
		"github":     {event.Object{Kind: "pull_request", ID: "12", Parent: "acme/handbook", Action: "opened"}, "acme/handbook#12", `POST /repos/acme/handbook/issues/12/comments {"body":"It is the cache.`, true},
		"zendesk":    {event.Object{Kind: "ticket", ID: "35", Action: "created"}, "the ticket 35", `PUT /api/v2/tickets/35.json {"ticket":{"comment":{"body":"It is the cache.`, true},
		"hubspot":    {event.Object{Kind: "company", ID: "501", Action: "creation"}, "the company 501", `POST /crm/v3/objects/notes {"associations":[{"to":{"id":"501"}`, false},
		"salesforce": {event.Object{Kind: "Case", ID: "5005g00000AbCdEAAV", Action: "changed"}, "the record 5005g00000AbCdEAAV", `POST /services/data/`, false},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			p := newPlatforms(t)
			row, events := p.connect(provider)
			a := p.commenting(row, events, automation.ModeAlways)
			p.happen(events, c.object)
			p.answered(a, "It is the cache.")
			asked := p.pending()
			if asked.Title != "Comment on "+c.target || asked.Tool != "deliver.comment" || asked.Risk != entapproval.RiskWrite || !strings.Contains(asked.Preview, "It is the cache.") ||
				!strings.Contains(asked.Preview, "Handbook https://docs.example.com/reset") || len(p.writes()) != 0 {
				t.Errorf("asked %+v after %v", asked, p.writes())
			}
			p.decide(approval.Decision{Action: approval.Approve})
			for range 4 {
				p.tick()
			}
			run := p.only(a, automationrun.StatusCompleted)
			made := p.writes()
			if len(made) != 1 || !strings.HasPrefix(made[0], c.request) || !strings.Contains(made[0], "It is the cache.") || !strings.Contains(made[0], "magpie-run: "+run.ID.String()+"-0") {
				t.Errorf("written %q", made)
			}
			if strings.Contains(made[0], `"public":true`) {
				t.Error("the customer reads it")
			}
			if !c.hears {
				return
			}
			own := c.object
			own.Action, own.Text = "commented", commentIn(t, made[0])
			p.happen(events, own)
			if rows := p.runs(a); len(rows) != 2 || rows[1].Status != automationrun.StatusSkipped || *rows[1].Reason != "it was written by a tool of Magpie" {
				t.Errorf("the own comment starts %v", rows)
			}
		})
	}
}

// commentIn returns the text of a written comment.
func commentIn(t *testing.T, request string) string {
	t.Helper()
	var in struct {
		Body   string
		Ticket struct{ Comment struct{ Body string } }
	}
	_, body, _ := strings.Cut(request, " {")
	if err := json.Unmarshal([]byte("{"+body), &in); err != nil {
		t.Fatal(err)
	}
	return in.Body + in.Ticket.Comment.Body
}

// What cannot work is refused when the automation is made.
func TestACommentNeedsAnIntegrationThatFitsTheEvents(t *testing.T) {
	t.Parallel()
	p := newPlatforms(t)
	jira, events := p.connect("jira")
	github, _ := p.connect("github")
	pages := must[*ent.InboundIntegration](t)(p.db.Ent.InboundIntegration.Create().SetKind(inboundintegration.KindEvents).SetProvider("confluence").SetName("Wiki").SetToken("w").Save(p.system()))
	bobs := must[*ent.ToolIntegration](t)(p.tools.Create(viewer.With(t.Context(), p.bob), tools.Draft{
		Provider: "jira", Slug: "mine", Name: "Mine", Personal: true, Config: map[string]any{"url": p.url},
	}))
	try := func(trigger, to *uuid.UUID, change func(*automation.Draft)) string {
		d := automation.Draft{
			Name: "Triage", Agent: p.agent, Kind: entautomation.KindEvent, Instructions: "Triage {{event.title}}", Trigger: map[string]any{},
			Delivery: []map[string]any{{"kind": automation.Comment}},
		}
		if trigger != nil {
			d.Trigger["integrationId"] = trigger.String()
		}
		if to != nil {
			d.Delivery[0]["integrationId"] = to.String()
		}
		if change != nil {
			change(&d)
		}
		_, err := p.store.Create(viewer.With(t.Context(), p.ada), d)
		if err == nil {
			return ""
		}
		return fmt.Sprint(apierr.From(err).Code, " ", apierr.From(err).Message)
	}
	nowhere := uuid.New()
	service := func(d *automation.Draft) { d.RunAs = entautomation.RunAsService }
	for name, c := range map[string]struct{ got, want string }{
		"fits":                {try(&events.ID, &jira.ID, nil), ""},
		"no integration":      {try(&events.ID, nil, nil), "delivery[0].integrationId: is required"},
		"an unknown one":      {try(&events.ID, &nowhere, nil), "not_found"},
		"another platform":    {try(&events.ID, &github.ID, nil), "must be an integration with jira"},
		"somebody else's":     {try(&events.ID, &bobs.ID, nil), "not_found"},
		"any events":          {try(nil, &jira.ID, nil), "trigger.integrationId: is required"},
		"pages":               {try(&pages.ID, &jira.ID, nil), "not possible for events of confluence"},
		"the service member":  {try(&events.ID, &jira.ID, service), "shared credentials"},
		"a mail":              {try(nil, &jira.ID, func(d *automation.Draft) { d.Kind, d.Instructions = entautomation.KindEmail, "Answer" }), "needs the trigger event"},
		"a tool that is off":  {p.without(jira, func(u *ent.IntegrationToolUpdate) { u.SetEnabled(false) }, func() string { return try(&events.ID, &jira.ID, nil) }), "whose tool comment is turned on"},
		"a tool that may not": {p.without(jira, func(u *ent.IntegrationToolUpdate) { u.SetEnabled(true).SetCallPolicy(integrationtool.CallPolicyDeny) }, func() string { return try(&events.ID, &jira.ID, nil) }), "its policy is deny"},
	} {
		if c.want == "" && c.got != "" || !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %q", name, c.got)
		}
	}
}

// without changes the comment tool of an integration and tries something.
func (p *platforms) without(row *ent.ToolIntegration, change func(*ent.IntegrationToolUpdate), try func() string) string {
	p.Helper()
	update := p.db.Ent.IntegrationTool.Update().Where(integrationtool.IntegrationID(row.ID), integrationtool.Name("comment"))
	change(update)
	must[int](p)(update.Save(p.system()))
	return try()
}

// The tool's policy holds for comments of automations, too.
func TestThePolicyOfTheToolGovernsComments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode      automation.Mode
		tool      *integrationtool.CallPolicy
		workspace string
		status    automationrun.Status
	}{
		"nobody is asked":             {automation.ModeNone, new(integrationtool.CallPolicyAllow), "", automationrun.StatusCompleted},
		"the risk asks":               {automation.ModeNone, nil, "", automationrun.StatusWaiting},
		"the automation asks":         {automation.ModeActing, new(integrationtool.CallPolicyAllow), "", automationrun.StatusWaiting},
		"the workspace asks":          {automation.ModeNone, new(integrationtool.CallPolicyAllow), `{"tools":{"jira.*":"ask"}}`, automationrun.StatusWaiting},
		"the workspace allows none":   {automation.ModeAlways, nil, `{"tools":{"jira.comment":"deny"}}`, automationrun.StatusFailed},
		"the tool was forbidden then": {automation.ModeAlways, new(integrationtool.CallPolicyDeny), "", automationrun.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatforms(t)
			row, events := p.connect("jira")
			a := p.commenting(row, events, c.mode)
			if c.tool != nil {
				p.without(row, func(u *ent.IntegrationToolUpdate) { u.SetCallPolicy(*c.tool) }, func() string { return "" })
			}
			if c.workspace != "" {
				must[*ent.Workspace](t)(p.db.Ent.Workspace.UpdateOneID(p.workspace).SetToolPolicy(json.RawMessage(c.workspace)).Save(p.system()))
			}
			p.happen(events, issue())
			p.answered(a, "It is the cache.")
			p.only(a, c.status)
			if n := len(p.writes()); n != 0 && c.status != automationrun.StatusCompleted || n > 1 || n == 0 && c.status == automationrun.StatusCompleted {
				t.Errorf("%d comments", n)
			}
		})
	}
}

// What the platform refused is told or tried again; of what it may have done a person is
// asked.
func TestACommentWithAnUnknownOutcomeIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statuses []int
		status   automationrun.Status
		written  int
		reason   string
	}{
		"refused":          {[]int{403}, automationrun.StatusFailed, 0, "comment: "},
		"later":            {[]int{429}, automationrun.StatusCompleted, 1, ""},
		"unknown":          {[]int{500}, automationrun.StatusWaiting, 1, "a person must decide"},
		"gone in the wait": {nil, automationrun.StatusFailed, 0, "comment: Integration not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlatforms(t)
			row, events := p.connect("jira")
			a := p.commenting(row, events, automation.ModeAlways)
			p.happen(events, issue())
			p.answered(a, "It is the cache.")
			p.mu.Lock()
			p.statuses = c.statuses
			p.mu.Unlock()
			if c.statuses == nil {
				if err := p.tools.Delete(viewer.With(t.Context(), viewer.Viewer{Workspace: p.workspace, Subject: p.ada.Subject, Kind: viewer.KindSession, Role: viewer.RoleOwner, AllCollections: true}), row.ID); err != nil {
					t.Fatal(err)
				}
			}
			p.decide(approval.Decision{Action: approval.Approve})
			for range 20 {
				p.tick()
			}
			run := p.only(a, c.status)
			if n := len(p.writes()); n != c.written || run.Reason != nil && !strings.Contains(*run.Reason, c.reason) {
				t.Errorf("%d comments, %v", n, run)
			}
			if c.status != automationrun.StatusWaiting {
				return
			}
			if asked := p.pending(); asked.Kind != entapproval.KindUnknownEffect || !strings.HasPrefix(asked.Title, "Was it sent? Comment on ENG-7") {
				t.Errorf("asked %+v", asked)
			}
			p.decide(approval.Decision{Action: approval.Reject})
			for range 4 {
				p.tick()
			}
			if p.only(a, automationrun.StatusCompleted); len(p.writes()) != 1 {
				t.Errorf("repeated: %q", p.writes())
			}
		})
	}
}

// An owner who is not connected to the platform learns why there is no comment, and an
// event about something else has none.
func TestACommentThatCannotBeMadeSaysWhy(t *testing.T) {
	t.Parallel()
	p := newPlatforms(t)
	row, events := p.connect("zendesk")
	a := p.commenting(row, events, automation.ModeNone)
	must[*ent.ToolIntegration](t)(p.tools.Disconnect(viewer.With(t.Context(), p.ada), row.ID))
	p.happen(events, event.Object{Kind: "ticket", ID: "35", Action: "created"})
	p.answered(a, "It is the cache.")
	if run := p.only(a, automationrun.StatusFailed); !strings.Contains(*run.Reason, "You are not connected to zendesk") {
		t.Errorf("%s", *run.Reason)
	}
	p.happen(events, event.Object{Kind: "user", ID: "5", Action: "created"})
	p.tick()
	rows := p.runs(a)
	p.answer(rows[1], "So.")
	for range 3 {
		p.tick()
	}
	if run := p.runs(a)[1]; run.Status != automationrun.StatusFailed || !strings.Contains(*run.Reason, "an event about a user of zendesk cannot be commented on") || len(p.writes()) != 0 {
		t.Errorf("%v, %q", run, p.writes())
	}
}
