package conformance_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

func endpointCases() map[string]check {
	return map[string]check{
		"1 dashboard endpoints are not on the public surface": func(t *testing.T, s *site) {
			parameter := regexp.MustCompile(`\{\w+\}`)
			for _, r := range rest.Routes() {
				path, ok := strings.CutPrefix(r.Pattern, "/api")
				if !ok || path == "/v1/docs/search" {
					continue
				}
				path = parameter.ReplaceAllString(path, s.docs.id)
				refused(t, r.Method+" "+path, s.do(t, call{r.Method, path, "", s.keyed(nil)}), 404, "not_found", "Page not found")
				a := s.do(t, call{r.Method, "/api" + path, "", s.keyed(nil)})
				if r.Anonymous { // a key is not looked at: the answer is anybody's
					if b := s.do(t, call{r.Method, "/api" + path, "", nil}); a.status != b.status || a.body != b.body {
						t.Errorf("%s %s answers a key %d %s, and anybody %d %s", r.Method, r.Pattern, a.status, a.body, b.status, b.body)
					}
					continue
				}
				if a.status < 400 || strings.Contains(a.body, `"data"`) {
					t.Errorf("%s %s takes an API key: %d %s", r.Method, r.Pattern, a.status, a.body)
				}
			}
		},
		"design GET /schema.graphql": func(t *testing.T, s *site) {
			ask := func(headers ...string) answer {
				return s.do(t, call{http.MethodGet, "/schema.graphql", "", append(headers, "Origin", "https://editor.example.org")})
			}
			a := ask()
			tag := a.header.Get("ETag")
			if a.status != 200 || !strings.Contains(a.body, "\ntype SearchResult {") || tag == "" || a.header.Get("Content-Type") != "application/graphql; charset=utf-8" ||
				a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Cache-Control"), "public, max-age=") {
				t.Errorf("without a session: %d %v %.300s", a.status, a.header, a.body)
			}
			if a := ask("If-None-Match", tag); a.status != http.StatusNotModified || a.body != "" {
				t.Errorf("with its ETag: %d %.300s", a.status, a.body)
			}
			if a := s.do(t, call{http.MethodPost, "/graphql", `{"query":"{ __schema { queryType { name } } }"}`, nil}); !strings.Contains(a.body, `"code":"unauthorized"`) || strings.Contains(a.body, `"queryType"`) {
				t.Errorf("introspection without a session: %d %s", a.status, a.body)
			}
		},
		"4 POST /v1/docs/search": func(t *testing.T, s *site) {
			r := found(t, "POST", s.search(t, `{"query":"signing key","unknown":{"deep":[1]}}`))
			if len(r.Data.Results) == 0 || r.Data.Results[0].Title != "Rotate the signing key" || r.Data.Limit != 10 || r.Data.Offset != 0 {
				t.Errorf("%+v", r)
			}
			found(t, "parameters in the query string of a POST are not read", s.do(t, call{http.MethodPost, searchPath + "?limit=0&query=", `{"query":"key"}`, s.keyed(nil)}))
		},
		"4 GET /v1/docs/search": func(t *testing.T, s *site) {
			for query, body := range map[string]string{
				"query=signing+key":                               `{"query":"signing key"}`,
				"query=signing%20key&limit=2&offset=1":            `{"query":"signing key","limit":2,"offset":1}`,
				"query=lighthouse&min_score=0.0&limit=1e1":        `{"query":"lighthouse","min_score":0,"limit":10.0}`,
				"query=zebra&highlight=true":                      `{"query":"zebra","highlight":true}`,
				"query=lighthouse&filters[tags]=keys&other=1&o=2": `{"query":"lighthouse","filters":{"tags":["keys"]}}`,
				"query=key&collection=" + s.docs.id:               `{"query":"key","collection":"` + s.docs.id + `"}`,
			} {
				get, post := s.get(t, query), s.search(t, body)
				found(t, query, get)
				if a, b := timeless(t, get.body), timeless(t, post.body); a != b {
					t.Errorf("GET %s answers %s\nand POST %s", query, a, b)
				}
			}
			with := s.do(t, call{http.MethodGet, searchPath + "?query=key", `{"query":"zebra"`, s.keyed(nil)})
			if r := found(t, "a GET with a body", with); r.Data.Results[0].Title != "Rotate the signing key" {
				t.Errorf("the body of a GET is read: %+v", r)
			}
			head := s.do(t, call{http.MethodHead, searchPath + "?query=key", "", s.keyed(nil)})
			if sound(t, "HEAD", head); head.status != 200 || head.body != "" {
				t.Errorf("HEAD: %d %q", head.status, head.body)
			}
		},
		"4 search: query": func(t *testing.T, s *site) {
			for what, body := range map[string]string{
				"missing": `{}`, "null": `{"query":null}`, "no body": "", "empty": `{"query":""}`, "blank": `{"query":" \t\n\u00a0\u3000"}`,
				"number": `{"query":1}`, "array": `{"query":["a"]}`, "object": `{"query":{}}`, "boolean": `{"query":true}`, "NUL": `{"query":"a\u0000b"}`,
			} {
				invalid(t, what, s.search(t, body), "query")
			}
			for _, query := range []string{"", "query=", "query=+", "query=%00", "query=a&query=b", "query=%ff", "query[]=a", "QUERY=a"} {
				invalid(t, "GET "+query, s.get(t, query), "query")
			}
			for what, text := range map[string]string{
				"stop words": "the of and to a", "punctuation": "?!... --- (){}[]", "emoji": "🦊🦊 🔥", "one letter": "k", "a quote": `"`, "an open quote": `"signing key`,
				"Chinese": "签名密钥轮换", "Japanese": "署名キーのローテーション", "Korean": "서명 키 교체", "Thai": "การหมุนเวียนคีย์", "Arabic": "تدوير مفتاح التوقيع", "Hebrew": "סיבוב מפתח",
				"Devanagari": "कुंजी घुमाएँ", "Greek": "περιστροφή κλειδιού", "Russian": "ротация ключа", "Georgian": "გასაღები", "Amharic": "ቁልፍ", "combining": "e\u0301\u0301\u0301 k\u0308",
				"right to left override": "\u202eyek gningis", "zero width": "sign\u200bing", "surrogates beyond the BMP": "𝔰𝔦𝔤𝔫𝔦𝔫𝔤 𝔨𝔢𝔶", "controls": "\x01\x02\x7f", "lone surrogate": "\ufffd",
				"SQL": "'; drop table documents; --", "operators": "key & | ! <-> :* ( ) \\", "LIKE": "%_%", "a regular expression": "(a+)+$", "template": "{{.}} ${x} %s %n",
				"100,000 letters": strings.Repeat("k", 100_000), "100,000 characters of words": strings.Repeat("signing key ", 8_334)[:100_000],
				"100,000 different words": words(100_000), "100,000 emoji": strings.Repeat("🦊", 100_000), "100,000 stars": strings.Repeat("*", 100_000),
			} {
				body, err := json.Marshal(map[string]any{"query": text, "highlight": true, "min_score": 0})
				must(t, err)
				a := s.search(t, string(body))
				if r := found(t, what, a); r.Data.Total != passages() {
					t.Errorf("%s: %d of %d passages at min_score 0", what, r.Data.Total, passages())
				}
				if a.took.Seconds() > 30 {
					t.Errorf("%s took %v", what, a.took)
				}
			}
			found(t, "a long GET", s.get(t, "query="+strings.Repeat("signing+key+", 4_000)))
		},
		"4 search: collection": func(t *testing.T, s *site) {
			both := s.key(t, map[string]any{"allowedCollections": []string{s.notes.id, s.docs.id}, "defaultCollection": s.notes.id, "rateLimitPerMinute": 0})
			for id, title := range map[string]string{s.docs.id: "Rotate the signing key", s.notes.id: "A note", strings.ToUpper(s.notes.id): "A note"} {
				r := found(t, id, s.search(t, `{"query":"signing key marmalade","collection":"`+id+`","min_score":0}`, "X-Service-Key", both.Secret))
				if len(r.Data.Results) == 0 || r.Data.Results[0].Title != title {
					t.Errorf("collection %s: %+v", id, r.Data.Results)
				}
			}
			r := found(t, "the default", s.search(t, `{"query":"note","collection":null,"min_score":0}`, "X-Service-Key", both.Secret))
			if titles := r.titles(); !slices.Equal(titles, []string{"A note"}) {
				t.Errorf("the key's default collection: %v", titles)
			}
			for _, bad := range []string{`""`, `"docs"`, `1`, `[]`, `"{` + s.docs.id + `}"`, `"urn:uuid:` + s.docs.id + `"`, `"` + strings.ReplaceAll(s.docs.id, "-", "") + `"`, `"` + s.docs.id + ` "`} {
				invalid(t, bad, s.search(t, `{"query":"key","collection":`+bad+`}`), "collection")
			}
			invalid(t, "GET, empty", s.get(t, "query=key&collection="), "collection")
		},
		"4 search: limit": func(t *testing.T, s *site) {
			for _, good := range []string{"1", "10.0", "1e1", "100", "100.0"} {
				r := found(t, good, s.search(t, `{"query":"lighthouse","min_score":0,"limit":`+good+`}`))
				want := map[string]int{"1": 1, "10.0": 10, "1e1": 10, "100": 100, "100.0": 100}[good]
				if r.Data.Limit != want || len(r.Data.Results) != min(want, passages()) || r.Data.Total != passages() {
					t.Errorf("limit %s: %d results of %d, limit %d", good, len(r.Data.Results), r.Data.Total, r.Data.Limit)
				}
			}
			if r := found(t, "null", s.search(t, `{"query":"lighthouse","limit":null}`)); r.Data.Limit != 10 {
				t.Errorf("the default limit is %d", r.Data.Limit)
			}
			outOfRange(t, s, "limit", "0", "-1", "101", "1e9", "1e300", "1e999", "99999999999999999999999", "-1e999", "1.5", "0.999999", `"10"`, "true", "[]", "{}")
		},
		"4 search: offset": func(t *testing.T, s *site) {
			for _, good := range []string{"0", "-0", "3", "2.0", "2147483647"} {
				found(t, good, s.search(t, `{"query":"lighthouse","offset":`+good+`}`))
			}
			r := found(t, "beyond the end", s.search(t, `{"query":"lighthouse","offset":5000,"min_score":0}`))
			if len(r.Data.Results) != 0 || r.Data.Total != passages() || r.Data.Offset != 5000 {
				t.Errorf("beyond the end: %+v", r)
			}
			outOfRange(t, s, "offset", "-1", "2147483648", "1e999", "0.5", `"0"`, "false")
		},
		"4 search: min_score": func(t *testing.T, s *site) {
			last := passages() + 1
			for _, least := range []float64{0, 0.3, 0.5, 0.7, 1} {
				r := found(t, fmt.Sprint(least), s.search(t, fmt.Sprintf(`{"query":"signing key","limit":100,"min_score":%v}`, least)))
				if r.Data.Total > last {
					t.Errorf("min_score %v finds %d, a smaller one %d", least, r.Data.Total, last)
				}
				last = r.Data.Total
				for _, one := range r.Data.Results {
					if one.Score < least {
						t.Errorf("min_score %v lets %v through", least, one.Score)
					}
				}
			}
			byDefault, half := s.search(t, `{"query":"signing key"}`), s.search(t, `{"query":"signing key","min_score":0.5}`)
			if timeless(t, byDefault.body) != timeless(t, half.body) {
				t.Errorf("the default is not 0.5: %s %s", byDefault.body, half.body)
			}
			outOfRange(t, s, "min_score", "-0.0001", "1.0001", "2", "-1", "1e999", "-1e999", `"0.5"`, "true", "[]")
		},
		"4 search: highlight": func(t *testing.T, s *site) {
			on, off := s.search(t, `{"query":"zebra","highlight":true}`), s.search(t, `{"query":"zebra","highlight":false}`)
			if !strings.Contains(found(t, "on", on).Data.Results[0].Snippet, "<mark>zebra</mark>") {
				t.Errorf("nothing is marked: %s", on.body)
			}
			if snippet := found(t, "off", off).Data.Results[0].Snippet; strings.Contains(snippet, "<mark>") {
				t.Errorf("something is marked: %s", snippet)
			}
			if timeless(t, off.body) != timeless(t, s.search(t, `{"query":"zebra","highlight":null}`).body) {
				t.Error("highlights are not off by default")
			}
			for _, bad := range []string{`"true"`, "1", "0", "[]"} {
				invalid(t, bad, s.search(t, `{"query":"zebra","highlight":`+bad+`}`), "highlight")
			}
			for _, bad := range []string{"1", "yes", "TRUE", ""} {
				invalid(t, "GET "+bad, s.get(t, "query=zebra&highlight="+bad), "highlight")
			}
		},
		"9 the public surface is under /v1": func(t *testing.T, s *site) {
			for _, path := range []string{"/v2/docs/search", "/docs/search", "/V1/docs/search", "/api/v1/docs/search"} {
				if a := s.do(t, call{http.MethodPost, path, `{"query":"key"}`, s.keyed(nil)}); a.status != 404 || a.header.Get("X-Request-Id") == "" || !json.Valid([]byte(a.body)) {
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
			}
		},
	}
}

// outOfRange sends wrong values of a number in both forms; none is clamped.
func outOfRange(t *testing.T, s *site, field string, values ...string) {
	t.Helper()
	for _, value := range append(values, "NaN", "Infinity", "0x10", "+5", "05", "1_000", "5,", " ") {
		a := s.search(t, `{"query":"lighthouse","`+field+`":`+value+`}`)
		if json.Valid([]byte(value)) {
			invalid(t, value, a, field)
		} else {
			refused(t, value, a, 400, "invalid_request", "")
		}
		if strings.HasPrefix(value, `"`) {
			value = "x" + value
		}
		invalid(t, "GET "+value, s.get(t, "query=lighthouse&"+field+"="+url.QueryEscape(value)), field)
	}
	invalid(t, "twice", s.get(t, "query=lighthouse&"+field+"=1&"+field+"=1"), field)
	invalid(t, "empty", s.get(t, "query=lighthouse&"+field+"="), field)
}

// passages is how many the docs collection holds.
func passages() int {
	n := 0
	for _, d := range library() {
		n += len(d.texts)
	}
	return n
}

// words is text of many different words, so many bytes of it.
func words(bytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "w%x ", i*2654435761%math.MaxInt32)
	}
	return b.String()[:bytes]
}

// timeless is a search's answer without what differs from call to call.
func timeless(t testing.TB, body string) string {
	t.Helper()
	var answer map[string]map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	delete(answer["data"], "took_ms")
	same, err := json.Marshal(answer)
	must(t, err)
	return string(same)
}
