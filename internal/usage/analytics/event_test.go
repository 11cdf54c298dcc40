package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestEventsAreJoinedToTheirQueries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada, eve := f.tenant(), f.tenant()
	s := f.store(analytics.Full)
	f.write(analytics.Full, ada.search("r1", "backup", daysAgo(1)), ada.search("r2", "restore"), ada.search("page", "restore", nextPage),
		eve.search("r9", "secret of eve"))

	got := f.record(s, ada, click("r1", 0), click("r1", 3), click("page", 10), click("r9", 0), click("later", 1),
		analytics.Event{Type: "feedback", Request: "r2", Rating: "negative", Reason: "outdated", Comment: " Ask ada@example.com "})
	if want := (analytics.Recorded{Accepted: 6, Unknown: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r := f.report(s, ada, analytics.Span{})
	if x := r.Totals; x.Searches != 2 || x.Clicks != 3 || !near(x.ClickThroughRate, 0.5) || x.NegativeFeedback != 1 || x.PositiveFeedback != 0 ||
		!near(x.MeanReciprocalClickRank, (1+1.0/4+1.0/11)/3) {
		t.Errorf("%+v", x)
	}
	if y, today := r.Daily[28], r.Daily[29]; y.Clicks != 2 || today.Clicks != 1 || today.NegativeFeedback != 1 || y.Date != "2026-11-23" {
		t.Errorf("%+v %+v", y, today)
	}
	if x := f.report(s, eve, analytics.Span{}).Totals; x.Clicks != 0 || x.Searches != 1 {
		t.Errorf("eve's: %+v", x)
	}
	if n := f.count("query_events where comment = 'Ask [email]' and reason = 'outdated' and collection_id = $1", ada.collection); n != 1 {
		t.Errorf("%d comments", n)
	}

	// An event may arrive before its query is in the log.
	f.write(analytics.Full, ada.search("later", "restore"))
	if x := f.report(s, ada, analytics.Span{}).Totals; x.Clicks != 4 || !near(x.ClickThroughRate, 2.0/3) {
		t.Errorf("%+v", x)
	}
	if got := f.texts(f.report(s, ada, analytics.Span{}).TopQueries); fmt.Sprint(got) != "[restore 2/0/2 backup 1/0/2]" {
		t.Errorf("%v", got)
	}
}

func TestARepeatedEventCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	s := f.store(analytics.Full)
	f.write(analytics.Full, ada.search("r1", "backup"))
	named := func(id string) analytics.Event {
		e := click("r1", 0)
		e.ID = id
		return e
	}
	if got, want := f.record(s, ada, named("e1"), named("e1"), named("e2")), (analytics.Recorded{Accepted: 2, Duplicates: 1}); got != want {
		t.Errorf("%+v", got)
	}
	if got, want := f.record(s, ada, named("e2"), named("e1")), (analytics.Recorded{Duplicates: 2}); got != want {
		t.Errorf("%+v", got)
	}
	other := ada
	other.key = uuid.New() // whose ids are its own
	if got, want := f.record(s, other, named("e1")), (analytics.Recorded{Accepted: 1}); got != want {
		t.Errorf("%+v", got)
	}
	if x := f.report(s, ada, analytics.Span{}).Totals; x.Clicks != 3 || x.ClickThroughRate != 1 {
		t.Errorf("%+v", x)
	}
	if n := f.count("query_events where event_hash = 'e1'::bytea or length(event_hash) <> 16"); n != 0 {
		t.Error("the client's id is kept as it is")
	}
}

func TestInvalidEventsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	s := f.store(analytics.Full)
	good := click("r1", 0)
	feedback := analytics.Event{Type: "feedback", Request: "r1", Rating: "positive"}
	with := func(e analytics.Event, change func(*analytics.Event)) analytics.Event {
		change(&e)
		return e
	}
	for want, e := range map[string]analytics.Event{
		"type: must be":        with(good, func(e *analytics.Event) { e.Type = "look" }),
		"requestId: must be":   with(good, func(e *analytics.Event) { e.Request = "a b" }),
		"resultId: is req":     with(good, func(e *analytics.Event) { e.Result = uuid.Nil }),
		"position: must be 0":  with(good, func(e *analytics.Event) { *e.Position = -1 }),
		"rating: is required":  with(feedback, func(e *analytics.Event) { e.Rating = "" }),
		"rating: must be":      with(feedback, func(e *analytics.Event) { e.Rating = "good" }),
		"rating: belongs":      with(click("r1", 0), func(e *analytics.Event) { e.Rating = "positive" }),
		"reason: must be":      with(feedback, func(e *analytics.Event) { e.Reason = "long" }),
		"comment: must have":   with(feedback, func(e *analytics.Event) { e.Comment = strings.Repeat("ä", 501) }),
		"eventId: must have":   with(feedback, func(e *analytics.Event) { e.ID = strings.Repeat("ä", 101) }),
		"occurredAt: must not": with(feedback, func(e *analytics.Event) { e.OccurredAt = now().Add(5*time.Minute + time.Second) }),
		"occurredAt: is long":  with(feedback, func(e *analytics.Event) { e.OccurredAt = now().AddDate(0, 0, -91) }),
	} {
		_, err := s.Record(t.Context(), ada.scope, ada.key, []analytics.Event{feedback, e}, place)
		var edge *apierr.Error
		if !errors.As(err, &edge) || edge.Code != apierr.InvalidRequest || !strings.HasPrefix(edge.Message, "events[1]."+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, n := range []int{0, 101} {
		if _, err := s.Record(t.Context(), ada.scope, ada.key, make([]analytics.Event, n), place); err == nil {
			t.Errorf("%d events are taken", n)
		}
	}
	if n := f.count("query_events"); n != 0 {
		t.Errorf("%d events were kept of calls that were refused", n)
	}
	if _, err := s.Record(t.Context(), viewer.Scope{}, ada.key, []analytics.Event{feedback}, place); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("without a scope: %v", err)
	}
	early := with(feedback, func(e *analytics.Event) { e.OccurredAt = now().Add(5 * time.Minute) })
	if got := f.record(s, ada, early); got.Accepted != 1 {
		t.Errorf("%+v", got)
	}
}

func TestEventsWithoutTextsAndOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	e := analytics.Event{Type: "feedback", Request: "r1", Rating: "positive", Comment: "fine"}
	if got, want := f.record(f.store(analytics.Off), ada, e), (analytics.Recorded{Unknown: 1}); got != want || f.count("query_events") != 0 {
		t.Errorf("%+v", got)
	}
	f.record(f.store(analytics.Counts), ada, e)
	if n := f.count("query_events where comment is null"); n != 1 {
		t.Errorf("%d events without comment", n)
	}
}

// Each event counts exactly once, whether it arrives before its query or after it, on any
// node.
func TestEventsAndQueriesRace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	s := f.store(analytics.Full)
	const questions, nodes = 60, 3
	logs := make([]*analytics.Log, nodes)
	for i := range logs {
		logs[i] = analytics.NewLog(t.Context(), f.db.Pool, analytics.LogOptions{Interval: time.Millisecond, Batch: 4})
	}
	var all sync.WaitGroup
	for i := range questions {
		request := fmt.Sprintf("r%d", i)
		all.Go(func() { logs[i%nodes].Add(ada.search(request, "same")) })
		for range 2 {
			all.Go(func() {
				if _, err := s.Record(t.Context(), ada.scope, ada.key, []analytics.Event{click(request, 1)}, place); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for _, l := range logs {
		l.Close()
	}
	x := f.report(s, ada, analytics.Span{}).Totals
	if x.Searches != questions || x.Clicks != 2*questions || x.ClickThroughRate != 1 || !near(x.MeanReciprocalClickRank, 0.5) {
		t.Errorf("%+v", x)
	}
	if n := f.count("query_events where not counted"); n != 0 {
		t.Errorf("%d events were not counted", n)
	}
}

func TestVisitorsRecordEventsOfTheirOwnRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	s := f.store(analytics.Full)
	mine, foreign, later := uuid.NewString(), requestid.New(), requestid.New()
	other := ada
	other.key = uuid.New()
	f.write(analytics.Full, ada.search(mine, "backup"), other.search(foreign, "restore"), ada.search("chosen-by-a-client", "restore"))
	by := func(id tenant, secret bool) context.Context {
		return viewer.With(t.Context(), viewer.Viewer{Workspace: id.workspace, Subject: id.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, Secret: secret, AllCollections: true})
	}
	first, thumb := click(mine, 0), analytics.Event{Type: "feedback", Request: mine, Rating: "positive"}
	again := first
	next := click(mine, 2)
	down := analytics.Event{Type: "feedback", Request: mine, Rating: "negative"}
	for i, c := range []struct {
		event analytics.Event
		want  analytics.Recorded
	}{
		{first, analytics.Recorded{Accepted: 1}}, {again, analytics.Recorded{Duplicates: 1}}, {next, analytics.Recorded{Accepted: 1}},
		{thumb, analytics.Recorded{Accepted: 1}}, {thumb, analytics.Recorded{Duplicates: 1}}, {down, analytics.Recorded{Duplicates: 1}},
		{click(foreign, 0), analytics.Recorded{Unknown: 1}}, {click(later, 1), analytics.Recorded{Accepted: 1, Unknown: 1}},
	} {
		if got, err := s.RecordByVisitor(by(ada, i%2 == 0), c.event); err != nil || *got != c.want {
			t.Errorf("event %d: %+v, %v, want %+v", i, got, err, c.want)
		}
	}
	f.write(analytics.Full, ada.search(later, "restore"))
	if x := f.report(s, ada, analytics.Span{}).Totals; x.Clicks != 3 || x.PositiveFeedback != 1 || x.NegativeFeedback != 0 {
		t.Errorf("%+v", x)
	}
	for _, id := range []string{"chosen-by-a-client", strings.ToUpper(mine), uuid.Must(uuid.NewV7()).String(), strings.ToLower(later), later + "A", ""} {
		if _, err := s.RecordByVisitor(by(ada, false), click(id, 0)); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("an event of the request %q: %v", id, err)
		}
	}
	if _, err := s.RecordByVisitor(by(ada, false), analytics.Event{Type: "click", Request: mine}); apierr.From(err).Code != apierr.InvalidRequest {
		t.Errorf("a click on nothing: %v", err)
	}
	if _, err := s.RecordByVisitor(viewer.With(t.Context(), viewer.System(ada.workspace)), first); err == nil {
		t.Error("without a key an event is recorded")
	}
}
