package traffic_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/eval/traffic"
	"github.com/magpie-search/magpie/internal/viewer"
)

// judge names a document for a question.
func (f *fixture) judge(question string, document uuid.UUID, grade int) *traffic.Golden {
	f.Helper()
	golden, err := f.meter.Judge(editor(f.Context()), f.scope, f.collection, question, document, grade)
	if err != nil {
		f.Fatal(err)
	}
	return golden
}

func (f *fixture) golden() []traffic.Golden {
	f.Helper()
	golden, err := f.meter.Golden(editor(f.Context()), f.scope, f.collection)
	if err != nil {
		f.Fatal(err)
	}
	return golden
}

func TestARunMeasuresTheGoldenSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	marmots := f.put("a", "Marmots", "The marmot digs a burrow and sleeps in winter.")
	dams := f.put("b", "Beavers", "The beaver builds a dam of wood in the river, and digs canals.")
	f.judge("where do  marmots sleep ", dams, 1)
	f.judge("Where do marmots sleep", marmots, 3)
	f.judge("how are dams built", dams, 3)
	golden := f.golden()
	if len(golden) != 2 || golden[0].Question != "where do marmots sleep" || !slices.Equal(golden[0].Documents, []uuid.UUID{marmots, dams}) {
		t.Fatalf("golden set %+v", golden)
	}

	run := f.measure()
	if run.QuestionCount != 2 || run.Judged != 2 || len(run.Questions) != 2 {
		t.Fatalf("without traffic: %+v", run)
	}
	for _, q := range run.Questions {
		if !q.Golden || q.Asked != 0 || q.NDCG10 == nil || *q.NDCG10 < 0.8 {
			t.Errorf("%s: %+v", q.Text, q)
		}
	}

	// People ask one of them, and click what the golden set does not name, and one that it does.
	f.ask("where do marmots sleep", 4, &dams, 0)
	f.ask("rodent houses", 3, &dams, 0)
	f.now = f.now.Add(time.Minute) // runs are in the order of time
	run = f.measure()
	at := slices.IndexFunc(run.Questions, func(q traffic.Question) bool { return q.Text == "where do marmots sleep" })
	if run.QuestionCount != 3 || at < 0 || !run.Questions[at].Golden || run.Questions[at].Asked != 4 || run.Questions[at].Relevant != 2 {
		t.Fatalf("with traffic: %+v", run)
	}
	documents, err := f.meter.Documents(editor(t.Context()), f.scope, f.collection, "where do marmots sleep", 30)
	want := []traffic.Judged{{Document: marmots, Grade: 3, Golden: true, Rank: 1}, {Document: dams, Grade: 1, Golden: true, Clicks: 4, Rank: 2}}
	if err != nil || len(documents) != 2 || documents[0] != want[0] || documents[1].Grade != 1 || documents[1].Clicks != 4 {
		t.Errorf("documents %+v, %v; want %+v", documents, err, want)
	}

	// The text of a golden question stays when the query log ends.
	f.exec("delete from query_texts")
	runs, err := f.meter.Runs(t.Context(), f.scope, f.collection, 1)
	if err != nil || len(runs) != 1 || len(runs[0].Questions) != 2 {
		t.Errorf("without texts: %+v, %v", runs, err)
	}

	if g := f.judge("where do marmots sleep", marmots, 0); g == nil || len(g.Documents) != 1 {
		t.Errorf("without one of two documents: %+v", g)
	}
	if g := f.judge("where do marmots sleep", dams, 0); g != nil {
		t.Errorf("without its last document: %+v", g)
	}
	for _, want := range []bool{true, false} {
		if was, err := f.meter.RemoveGolden(editor(t.Context()), f.scope, f.collection, "how are DAMS built"); err != nil || was != want {
			t.Errorf("removed %v, %v", was, err)
		}
	}
	if golden := f.golden(); len(golden) != 0 {
		t.Errorf("left are %+v", golden)
	}
}

func TestAGoldenSetIsBoundedAndOfItsWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	document := f.put("a", "Marmots", "The marmot digs a burrow.")
	for what, one := range map[string]struct {
		question string
		grade    int
	}{
		"nothing": {" ", 3}, "too long": {strings.Repeat("ä", 201), 3}, "a grade below": {"x", -1}, "a grade above": {"x", 4}, "a zero byte": {"a\x00b", 3},
	} {
		if _, err := f.meter.Judge(editor(t.Context()), f.scope, f.collection, one.question, document, one.grade); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	for n := range traffic.MaxGoldenQuestions {
		f.exec(`insert into golden_judgements (workspace_id, collection_id, text_id, question, document_id, grade) values ($1, $2, $3, $4, $5, 3)`,
			f.workspace, f.collection, n, fmt.Sprint("question ", n), document)
	}
	if _, err := f.meter.Judge(editor(t.Context()), f.scope, f.collection, "one more", document, 3); err == nil {
		t.Error("more questions than a set may have are accepted")
	}
	other, err := viewer.System(uuid.New()).Scope()
	if err != nil {
		t.Fatal(err)
	}
	if golden, err := f.meter.Golden(editor(t.Context()), other, f.collection); err != nil || len(golden) > 0 {
		t.Errorf("another workspace reads %+v, %v", golden, err)
	}
	reader := viewer.With(t.Context(), viewer.Viewer{Kind: viewer.KindSession, Role: viewer.RoleViewer})
	if _, err := f.meter.Golden(reader, f.scope, f.collection); err == nil {
		t.Error("a viewer reads the golden set")
	}
	if _, err := f.meter.Judge(reader, f.scope, f.collection, "x", document, 3); err == nil {
		t.Error("a viewer judges")
	}
	if _, err := f.meter.RemoveGolden(reader, f.scope, f.collection, "x"); err == nil {
		t.Error("a viewer removes a question")
	}
}
