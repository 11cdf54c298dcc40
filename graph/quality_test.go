package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// choose logs that the dossier was the answer to a question three times.
func (d *dossier) choose(question string) {
	d.t.Helper()
	log := analytics.NewLog(d.t.Context(), d.h.db.Pool, analytics.LogOptions{})
	var events []analytics.Event
	for n := range 3 {
		request := fmt.Sprintf("request-%d", n)
		log.Add(analytics.Query{
			Workspace: d.viewer.Workspace, Surface: viewer.SurfacePublic, Key: d.key, Kind: analytics.Search, Collection: d.collection,
			Text: question, Results: 1, Request: request, At: time.Now().Add(-time.Hour),
		})
		events = append(events, analytics.Event{Type: "click", Request: request, Document: d.document, Position: new(int)})
	}
	log.Close()
	_, err := d.h.resolver.Analytics.Record(d.t.Context(), d.scope, d.key, events, func(int) string { return "" })
	d.must(err)
}

func TestChosenDocumentsAreNamedToTheirReadersOnly(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	d.choose("where does the quokka live")
	const ask = `query($i: ID!) { searchQualityDocuments(collectionId: $i, query: "where does the quokka live") { documentId title grade clicks rank } }`
	here := map[string]any{"i": d.collection}
	const figures = `"grade":3,"clicks":3,"rank":1}]`
	if got := d.h.ask(t, d.reader, ask, here); !strings.Contains(got.body, `[{"documentId":"`+d.document.String()+`","title":"Vermilion dossier",`+figures) {
		t.Errorf("its reader: %s", got.body)
	}
	if got := d.h.ask(t, d.stranger, ask, here); !strings.Contains(got.body, `[{"documentId":null,"title":null,`+figures) {
		t.Errorf("another editor: %s", got.body)
	}
	if got := d.h.ask(t, d.reader, ask, map[string]any{"i": uuid.New()}); got.code() != "not_found" {
		t.Errorf("no collection: %s", got.body)
	}
}

func TestADocumentIsJudgedByItsReadersOnly(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	const judge = `mutation($i: ID!, $d: ID!) { judgeDocument(input: {collectionId: $i, query: "Where does the quokka live?", documentId: $d, grade: 3}) { query documents { documentId title grade } } }`
	these := map[string]any{"i": d.collection, "d": d.document}
	if got := d.h.ask(t, d.stranger, judge, these); got.code() != "not_found" {
		t.Errorf("another editor: %s", got.body)
	}
	here := `"query":"Where does the quokka live?","documents":[{"documentId":"` + d.document.String() + `","title":"Vermilion dossier","grade":3}]`
	if got := d.h.ask(t, d.reader, judge, these); !strings.Contains(got.body, here) {
		t.Errorf("its reader: %s", got.body)
	}
	const list = `query($i: ID!) { goldenQuestions(collectionId: $i) { query documents { documentId title grade } } }`
	if got := d.h.ask(t, d.reader, list, these); !strings.Contains(got.body, here) {
		t.Errorf("its reader lists %s", got.body)
	}
	if got := d.h.ask(t, d.stranger, list, these); !strings.Contains(got.body, `"documents":[{"documentId":null,"title":null,"grade":3}]`) {
		t.Errorf("another editor lists %s", got.body)
	}
	if got := d.h.ask(t, d.reader, `mutation($i: ID!) { removeGoldenQuestion(collectionId: $i, query: "where does the quokka live?") }`, these); !strings.Contains(got.body, "true") {
		t.Errorf("removed: %s", got.body)
	}
}
