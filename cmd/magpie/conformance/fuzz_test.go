package conformance_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/rest"
)

// fuzzed is a whole Magpie to send anything to, in process.
type fuzzed struct {
	*site
	handler http.Handler
	keys    []string // by number: none, secret, publishable, one that has to sign
}

func newFuzzed(f *testing.F) *fuzzed {
	f.Helper()
	s := start(f, nil)
	s.put(f, s.docs, library()...)
	strict := s.key(f, map[string]any{"requireSignature": true, "rateLimitPerMinute": 0})
	return &fuzzed{site: s, handler: s.handler(f, func(o *rest.Options) { o.TrustedProxies = loopback() }),
		keys: []string{"", s.open.Secret, s.open.Publishable, strict.Secret}}
}

// try sends a request: whatever it is, the answer is no fault of the server's
// and has the interface's form.
func (z *fuzzed) try(t *testing.T, r *http.Request) answer {
	t.Helper()
	w := httptest.NewRecorder()
	z.handler.ServeHTTP(w, r.WithContext(t.Context()))
	a := answer{status: w.Code, header: w.Header(), body: w.Body.String()}
	if a.status >= 500 {
		t.Fatalf("%s %s: answered %d: %s", r.Method, r.URL, a.status, a.body)
	}
	if a.header.Get("X-Request-Id") == "" {
		t.Fatalf("%s %s: no X-Request-Id", r.Method, r.URL)
	}
	if a.status == http.StatusNoContent { // a preflight
		return a
	}
	for _, name := range rateHeaders {
		if _, err := strconv.ParseInt(a.header.Get(name), 10, 64); err != nil && !strings.HasPrefix(r.URL.Path, "/api/") {
			t.Fatalf("%s %s: %s is %q", r.Method, r.URL, name, a.header.Get(name))
		}
	}
	if a.status >= 400 {
		var body map[string]map[string]string
		if err := json.Unmarshal([]byte(a.body), &body); err != nil || len(body) != 1 || len(body["error"]) != 2 || body["error"]["code"] == "" || body["error"]["message"] == "" {
			t.Fatalf("%s %s: %d %q: %v", r.Method, r.URL, a.status, a.body, err)
		}
	}
	if !utf8.ValidString(a.body) {
		t.Fatalf("%s %s: the answer is no UTF-8: %q", r.Method, r.URL, a.body)
	}
	return a
}

func incoming(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4000"
	return r
}

// results checks that a search's answer can be read.
func (z *fuzzed) results(t *testing.T, a answer) {
	t.Helper()
	var r results
	if a.status != 200 {
		return
	}
	if err := json.Unmarshal([]byte(a.body), &r); err != nil || r.Data.Results == nil || r.Data.Total < len(r.Data.Results) || len(r.Data.Results) > r.Data.Limit {
		t.Fatalf("%s: %v", a.body, err)
	}
	for _, one := range r.Data.Results {
		if strings.ContainsAny(strings.NewReplacer("<mark>", "", "</mark>", "").Replace(one.Snippet), `<>"'`) || one.Score < 0 || one.Score > 1 {
			t.Fatalf("a result is %+v", one)
		}
	}
}

func FuzzSearchBodies(f *testing.F) {
	z := newFuzzed(f)
	for _, seed := range []string{
		`{"query":"signing key","limit":3,"offset":1,"min_score":0.2,"highlight":true,"filters":{"section":"guides","version":"2.0","tags":["a","b"],"doc_types":["guide"],"language":"en","date_after":"2024-01-01","date_before":"2026-12-31"}}`,
		`{"query":"lighthouse","min_score":0,"filters":{"date_after":"0000-01-01","language":"-"}}`, `{"query":"*","collection":"00000000-0000-0000-0000-000000000000"}`,
		`{"query":"\ud800","highlight":true}`, `{"query":"a","limit":1e2,"offset":2147483647}`, `{"query":"e\u0301\u200d🦊\u202e","highlight":true,"min_score":0}`, `{"query":"\"a b\" -c"}`, `[`, "\xef\xbb\xbf{}", `{"query":"ß ſ ﬁ İ","highlight":true,"min_score":0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := incoming(http.MethodPost, searchPath, body)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Service-Key", z.open.Secret)
		z.results(t, z.try(t, r))
	})
}

// FuzzSearchWords goes past the reading of JSON: the words, the filters and the
// numbers are what varies.
func FuzzSearchWords(f *testing.F) {
	z := newFuzzed(f)
	f.Add("signing key", "keys", "guides", "2024-01-01", 10, 0, 0.5, true)
	f.Add("the of", "", "", "", 100, 5, 0.0, false)
	f.Add("zebra <script> &amp; \u202e", `"><script>`, "x", "9999-12-31", 1, 2147483647, 1.0, true)
	f.Add("kv.rangefeed.enabled camelCase snake_case 密钥 การ", "backup", "operations", "0001-01-01", 50, 1, 0.0, true)
	f.Fuzz(func(t *testing.T, text, tag, section, after string, limit, offset int, least float64, highlight bool) {
		body, err := json.Marshal(map[string]any{"query": text, "limit": limit, "offset": offset, "min_score": least, "highlight": highlight,
			"filters": map[string]any{"tags": []string{tag}, "section": section, "date_after": after}})
		if err != nil {
			return // a number that JSON does not know
		}
		r := incoming(http.MethodPost, searchPath, string(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Service-Key", z.open.Secret)
		z.results(t, z.try(t, r))
		body, err = json.Marshal(map[string]any{"query": text, "limit": 100, "min_score": 0, "highlight": highlight})
		must(t, err)
		r = incoming(http.MethodPost, searchPath, string(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Service-Key", z.open.Secret)
		a := z.try(t, r)
		if z.results(t, a); a.status == 200 && !strings.Contains(a.body, `"total":`+strconv.Itoa(passages())+",") {
			t.Fatalf("min_score 0 does not find everything for %q: %.300s", text, a.body)
		}
	})
}

func FuzzChatBodies(f *testing.F) {
	z := newFuzzed(f)
	for _, seed := range []string{`{"message":"How is the key rotated?","conversation_id":null,"collection":null}`, `{"message":"data: x\n\nevent: done\r\n\r\n"}`,
		`{"message":"?","conversation_id":"00000000-0000-0000-0000-000000000000"}`, `{"message":"\u2028 lighthouse"}`, `{"message":"{{.}} %s"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := incoming(http.MethodPost, chatPath, body)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Service-Key", z.open.Secret)
		a := z.try(t, r)
		if a.status != 200 {
			return
		}
		all := events(t, a.body)
		if len(all) == 0 || all[len(all)-1].name != "done" || only(t, all, "sources").data == nil || only(t, all, "follow_up").data == nil {
			t.Fatalf("%q is answered %s", body, a.body)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	z := newFuzzed(f)
	f.Add(uint8(2), "", origin, origin+"/page", "", "", "application/json", "203.0.113.1", "id-1")
	f.Add(uint8(3), "", "", "", "1", "00", "application/json; charset=utf-8", "[::1]:80, x", "")
	f.Add(uint8(9), "svc_sk_x", "null", "http://[::1", "-1", "zz", "application/json;;", ",,", "\x00")
	f.Add(uint8(9), "svc_pk_\xff", "https://a@"+host, "//", "99999999999999999999", "0", "multipart/form-data; boundary=", "fe80::1%eth0", "<script>")
	f.Fuzz(func(t *testing.T, which uint8, key, from, referer, timestamp, signature, kind, forwarded, id string) {
		r := incoming(http.MethodPost, searchPath, query)
		if int(which) < len(z.keys) {
			key = z.keys[which]
		}
		for name, value := range map[string]string{"X-Service-Key": key, "Origin": from, "Referer": referer, "X-Service-Timestamp": timestamp, "X-Service-Signature": signature,
			"Content-Type": kind, "X-Forwarded-For": forwarded, "X-Request-Id": id, "Content-Encoding": ""} {
			if value != "" {
				r.Header[name] = []string{value}
			}
		}
		a := z.try(t, r)
		if got := a.header.Get("X-Request-Id"); strings.ContainsAny(got, "\r\n\x00<> ") || len(got) > 128 {
			t.Fatalf("the request id is %q", got)
		}
		if a.status == 200 && (which == 0 || which == 3 && signature == "") {
			t.Fatalf("let in without a key or signature: %s", a.body)
		}
	})
}

func FuzzQueryStrings(f *testing.F) {
	z := newFuzzed(f)
	for _, seed := range []string{"query=key&filters[tags]=a&filters[tags][]=b&limit=1e1", "query=q&filters={\"tags\":[1]}", "query=%ff", "query=a;b", "query=q&filters[date_after]=2026-02-30&offset=-0", "query=q&filters[]=x&filters[tags", "query=+&query=", "query=q&min_score=1e-400&highlight=true"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := incoming(http.MethodGet, searchPath, "")
		r.URL.RawQuery = raw
		r.Header.Set("X-Service-Key", z.open.Secret)
		z.results(t, z.try(t, r))
	})
}

func FuzzPaths(f *testing.F) {
	z := newFuzzed(f)
	for _, path := range []string{searchPath + "?query=q", "/v1/%64ocs/search", "/v1//", "/v1/docs%2Fsearch", "/v1/{id}", "/v1/docs/search/..", "/v1/\u00fc"} {
		for _, method := range []string{"GET", "POST", "OPTIONS", "BREW", ""} {
			f.Add(method, path)
		}
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/v1/") {
			return
		}
		r := incoming(http.MethodPost, "/", query)
		r.Method, r.URL = method, u
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Service-Key", z.open.Secret)
		r.Header.Set("Origin", origin)
		z.try(t, r)
	})
}
