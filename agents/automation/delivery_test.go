package automation_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/automation/delivery"
	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entautomation "github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

// notes is an automation that stores an answer about a meeting for those who were there.
func (f *fixture) notes(readers ...any) (*ent.Automation, uuid.UUID) {
	f.Helper()
	models := must[*embed.Registry](f)(embed.NewRegistry(embed.NewBuiltin()))
	into := must[*ent.Collection](f)(f.db.Ent.Collection.Create().SetName("Notes").SetEmbeddingModel(models.Default().Model()).Save(f.system()))
	f.deliverers[automation.Document] = delivery.Document{Ent: f.db.Ent, Index: f.index, Parser: parse.New(parse.Options{}), Models: models, Now: f.clock}
	return f.create(func(d *automation.Draft) {
		d.Kind, d.Instructions = entautomation.KindMeeting, "Sum up {{event.topic}}"
		d.Delivery = []map[string]any{{"kind": automation.Document, "collectionId": into.ID.String(), "subject": "Notes of the week", "readers": readers}}
	}), into.ID
}

func (f *fixture) meet() {
	f.Helper()
	row := must[*ent.InboundIntegration](f)(f.db.Ent.InboundIntegration.Create().SetKind(inboundintegration.KindMeetings).SetProvider("zoom").SetName("Zoom").SetToken("z").Save(f.system()))
	must[inbox.Outcome](f)(f.store.HandleEvent(f.system(), inbox.Received{
		ID: uuid.New(), Integration: row, Type: "meeting.ended", ReceivedAt: f.clock(), Summary: "Weekly", Content: event.Content{Meeting: &event.Meeting{
			ID: "m1", Topic: "Weekly", Attendees: []event.Attendee{{Name: "Ada", Email: "ADA@example.com"}, {Name: "Bob", Email: "bob@example.com"}, {Name: "By phone"}},
		}},
	}))
}

type stored struct {
	Title   string
	Text    string
	Readers []string
}

// stored returns the documents of a collection that are there now.
func (f *fixture) stored(collection uuid.UUID) []stored {
	f.Helper()
	rows := must[[]*ent.Document](f)(f.db.Ent.Document.Query().Where(document.CollectionID(collection), document.DeletedAtIsNil()).All(f.system()))
	var out []stored
	for _, row := range rows {
		one := stored{Title: row.Title}
		text := must[map[uuid.UUID]index.Text](f)(f.index.Texts(f.system(), must[viewer.Scope](f)(viewer.System(f.workspace).Scope()), []uuid.UUID{row.ID}, false))
		one.Text = text[row.ID].Body
		if err := f.db.Pool.QueryRow(f.Context(), "select coalesce(readers, '{}') from documents where id = $1", row.ID).Scan(&one.Readers); err != nil {
			f.Fatal(err)
		}
		slices.Sort(one.Readers)
		out = append(out, one)
	}
	return out
}

// A document is for those who were there, and a worker that dies or a replay makes no
// second one.
func TestNotesOfAMeetingAreOneDocumentForItsAttendees(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, into := f.notes(automation.Attendees, "Zoe@Example.com")
	f.meet()
	f.tick()
	f.answer(f.only(a, automationrun.StatusRunning), "We ship **on Friday**.")
	for range 3 {
		f.tick()
	}
	run := f.only(a, automationrun.StatusCompleted)
	all := f.stored(into)
	want := []string{"user:ada@example.com", "user:bob@example.com", "user:zoe@example.com"}
	if len(all) != 1 || all[0].Title != "Notes of the week" || !strings.Contains(all[0].Text, "We ship **on Friday**.") || !slices.Equal(all[0].Readers, want) {
		t.Fatalf("stored %+v", all)
	}
	// The worker died after the document was stored and before that was recorded.
	entries := run.Deliveries
	entries[0]["status"] = "started"
	must[*ent.AutomationRun](t)(f.db.Ent.AutomationRun.UpdateOneID(run.ID).SetStatus(automationrun.StatusRunning).SetStep(automationrun.StepDelivery).ClearFinishedAt().
		SetDueAt(f.clock()).SetDeliveries(entries).Save(f.system()))
	for range 3 {
		f.tick()
	}
	f.only(a, automationrun.StatusCompleted)
	if again := f.stored(into); len(again) != 1 {
		t.Errorf("repeated: %+v", again)
	}
	// A replay has another answer, and so has a replay of the replay.
	for i, text := range []string{"We ship on Monday.", "We ship on Tuesday."} {
		last := f.runs(a)[i]
		must[*ent.AutomationRun](t)(f.store.Replay(viewer.With(t.Context(), f.ada), last.ID))
		f.tick()
		f.answer(f.runs(a)[i+1], text)
		for range 3 {
			f.tick()
		}
		if now := f.stored(into); len(now) != 1 || !strings.Contains(now[0].Text, strings.TrimSuffix(text, ".")) || !slices.Equal(now[0].Readers, want) {
			t.Errorf("replayed: %+v", now)
		}
	}
	owners := must[[]*ent.Connector](t)(f.db.Ent.Connector.Query().Where(connector.CollectionID(into)).All(f.system()))
	if len(owners) != 1 || owners[0].Type != delivery.ConnectorType || owners[0].Enabled {
		t.Errorf("owned by %v", owners)
	}
}

// Without readers, a document is for all who reach the collection.
func TestADocumentWithoutReadersIsForEverybody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, into := f.notes()
	f.meet()
	f.tick()
	f.answer(f.only(a, automationrun.StatusRunning), "We ship on Friday.")
	for range 3 {
		f.tick()
	}
	f.only(a, automationrun.StatusCompleted)
	if all := f.stored(into); len(all) != 1 || len(all[0].Readers) != 0 {
		t.Errorf("stored %+v", all)
	}
}

// slackServer answers chat.postMessage and keeps what it posts.
type slackServer struct {
	mu      sync.Mutex
	posted  []map[string]any
	answers []string // of the next requests: a body, or "drop", "429" or "500"
}

func (s *slackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := `{"ok":true,"ts":"1.1"}`
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	switch answer {
	case "429":
		w.Header().Set("Retry-After", "3000")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
	}
	if !strings.Contains(answer, `"ok":false`) {
		var message map[string]any
		if json.Unmarshal(body, &message) != nil || r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer xoxb-1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		s.posted = append(s.posted, message)
	}
	if answer == "drop" {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, answer)
}

func (s *slackServer) messages() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posted)
}

// A message is posted once; a refusal is told, and of an unknown outcome a person is asked.
func TestASlackMessageIsPostedAtMostOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []string
		status  automationrun.Status
		posted  int
		reason  string
	}{
		"taken":             {nil, automationrun.StatusCompleted, 1, ""},
		"refused":           {[]string{`{"ok":false,"error":"channel_not_found"}`}, automationrun.StatusFailed, 0, "Slack did not take the message: channel_not_found"},
		"later":             {[]string{"429"}, automationrun.StatusCompleted, 1, ""},
		"a broken server":   {[]string{"500"}, automationrun.StatusWaiting, 1, "a person must decide"},
		"a lost answer":     {[]string{"drop"}, automationrun.StatusWaiting, 1, "a person must decide"},
		"an internal error": {[]string{`{"ok":false,"error":"internal_error"}`}, automationrun.StatusWaiting, 0, "a person must decide"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			slack := &slackServer{answers: c.answers}
			server := httptest.NewServer(slack)
			transport := &http.Transport{DisableKeepAlives: true}
			t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
			row := must[*ent.InboundIntegration](t)(f.db.Ent.InboundIntegration.Create().SetKind(inboundintegration.KindSlack).SetProvider("slack").SetName("Slack").SetToken("s").Save(f.system()))
			f.deliverers[automation.SlackMessage] = delivery.Slack{
				Ent: f.db.Ent, API: slackapi.New(slackapi.Options{API: server.URL + "/api/", Transport: transport}),
				Settings: func(*ent.InboundIntegration) (connectors.Settings, error) {
					return connectors.Settings{Credentials: map[string]string{"bot_token": "xoxb-1"}}, nil
				},
			}
			a := f.create(func(d *automation.Draft) {
				d.Delivery = []map[string]any{{"kind": automation.SlackMessage, "integrationId": row.ID.String(), "channel": "C024BE91L", "subject": "News"}}
			})
			f.receive(mail("Reset"))
			f.tick()
			f.answer(f.only(a, automationrun.StatusRunning), "Press it, <!channel> & @here.")
			for range 5 {
				f.tick()
			}
			if name == "later" {
				if n := len(slack.messages()); n != 0 {
					t.Errorf("posted before Slack takes it again: %d", n)
				}
				f.advance(50 * time.Minute)
				f.tick()
			}
			run := f.only(a, c.status)
			posted := slack.messages()
			if len(posted) != c.posted || run.Reason != nil && !strings.Contains(*run.Reason, c.reason) {
				t.Fatalf("%d messages, %v", len(posted), run)
			}
			if c.posted > 0 {
				text := fmt.Sprint(posted[0]["text"])
				if posted[0]["channel"] != "C024BE91L" || !strings.HasPrefix(text, "*News*\nPress it, &lt;!channel&gt; &amp; @\u200bhere.") || posted[0]["unfurl_links"] != false {
					t.Errorf("posted %v", posted)
				}
			}
			if c.status != automationrun.StatusWaiting {
				return
			}
			f.decide(approval.Decision{Action: approval.Approve}) // once more
			for range 4 {
				f.tick()
			}
			if f.only(a, automationrun.StatusCompleted); len(slack.messages()) != c.posted+1 {
				t.Errorf("%d messages after a person agreed to repeat", len(slack.messages()))
			}
		})
	}
}
