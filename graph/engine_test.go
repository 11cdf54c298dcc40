package graph_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ledgered adds a document of a connector, with its ledger entry of a finished job.
func (h *fixture) ledgered(t *testing.T, n *tenant, connector uuid.UUID, path string, status syncitem.Status) (document, job uuid.UUID, line *ent.SyncItem) {
	t.Helper()
	other := *n
	other.connector = connector
	document = h.put(t, &other, path, path, "What "+path+" says about the pangolin.")
	job = must[*ent.SyncJob](t)(h.db.Ent.SyncJob.Create().SetConnectorID(connector).SetStatus("COMPLETED").Save(n.system(t))).ID
	line = must[*ent.SyncItem](t)(h.db.Ent.SyncItem.Create().SetConnectorID(connector).SetJobID(job).SetDocumentID(document).
		SetSourceID(path).SetPath(path).SetStatus(status).Save(n.system(t)))
	return document, job, line
}

// quarantine adds a document to a connector's quarantine.
func (h *fixture) quarantine(t *testing.T, n *tenant, connector uuid.UUID, path string) uuid.UUID {
	t.Helper()
	document, job, line := h.ledgered(t, n, connector, path, "INDEXED")
	scope, err := viewer.System(n.viewer.Workspace).Scope()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.resolver.Index.SetSummary(t.Context(), scope, document, "Kept."); err != nil {
		t.Fatal(err)
	}
	if err := line.Update().SetHold(syncitem.HoldQuarantined).Exec(n.system(t)); err != nil {
		t.Fatal(err)
	}
	_, err = h.db.Ent.ExecContext(t.Context(), `insert into quarantines (workspace_id, connector_id, job_id, since, existing, threshold)
		values ($1, $2, $3, now(), 1, 50) on conflict do nothing`, n.viewer.Workspace, connector, job)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// deletedByJob adds a document that a job has deleted.
func (h *fixture) deletedByJob(t *testing.T, n *tenant, connector uuid.UUID) (document, job uuid.UUID) {
	t.Helper()
	document, job, _ = h.ledgered(t, n, connector, uuid.NewString()+".md", "DELETED")
	h.softDelete(t, n, document)
	return document, job
}

func (h *fixture) softDelete(t *testing.T, n *tenant, document uuid.UUID) {
	t.Helper()
	scope, err := viewer.System(n.viewer.Workspace).Scope()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.resolver.Index.SoftDelete(t.Context(), scope, index.Fence{}, []uuid.UUID{document}); err != nil {
		t.Fatal(err)
	}
}

func TestARestoredDocumentIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	found := func() bool {
		t.Helper()
		got := h.ask(t, ada.viewer, `{ search(input: {query: "pangolin", minScore: 0}) { results { title } } }`, nil)
		return strings.Contains(got.body, ".md")
	}
	gone, job := h.deletedByJob(t, ada, ada.connector)
	both := map[string]any{"i": gone, "c": ada.connector}
	const restore = "mutation($i: ID!, $c: ID!) { restoreDocument(id: $i, connectorId: $c) { id status content } }"
	if found() {
		t.Fatal("a deleted document is found")
	}
	if got := h.ask(t, ada.viewer, restore, map[string]any{"i": gone, "c": uuid.New()}); got.code() != "not_found" {
		t.Errorf("of another connector: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, restore, both); got.at("restoreDocument.status") != "INDEXED" || !strings.Contains(got.body, "pangolin") || !found() {
		t.Errorf("restored: %s, found %v", got.body, found())
	}
	if got := h.ask(t, ada.viewer, restore, both); got.code() != "conflict" {
		t.Errorf("again: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!, $c: ID!) { restoreDeletions(jobId: $i, connectorId: $c) { id } }",
		map[string]any{"i": job, "c": ada.connector}); got.code() != "conflict" {
		t.Errorf("a job whose deletions are back: %s", got.body)
	}
	line := must[*ent.SyncItem](t)(h.db.Ent.SyncItem.Query().Where(syncitem.DocumentID(gone)).Only(ada.system(t)))
	if line.Hold == nil || *line.Hold != syncitem.HoldRestored || line.Status != syncitem.StatusIndexed || line.Suppressed {
		t.Errorf("its ledger entry is %+v", line)
	}
	// A document deleted by hand is restored by hand only.
	if got := h.ask(t, ada.viewer, "mutation($i: ID!, $c: ID!) { deleteDocument(id: $i, connectorId: $c) }", both); got.code() != "" || found() {
		t.Errorf("deleted by hand: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, restore, both); got.code() != "" || !found() {
		t.Errorf("and restored: %s", got.body)
	}
	never := must[*ent.Document](t)(h.db.Ent.Document.Create().SetConnectorID(ada.connector).SetCollectionID(ada.collection).SetSourceID("never").SetPath("never").
		SetTitle("never").SetStatus(document.StatusDeleted).Save(ada.system(t)))
	if got := h.ask(t, ada.viewer, restore, map[string]any{"i": never.ID, "c": ada.connector}); got.code() != "conflict" {
		t.Errorf("a document that was never indexed: %s", got.body)
	}
}

func TestAQuarantineIsShownAndDecided(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	i := map[string]any{"i": ada.connector}
	const shown = "query($i: ID!) { connector(id: $i) { pendingDeletion { documents existing threshold since jobId } freshness { waiting lastDay { changes p50 } } history { total successRate } } }"
	if got := h.ask(t, ada.viewer, shown, i); got.code() != "" || got.at("connector.pendingDeletion") != nil || got.at("connector.history.successRate") != nil {
		t.Errorf("at first: %s", got.body)
	}
	for _, field := range []string{"approveDeletion(connectorId: $i) { id }", "dismissDeletion(connectorId: $i) { documents }"} {
		if got := h.ask(t, ada.viewer, "mutation($i: ID!) { "+field+" }", i); got.code() != "conflict" {
			t.Errorf("%s: %s", field, got.body)
		}
	}
	document := h.quarantine(t, ada, ada.connector, "one.md")
	h.quarantine(t, ada, ada.connector, "two.md")
	if got := h.ask(t, ada.viewer, shown, i); got.at("connector.pendingDeletion.documents") != float64(2) {
		t.Errorf("in quarantine: %s", got.body)
	}
	const list = "query($i: ID!) { quarantinedDocuments(connectorId: $i, matching: \"ONE\") { totalCount edges { node { id } } } }"
	if got := h.ask(t, ada.viewer, list, i); got.at("quarantinedDocuments.totalCount") != float64(1) || !strings.Contains(got.body, document.String()) {
		t.Errorf("listed: %s", got.body)
	}
	// A document deleted by hand leaves the quarantine.
	h.ask(t, ada.viewer, "mutation($i: ID!, $c: ID!) { deleteDocument(id: $i, connectorId: $c) }", map[string]any{"i": document, "c": ada.connector})
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { dismissDeletion(connectorId: $i) { connectorId documents } }", i); got.at("dismissDeletion.documents") != float64(1) {
		t.Errorf("dismissed: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, shown, i); got.at("connector.pendingDeletion") != nil {
		t.Errorf("after that: %s", got.body)
	}
}

func TestSearchesCorrectMisspelledWords(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.ledgered(t, ada, ada.connector, "zoo", "INDEXED")
	const query = `query($q: String!) { search(input: {query: $q, minScore: 0}) { total didYouMean corrected { from to } } }`
	got := h.ask(t, ada.viewer, query, map[string]any{"q": "the pangolln"})
	if got.at("search.didYouMean") != "the pangolin" || !strings.Contains(got.body, `"corrected":[{"from":"pangolln","to":"pangolin"}]`) {
		t.Errorf("misspelled: %s", got.body)
	}
	got = h.ask(t, ada.viewer, query, map[string]any{"q": "the pangolin"})
	if !strings.Contains(got.body, `"didYouMean":null,"corrected":[]`) {
		t.Errorf("spelled right: %s", got.body)
	}
}
