package analytics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

func chatted(sourced bool) func(*analytics.Query) {
	return func(q *analytics.Query) {
		q.Kind, q.TopScore, q.Sourced, q.Took = analytics.Chat, nil, &sourced, 2*time.Second
		if q.Results = 0; sourced {
			q.Results = 2
		}
	}
}

func TestTheReportCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada, eve := f.tenant(), f.tenant()
	s := f.store(analytics.Full)
	second := gid.New(gid.Collection)
	f.addCollection(ada, second)
	low := 0.4
	weak := func(q *analytics.Query) { q.TopScore = &low }
	elsewhere := func(q *analytics.Query) { q.Collection = second }
	person := func(q *analytics.Query) { q.Key, q.Collection = uuid.Nil, uuid.Nil }
	f.write(analytics.Full,
		ada.search("a1", "Backup"), ada.search("a2", "backup", daysAgo(2)), ada.search("a3", "backup", nextPage),
		ada.search("a4", "xylophone", nothingFound), ada.search("a5", "xylophone", nothingFound, elsewhere), ada.search("a6", "xylophone", person),
		ada.search("a7", "weak", weak), ada.search("a8", "what is it", chatted(true)), ada.search("a9", "why not", chatted(false)),
		ada.search("a10", "old", daysAgo(30)),
		eve.search("e1", "secret of eve"), eve.search("e2", "secret of eve", nothingFound))
	f.record(s, ada, click("a1", 1))

	r := f.report(s, ada, analytics.Span{})
	if x := r.Totals; x.Searches != 6 || x.Chats != 2 || x.ZeroResults != 3 || !near(x.ZeroResultRate, 3.0/8) || x.Clicks != 1 ||
		!near(x.ClickThroughRate, 1.0/8) || x.P50Ms < 3.8 || x.P50Ms > 4.4 || x.P95Ms > 4.4 {
		t.Errorf("%+v", x)
	}
	if len(r.Daily) != 30 || r.Daily[0].Date != "2026-10-26" || r.Daily[29].Date != "2026-11-24" || r.Daily[27].Searches != 1 ||
		r.Daily[28].Searches != 0 || r.Daily[29].Searches != 5 || r.Daily[29].Chats != 2 {
		t.Errorf("%+v %+v %+v", len(r.Daily), r.Daily[0], r.Daily[29])
	}
	for name, c := range map[string]struct {
		list []string
		want string
	}{
		"top":       {f.texts(r.TopQueries)[:2], "xylophone 3/2/0, Backup 2/0/1"},
		"zero":      {f.texts(r.ZeroResultQueries), "xylophone 3/2/0, why not 1/1/0"},
		"low":       {f.texts(r.LowScoreQueries), "weak 1/0/0"},
		"unclicked": {f.texts(r.UnclickedQueries)[:1], "xylophone 3/2/0"},
	} {
		if got := strings.Join(c.list, ", "); !strings.EqualFold(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The newest question decides, also that of a person to all collections.
	top, err := r.TopQueries(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range top {
		switch strings.ToLower(q.Query) {
		case "xylophone":
		case "backup", "weak":
			if q.CollectionID == nil || *q.CollectionID != ada.collection {
				t.Errorf("%s was asked in %v", q.Query, q.CollectionID)
			}
		}
	}
	if last, err := f.report(s, ada, analytics.Span{Collection: second}).TopQueries(t.Context(), 1); err != nil || *last[0].CollectionID != second {
		t.Errorf("in the second collection: %+v %v", last, err)
	}
	if got := strings.Join(f.texts(r.UnclickedQueries), ", "); strings.Contains(strings.ToLower(got), "backup") || strings.Contains(got, "why not") {
		t.Errorf("unclicked: %s", got)
	}

	for name, c := range map[string]struct {
		span analytics.Span
		want string
	}{
		"collection": {analytics.Span{Collection: second}, "1 searches, 0 chats, 1 zero, [xylophone 1/1/0]"},
		"key":        {analytics.Span{Key: uuid.New()}, "0 searches, 0 chats, 0 zero, []"},
		"kind":       {analytics.Span{Kind: analytics.Chat}, "0 searches, 2 chats, 1 zero, [what is it 1/0/0 why not 1/1/0]"},
		"days":       {analytics.Span{From: now().AddDate(0, 0, -30), To: now().AddDate(0, 0, -30)}, "1 searches, 0 chats, 0 zero, [old 1/0/0]"},
	} {
		r := f.report(s, ada, c.span)
		texts := f.texts(r.TopQueries)
		if len(texts) == 2 && texts[0] > texts[1] { // the same count: the order is by hash
			texts[0], texts[1] = texts[1], texts[0]
		}
		got := fmt.Sprintf("%d searches, %d chats, %d zero, %v", r.Totals.Searches, r.Totals.Chats, r.Totals.ZeroResults, texts)
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if p := f.report(s, ada, analytics.Span{Kind: analytics.Chat}).Totals.P50Ms; p < 1800 || p > 2200 {
		t.Errorf("p50 of chats: %v", p)
	}

	// The report of many queries samples texts. Here, the sample has all of them.
	r = f.report(s, ada, analytics.Span{})
	all := fmt.Sprint(f.texts(r.TopQueries), f.texts(r.ZeroResultQueries), f.texts(r.LowScoreQueries), f.texts(r.UnclickedQueries))
	f.exec("update query_stats set queries = 100001 where ctid = (select ctid from query_stats where workspace_id = $1 and day = '2026-11-24' limit 1)", ada.workspace)
	r = f.report(s, ada, analytics.Span{})
	if got := fmt.Sprint(f.texts(r.TopQueries), f.texts(r.ZeroResultQueries), f.texts(r.LowScoreQueries), f.texts(r.UnclickedQueries)); got != all ||
		r.Totals.Searches+r.Totals.Chats <= 100_000 {
		t.Errorf("of many: %s, of few: %s, %+v", got, all, r.Totals)
	}

	// Ids of another workspace have no counts, and a narrow scope stays narrow.
	r = f.report(s, eve, analytics.Span{Collection: ada.collection})
	if r.Totals.Searches != 0 || len(f.texts(r.TopQueries)) != 0 {
		t.Errorf("eve sees %+v", r.Totals)
	}
	narrow, err := ada.scope.Narrow(second)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = s.Report(t.Context(), narrow, analytics.Span{}); err != nil || r.Totals.Searches != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := s.Report(t.Context(), viewer.Scope{}, analytics.Span{}); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("without a scope: %v", err)
	}
}

func TestReportsAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	s := f.store(analytics.Full)
	for _, span := range []analytics.Span{
		{From: now().AddDate(0, 0, 1)},
		{From: now().AddDate(-4, 0, 0)},
		{From: time.Unix(-1<<40, 0)},
		{To: time.Unix(-1<<40, 0), From: now()},
	} {
		_, err := s.Report(t.Context(), ada.scope, span)
		var edge *apierr.Error
		if !errors.As(err, &edge) || edge.Code != apierr.InvalidRequest {
			t.Errorf("%v: %v", span, err)
		}
	}
	r := f.report(s, ada, analytics.Span{From: now(), To: now()})
	if len(r.Daily) != 1 || r.Totals != (analytics.Totals{}) {
		t.Errorf("%+v", r)
	}
	for _, first := range []int{0, 101, -1} {
		if _, err := r.TopQueries(t.Context(), first); err == nil {
			t.Errorf("first %d is taken", first)
		}
	}
	if rows, err := r.TopQueries(t.Context(), 1); err != nil || rows == nil || len(rows) != 0 {
		t.Errorf("%v %v", rows, err)
	}
}

func TestSweepDeletesOldRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	f.write(analytics.Full, ada.search("r1", "ancient", daysAgo(92)), ada.search("r2", "both", daysAgo(92)), ada.search("r3", "both"),
		ada.search("r4", "edge", daysAgo(89)))
	f.record(analytics.New(f.db.Pool, analytics.StoreOptions{Now: func() time.Time { return now().AddDate(0, 0, -92) }}), ada, click("r1", 0))
	f.record(f.store(analytics.Full), ada, analytics.Event{Type: "feedback", Request: "r3", Rating: "positive", Comment: "good"})
	counts := func() string {
		return fmt.Sprint(f.count("query_log"), f.count("query_texts"), f.count("query_text_days"), f.count("query_stats"), f.count("query_events"))
	}
	kept := analytics.New(f.db.Pool, analytics.StoreOptions{Now: now})
	if n, err := kept.Sweep(t.Context()); err != nil || n != 0 || counts() != "4 3 4 3 2" {
		t.Errorf("without retention: %d %v, %s", n, err, counts())
	}
	s := f.store(analytics.Full)
	if _, err := s.Sweep(t.Context()); err != nil || counts() != "2 2 2 2 1" {
		t.Errorf("%v, %s", err, counts())
	}
	if n, err := s.Sweep(t.Context()); err != nil || n != 0 {
		t.Errorf("again: %d %v", n, err)
	}
	if _, err := f.store(analytics.Counts).Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if got := counts(); got != "2 0 0 2 1" || f.count("query_log where text_id is not null")+f.count("query_events where comment is not null") != 0 {
		t.Errorf("without texts: %s", got)
	}
	if x := f.report(s, ada, analytics.Span{From: now().AddDate(0, 0, -100)}).Totals; x.Searches != 2 || x.PositiveFeedback != 1 {
		t.Errorf("%+v", x)
	}
}
