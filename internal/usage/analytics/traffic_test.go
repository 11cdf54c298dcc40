package analytics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/usage/analytics"
)

// document adds a document of the tenant's collection.
func (f *fixture) document(id tenant, connector uuid.UUID, status string) uuid.UUID {
	f.Helper()
	document := gid.New(gid.Document)
	f.exec(`insert into documents (id, created_at, updated_at, workspace_id, collection_id, connector_id, source_id, path, title, status)
		values ($1, now(), now(), $2, $3, $4, $6, 'p', 't', $5)`, document, id.workspace, id.collection, connector, status, document.String())
	return document
}

func TestTrafficHasQuestionsThatSeveralAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada, eve := f.tenant(), f.tenant()
	connector := gid.New(gid.Connector)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, connector, ada.workspace, ada.collection)
	first, second, gone := f.document(ada, connector, "INDEXED"), f.document(ada, connector, "INDEXED"), f.document(ada, connector, "DELETED")
	filtered := func(q *analytics.Query) { q.Filters = []string{"section"} }
	conversation := uuid.New()
	inConversation := func(q *analytics.Query) { q.Conversation = conversation }
	var queries []analytics.Query
	add := func(text string, n int, change ...func(*analytics.Query)) {
		for i := range n {
			queries = append(queries, ada.search(fmt.Sprintf("%s-%d-%d", strings.Fields(text)[0], len(queries), i), text, change...))
		}
	}
	add("backup jobs", 4)
	add("Backup  Jobs", 1)
	add("rare question", 2)
	add("filtered question", 5, filtered)
	add("paged question", 5, nextPage)
	add("repeated question", 5, inConversation)
	add("old question", 5, daysAgo(40))
	add("mail ada@example.com", 3)
	for i := range 3 {
		queries = append(queries, eve.search(fmt.Sprintf("backup-%d-%d", i, i), "backup jobs"))
	}
	f.write(analytics.Full, queries...)
	s := f.store(analytics.Full)
	chosen := func(request string, document uuid.UUID, position int) analytics.Event {
		return analytics.Event{Type: "click", Request: request, Document: document, Position: &position}
	}
	rated := func(request, rating string, document uuid.UUID) analytics.Event {
		return analytics.Event{Type: "feedback", Request: request, Rating: rating, Document: document}
	}
	f.record(s, ada,
		chosen("backup-0-0", first, 0), chosen("backup-0-0", first, 4), // the same request
		chosen("backup-1-1", first, 2), chosen("backup-2-2", second, 30), chosen("backup-3-3", gone, 0),
		rated("backup-0-0", "positive", uuid.Nil), rated("backup-1-1", "negative", second))
	since := now().AddDate(0, 0, -30)
	asked, err := s.Traffic(t.Context(), ada.scope, ada.collection, since)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, a := range asked {
		texts = append(texts, fmt.Sprintf("%s %d/%d", a.Text, a.Count, a.Clicks))
	}
	if want := []string{"Backup Jobs 5/3", "mail [email] 3/0"}; !slices.Equal(texts, want) {
		t.Fatalf("questions %q, want %q", texts, want)
	}
	got := make(map[uuid.UUID]analytics.Chosen)
	for _, c := range asked[0].Chosen {
		got[c.Document] = c
	}
	// A click on position 0 weighs 1, on position 2 it weighs 3, on position 30 at most 10.
	if c := got[first]; c.Clicks != 2 || !near(c.Weight, 4) || c.Positive != 1 || c.Negative != 0 {
		t.Errorf("the first document: %+v", c)
	}
	if c := got[second]; c.Clicks != 1 || !near(c.Weight, 10) || c.Positive != 0 || c.Negative != 1 {
		t.Errorf("the second document: %+v", c)
	}
	if len(got) != 2 {
		t.Errorf("%d documents, with a deleted one", len(got))
	}
	if other, err := s.Traffic(t.Context(), eve.scope, ada.collection, since); err != nil || len(other) > 0 {
		t.Errorf("another workspace reads %+v, %v", other, err)
	}
}
