package conformance_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/rest"
)

const query = `{"query":"signing key"}`

func keyCases() map[string]check {
	return map[string]check{
		"5 key in X-Service-Key": func(t *testing.T, s *site) {
			if !strings.HasPrefix(s.open.Publishable, "svc_pk_") || !strings.HasPrefix(s.open.Secret, "svc_sk_") {
				t.Errorf("the prefixes: %.8s %.8s", s.open.Publishable, s.open.Secret)
			}
			found(t, "upper case name", s.search(t, query, "X-Service-Key", s.open.Secret))
			for what, headers := range map[string][]string{
				"as basic":   {"X-Service-Key", "", "Authorization", "Basic " + s.open.Secret},
				"other name": {"X-Service-Key", "", "X-Api-Key", s.open.Secret},
			} {
				refused(t, what, s.search(t, query, headers...), 401, "unauthorized", "API key required")
			}
			found(t, "as a bearer", s.search(t, query, "X-Service-Key", "", "Authorization", "Bearer "+s.open.Secret))
			found(t, "both ways", s.search(t, query, "X-Service-Key", s.open.Secret, "Authorization", "bearer "+s.open.Secret))
			found(t, "beside a password of a proxy", s.search(t, query, "X-Service-Key", s.open.Secret, "Authorization", "Basic YTpi"))
			refused(t, "two keys", s.search(t, query, "X-Service-Key", s.open.Secret, "Authorization", "Bearer "+s.open.Publishable), 401, "invalid_key",
				"X-Service-Key and Authorization have different API keys")
			refused(t, "a token", s.search(t, query, "X-Service-Key", "", "Authorization", "Bearer mgp_pat_x"), 401, "invalid_key",
				"Tokens are for /api/v1 and /graphql; send an API key")
			refused(t, "in the query string", s.do(t, call{"GET", searchPath + "?query=q&key=" + s.open.Secret, "", nil}), 401, "unauthorized", "API key required")
			refused(t, "twice", s.search(t, query, "X-Service-Key", s.open.Secret, "X-Service-Key", s.open.Secret), 401, "invalid_key", "Invalid API key")
		},
		"5 publishable keys": func(t *testing.T, s *site) {
			found(t, "search", s.search(t, query, "X-Service-Key", s.open.Publishable, "Origin", origin))
			if a := s.post(t, chatPath, `{"message":"Where is the key?"}`, "X-Service-Key", s.open.Publishable, "Origin", origin); a.status != 200 {
				t.Errorf("chat: %d %s", a.status, a.body)
			}
			a := s.search(t, query, "X-Service-Key", s.open.Publishable, "Origin", origin, "X-Service-Signature", "no", "X-Service-Timestamp", "no")
			found(t, "it cannot sign, so a signature beside it says nothing", a)
		},
		"5 secret keys": func(t *testing.T, s *site) {
			found(t, "from nowhere", s.search(t, query))
			found(t, "from any origin", s.search(t, query, "Origin", "https://evil.example"))
			found(t, "from a page", s.search(t, query, "Referer", "https://evil.example/page"))
			found(t, "signed", s.search(t, query, signed(s.open.Secret, query, time.Now())...))
		},
		"5 collection scope": func(t *testing.T, s *site) {
			all := s.key(t, map[string]any{"allowAllCollections": true, "rateLimitPerMinute": 0})
			for _, path := range []string{searchPath, chatPath} {
				body := func(collection string) string {
					return `{"query":"key","message":"key","collection":"` + collection + `"}`
				}
				for what, id := range map[string]string{"another collection": s.notes.id, "one that does not exist": "0190a000-0000-7000-8000-000000000000", "nil": "00000000-0000-0000-0000-000000000000"} {
					refused(t, path+" "+what, s.post(t, path, body(id)), 403, "forbidden", "Collection access denied")
				}
				for what, id := range map[string]string{"docs": s.docs.id, "notes": s.notes.id} {
					if a := s.post(t, path, body(id), "X-Service-Key", all.Secret); a.status != 200 {
						t.Errorf("%s: %s with a key to all: %d %s", path, what, a.status, a.body)
					}
				}
				refused(t, path+" unknown, key to all", s.post(t, path, body("0190a000-0000-7000-8000-000000000000"), "X-Service-Key", all.Secret), 403, "forbidden", "Collection access denied")
				refused(t, path+" nil, key to all", s.post(t, path, body("00000000-0000-0000-0000-000000000000"), "X-Service-Key", all.Secret), 403, "forbidden", "Collection access denied")
			}
		},
		"5 HMAC signing": func(t *testing.T, s *site) {
			must := s.key(t, map[string]any{"requireSignature": true, "rateLimitPerMinute": 0})
			for name, key := range map[string]string{"signature required": must.Secret, "signature optional": s.open.Secret} {
				signatures(t, s, name, key)
			}
			once := signed(must.Secret, query, time.Now())
			found(t, "a signature", s.search(t, query, once...))
			for _, node := range []*site{s, s.with(t, func(*rest.Options) {})} {
				refused(t, "a signature again", node.search(t, query, once...), 401, "invalid_signature", "Invalid request signature")
			}
			once = signed(s.open.Secret, query, time.Now())
			for range 2 {
				found(t, "a signature that is not asked for", s.search(t, query, once...))
			}
			for what, headers := range map[string][]string{"no signature": {"X-Service-Key", must.Secret}, "unknown": {"X-Service-Key", must.Secret, "X-Signature", "x"}} {
				refused(t, what, s.search(t, query, headers...), 401, "invalid_signature", "Invalid request signature")
				refused(t, what+", GET", s.get(t, "query=key", headers...), 401, "invalid_signature", "Invalid request signature")
				refused(t, what+", chat", s.post(t, chatPath, `{"message":"key"}`, headers...), 401, "invalid_signature", "Invalid request signature")
			}
			packed := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
			a := s.search(t, packed, append(signed(must.Secret, packed, time.Now()), "Content-Encoding", "gzip")...)
			refused(t, "the bytes as they came are signed, then looked at", a, 415, "unsupported_media_type", "")
			found(t, "the publishable key of the pair needs none", s.search(t, query, "X-Service-Key", must.Publishable, "Origin", origin))
		},
		"5 key expiry": func(t *testing.T, s *site) {
			k := s.key(t, map[string]any{"expiresAt": time.Now().Add(time.Second).Format(time.RFC3339Nano), "rateLimitPerMinute": 0})
			expired := eventually(t, func() (answer, bool) {
				a := s.search(t, query, "X-Service-Key", k.Secret)
				return a, a.status != 200
			})
			refused(t, "the secret key", expired, 401, "key_expired", "API key has expired")
			refused(t, "the publishable key", s.search(t, query, "X-Service-Key", k.Publishable, "Origin", origin), 401, "key_expired", "API key has expired")
			refused(t, "on chat", s.post(t, chatPath, `{"message":"key"}`, "X-Service-Key", k.Secret), 401, "key_expired", "API key has expired")
		},
		"8 HMAC timestamp skew": func(t *testing.T, s *site) {
			now := time.Now().Truncate(time.Millisecond)
			fixed := s.with(t, func(o *rest.Options) { o.Now = func() time.Time { return now } })
			for _, edge := range []time.Duration{-5 * time.Minute, 5 * time.Minute, 0, time.Minute} {
				found(t, edge.String(), fixed.search(t, query, signed(s.open.Secret, query, now.Add(edge))...))
			}
			for _, beyond := range []time.Duration{-5*time.Minute - time.Millisecond, 5*time.Minute + time.Millisecond, -time.Hour, 24 * time.Hour} {
				refused(t, beyond.String(), fixed.search(t, query, signed(s.open.Secret, query, now.Add(beyond))...), 401, "invalid_signature", "Invalid request signature")
			}
			found(t, "on the server's own clock", s.search(t, query, signed(s.open.Secret, query, time.Now().Add(-4*time.Minute))...))
			refused(t, "on the server's own clock", s.search(t, query, signed(s.open.Secret, query, time.Now().Add(-6*time.Minute))...), 401, "invalid_signature", "")
		},
	}
}

// signatures tries a secret key's signatures; one that is present is checked
// whether the key asks for it or not.
func signatures(t *testing.T, s *site, name, key string) {
	t.Helper()
	now := time.Now()
	reordered := `{"limit":5,"query":"signing key"}`
	good := signed(key, query, now)
	later := signed(key, query, now.Add(time.Millisecond)) // a signature works once where the key asks for one
	accepted := map[string]answer{
		"POST":                                 s.search(t, query, good...),
		"spaces":                               s.search(t, " {\n\"query\" : \"signing key\" } \n", signed(key, " {\n\"query\" : \"signing key\" } \n", now)...),
		"upper case hex":                       s.search(t, query, "X-Service-Key", key, "X-Service-Timestamp", later[3], "X-Service-Signature", strings.ToUpper(later[5])),
		"GET":                                  s.get(t, "query=key", signed(key, "", now)...),
		"HEAD":                                 s.do(t, call{http.MethodHead, searchPath + "?query=key", "", signed(key, "", now.Add(time.Millisecond))}),
		"GET with a body, which is signed too": s.do(t, call{http.MethodGet, searchPath + "?query=key", "x=1", signed(key, "x=1", now)}),
		"chat":                                 s.post(t, chatPath, `{"message":"key"}`, signed(key, `{"message":"key"}`, now)...),
	}
	for what, a := range accepted {
		if a.status != 200 {
			t.Errorf("%s: %s: %d %s", name, what, a.status, a.body)
		}
	}
	with := func(timestamp, signature string) []string {
		return []string{"X-Service-Key", key, "X-Service-Timestamp", timestamp, "X-Service-Signature", signature}
	}
	for what, a := range map[string]answer{
		"another order of fields":      s.search(t, reordered, signed(key, `{"query":"signing key","limit":5}`, now)...),
		"a space more":                 s.search(t, query+" ", good...),
		"another key":                  s.search(t, query, append(signed(s.open.Publishable, query, now)[2:], "X-Service-Key", key)...),
		"seconds":                      s.search(t, query, signedAs(key, strconv.FormatInt(now.Unix(), 10), query)...),
		"microseconds":                 s.search(t, query, signedAs(key, strconv.FormatInt(now.UnixMicro(), 10), query)...),
		"an ISO time":                  s.search(t, query, signedAs(key, now.UTC().Format(time.RFC3339), query)...),
		"a leading zero":               s.search(t, query, signedAs(key, "0"+good[3], query)...),
		"a plus":                       s.search(t, query, signedAs(key, "+"+good[3], query)...),
		"a fraction":                   s.search(t, query, signedAs(key, good[3]+".0", query)...),
		"negative":                     s.search(t, query, signedAs(key, "-"+good[3], query)...),
		"a number beyond 64 bits":      s.search(t, query, signedAs(key, "99999999999999999999999", query)...),
		"the timestamp alone":          s.search(t, query, "X-Service-Key", key, "X-Service-Timestamp", good[3]),
		"the signature alone":          s.search(t, query, "X-Service-Key", key, "X-Service-Signature", good[5]),
		"both empty":                   s.search(t, query, with("", "")...),
		"an empty signature":           s.search(t, query, with(good[3], "")...),
		"the timestamp twice":          s.search(t, query, append(with(good[3], good[5]), "X-Service-Timestamp", good[3])...),
		"the signature twice":          s.search(t, query, append(with(good[3], good[5]), "X-Service-Signature", good[5])...),
		"cut short":                    s.search(t, query, with(good[3], good[5][:62])...),
		"too long":                     s.search(t, query, with(good[3], good[5]+"00")...),
		"an odd length":                s.search(t, query, with(good[3], good[5][:63])...),
		"no hex":                       s.search(t, query, with(good[3], strings.Repeat("z", 64))...),
		"zeros":                        s.search(t, query, with(good[3], strings.Repeat("0", 64))...),
		"with a scheme":                s.search(t, query, with(good[3], "sha256="+good[5])...),
		"of another time":              s.search(t, query, with(strconv.FormatInt(now.UnixMilli()+1, 10), good[5])...),
		"GET, the query string signed": s.get(t, "query=key", signed(key, "query=key", now)...),
		"POST, nothing signed":         s.search(t, query, signed(key, "", now)...),
		"chat":                         s.post(t, chatPath, `{"message":"key"}`, good...),
	} {
		refused(t, name+": "+what, a, 401, "invalid_signature", "Invalid request signature")
	}
}

// eventually calls until done; what it polls for happens by itself.
func eventually(t testing.TB, poll func() (answer, bool)) answer {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if a, done := poll(); done {
			return a
		}
	}
	t.Fatal("it did not happen within a minute")
	return answer{}
}
