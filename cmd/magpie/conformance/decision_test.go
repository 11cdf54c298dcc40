package conformance_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/rest"
)

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
}

func decisionCases() map[string]check {
	return map[string]check{
		"design error format": func(t *testing.T, s *site) {
			small := s.with(t, func(o *rest.Options) { o.Limits.Body = 1000 })
			key := s.keyed(nil)
			for what, c := range map[string]struct {
				a       answer
				status  int
				code    string
				message string
			}{
				"400": {s.search(t, `{"query":"q","limit":0}`), 400, "invalid_request", "limit: must be between 1 and 100"},
				"404": {s.do(t, call{"GET", "/v1/nothing", "", key}), 404, "not_found", "Page not found"},
				"405": {s.do(t, call{"DELETE", searchPath, "", key}), 405, "method_not_allowed", "Method not allowed; this path allows GET, HEAD, POST"},
				"413": {small.search(t, `{"query":"`+strings.Repeat("q", 1000)+`"}`), 413, "too_large", ""},
				"415": {s.search(t, query, "Content-Type", "text/plain"), 415, "unsupported_media_type", ""},
			} {
				refused(t, what, c.a, c.status, c.code, c.message)
			}
			refused(t, "413 by default over a mebibyte", s.search(t, `{"query":"`+strings.Repeat("q", 1<<20)+`"}`), 413, "too_large", "The request body may have at most 1 MiB")
			paths(t, s)
			protocol(t, s)
		},
		"design search response": func(t *testing.T, s *site) {
			var full struct {
				Data map[string]json.RawMessage
			}
			a := s.search(t, `{"query":"signing key"}`)
			must(t, json.Unmarshal([]byte(a.body), &full))
			fields(t, "data", full.Data, "results", "total", "limit", "offset", "took_ms")
			for _, q := range []string{"signing key", "note", "backup database", "zebra"} {
				a := s.search(t, `{"query":"`+q+`","min_score":0,"limit":100}`)
				var body struct {
					Data struct{ Results []map[string]json.RawMessage }
				}
				must(t, json.Unmarshal([]byte(a.body), &body))
				for _, r := range body.Data.Results {
					fields(t, "a result", r, "id", "document_id", "title", "url", "snippet", "score", "section", "version", "tags", "doc_type", "language",
						"collection", "source", "heading_path", "updated_at", "metadata")
					for name, kind := range map[string]byte{"tags": '[', "heading_path": '[', "metadata": '{', "snippet": '"', "title": '"', "collection": '"', "source": '"'} {
						if len(r[name]) == 0 || r[name][0] != kind {
							t.Errorf("%s is %s", name, r[name])
						}
					}
					if string(r["collection"]) != `"Docs"` || string(r["source"]) != `"file_upload"` {
						t.Errorf("collection %s, source %s", r["collection"], r["source"])
					}
				}
			}
			empty := found(t, "no results", s.search(t, `{"query":"lighthouse","filters":{"version":"none"}}`))
			if empty.Data.Total != 0 || len(empty.Data.Results) != 0 {
				t.Errorf("%+v", empty)
			}
		},
		"design search: correction of words": func(t *testing.T, s *site) {
			for what, a := range map[string]answer{
				"POST": s.search(t, `{"query":"the Ligthhouse book","min_score":0}`), "GET": s.get(t, "query=the+Ligthhouse+book&min_score=0"),
			} {
				r := found(t, what, a)
				if !strings.Contains(a.body, `"did_you_mean":"the Lighthouse book","corrected":[{"from":"Ligthhouse","to":"Lighthouse"}]`) || !slices.Contains(r.titles(), "Long guide") {
					t.Errorf("%s: %s", what, a.body)
				}
			}
			if a := s.search(t, `{"query":"the lighthouse book"}`); len(found(t, "nothing to correct", a).Data.Results) == 0 || strings.Contains(a.body, `"did_you_mean"`) || strings.Contains(a.body, `"corrected"`) {
				t.Errorf("%s", a.body)
			}
		},
		"design ranges": func(t *testing.T, s *site) {
			for field, bad := range map[string]string{"limit": "1000", "offset": "-5", "min_score": "7"} {
				invalid(t, field, s.search(t, `{"query":"lighthouse","`+field+`":`+bad+`}`), field)
			}
			invalid(t, "query", s.search(t, `{"query":"  "}`), "query")
		},
		"design success statuses": func(t *testing.T, s *site) {
			for what, a := range map[string]answer{"POST": s.search(t, query), "GET": s.get(t, "query=q"), "chat": s.post(t, chatPath, ask)} {
				if sound(t, what, a); a.status != 200 {
					t.Errorf("%s: %d", what, a.status)
				}
			}
		},
		"design results and paging": paging,
		"design collection reach": func(t *testing.T, s *site) {
			oldest := s.key(t, map[string]any{"allowedCollections": []string{s.notes.id, s.docs.id}, "rateLimitPerMinute": 0})
			if r := found(t, "no default", s.search(t, `{"query":"signing key note"}`, "X-Service-Key", oldest.Secret)); len(r.Data.Results) == 0 || r.Data.Results[0].Title != "Rotate the signing key" {
				t.Errorf("a key without a default looks into the oldest: %v", r.titles())
			}
			doomed := s.collection(t, "Doomed")
			lost := s.key(t, map[string]any{"allowedCollections": []string{doomed.id}, "defaultCollection": doomed.id, "rateLimitPerMinute": 0})
			found(t, "while it is there", s.search(t, query, "X-Service-Key", lost.Secret))
			s.graphql(t, &struct{}{}, `mutation($id: ID!) { deleteCollection(id: $id) }`, map[string]any{"id": doomed.id})
			gone := eventually(t, func() (answer, bool) {
				a := s.search(t, query, "X-Service-Key", lost.Secret)
				return a, a.status != 200
			})
			refused(t, "a key that reaches nothing", gone, 403, "forbidden", "Collection access denied")
			refused(t, "chat", s.post(t, chatPath, ask, "X-Service-Key", lost.Secret), 403, "forbidden", "Collection access denied")
			refused(t, "the deleted one by name", s.search(t, `{"query":"q","collection":"`+doomed.id+`"}`, "X-Service-Key", lost.Secret), 403, "forbidden", "Collection access denied")
		},
		"design score": func(t *testing.T, s *site) {
			r := found(t, "all", s.search(t, `{"query":"rotate the signing key","min_score":0,"limit":100}`))
			for i, one := range r.Data.Results {
				if one.Score < 0 || one.Score > 1 || i > 0 && one.Score > r.Data.Results[i-1].Score {
					t.Errorf("the score %v comes after %v", one.Score, r.Data.Results[max(i-1, 0)].Score)
				}
			}
			if r.Data.Results[0].Score < 0.5 {
				t.Errorf("the answer's own score is %v", r.Data.Results[0].Score)
			}
			if nothing := found(t, "no answer", s.search(t, `{"query":"quetzalcoatl timbuktu"}`)); nothing.Data.Total != 0 {
				t.Errorf("something is found for what nobody wrote about: %+v", nothing.Data.Results)
			}
		},
		"design snippet": func(t *testing.T, s *site) {
			for _, highlight := range []string{"true", "false"} {
				one := found(t, highlight, s.search(t, `{"query":"zebra","highlight":`+highlight+`}`)).Data.Results[0]
				plain := strings.NewReplacer("<mark>", "", "</mark>", "").Replace(one.Snippet)
				if strings.ContainsAny(plain, `<>"'`) || !strings.Contains(one.Snippet, "&lt;script&gt;") || !strings.Contains(plain, "&lt;mark&gt;") {
					t.Errorf("the snippet is %s", one.Snippet)
				}
				if strings.Count(one.Snippet, "<mark>") != strings.Count(one.Snippet, "</mark>") || (highlight == "true") != strings.Contains(one.Snippet, "<mark>zebra</mark>") {
					t.Errorf("marks of %s: %s", highlight, one.Snippet)
				}
				if one.Title != "Hostile <b>title</b>" {
					t.Errorf("the title is no HTML, and reads %q", one.Title)
				}
			}
			one := found(t, "inflections", s.search(t, `{"query":"rotating signed keys","highlight":true,"min_score":0}`)).Data.Results[0]
			if !strings.Contains(one.Snippet, "<mark>key") {
				t.Errorf("inflections are not marked: %s", one.Snippet)
			}
		},
		"design key fields": func(t *testing.T, s *site) {
			a := s.do(t, call{"POST", "/graphql", `{"query":"mutation { createAPIKey(input: {name: \"x\", allowedHosts: [], allowAllCollections: true}) { secretKey } }"}`, []string{"Authorization", "Bearer " + s.token}})
			if !strings.Contains(a.body, "allowedHosts") || strings.Contains(a.body, "svc_sk_") {
				t.Errorf("a key without hosts: %s", a.body)
			}
			k := s.key(t, map[string]any{"expiresAt": time.Now().Add(time.Hour).Format(time.RFC3339), "requireSignature": true, "rateLimitPerMinute": 5,
				"defaultCollection": s.notes.id, "allowedCollections": []string{s.notes.id}, "allowedHosts": []string{"*"}})
			r := s.search(t, `{"query":"note"}`, signed(k.Secret, `{"query":"note"}`, time.Now())...)
			if found(t, "all of them", r); number(t, r, "X-RateLimit-Limit") != 5 {
				t.Errorf("%v", r.header)
			}
			found(t, "any host", s.search(t, `{"query":"note"}`, "X-Service-Key", k.Publishable, "Origin", "http://whatever.example:99"))
		},
		"design host check":                    hosts,
		"design order of checks":               order,
		"design HMAC and stored keys":          stored,
		"design analytics write by secret key": clicks,
	}
}

func fields(t *testing.T, what string, got map[string]json.RawMessage, want ...string) {
	t.Helper()
	for _, name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s has no %s", what, name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d fields, not %d", what, len(got), len(want))
	}
}

// paging joins pages and compares them with a large one.
func paging(t *testing.T, s *site) {
	for _, least := range []string{"0", "0.1", "0.5"} {
		ask := func(limit, offset int) results {
			body, err := json.Marshal(map[string]any{"query": "lighthouse keeper", "limit": limit, "offset": offset, "min_score": json.RawMessage(least)})
			must(t, err)
			return found(t, string(body), s.search(t, string(body)))
		}
		whole := ask(100, 0)
		ids := func(r results) (out []string) {
			for _, one := range r.Data.Results {
				out = append(out, one.ID)
			}
			return out
		}
		want := ids(whole)
		if whole.Data.Total != len(want) {
			t.Errorf("min_score %s: a total of %d and %d results", least, whole.Data.Total, len(want))
		}
		sorted := slices.IsSortedFunc(whole.Data.Results, func(a, b struct {
			ID         string
			DocumentID string `json:"document_id"`
			Title      string
			Snippet    string
			Score      float64
		}) int {
			if a.Score != b.Score {
				if a.Score > b.Score {
					return -1
				}
				return 1
			}
			return strings.Compare(a.ID, b.ID)
		})
		if !sorted {
			t.Errorf("min_score %s: the order is not score, then id", least)
		}
		for _, size := range []int{1, 2, 3, 7} {
			var joined []string
			for offset := 0; offset < len(want)+size; offset += size {
				page := ask(size, offset)
				if page.Data.Total != whole.Data.Total || page.Data.Limit != size || page.Data.Offset != offset {
					t.Errorf("min_score %s, page at %d of %d: %+v", least, offset, size, page.Data)
				}
				joined = append(joined, ids(page)...)
			}
			if !slices.Equal(joined, want) {
				t.Errorf("min_score %s: pages of %d give %v, not %v", least, size, joined, want)
			}
		}
		perDocument := map[string]int{}
		for _, one := range whole.Data.Results {
			perDocument[one.DocumentID]++
		}
		for id, n := range perDocument {
			if n > 3 && least != "0" {
				t.Errorf("min_score %s: %d passages of %s", least, n, id)
			}
		}
		if least == "0" && (whole.Data.Total != passages() || slices.Max(values(perDocument)) != 6) {
			t.Errorf("min_score 0 finds %d of %d, %v", whole.Data.Total, passages(), perDocument)
		}
	}
	first := timeless(t, s.search(t, `{"query":"lighthouse","min_score":0}`).body)
	for range 20 {
		if again := timeless(t, s.search(t, `{"query":"lighthouse","min_score":0}`).body); again != first {
			t.Fatalf("the same request gives\n%s\nand\n%s", first, again)
		}
	}
}

func values(m map[string]int) (out []int) {
	for _, n := range m {
		out = append(out, n)
	}
	return out
}

// stored checks that the database knows no key, and that nobody is shown one again.
func stored(t *testing.T, s *site) {
	var dump string
	must(t, s.app.DB.Pool.QueryRow(t.Context(), `select coalesce(string_agg(k::text, E'\n'), '') from api_keys k`).Scan(&dump))
	a := s.do(t, call{"POST", "/graphql", `{"query":"{ apiKeys(first: 100) { edges { node { id publishableHint secretHint } } } }"}`, []string{"Authorization", "Bearer " + s.token}})
	if a.status != 200 || !strings.Contains(a.body, s.open.ID) {
		t.Errorf("the list of keys: %d %s", a.status, a.body)
	}
	for _, secret := range []string{s.open.Secret, s.open.Publishable, s.open.Secret[14:], s.open.Publishable[14:]} {
		if strings.Contains(dump, secret) || strings.Contains(a.body, secret) {
			t.Error("a key is stored or shown")
		}
	}
	signatures(t, s, "the presented key", s.open.Secret)
}
