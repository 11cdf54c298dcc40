package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// dashboard sends a request with the owner's session.
func (s *site) dashboard(t *testing.T, method, path, body string) answer {
	t.Helper()
	home := *s
	home.url = s.home
	return home.do(t, call{method, path, body, []string{"Authorization", "Bearer " + s.token}})
}

// read takes data out of an answer of a status.
func read[T any](t *testing.T, what string, a answer, status int) T {
	t.Helper()
	var body struct{ Data T }
	if a.status != status {
		t.Fatalf("%s: %d %s", what, a.status, a.body)
	}
	must(t, json.Unmarshal([]byte(a.body), &body))
	return body.Data
}

// denied checks a refusal of the dashboard.
func denied(t *testing.T, what string, a answer, status int, code string) {
	t.Helper()
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != status || body.Error.Code != code || body.Error.Message == "" {
		t.Errorf("%s: %d %s, want %d %s", what, a.status, a.body, status, code)
	}
}

type facet struct {
	Name              string
	Documents         int
	Missing, Distinct int
	Other             int `json:"other_count"`
	Values            []struct {
		Value, Label string
		Count        int
		Selected     bool
	}
}

func (f *facet) String() string {
	out := fmt.Sprintf("%s %d/%d:", f.Name, f.Documents, f.Missing)
	for _, v := range f.Values {
		mark := ""
		if v.Selected {
			mark = "*"
		}
		out += fmt.Sprintf(" %s%s=%d", v.Value, mark, v.Count)
	}
	return out
}

func dashboardCases() map[string]check {
	return map[string]check{
		"design further dashboard REST: search and facets":        facetsHold,
		"design further dashboard REST: conversations":            conversationsHold,
		"design further dashboard REST: API keys, usage, queries": keysHold,
		"design further dashboard REST: search quality":           qualityHolds,
	}
}

func facetsHold(t *testing.T, s *site) {
	in := "collection=" + s.docs.id
	for what, c := range map[string]struct{ query, want string }{
		"everything":  {in + "&facets=version,doc_type", "version 5/0: 2.0=3 1.0=1 3.0=1|doc_type 5/1: how-to=2 guide=1 reference=1"},
		"a selection": {in + "&facets=version,section&filters[version]=2.0", "version 5/0: 2.0*=3 1.0=1 3.0=1|section 3/0: guides=2 operations=1"},
		"two values":  {in + "&facets=section&filters[versions]=1.0&filters[versions]=3.0", "section 2/1: operations=1"},
		"a limit":     {in + "&facets=tags&facet_limit=2&other=x", `tags 5/0: backup=2 keys=2`},
		"a source":    {in + "&facets=source,language&filters[sources]=s3", "source 5/0: file_upload=5|language 0/0:"},
		"by time":     {in + "&facets=date&ranges=2026-01-01/..&ranges=../2026-01-01", "date 5/0: 2026-01-01/..=2 ../2026-01-01=3"},
		"a query":     {in + "&query=zebra&facets=version", "version 1/0: 3.0=1"},
	} {
		var got []string
		for _, f := range read[[]facet](t, what, s.dashboard(t, "GET", "/api/v1/search/facets?"+c.query, ""), 200) {
			got = append(got, f.String())
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %s, want %s", what, strings.Join(got, "|"), c.want)
		}
	}
	type page struct {
		Results []struct{ Title string }
		Facets  []facet
	}
	with := read[page](t, "a search", s.dashboard(t, "GET", "/api/v1/search?query=zeb&prefix=true&facets=version&"+in, ""), 200)
	if len(with.Results) != 1 || len(with.Facets) != 1 || with.Facets[0].String() != "version 1/0: 3.0=1" {
		t.Errorf("%+v", with)
	}
	if a := s.dashboard(t, "GET", "/api/v1/search?query=zebra&"+in, ""); !strings.Contains(a.body, `"facets":null`) {
		t.Errorf("not asked for: %s", a.body)
	}
	if a := s.dashboard(t, "GET", "/api/v1/search?query=zebra&"+in, ""); !strings.Contains(a.body, `"explanation":null`) {
		t.Errorf("an explanation that was not asked for: %s", a.body)
	}
	if a := s.dashboard(t, "GET", "/api/v1/search?query=zebra&explain=true&"+in, ""); a.status != 200 || !strings.Contains(a.body, `"words":[{"text":"zebra"`) {
		t.Errorf("an explanation: %d %s", a.status, a.body)
	}
	if a := s.get(t, "query=zebra&explain=true"); strings.Contains(a.body, "explanation") || !strings.Contains(a.body, `"total":1`) {
		t.Errorf("the public surface explains: %s", a.body)
	}
	if a := s.dashboard(t, "GET", "/api/v1/search/suggestions?prefix=rotat&"+in, ""); a.status != 200 || !strings.Contains(a.body, `"text":"Rotate the signing key"`) {
		t.Errorf("suggestions: %d %s", a.status, a.body)
	}
	invalid(t, "a filter of the dashboard's", s.get(t, "query=zebra&filters[versions]=1.0"), "filters[versions]")
	if a := s.get(t, "query=zebra&facets=version"); !strings.Contains(a.body, `"facets":[{"name":"version"`) || !strings.Contains(a.body, `"total":1`) {
		t.Errorf("facets of the public surface: %s", a.body)
	}
	if a := s.get(t, "query=zebra"); strings.Contains(a.body, "facets") {
		t.Errorf("facets that were not asked for: %s", a.body)
	}
	for _, path := range []string{"/api/v1/search/facets?facets=author", "/api/v1/search/facets?ranges=2026", "/api/v1/search/facets?facet_limit=0", "/api/v1/search/suggestions"} {
		denied(t, path, s.dashboard(t, "GET", path, ""), 400, "invalid_request")
	}
	denied(t, "a key", s.do(t, call{"GET", "/api/v1/search/facets", "", s.keyed(nil)}), 401, "unauthorized")
}

func qualityHolds(t *testing.T, s *site) {
	const asked = "which zebra stands nearest"
	for range 3 {
		a := s.get(t, "query="+url.QueryEscape(asked)+"&min_score=0&collection="+s.docs.id)
		hits := read[struct{ Results []struct{ ID, Title string } }](t, "a search", a, 200).Results
		if len(hits) == 0 {
			t.Fatalf("nothing was found: %s", a.body)
		}
		body := `{"events":[{"type":"click","position":0,"request_id":"` + a.header.Get("X-Request-Id") + `","result_id":"` + hits[0].ID + `"}]}`
		if a := s.do(t, call{"POST", eventsPath, body, s.keyed(nil)}); a.status != 202 {
			t.Fatalf("a click: %d %s", a.status, a.body)
		}
	}
	path := "/api/v1/collections/" + s.docs.id + "/search-quality"
	want := `{"query":"` + asked + `","asked":3,"clicks":3,"relevant":1,`
	measured := eventually(t, func() (answer, bool) {
		a := s.dashboard(t, "POST", path, `{"days":2}`)
		return a, strings.Contains(a.body, want)
	})
	if measured.status != 200 {
		t.Errorf("%d %s", measured.status, measured.body)
	}
	if a := s.dashboard(t, "GET", path+"?first=1", ""); a.status != 200 || !strings.Contains(a.body, want) {
		t.Errorf("%d %s", a.status, a.body)
	}
	denied(t, "no days", s.dashboard(t, "POST", path, `{"days":0}`), 400, "invalid_request")
}

func conversationsHold(t *testing.T, s *site) {
	home := *s
	home.url = s.home
	question := "What does the lighthouse keeper count before the lighthouse is lit?"
	body, err := json.Marshal(map[string]any{"query": `subscription($i: ChatInput!) { chat(input: $i) { __typename ... on ChatStart { conversationId } } }`,
		"variables": map[string]any{"i": map[string]any{"message": question, "collection": s.docs.id}}})
	must(t, err)
	stream := home.do(t, call{"POST", "/graphql", string(body), []string{"Authorization", "Bearer " + s.token, "Accept", "text/event-stream"}})
	_, rest, ok := strings.Cut(stream.body, `"conversationId":"`)
	if !ok || !strings.Contains(stream.body, "ChatDone") {
		t.Fatalf("%d %s", stream.status, stream.body)
	}
	id := rest[:36]
	one := "/api/v1/conversations/" + id
	type talk struct {
		ID, Title, Kind string
		MessageCount    int
		Messages        []struct {
			ID, Role, Content string
			Feedback          map[string]any
		}
	}
	list := read[[]talk](t, "the list", s.dashboard(t, "GET", "/api/v1/conversations?kind=chat&q=LIGHTHOUSE+keeper", ""), 200)
	if len(list) != 1 || list[0].ID != id || list[0].Kind != "chat" || list[0].MessageCount != 2 || list[0].Title != question {
		t.Errorf("%+v", list)
	}
	got := read[talk](t, "one", s.dashboard(t, "GET", one, ""), 200)
	if len(got.Messages) != 2 || got.Messages[0].Role != "user" || got.Messages[1].Role != "assistant" || got.Messages[1].Feedback != nil {
		t.Fatalf("%+v", got)
	}
	feedback := one + "/messages/" + got.Messages[1].ID + "/feedback"
	for _, rating := range []string{"negative", "positive"} {
		said := read[map[string]any](t, rating, s.dashboard(t, "PUT", feedback, `{"rating":"`+rating+`","reason":"other"}`), 200)
		again := read[talk](t, "one", s.dashboard(t, "GET", one, ""), 200).Messages[1].Feedback
		if said["rating"] != rating || again["rating"] != rating || again["reason"] != "other" || again["comment"] != nil {
			t.Errorf("%v, and then %v", said, again)
		}
	}
	denied(t, "of a question", s.dashboard(t, "PUT", one+"/messages/"+got.Messages[0].ID+"/feedback", `{"rating":"positive"}`), 400, "invalid_request")
	denied(t, "in another conversation", s.dashboard(t, "PUT", strings.Replace(feedback, id, s.docs.id, 1), `{"rating":"positive"}`), 404, "not_found")
	if a := s.dashboard(t, "DELETE", feedback, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if renamed := read[talk](t, "renamed", s.dashboard(t, "PUT", one, `{"title":"The keeper"}`), 200); renamed.Title != "The keeper" {
		t.Errorf("%+v", renamed)
	}
	file := read[map[string]string](t, "a file", s.dashboard(t, "GET", one+"/export", ""), 200)
	if !strings.HasPrefix(file["content"], "# The keeper\n\n## Question, ") || file["mediaType"] != "text/markdown; charset=utf-8" {
		t.Errorf("%v", file)
	}
	// What a key asks is no conversation of a person.
	if a := s.post(t, chatPath, ask); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	} else {
		denied(t, "a key's", s.dashboard(t, "GET", "/api/v1/conversations/"+a.header.Get("X-Conversation-Id"), ""), 404, "not_found")
	}
	if a := s.dashboard(t, "DELETE", one, ""); a.status != 204 || a.body != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, c := range []struct{ method, path, body string }{{"GET", one, ""}, {"DELETE", one, ""}, {"PUT", one, `{"title":"x"}`}, {"GET", one + "/export", ""}, {"DELETE", feedback, ""}} {
		denied(t, c.method+" when it is gone", s.dashboard(t, c.method, c.path, c.body), 404, "not_found")
	}
	if a := s.dashboard(t, "DELETE", "/api/v1/conversations", ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func keysHold(t *testing.T, s *site) {
	type key struct {
		ID, Name, Status, SecretHint string
		RateLimitPerMinute           *int
	}
	type made struct {
		PublishableKey, SecretKey string
		APIKey                    key
	}
	a := s.dashboard(t, "POST", "/api/v1/api-keys", `{"name":"By REST","allowedHosts":["*"],"allowedCollections":["`+s.docs.id+`"],"rateLimitPerMinute":0}`)
	first := read[made](t, "created", a, 201)
	one := "/api/v1/api-keys/" + first.APIKey.ID
	found(t, "it works", s.search(t, query, "X-Service-Key", first.SecretKey))
	for _, path := range []string{"/api/v1/api-keys", one} {
		if a := s.dashboard(t, "GET", path, ""); a.status != 200 || !strings.Contains(a.body, first.APIKey.ID) || strings.Contains(a.body, first.SecretKey) || strings.Contains(a.body, first.PublishableKey) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	changed := read[key](t, "changed", s.dashboard(t, "PUT", one, `{"name":"Other","rateLimitPerMinute":null}`), 200)
	if changed.Name != "Other" || changed.RateLimitPerMinute != nil || changed.Status != "active" {
		t.Errorf("%+v", changed)
	}
	second := read[made](t, "rotated", s.dashboard(t, "POST", one+"/rotate", `{"overlapMinutes":5}`), 200)
	if second.SecretKey == first.SecretKey || second.APIKey.ID != first.APIKey.ID {
		t.Errorf("%+v", second)
	}
	found(t, "the new one works", s.search(t, query, "X-Service-Key", second.SecretKey))
	if a := s.dashboard(t, "DELETE", one, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if gone := read[key](t, "revoked", s.dashboard(t, "GET", one, ""), 200); gone.Status != "revoked" {
		t.Errorf("%+v", gone)
	}
	ended := eventually(t, func() (answer, bool) {
		a := s.search(t, query, "X-Service-Key", second.SecretKey)
		return a, a.status != 200
	})
	refused(t, "a revoked key", ended, 401, "invalid_key", "")
	denied(t, "rotated again", s.dashboard(t, "POST", one+"/rotate", ""), 409, "conflict")
	denied(t, "without hosts", s.dashboard(t, "POST", "/api/v1/api-keys", `{"name":"x","allowedHosts":[]}`), 400, "invalid_request")

	usage := read[map[string]any](t, "usage", s.dashboard(t, "GET", "/api/v1/usage", ""), 200)
	if n, ok := usage["queries"].(float64); !ok || n < 1 || usage["limit"] != nil {
		t.Errorf("%v", usage)
	}
	report := read[struct {
		Totals map[string]float64
		Daily  []map[string]any
	}](t, "queries", s.dashboard(t, "GET", "/api/v1/analytics/queries?kind=search&first=5", ""), 200)
	if len(report.Daily) != 30 || len(report.Totals) != 11 {
		t.Errorf("%+v", report)
	}
	denied(t, "backwards", s.dashboard(t, "GET", "/api/v1/analytics/queries?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", ""), 400, "invalid_request")
}
