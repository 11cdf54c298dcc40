package traffic_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/eval/traffic"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A fixture is a workspace with a collection, its index and its query log.
type fixture struct {
	*testing.T
	db                               *store.DB
	owner                            *pgx.Conn
	index                            *index.Store
	events                           *analytics.Store
	meter                            *traffic.Meter
	workspace, collection, connector uuid.UUID
	scope                            viewer.Scope
	now                              time.Time
	requests                         int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	urls := testkit.Database(t)
	db, err := store.Open(t.Context(), urls.AppURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	models, err := embed.NewRegistry(embed.NewBuiltin())
	if err != nil {
		t.Fatal(err)
	}
	a := analysis.New()
	engine := search.New(db.Pool, a, models, search.Options{})
	t.Cleanup(engine.Close)
	f := &fixture{
		T: t, db: db, owner: owner, index: index.New(db.Pool, a), now: time.Now().UTC(),
		workspace: gid.New(gid.Workspace), collection: gid.New(gid.Collection), connector: gid.New(gid.Connector),
	}
	clock := func() time.Time { return f.now }
	f.events = analytics.New(db.Pool, analytics.StoreOptions{Retention: 90 * 24 * time.Hour, Now: clock})
	f.meter = traffic.New(traffic.Options{Pool: db.Pool, Search: engine, Analytics: f.events, MinScore: 0.3, Now: clock})
	f.exec("insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'W')", f.workspace)
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, 'Docs', $3)`, f.collection, f.workspace, embed.BuiltinModel)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, f.connector, f.workspace, f.collection)
	if f.scope, err = viewer.System(f.workspace).Scope(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.owner.Exec(f.Context(), sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

// put stores a document of one passage.
func (f *fixture) put(path, title, text string) uuid.UUID {
	f.Helper()
	vectors, err := embed.NewBuiltin().Embed(f.Context(), []string{title + "\n" + text}, embed.Passage)
	if err != nil {
		f.Fatal(err)
	}
	out, err := f.index.Put(f.Context(), f.scope, index.Fence{}, &index.Record{
		Connector: f.connector, Collection: f.collection, SourceID: path, Path: path, Title: title, Text: text, Language: "en", Hash: []byte(text),
		Passages: []passage.Passage{{Text: text, End: len(text)}}, Vectors: vectors, Model: embed.BuiltinModel,
	})
	if err != nil {
		f.Fatal(err)
	}
	return out.Document
}

// ask logs a question that was asked so often. Each time the document was clicked at a
// position, if it is not nil.
func (f *fixture) ask(text string, times int, clicked *uuid.UUID, position int) {
	f.Helper()
	key := gid.New(gid.APIKey)
	log := analytics.NewLog(f.Context(), f.db.Pool, analytics.LogOptions{})
	var events []analytics.Event
	for range times {
		f.requests++
		request := fmt.Sprintf("request-%d", f.requests)
		log.Add(analytics.Query{
			Workspace: f.workspace, Surface: viewer.SurfacePublic, Key: key, Kind: analytics.Search, Collection: f.collection,
			Text: text, Results: 1, Request: request, At: f.now.Add(-time.Hour),
		})
		if clicked != nil {
			events = append(events, analytics.Event{Type: "click", Request: request, Document: *clicked, Position: &position})
		}
	}
	log.Close()
	if len(events) == 0 {
		return
	}
	if _, err := f.events.Record(f.Context(), f.scope, key, events, func(int) string { return "" }); err != nil {
		f.Fatal(err)
	}
}

// editor returns a context in which an editor calls.
func editor(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.Viewer{Kind: viewer.KindSession, Role: viewer.RoleEditor})
}

func TestMeasuringNeedsTheRoleEditor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, ctx := range map[string]context.Context{
		"nobody": t.Context(),
		"viewer": viewer.With(t.Context(), viewer.Viewer{Kind: viewer.KindSession, Role: viewer.RoleViewer}),
	} {
		if _, err := f.meter.Measure(ctx, f.scope, f.collection, 30); err == nil {
			t.Errorf("%s may measure", name)
		}
		if _, err := f.meter.Documents(ctx, f.scope, f.collection, "x", 30); err == nil {
			t.Errorf("%s may see what people chose", name)
		}
	}
}

func (f *fixture) measure() *traffic.Run {
	f.Helper()
	run, err := f.meter.Measure(editor(f.Context()), f.scope, f.collection, 30)
	if err != nil {
		f.Fatal(err)
	}
	return run
}

func TestARunMeasuresWhatPeopleChose(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if run := f.measure(); run.QuestionCount != 0 || run.ID != uuid.Nil {
		t.Errorf("without traffic: %+v", run)
	}
	marmots := f.put("a", "Marmots", "The marmot digs a burrow and sleeps in winter.")
	dams := f.put("b", "Beavers", "The beaver builds a dam of wood in the river, and digs canals.")
	f.ask("where do marmots sleep", 4, &marmots, 0)
	f.ask("rodent houses", 3, &dams, 2)
	f.ask("quarterly tax return", 3, nil, 0)
	f.ask("once", 2, &marmots, 0)
	first := f.measure()
	questions := make(map[string]traffic.Question)
	for _, q := range first.Questions {
		questions[q.Text] = q
	}
	if first.QuestionCount != 3 || first.Judged != 2 || len(questions) != 3 || first.ZeroResults < 1 {
		t.Fatalf("%+v", first)
	}
	q := questions["where do marmots sleep"]
	if q.Asked != 4 || q.Clicks != 4 || q.Relevant != 1 || q.NDCG10 == nil || *q.NDCG10 != 1 || q.Change() != "NEW" {
		t.Errorf("a question with its answer first: %+v", q)
	}
	q = questions["rodent houses"]
	if q.NDCG10 == nil || *q.NDCG10 != 0 || q.Relevant != 1 {
		t.Errorf("a question that does not find the chosen document: %+v", q)
	}
	if q = questions["quarterly tax return"]; q.NDCG10 != nil || q.TopScore != nil {
		t.Errorf("a question without an answer: %+v", q)
	}
	if want := (1.0 + 0) / 2; first.NDCG10 != want {
		t.Errorf("mean nDCG %v, want %v", first.NDCG10, want)
	}
	for question, want := range map[string][]traffic.Judged{
		"where do marmots sleep": {{Document: marmots, Grade: 3, Clicks: 4, Rank: 1}}, "rodent houses": {{Document: dams, Grade: 3, Clicks: 3}},
		"quarterly tax return": {}, "once": {}, "never": {},
	} {
		if got, err := f.meter.Documents(editor(t.Context()), f.scope, f.collection, question, 30); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", question, got, err)
		}
	}

	// The document now says what people ask, and a new page answers what had no result.
	f.put("b", "Rodent houses", "The beaver builds its house, a lodge, of wood in the river.")
	f.put("c", "Tax", "File the quarterly tax return by the tenth of the month.")
	f.now = f.now.Add(time.Minute)
	second := f.measure()
	for _, q := range second.Questions {
		want := "BETTER"
		if q.Text == "where do marmots sleep" {
			want = "SAME"
		}
		if q.Change() != want || q.Previous == nil {
			t.Errorf("%s: %s, want %s: %+v, was %+v", q.Text, q.Change(), want, q, q.Previous)
		}
	}
	runs, err := f.meter.Runs(t.Context(), f.scope, f.collection, 10)
	if err != nil || len(runs) != 2 || runs[0].ID != second.ID || runs[1].ID != first.ID || runs[1].NDCG10 != first.NDCG10 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	other, err := viewer.System(uuid.New()).Scope()
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := f.meter.Runs(t.Context(), other, f.collection, 10); err != nil || len(runs) > 0 {
		t.Errorf("another workspace reads %d runs, %v", len(runs), err)
	}

	// Without texts the questions are gone, and old runs end with the log.
	f.exec("delete from query_texts")
	if runs, err = f.meter.Runs(t.Context(), f.scope, f.collection, 10); err != nil || len(runs) != 2 || len(runs[0].Questions) != 0 {
		t.Errorf("without texts: %+v, %v", runs, err)
	}
	f.now = f.now.AddDate(0, 0, 91)
	if _, err := f.events.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runs, err = f.meter.Runs(t.Context(), f.scope, f.collection, 10); err != nil || len(runs) != 0 {
		t.Errorf("after the retention: %d runs, %v", len(runs), err)
	}
}

func TestDaysAndRunsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, days := range []int{0, traffic.MaxDays + 1} {
		if _, err := f.meter.Measure(editor(t.Context()), f.scope, f.collection, days); err == nil {
			t.Errorf("%d days are accepted", days)
		}
	}
	for _, first := range []int{0, traffic.MaxRuns + 1} {
		if _, err := f.meter.Runs(t.Context(), f.scope, f.collection, first); err == nil {
			t.Errorf("%d runs are accepted", first)
		}
	}
}
