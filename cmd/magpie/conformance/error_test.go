package conformance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func errorCases() map[string]check {
	return map[string]check{
		"7 body shape": func(t *testing.T, s *site) {
			refused(t, "400", s.search(t, `{`), 400, "invalid_request", "")
			a := s.search(t, `{"query":"q","collection":"<script>\" \\ ü"}`)
			invalid(t, "hostile", a, "collection")
			refused(t, "the client's own id", s.search(t, `{`, "X-Request-Id", "mine-1"), 400, "invalid_request", "")
			if a := s.search(t, query, "X-Request-Id", "mine-1"); a.header.Get("X-Request-Id") != "mine-1" {
				t.Errorf("the request id becomes %q", a.header.Get("X-Request-Id"))
			}
		},
		"7 401 unauthorized: API key required": func(t *testing.T, s *site) {
			for _, path := range []string{searchPath, chatPath} {
				refused(t, path, s.do(t, call{"POST", path, query, nil}), 401, "unauthorized", "API key required")
				refused(t, path+" empty", s.post(t, path, query, "X-Service-Key", ""), 401, "unauthorized", "API key required")
				refused(t, path+" blank", s.post(t, path, query, "X-Service-Key", "  "), 401, "unauthorized", "API key required")
				refused(t, path+" session", s.do(t, call{"POST", path, query, []string{"Authorization", "Bearer " + s.token}}), 401, "unauthorized", "API key required")
			}
		},
		"7 401 invalid_key: Invalid API key": func(t *testing.T, s *site) {
			revoked := s.key(t, map[string]any{"rateLimitPerMinute": 0})
			found(t, "before", s.search(t, query, "X-Service-Key", revoked.Secret))
			s.graphql(t, &struct{}{}, `mutation($id: ID!) { revokeAPIKey(id: $id) { id } }`, map[string]any{"id": revoked.ID})
			gone := eventually(t, func() (answer, bool) {
				a := s.search(t, query, "X-Service-Key", revoked.Secret)
				return a, a.status != 200
			})
			refused(t, "revoked", gone, 401, "invalid_key", "Invalid API key")
			secret := s.open.Secret
			for what, key := range map[string]string{
				"unknown": "svc_sk_" + strings.Repeat("a", 43), "no prefix": "hello", "a prefix": "svc_sk_", "another prefix": "svc_xk_" + secret[7:], "upper case": strings.ToUpper(secret),
				"cut": secret[:len(secret)-1], "longer": secret + "a", "of the other kind": "svc_pk_" + secret[7:], "very long": "svc_sk_" + strings.Repeat("x", 10_000),
				"a JWT": s.token, "SQL": "svc_sk_' or 1=1 --", "bytes": "svc_sk_\xff\xfe", "a space inside": secret[:20] + " " + secret[20:], "two": secret + ", " + secret,
			} {
				for _, path := range []string{searchPath, chatPath} {
					refused(t, what+" "+path, s.post(t, path, query, "X-Service-Key", key), 401, "invalid_key", "Invalid API key")
				}
			}
		},
		"7 401 key_expired: API key has expired": func(t *testing.T, s *site) {
			k := s.key(t, map[string]any{"expiresAt": time.Now().Add(time.Hour).Format(time.RFC3339), "rateLimitPerMinute": 0})
			found(t, "in its time", s.search(t, query, "X-Service-Key", k.Secret))
			soon := s.key(t, map[string]any{"expiresAt": time.Now().Add(700 * time.Millisecond).Format(time.RFC3339Nano), "requireSignature": true})
			a := eventually(t, func() (answer, bool) {
				a := s.search(t, query, "X-Service-Key", soon.Secret)
				return a, message(a) != "Invalid request signature"
			})
			refused(t, "expired before a signature is looked at", a, 401, "key_expired", "API key has expired")
		},
		"7 401 invalid_signature: Invalid request signature": func(t *testing.T, s *site) {
			refused(t, "search", s.search(t, query, "X-Service-Key", s.open.Secret, "X-Service-Signature", "00"), 401, "invalid_signature", "Invalid request signature")
			refused(t, "chat", s.post(t, chatPath, query, "X-Service-Key", s.open.Secret, "X-Service-Timestamp", "1"), 401, "invalid_signature", "Invalid request signature")
		},
		"7 403 forbidden: Collection access denied": func(t *testing.T, s *site) {
			for _, headers := range [][]string{{"X-Service-Key", s.open.Secret}, {"X-Service-Key", s.open.Publishable, "Origin", origin}} {
				refused(t, "POST", s.search(t, `{"query":"q","collection":"`+s.notes.id+`"}`, headers...), 403, "forbidden", "Collection access denied")
				refused(t, "GET", s.get(t, "query=q&collection="+s.notes.id, headers...), 403, "forbidden", "Collection access denied")
				refused(t, "chat", s.post(t, chatPath, `{"message":"q","collection":"`+s.notes.id+`"}`, headers...), 403, "forbidden", "Collection access denied")
			}
		},
		"7 403 forbidden: Host not allowed": func(t *testing.T, s *site) {
			for _, path := range []string{searchPath, chatPath} {
				refused(t, "neither "+path, s.post(t, path, query, "X-Service-Key", s.open.Publishable), 403, "forbidden", "Host not allowed")
				refused(t, "another "+path, s.post(t, path, query, "X-Service-Key", s.open.Publishable, "Origin", "https://evil.example"), 403, "forbidden", "Host not allowed")
			}
		},
		"7 429 rate_limited: Rate limit exceeded": func(t *testing.T, s *site) {
			k := s.key(t, map[string]any{"rateLimitPerMinute": 1})
			found(t, "the first", s.search(t, query, "X-Service-Key", k.Secret))
			refused(t, "search", s.search(t, query, "X-Service-Key", k.Secret), 429, "rate_limited", "Rate limit exceeded")
			refused(t, "chat", s.post(t, chatPath, ask, "X-Service-Key", k.Secret), 429, "rate_limited", "Rate limit exceeded")
		},
		"7 400 invalid request body or parameters": func(t *testing.T, s *site) {
			for what, body := range map[string]string{
				"cut off": `{"query":"q"`, "array": `[]`, "text": `"q"`, "null": `null`, "number": `1`, "after it": `{"query":"q"} x`, "two": `{"query":"q"}{"query":"q"}`, "a comma": `{"query":"q"},`,
				"single quotes": `{'query':'q'}`, "no quotes": `{query:"q"}`, "comma at the end": `{"query":"q",}`, "comment": `{"query":"q"/**/}`, "a form": "query=q", "spaces": "  \n ",
				"BOM": "\ufeff" + query, "UTF-16": "{\x00\"\x00", "invalid UTF-8": "{\"query\":\"\xff\"}", "overlong": "{\"query\":\"\xc0\xaf\"}", "control": "{\"query\":\"a\nb\"}", "NUL after it": query + "\x00",
				"bad escape": `{"query":"\x"}`, "deep": strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), "deep lists": `{"query":"q","x":` + strings.Repeat("[", 200_000),
				"brackets": strings.Repeat("[", 1_000_000),
			} {
				for _, path := range []string{searchPath, chatPath} {
					refused(t, what+" "+path, s.post(t, path, body), 400, "invalid_request", "")
				}
			}
			// The last of two fields counts, as in a browser.
			if r := found(t, "a field twice", s.search(t, `{"query":1,"limit":2,"query":"signing key","limit":1}`)); r.Data.Limit != 1 {
				t.Errorf("a field twice: %+v", r)
			}
			invalid(t, "a field twice, the last one wrong", s.search(t, `{"query":"q","query":2}`), "query")
			found(t, "names are exact", s.search(t, `{"query":"q","Limit":0,"MIN_SCORE":9}`))
			found(t, "a lone surrogate", s.search(t, `{"query":"key \ud800","x":"\udc00"}`))
			found(t, "a huge number where nobody looks", s.search(t, `{"query":"q","x":1e999,"y":`+strings.Repeat("9", 5000)+`}`))
			found(t, "deep where nobody looks", s.search(t, `{"query":"q","x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`))
			contentTypes(t, s)
		},
		"7 402 billing query limit exceeded":   func(t *testing.T, s *site) { overQuota(t, s) },
		"8 402 on search and chat":             func(t *testing.T, s *site) { overQuota(t, s) },
		"design quota":                         func(t *testing.T, s *site) { overQuota(t, s) },
		"design quota: while a query is typed": typingIsATenth,
	}
}

// contentTypes are the headers with which a body is taken, and those without.
func contentTypes(t *testing.T, s *site) {
	t.Helper()
	for _, good := range []string{"application/json", "APPLICATION/JSON", "application/json; charset=utf-8", `Application/Json;Charset="UTF-8"`, "application/json;charset=utf8", "application/json; x=y", " application/json "} {
		found(t, good, s.search(t, query, "Content-Type", good))
	}
	for _, bad := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "application/json; charset=latin1", "application/json/", "json", "application/vnd.api+json", "*/*", ";", "application/json; charset=\xff"} {
		refused(t, bad, s.search(t, query, "Content-Type", bad), 415, "unsupported_media_type", "")
		refused(t, bad+", chat", s.post(t, chatPath, ask, "Content-Type", bad), 415, "unsupported_media_type", "")
	}
	r := s.request(t, call{"POST", searchPath, query, s.keyed(nil)})
	r.Header.Del("Content-Type")
	refused(t, "none", s.send(t, r), 415, "unsupported_media_type", "")
	refused(t, "two", s.search(t, query, "Content-Type", "application/json", "Content-Type", "text/plain"), 415, "unsupported_media_type", "")
	for _, coding := range []string{"gzip", "br", "deflate", "identity, gzip", "x"} {
		refused(t, coding, s.search(t, query, "Content-Encoding", coding), 415, "unsupported_media_type", "")
	}
	found(t, "identity", s.search(t, query, "Content-Encoding", "identity"))
	found(t, "a GET needs none", s.do(t, call{http.MethodGet, searchPath + "?query=q", "", s.keyed([]string{"Content-Type", "text/plain"})}))
}
