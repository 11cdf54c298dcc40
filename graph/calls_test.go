package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A call is an operation with arguments that are valid in its workspace.
type call struct {
	query     string
	variables map[string]any
	file      string // of the variable f, which is sent as a file with this name
	// as makes the call in place of the caller, unless it is zero. It is another person
	// of the same role, whom the call may sign out, move or remove.
	as viewer.Viewer
}

// by returns the viewer that makes the call for who.
func (c call) by(who viewer.Viewer) viewer.Viewer {
	if c.as.Kind != "" {
		return c.as
	}
	return who
}

// A maker returns a new call for who. The rows that the call changes or deletes are
// made for it.
type maker func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call

// fixed returns a call that can be repeated.
func fixed(query string, variables map[string]any) maker {
	return func(*testing.T, *fixture, *tenant, viewer.Viewer) call {
		return call{query: query, variables: variables}
	}
}

// byDouble returns a call that another person of who's role makes, because it changes its
// caller.
func byDouble(query string, variables map[string]any) maker {
	return func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
		return call{query: query, variables: variables, as: h.double(t, n, who)}
	}
}

// on returns a call with the id that make returns.
func on(query string, make func(t *testing.T, h *fixture, n *tenant) uuid.UUID) maker {
	return func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
		return call{query: query, variables: map[string]any{"i": make(t, h, n)}}
	}
}

// onOwn returns a call with the id that make returns for the caller.
func onOwn(query string, make func(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID) maker {
	return func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
		return call{query: query, variables: map[string]any{"i": make(viewer.With(t.Context(), n.person(who)), t, h, n)}}
	}
}

// calls returns a valid call of every mutation and of every query that needs a role. The
// tests of roles, of the audit log and of the policies use it.
func calls() map[string]maker {
	all := sourceCalls()
	maps.Copy(all, peopleCalls())
	maps.Copy(all, signOnCalls())
	maps.Copy(all, agentCalls())
	maps.Copy(all, talkCalls())
	maps.Copy(all, inboundCalls())
	maps.Copy(all, automationCalls())
	maps.Copy(all, toolCalls())
	maps.Copy(all, approvalCalls())
	maps.Copy(all, databaseCalls())
	maps.Copy(all, tokenCalls())
	return all
}

func sourceCalls() map[string]maker {
	return map[string]maker{
		"Query.apiKeys":        fixed("{ apiKeys { totalCount } }", nil),
		"Query.apiKey":         on("query($i: ID!) { apiKey(id: $i) { name } }", aKey),
		"Query.usage":          fixed("{ usage { queries } }", nil),
		"Query.queryAnalytics": fixed("{ queryAnalytics { totals { searches } } }", nil),
		"Query.whyVisible": func(_ *testing.T, _ *fixture, n *tenant, _ viewer.Viewer) call {
			return call{query: "query($i: ID!) { whyVisible(documentId: $i, user: \"ada@example.com\") { rule } }", variables: map[string]any{"i": n.document}}
		},
		"Query.documentReaders": func(_ *testing.T, _ *fixture, n *tenant, _ viewer.Viewer) call {
			return call{query: "query($i: ID!) { documentReaders(documentId: $i) { mode } }", variables: map[string]any{"i": n.document}}
		},
		"Query.documentRestrictions": fixed("{ documentRestrictions { totalCount } }", nil),
		"Mutation.restrictDocument": on("mutation($i: ID!) { restrictDocument(id: $i, input: {users: [\"ada@example.com\"]}) { mode } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			return h.put(t, n, uuid.NewString()+".md", "Restricted soon", "A text for a few people.")
		}),
		"Mutation.unrestrictDocument": on("mutation($i: ID!) { unrestrictDocument(id: $i) { mode } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			id := h.put(t, n, uuid.NewString()+".md", "Free soon", "A text for a few people.")
			if err := h.resolver.Documents.Restrict(n.system(t), id, document.Named{Users: []string{"ada@example.com"}}); err != nil {
				t.Fatal(err)
			}
			return id
		}),
		"Query.searchQuality":          on("query($i: ID!) { searchQuality(collectionId: $i) { judged } }", aCollection),
		"Query.searchQualityDocuments": on("query($i: ID!) { searchQualityDocuments(collectionId: $i, query: \"xylophone\") { grade } }", aCollection),
		"Query.goldenQuestions":        on("query($i: ID!) { goldenQuestions(collectionId: $i) { query } }", aCollection),
		"Mutation.judgeDocument": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			return call{query: "mutation($i: ID!, $d: ID!) { judgeDocument(input: {collectionId: $i, query: \"xylophone\", documentId: $d, grade: 2}) { query } }",
				variables: map[string]any{"i": n.collection, "d": h.put(t, n, uuid.NewString()+".md", "Judged", "A text that answers a question.")}}
		},
		"Mutation.removeGoldenQuestion": on("mutation($i: ID!) { removeGoldenQuestion(collectionId: $i, query: \"xylophone\") }", aCollection),
		"Mutation.measureSearchQuality": on("mutation($i: ID!) { measureSearchQuality(input: {collectionId: $i}) { judged } }", aCollection),
		"Query.auditLog":                fixed("{ auditLog { edges { node { action } } } }", nil),

		"Mutation.createCollection":       fixed(`mutation { createCollection(input: {name: "New"}) { id } }`, nil),
		"Mutation.updateCollection":       on(`mutation($i: ID!) { updateCollection(id: $i, input: {name: "Other"}) { id } }`, aCollection),
		"Mutation.deleteCollection":       on("mutation($i: ID!) { deleteCollection(id: $i) }", aCollection),
		"Mutation.refreshCollectionStats": on("mutation($i: ID!) { refreshCollectionStats(id: $i) { documentCount } }", aCollection),
		"Mutation.createConnector":        on(`mutation($i: ID!) { createConnector(input: {name: "New", type: "file_upload", collection: $i}) { id } }`, aCollection),
		"Mutation.updateConnector":        on(`mutation($i: ID!) { updateConnector(id: $i, input: {name: "Other"}) { id } }`, aConnector),
		"Mutation.deleteConnector":        on("mutation($i: ID!) { deleteConnector(id: $i) }", aConnector),
		"Mutation.pauseConnector":         on("mutation($i: ID!) { pauseConnector(id: $i) { id status } }", aConnector),
		"Mutation.resumeConnector": on("mutation($i: ID!) { resumeConnector(id: $i) { id status } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			return must[*ent.Connector](t)(h.db.Ent.Connector.UpdateOneID(aConnector(t, h, n)).SetStatus("PAUSED").Save(n.system(t))).ID
		}),
		"Mutation.testConnector":  on("mutation($i: ID!) { testConnector(id: $i) { ok } }", aConnector),
		"Mutation.testConnection": fixed(`mutation { testConnection(input: {type: "file_upload"}) { ok } }`, nil),
		"Mutation.uploadFiles": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			return call{query: "mutation($i: ID!, $f: Upload!) { uploadFiles(connectorId: $i, files: [$f]) { path } }", variables: map[string]any{"i": aConnector(t, h, n)}, file: "a.md"}
		},
		"Mutation.deleteFiles": on(`mutation($i: ID!) { deleteFiles(connectorId: $i, paths: ["a.md"]) }`, func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			id := aConnector(t, h, n)
			_, err := h.files.Upload(n.system(t), id, sourcefile.Upload{Path: "a.md", MediaType: "text/markdown", Content: strings.NewReader("x"), Size: 1})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}),
		"Mutation.deleteDocument": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			document := h.put(t, n, uuid.NewString()+".md", "Gone soon", "A text that will be gone soon.")
			row := must[*ent.Document](t)(h.db.Ent.Document.Get(n.system(t), document))
			err := h.db.Ent.SyncItem.Create().SetConnectorID(n.connector).SetJobID(n.job).SetDocumentID(document).
				SetSourceID(row.SourceID).SetPath(row.Path).SetStatus("INDEXED").Exec(n.system(t))
			if err != nil {
				t.Fatal(err)
			}
			return call{query: "mutation($i: ID!, $c: ID!) { deleteDocument(id: $i, connectorId: $c) }", variables: map[string]any{"i": document, "c": n.connector}}
		},
		"Mutation.startSync": on("mutation($i: ID!) { startSync(connectorId: $i) { id } }", aConnector),
		"Mutation.cancelSync": on("mutation($i: ID!) { cancelSync(jobId: $i) { id } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			return must[*ent.SyncJob](t)(h.resolver.Jobs.Start(n.system(t), aConnector(t, h, n), syncjob.StartOptions{})).ID
		}),
		"Mutation.retryItems": on("mutation($i: ID!) { retryItems(connectorId: $i) { id } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			connector := aConnector(t, h, n)
			h.item(t, n, connector, "FAILED", false)
			return connector
		}),
		"Mutation.allowItem": on("mutation($i: ID!) { allowItem(id: $i) { id } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			return h.item(t, n, n.connector, "DELETED", true)
		}),
		"Mutation.refreshPermissions": on("mutation($i: ID!) { refreshPermissions(connectorId: $i) { id } }", aConnector),
		"Mutation.planSync":           on("mutation($i: ID!) { planSync(connectorId: $i) { id } }", aConnector),
		"Mutation.approveDeletion": on("mutation($i: ID!) { approveDeletion(connectorId: $i) { id } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			connector := aConnector(t, h, n)
			h.quarantine(t, n, connector, "missing.md")
			return connector
		}),
		"Mutation.dismissDeletion": on("mutation($i: ID!) { dismissDeletion(connectorId: $i) { documents } }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			connector := aConnector(t, h, n)
			h.quarantine(t, n, connector, "missing.md")
			return connector
		}),
		"Mutation.restoreDocument": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			connector := aConnector(t, h, n)
			document, _ := h.deletedByJob(t, n, connector)
			return call{query: "mutation($i: ID!, $c: ID!) { restoreDocument(id: $i, connectorId: $c) { status } }", variables: map[string]any{"i": document, "c": connector}}
		},
		"Mutation.restoreDeletions": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			connector := aConnector(t, h, n)
			_, job := h.deletedByJob(t, n, connector)
			return call{query: "mutation($i: ID!, $c: ID!) { restoreDeletions(jobId: $i, connectorId: $c) { id } }", variables: map[string]any{"i": job, "c": connector}}
		},
		"Mutation.createAPIKey":       fixed(`mutation { createAPIKey(input: {name: "New", allowedHosts: ["*"], allowAllCollections: true}) { publishableKey } }`, nil),
		"Mutation.updateAPIKey":       on(`mutation($i: ID!) { updateAPIKey(id: $i, input: {name: "Other"}) { id } }`, aKey),
		"Mutation.rotateAPIKey":       on("mutation($i: ID!) { rotateAPIKey(id: $i) { publishableKey } }", aKey),
		"Mutation.revokeAPIKey":       on("mutation($i: ID!) { revokeAPIKey(id: $i) { id } }", aKey),
		"Mutation.recordVisitorEvent": fixed(`mutation { recordVisitorEvent(input: {type: FEEDBACK, requestId: "3f0d5ac8-62a1-4f0e-9a77-0a4c1c1d9b11", rating: POSITIVE}) { accepted } }`, nil),
		"Mutation.recordEvents":       fixed(`mutation { recordEvents(input: {event: {type: FEEDBACK, requestId: "some-request", rating: POSITIVE}}) { accepted } }`, nil),
	}
}

// must returns a function that fails the test on an error.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// system returns a context of Magpie itself in a tenant's workspace.
func (n *tenant) system(t *testing.T) context.Context {
	return viewer.With(t.Context(), viewer.System(n.viewer.Workspace))
}

func aCollection(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return must[*ent.Collection](t)(h.db.Ent.Collection.Create().SetName("Another").SetEmbeddingModel(h.models.Default().Model()).Save(n.system(t))).ID
}

func aConnector(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return must[*ent.Connector](t)(h.db.Ent.Connector.Create().SetName("Another").SetType("file_upload").SetCollectionID(n.collection).Save(n.system(t))).ID
}

// item adds an entry of a finished job to a connector's ledger.
func (h *fixture) item(t *testing.T, n *tenant, connector uuid.UUID, status syncitem.Status, suppressed bool) uuid.UUID {
	t.Helper()
	job := must[*ent.SyncJob](t)(h.db.Ent.SyncJob.Create().SetConnectorID(connector).SetStatus("COMPLETED").Save(n.system(t)))
	path := uuid.NewString() + ".md"
	return must[*ent.SyncItem](t)(h.db.Ent.SyncItem.Create().SetConnectorID(connector).SetJobID(job.ID).SetSourceID(path).SetPath(path).
		SetStatus(status).SetSuppressed(suppressed).Save(n.system(t))).ID
}

func aKey(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return must[*authn.CreatedKey](t)(h.resolver.Keys.Create(n.system(t), authn.KeyDraft{Name: "Another", Collections: []uuid.UUID{n.collection}, Hosts: []string{"*"}})).Row.ID
}

// call returns the call of a root field. It fails the test if there is none.
func (h *fixture) call(t *testing.T, field string, n *tenant, who viewer.Viewer) call {
	t.Helper()
	make, ok := calls()[field]
	if !ok {
		t.Fatalf("%s has no valid call: give it a line in calls (graph/calls_test.go)", field)
	}
	return make(t, h, n, who)
}

// place runs a call for who.
func (h *fixture) place(t *testing.T, who viewer.Viewer, c call) answer {
	t.Helper()
	v := c.by(who)
	if c.file == "" {
		return h.ask(t, v, c.query, c.variables)
	}
	c.variables["f"] = nil
	operation, err := json.Marshal(map[string]any{"query": c.query, "variables": c.variables})
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("operations", string(operation)); err != nil {
		t.Fatal(err)
	}
	if err := form.WriteField("map", `{"0": ["variables.f"]}`); err != nil {
		t.Fatal(err)
	}
	part, err := form.CreateFormFile("0", c.file)
	if err == nil {
		_, err = part.Write([]byte("# A file"))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r.WithContext(viewer.With(r.Context(), v)))
	a := answer{body: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return a
}
