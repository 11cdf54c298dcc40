package analytics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestTheLogHasQueriesWithoutPersonalData(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada, eve := f.tenant(), f.tenant()
	sourced := true
	f.write(analytics.Full,
		ada.search("r1", "Mail of ada@example.com  please", func(q *analytics.Query) {
			q.Filters, q.Language = []string{"section", "tags"}, "en"
		}),
		ada.search("r2", "mail of bob@example.org please", func(q *analytics.Query) { q.Language = "ada@example.com" }),
		eve.search("r3", "mail of ada@example.com please", func(q *analytics.Query) {
			q.Key, q.Collection, q.Surface, q.Kind = uuid.Nil, uuid.Nil, viewer.SurfaceDashboard, analytics.Chat
			q.TopScore, q.Sourced, q.Conversation = nil, &sourced, uuid.New()
		}),
	)
	rows, err := f.owner.Query(t.Context(), `select to_jsonb(l) - 'id' - 'at', t.text from query_log l
		join query_texts t on t.workspace_id = l.workspace_id and t.id = l.text_id order by l.request_id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var logged []map[string]any
	var texts []string
	for rows.Next() {
		var raw, text string
		if err := rows.Scan(&raw, &text); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(raw+text, "example") {
			t.Errorf("somebody is named: %s %s", raw, text)
		}
		var row map[string]any
		if err := json.Unmarshal([]byte(raw), &row); err != nil {
			t.Fatal(err)
		}
		logged, texts = append(logged, row), append(texts, text)
	}
	if len(logged) != 3 {
		t.Fatalf("%d rows", len(logged))
	}
	// Both are the same text, stored in one of the two forms.
	if !strings.EqualFold(texts[0], "mail of [email] please") || texts[0] != texts[1] || texts[2] != "mail of [email] please" {
		t.Errorf("texts %q", texts)
	}
	first, third := logged[0], logged[2]
	if first["surface"] != "public" || first["kind"] != "search" || first["api_key_id"] != ada.key.String() ||
		first["collection_id"] != ada.collection.String() || first["results"] != 3.0 || first["top_score"] != 0.8 ||
		fmt.Sprint(first["filters"]) != "[section tags]" || first["next_page"] != false || first["took_ms"] != 4.0 ||
		first["language"] != "en" || first["sourced"] != nil {
		t.Errorf("%v", first)
	}
	if logged[1]["language"] != nil || fmt.Sprint(logged[1]["filters"]) != "[]" {
		t.Errorf("%v", logged[1])
	}
	if third["surface"] != "dashboard" || third["kind"] != "chat" || third["api_key_id"] != nil || third["collection_id"] != nil ||
		third["sourced"] != true || third["conversation_id"] == nil || third["workspace_id"] != eve.workspace.String() {
		t.Errorf("%v", third)
	}
}

func TestWithoutTextsAndOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	f.write(analytics.Off, ada.search("r1", "quiet"))
	if n := f.count("query_log"); n != 0 {
		t.Errorf("%d rows of a log that is off", n)
	}
	f.write(analytics.Counts, ada.search("r2", "quiet"))
	if n, texts, days := f.count("query_log where text_id is null"), f.count("query_texts"), f.count("query_text_days"); n != 1 || texts != 0 || days != 0 {
		t.Errorf("%d rows, %d texts, %d days", n, texts, days)
	}
	r := f.report(f.store(analytics.Counts), ada, analytics.Span{})
	if r.Totals.Searches != 1 || len(f.texts(r.TopQueries)) != 0 {
		t.Errorf("%+v", r.Totals)
	}
}

func TestRowsOfDeletedCollectionsAreSkipped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	gone := ada
	gone.collection = uuid.New()
	nowhere := ada
	nowhere.workspace = uuid.New()
	f.write(analytics.Full, gone.search("r1", "gone"), ada.search("r2", "there"), nowhere.search("r3", "nowhere"))
	if n := f.count("query_log"); n != 1 {
		t.Errorf("%d rows", n)
	}
	f.exec("delete from collections where id = $1", ada.collection)
	for _, table := range []string{"query_log", "query_stats", "query_text_days"} {
		if n := f.count(table); n != 0 {
			t.Errorf("%d rows in %s after the collection ended", n, table)
		}
	}
	f.write(analytics.Full, ada.search("r4", "everywhere", func(q *analytics.Query) { q.Collection = uuid.Nil }))
	f.record(f.store(analytics.Full), ada, click("r4", 0))
	f.exec("delete from workspaces where id = $1", ada.workspace)
	for _, table := range []string{"query_log", "query_stats", "query_text_days", "query_texts", "query_events"} {
		if n := f.count(table); n != 0 {
			t.Errorf("%d rows in %s after the workspace ended", n, table)
		}
	}
}

func TestARepeatedBatchCountsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	if err := analytics.WriteTwice(t.Context(), f.db.Pool, ada.search("r1", "once"), ada.search("r2", "Once"), ada.search("r3", "two", nextPage)); err != nil {
		t.Fatal(err)
	}
	r := f.report(f.store(analytics.Full), ada, analytics.Span{})
	if got := f.texts(r.TopQueries); r.Totals.Searches != 2 || len(got) != 1 || !strings.HasSuffix(got[0], "nce 2/0/0") {
		t.Errorf("%+v %v", r.Totals, got)
	}
}

// While the database refuses the log, queries that do not fit the queue are dropped and
// counted. The others are written afterwards.
func TestAFullQueueDropsAndNeverBlocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	blocker, err := f.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocker.Exec(t.Context(), "lock table query_log in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	l := analytics.NewLog(t.Context(), f.db.Pool, analytics.LogOptions{Queue: 20, Batch: 5, Interval: time.Millisecond, Timeout: time.Minute})
	const asked = 200
	for i := range asked {
		l.Add(ada.search(fmt.Sprintf("r%d", i), strings.Repeat("x ", 1<<16)))
	}
	if dropped := l.Dropped(); dropped < asked-20-5-5 || l.Written() != 0 {
		t.Errorf("%d were dropped, %d written", dropped, l.Written())
	}
	if err := blocker.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l.Close()
	l.Add(ada.search("late", "late"))
	if l.Written()+l.Dropped() != asked+1 || l.Written() < 20 || int64(f.count("query_log")) != l.Written() {
		t.Errorf("%d written, %d dropped, %d rows", l.Written(), l.Dropped(), f.count("query_log"))
	}
}

func TestTheQueueIsWrittenWithinTheInterval(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	l := analytics.NewLog(t.Context(), f.db.Pool, analytics.LogOptions{Interval: 10 * time.Millisecond})
	defer l.Close()
	l.Add(ada.search("r1", "soon"))
	deadline := time.Now().Add(time.Minute)
	for l.Written() == 0 && time.Now().Before(deadline) {
		if n := f.count("query_log"); n > 1 {
			t.Fatalf("%d rows", n)
		}
	}
	if f.count("query_log") != 1 {
		t.Error("nothing was written within a minute")
	}
}

// A batch with a permanent error does not block later batches.
func TestARefusedBatchIsDropped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.tenant()
	f.exec("alter table query_log add constraint refuse check (request_id <> 'bad')")
	l := analytics.NewLog(t.Context(), f.db.Pool, analytics.LogOptions{Interval: time.Millisecond, Batch: 1})
	l.Add(ada.search("bad", "bad"))
	l.Add(ada.search("good", "good"))
	deadline := time.Now().Add(time.Minute)
	for l.Written() == 0 && time.Now().Before(deadline) {
		f.count("query_log")
	}
	l.Close()
	if l.Written() != 1 || l.Dropped() != 1 || f.count("query_log where request_id = 'good'") != 1 {
		t.Errorf("%d written, %d dropped", l.Written(), l.Dropped())
	}
}

func TestPercentilesAreAccurate(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for i := 1; i <= 1000; i++ {
		times = append(times, time.Duration(i)*100*time.Microsecond)
	}
	slices.Reverse(times)
	for share, want := range map[float64]float64{0.5: 50, 0.95: 95, 0.01: 1} {
		if got := analytics.Percentile(share, times...); got < want*0.95 || got > want*1.05 {
			t.Errorf("p%v = %v ms, want %v", share*100, got, want)
		}
	}
	if got := analytics.Percentile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if got := analytics.Percentile(0.5, 0, 0); got <= 0 || got > 0.2 {
		t.Errorf("of no time at all: %v", got)
	}
	if got := analytics.Percentile(0.5, 1000*time.Hour); got < 1e5 {
		t.Errorf("of weeks: %v", got)
	}
}
