package conformance_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// versions is a collection that has a page in two versions and another page, and the keys to it.
func versions(t *testing.T, s *site, name string) (place, pair) {
	t.Helper()
	in := s.collection(t, name)
	page := func(version string) document {
		return document{path: version + "/install.md", title: "Install the harbour agent", section: "guides", version: version,
			metadata: map[string]any{"product": "agent"}, texts: []string{"The harbour agent is installed with one command on every machine of the fleet."}}
	}
	s.put(t, in, page("1.0"), page("2.0"), document{path: "remove.md", title: "Remove the harbour agent", section: "operations",
		metadata: map[string]any{"product": "agent"}, texts: []string{"Before a machine leaves the fleet, stop the harbour agent and delete its configuration."}})
	return in, s.key(t, map[string]any{"allowedCollections": []string{in.id}, "rateLimitPerMinute": 0})
}

func versionCases() map[string]check {
	return map[string]check{
		"4 search: collapse": collapseHolds, "4 search: distinct": distinctHolds, "4 search: prefix": prefixHolds,
		"4 GET /v1/docs/suggest": suggestHolds, "4 POST /v1/docs/events": visitorsHold,
	}
}

// outline has a result a word: the beginning of its title and version, and the number of
// results that it stands for with their versions. The order is not that of the results.
func outline(t *testing.T, what string, a answer) string {
	t.Helper()
	type hit struct {
		Title, Version string
		Duplicates     *struct {
			Count    int
			Versions []string
		}
	}
	found := read[struct {
		Results []hit
		Total   int
	}](t, what, a, 200)
	if found.Total != len(found.Results) {
		t.Errorf("%s: total %d of %d results", what, found.Total, len(found.Results))
	}
	var out []string
	for _, h := range found.Results {
		first, _, _ := strings.Cut(h.Title, " ")
		text := first + h.Version
		if d := h.Duplicates; d != nil {
			text += fmt.Sprintf("+%d%v", d.Count, d.Versions)
		}
		out = append(out, text)
	}
	slices.SortFunc(out, cmp.Compare[string])
	return strings.Join(out, " ")
}

func collapseHolds(t *testing.T, s *site) {
	in, key := versions(t, s, "Collapsed")
	for query, want := range map[string]string{
		"":                                      "Install2.0+1[1.0] Remove",
		"&collapse=true":                        "Install2.0+1[1.0] Remove",
		"&collapse=false":                       "Install1.0 Install2.0 Remove",
		"&distinct=document":                    "Install2.0+1[1.0] Remove",
		"&distinct=version":                     "Install1.0 Install2.0 Remove",
		"&distinct=version&collapse=true":       "Install2.0+1[1.0] Remove",
		"&collapse=false&filters[version]=1.0":  "Install1.0",
		"&filters[section]=guides&prefix=false": "Install2.0+1[1.0]",
	} {
		query = "query=harbour+agent+machine&min_score=0.1" + query
		if got := outline(t, "public "+query, s.get(t, query, "X-Service-Key", key.Secret)); got != want {
			t.Errorf("GET /v1/docs/search?%s: %s, want %s", query, got, want)
		}
		if got := outline(t, "dashboard "+query, s.dashboard(t, "GET", "/api/v1/search?collection="+in.id+"&"+query, "")); got != want {
			t.Errorf("GET /api/v1/search?%s: %s, want %s", query, got, want)
		}
	}
	const program = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"harbour agent machine","min_score":0.1}}}`
	a := s.do(t, call{"POST", "/mcp", program, []string{"Authorization", "Bearer " + key.Secret, "Accept", "application/json, text/event-stream"}})
	if !strings.Contains(a.body, `"duplicates":{"count":1,"versions":["1.0"]}`) || !strings.Contains(a.body, "stands for 1 more with nearly the same text, of versions 1.0") {
		t.Errorf("a program: %d %s", a.status, a.body)
	}
	for _, bad := range []string{`0`, `"false"`, `[]`} {
		invalid(t, bad, s.search(t, `{"query":"q","collapse":`+bad+`}`), "collapse")
	}
	invalid(t, "GET", s.get(t, "query=q&collapse=no"), "collapse")
	denied(t, "the dashboard", s.dashboard(t, "GET", "/api/v1/search?query=q&collapse=no", ""), 400, "invalid_request")
	body, err := json.Marshal(map[string]any{"query": "harbour agent machine", "min_score": 0.1, "collapse": false})
	must(t, err)
	if got := outline(t, "POST", s.search(t, string(body), "X-Service-Key", key.Secret)); got != "Install1.0 Install2.0 Remove" {
		t.Errorf("POST: %s", got)
	}
}

func distinctHolds(t *testing.T, s *site) {
	_, key := versions(t, s, "Distinct")
	for distinct, want := range map[string]int{
		"document": 3, "section": 2, "version": 3, "doc_type": 3, "language": 1, "collection": 1, "source": 1, "metadata.product": 1, "metadata.nothing": 3,
	} {
		query := "query=harbour+agent+machine&min_score=0.1&collapse=false&distinct=" + distinct
		a := s.get(t, query, "X-Service-Key", key.Secret)
		if r := found(t, query, a); r.Data.Total != want || len(r.Data.Results) != want {
			t.Errorf("%s: %d results of %d, want %d", query, len(r.Data.Results), r.Data.Total, want)
		}
	}
	// Without collapse, a section is not of the copies of the newest version only.
	if got := outline(t, "sections", s.get(t, "query=harbour+agent+machine&min_score=0.1&distinct=section", "X-Service-Key", key.Secret)); strings.Contains(got, "+") {
		t.Errorf("distinct=section collapses: %s", got)
	}
	for _, bad := range []string{"path", "metadata.", "metadata", "Section"} {
		invalid(t, bad, s.get(t, "query=q&distinct="+bad), "distinct")
	}
	invalid(t, "a list", s.search(t, `{"query":"q","distinct":["section"]}`), "distinct")
}

func prefixHolds(t *testing.T, s *site) {
	for query, want := range map[string]int{"query=zeb&prefix=true": 1, "query=zeb+hostil&prefix=true": 1} {
		if r := found(t, query, s.get(t, query)); len(r.Data.Results) != want || r.Data.Results[0].Title != "Hostile <b>title</b>" {
			t.Errorf("%s: %+v", query, r.Data.Results)
		}
	}
	if r := found(t, "POST", s.search(t, `{"query":"zeb","prefix":true}`)); len(r.Data.Results) != 1 {
		t.Errorf("POST: %+v", r.Data.Results)
	}
	invalid(t, "GET", s.get(t, "query=q&prefix=yes"), "prefix")
	invalid(t, "POST", s.search(t, `{"query":"q","prefix":1}`), "prefix")
}

func suggestHolds(t *testing.T, s *site) {
	in, key := versions(t, s, "Suggested")
	s.put(t, in, document{path: "old.md", title: "Harbour lights", section: "guides", version: "1.0", texts: []string{"The harbinger of the harbour is a bell."}})
	for query, want := range map[string]string{
		"q=harb":                             "[harbour harbinger] [Harbour lights Install the harbour agent Remove the harbour agent]",
		"q=harb&filters[version]=2.0":        "[harbour] [Install the harbour agent]",
		"q=harb&filters[section]=operations": "[harbour] [Remove the harbour agent]",
		"q=harb&filters[version]=9":          "[] []",
	} {
		got := read[struct {
			Completions []string
			Titles      []struct{ Title string }
		}](t, query, s.do(t, call{"GET", "/v1/docs/suggest?" + query, "", []string{"X-Service-Key", key.Publishable, "Origin", origin}}), 200)
		titles := []string{}
		for _, one := range got.Titles {
			titles = append(titles, one.Title)
		}
		slices.Sort(titles)
		if text := fmt.Sprint(got.Completions, " ", titles); text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
	ask := func(query string, headers ...string) answer {
		return s.do(t, call{"GET", "/v1/docs/suggest?" + query, "", s.keyed(headers)})
	}
	invalid(t, "nothing typed", ask("q=+"), "q")
	invalid(t, "a limit", ask("q=a&limit=21"), "limit")
	invalid(t, "a filter of the dashboard", ask("q=a&filters[versions]=1.0"), "filters[versions]")
	invalid(t, "a date", ask("q=a&filters[date_after]=yesterday"), "filters[date_after]")
	refused(t, "another collection", ask("q=a&collection="+s.notes.id, "X-Service-Key", key.Secret), 403, "forbidden", "Collection access denied")
	refused(t, "no key", ask("q=a", "X-Service-Key", ""), 401, "unauthorized", "API key required")
}
