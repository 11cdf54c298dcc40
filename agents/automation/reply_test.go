package automation_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/automation/delivery"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	entautomation "github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/mailer"
	"github.com/magpie-search/magpie/internal/viewer"
)

// postmark is a mail service that keeps what it takes.
type postmark struct {
	mu   sync.Mutex
	sent []map[string]any
	fail bool // takes the next mail and breaks
}

func (p *postmark) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in map[string]any
	if r.Header.Get("X-Postmark-Server-Token") != "token-1" || json.NewDecoder(r.Body).Decode(&in) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	p.sent = append(p.sent, in)
	if p.fail {
		p.fail = false
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte(`{"ErrorCode":0,"MessageID":"x"}`))
}

func (p *postmark) mails() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sent)
}

// withPostmark lets the integration of the fixture answer by its service.
func (f *fixture) withPostmark() *postmark {
	f.Helper()
	p := &postmark{}
	server := httptest.NewServer(p)
	transport := &http.Transport{DisableKeepAlives: true}
	f.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	f.inbound = map[uuid.UUID]connectors.Settings{f.integration.ID: {Config: map[string]any{"reply_from": "help@acme.example"}, Credentials: map[string]string{"server_token": "token-1"}}}
	r, ok := f.deliverers[automation.ReplyEmail].(delivery.Reply)
	if !ok {
		f.Fatal("no replies")
	}
	r.API = mailer.NewAPI(mailer.APIOptions{Postmark: server.URL, Transport: transport})
	f.deliverers[automation.ReplyEmail] = r
	return p
}

// The service that received a mail answers it, if the integration says how; and of a mail
// that it may have sent a person is asked.
func TestAMailIsAnsweredByTheServiceThatReceivedIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.withPostmark()
	a := f.create(nil)
	m := mail("Reset")
	m.References = []string{"root@customer.example"}
	f.receive(m)
	f.tick()
	f.answer(f.only(a, automationrun.StatusRunning), "Press it.")
	for range 3 {
		f.tick()
	}
	run := f.only(a, automationrun.StatusCompleted)
	sent := p.mails()
	if len(sent) != 1 || sent[0]["To"] != "<cleo@customer.example>" || sent[0]["From"] != "<help@acme.example>" || !strings.HasPrefix(sent[0]["TextBody"].(string), "Press it.") || len(f.mails.Mails()) != 0 {
		t.Fatalf("sent %v, by SMTP %v", sent, f.mails.Mails())
	}
	text, err := json.Marshal(sent[0]["Headers"])
	for _, part := range []string{"Auto-Submitted", "auto-replied", m.MessageID, "root@customer.example", "X-Magpie-Run", run.ID.String() + "-0@acme.example"} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
}

func TestAMailThatTheServiceMayHaveSentIsAskedAbout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.withPostmark()
	p.fail = true
	a := f.create(nil)
	f.receive(mail("Reset"))
	f.tick()
	f.answer(f.only(a, automationrun.StatusRunning), "Press it.")
	for range 5 {
		f.tick()
	}
	f.only(a, automationrun.StatusWaiting)
	asked := must[*ent.Approval](t)(f.db.Ent.Approval.Query().Where(entapproval.StatusEQ(entapproval.StatusPending)).Only(f.system()))
	if asked.Kind != entapproval.KindUnknownEffect || len(p.mails()) != 1 {
		t.Errorf("asked %v, sent %v", asked, p.mails())
	}
	f.decide(approval.Decision{Action: approval.Reject})
	for range 3 {
		f.tick()
	}
	if f.only(a, automationrun.StatusCompleted); len(p.mails()) != 1 || len(f.mails.Mails()) != 0 {
		t.Errorf("sent %v, %v", p.mails(), f.mails.Mails())
	}
}

// Without a mail server, an automation that answers needs an integration that can.
func TestAnswersNeedAWayToBeSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.withPostmark()
	mute := must[*ent.InboundIntegration](t)(f.db.Ent.InboundIntegration.Create().SetKind(inboundintegration.KindEmail).SetProvider("sendgrid").SetName("Mute").SetToken("m").Save(f.system()))
	r := delivery.Reply{Settings: f.settings}
	store := automation.NewStore(automation.Options{Ent: f.db.Ent, Box: f.box, Index: f.index, Deliveries: []string{automation.ReplyEmail}, Answers: r.Answers, Now: f.clock})
	for name, c := range map[string]struct {
		trigger map[string]any
		want    string
	}{
		"one that can":    {map[string]any{"integrationId": f.integration.ID.String()}, ""},
		"one that cannot": {map[string]any{"integrationId": mute.ID.String()}, "delivery[0].kind: needs a sender of answers"},
		"any":             {map[string]any{}, "name the integration in the trigger"},
	} {
		_, err := store.Create(viewer.With(t.Context(), f.ada), automation.Draft{
			Name: "Answers", Agent: f.agent, Kind: entautomation.KindEmail, Instructions: "Answer", Trigger: c.trigger, Delivery: []map[string]any{{"kind": automation.ReplyEmail}},
		})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
