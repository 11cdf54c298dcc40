package conformance_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func documentCases() map[string]check {
	return map[string]check{
		"design further dashboard REST: passages and history of documents": documentsHold,
		"design further dashboard REST: readers and restrictions":          restrictionsHold,
		"design further dashboard REST: embedding models":                  modelsHold,
	}
}

// aDocument stores a document of three passages in a collection of its own.
func (s *site) aDocument(t *testing.T, name string) (in place, path string) {
	t.Helper()
	in = s.collection(t, name)
	s.put(t, in, document{path: "guide.md", title: "Guide", texts: []string{"The first part.", "The second part.", "The third part."}})
	listed := read[[]struct{ ID string }](t, "documents", s.dashboard(t, http.MethodGet, "/api/v1/connectors/"+in.connector+"/documents", ""), 200)
	if len(listed) != 1 {
		t.Fatalf("documents %v", listed)
	}
	return in, "/api/v1/documents/" + listed[0].ID
}

func documentsHold(t *testing.T, s *site) {
	_, path := s.aDocument(t, "Passages")
	type passage struct {
		ID       string
		Position int
		Text     string
	}
	texts := func(list ...passage) (out []string) {
		for _, p := range list {
			out = append(out, fmt.Sprintf("%d %s", p.Position, p.Text))
		}
		return out
	}
	first := s.dashboard(t, http.MethodGet, path+"/passages?limit=2", "")
	page := read[struct{ Passages []passage }](t, "passages", first, 200).Passages
	if got := texts(page...); len(got) != 2 || !strings.HasSuffix(got[0], "The first part.") || !strings.HasSuffix(got[1], "The second part.") || !strings.Contains(first.body, `"next_cursor":"`) {
		t.Errorf("the first page: %s", first.body)
	}
	around := read[struct {
		Passage       passage
		Before, After []passage
	}](t, "a passage", s.dashboard(t, http.MethodGet, "/api/v1/passages/"+page[1].ID+"?around=5", ""), 200)
	if around.Passage != page[1] || !slices.Equal(around.Before, page[:1]) || len(around.After) != 1 || around.After[0].Text != "The third part." {
		t.Errorf("a passage with its neighbours: %+v", around)
	}
	if history := read[map[string]any](t, "history", s.dashboard(t, http.MethodGet, path+"/history?first=5", ""), 200); history["id"] == nil || history["history"] == nil {
		t.Errorf("the history: %v", history)
	}
	denied(t, "a passage of nobody", s.dashboard(t, http.MethodGet, "/api/v1/passages/"+uuid.NewString(), ""), 404, "not_found")
	for _, part := range []string{"/passages", "/history"} {
		denied(t, "of no document", s.dashboard(t, http.MethodGet, "/api/v1/documents/"+uuid.NewString()+part, ""), 404, "not_found")
	}
	denied(t, "too many neighbours", s.dashboard(t, http.MethodGet, "/api/v1/passages/"+page[1].ID+"?around=11", ""), 400, "invalid_request")
}

func restrictionsHold(t *testing.T, s *site) {
	in, path := s.aDocument(t, "Restrictions")
	isRestricted := func() bool {
		t.Helper()
		return read[struct{ Restriction map[string]any }](t, "readers", s.dashboard(t, http.MethodGet, path+"/readers", ""), 200).Restriction != nil
	}
	if isRestricted() {
		t.Error("restricted from the beginning")
	}
	restricted := s.dashboard(t, http.MethodPut, path+"/restriction", `{"users":["ada@example.com"],"domains":["example.org"]}`)
	read[map[string]any](t, "restrict", restricted, 200)
	if !isRestricted() || !strings.Contains(restricted.body, "ada@example.com") || !strings.Contains(restricted.body, "example.org") {
		t.Errorf("restricted: %s", restricted.body)
	}
	listed := s.dashboard(t, http.MethodGet, "/api/v1/document-restrictions?connector="+in.connector, "")
	if list := read[[]map[string]any](t, "restrictions", listed, 200); len(list) != 1 || !strings.Contains(listed.body, "ada@example.com") {
		t.Errorf("the restrictions: %s", listed.body)
	}
	denied(t, "nobody", s.dashboard(t, http.MethodPut, path+"/restriction", `{}`), 400, "invalid_request")
	denied(t, "no document", s.dashboard(t, http.MethodPut, "/api/v1/documents/"+uuid.NewString()+"/restriction", `{"users":["ada@example.com"]}`), 404, "not_found")
	if a := s.dashboard(t, http.MethodDelete, path+"/restriction", ""); a.status != 204 {
		t.Errorf("the end of a restriction: %d %s", a.status, a.body)
	}
	if isRestricted() {
		t.Error("restricted after the end of the restriction")
	}
}

func modelsHold(t *testing.T, s *site) {
	in := s.collection(t, "Models")
	models := read[[]struct {
		Name       string
		Dimensions int
		IsDefault  bool
	}](t, "models", s.dashboard(t, http.MethodGet, "/api/v1/embedding-models", ""), 200)
	if len(models) == 0 || !models[0].IsDefault || models[0].Dimensions == 0 {
		t.Fatalf("models %+v", models)
	}
	change := read[map[string]any](t, "no change", s.dashboard(t, http.MethodGet, "/api/v1/collections/"+in.id+"/model-change", ""), 200)
	if change["embeddingModel"] != models[0].Name || change["modelChange"] != nil {
		t.Errorf("the change: %v", change)
	}
	denied(t, "no collection", s.dashboard(t, http.MethodGet, "/api/v1/collections/"+uuid.NewString()+"/model-change", ""), 404, "not_found")
}
