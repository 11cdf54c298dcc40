package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/rest"
)

// order sends requests that break every rule from one check on; the first of
// them answers. Each line breaks one rule less.
func order(t *testing.T, s *site) {
	small := spent(t, s, func(o *rest.Options) { o.Limits.Body = 300 })
	s = small
	soon := time.Now().Add(time.Second)
	expired := s.key(t, map[string]any{"expiresAt": soon.Format(time.RFC3339Nano), "requireSignature": true, "rateLimitPerMinute": 1})
	eventually(t, func() (answer, bool) { return answer{}, time.Now().After(soon.Add(time.Millisecond)) })
	strict := s.key(t, map[string]any{"requireSignature": true, "rateLimitPerMinute": 1})
	hosted := s.key(t, map[string]any{"rateLimitPerMinute": 1})
	calm := s.key(t, map[string]any{"rateLimitPerMinute": 0})
	for _, path := range []string{searchPath, chatPath} {
		elsewhere := `"collection":"` + s.notes.id + `"}`
		invalidBody := `{"query":"","message":"",` + elsewhere
		post := func(body, kind, key string, headers ...string) answer {
			t.Helper()
			return small.post(t, path, body, append([]string{"X-Service-Key", key, "Content-Type", kind}, headers...)...)
		}
		fine := `{"query":"q","message":"q"}`
		// Use the one request of these keys up; what it asks is beside the point.
		post(fine, "application/json", strict.Secret, signed(strict.Secret, fine, time.Now())[2:]...)
		post(fine, "application/json", hosted.Publishable, "Origin", origin)
		big := strings.Repeat("x", 400)
		for _, c := range []struct {
			what, code string
			status     int
			a          answer
		}{
			{"size before key", "too_large", 413, post(big, "text/plain", "no")},
			{"size before no key", "too_large", 413, post(big, "text/plain", "")},
			{"no key before all else", "unauthorized", 401, post("{", "text/plain", "", "X-Service-Signature", "no", "Origin", "null")},
			{"key before signature", "invalid_key", 401, post("{", "text/plain", "svc_sk_no", "X-Service-Signature", "no")},
			{"expiry before signature", "key_expired", 401, post("{", "text/plain", expired.Secret, "X-Service-Signature", "no")},
			{"expiry before host", "key_expired", 401, post("{", "text/plain", expired.Publishable, "Origin", "https://evil.com")},
			{"signature before rate", "invalid_signature", 401, post("{", "text/plain", strict.Secret)},
			{"host before rate", "forbidden", 403, post("{", "text/plain", hosted.Publishable, "Origin", "https://evil.com")},
			{"rate before type, secret", "rate_limited", 429, post("{", "text/plain", strict.Secret, signed(strict.Secret, "{", time.Now())[2:]...)},
			{"rate before type, publishable", "rate_limited", 429, post("{", "text/plain", hosted.Publishable, "Origin", origin)},
			{"type before body", "unsupported_media_type", 415, post("{", "text/plain", calm.Secret)},
			{"body before collection", "invalid_request", 400, post(invalidBody, "application/json", calm.Secret)},
			{"collection before quota", "forbidden", 403, post(`{"query":"q","message":"q",`+elsewhere, "application/json", calm.Secret)},
			{"quota last", "quota_exceeded", 402, post(fine, "application/json", calm.Secret)},
		} {
			refused(t, path+": "+c.what, c.a, c.status, c.code, "")
		}
	}
	refused(t, "a path that is not there needs no key", small.do(t, call{"POST", "/v1/nothing", strings.Repeat("x", 400), nil}), 404, "not_found", "Page not found")
	refused(t, "another method", small.do(t, call{"PUT", searchPath, strings.Repeat("x", 400), nil}), 405, "method_not_allowed", "")
	get := func(query, key string, headers ...string) answer {
		return small.get(t, query, append([]string{"X-Service-Key", key}, headers...)...)
	}
	refused(t, "GET: key before parameters", get("limit=0", "no"), 401, "invalid_key", "")
	refused(t, "GET: parameters before collection", get("query=q&limit=0&collection="+s.notes.id, calm.Secret), 400, "invalid_request", "")
	refused(t, "GET: collection before quota", get("query=q&collection="+s.notes.id, calm.Secret), 403, "forbidden", "")
	refused(t, "GET: quota last", get("query=q", calm.Secret), 402, "quota_exceeded", "")
	refused(t, "a body over the limit by GET", small.do(t, call{"GET", searchPath + "?query=q", strings.Repeat("x", 400), s.keyed(nil)}), 413, "too_large", "")
}
