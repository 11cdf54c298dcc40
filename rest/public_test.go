package rest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
)

// refusal is an error response.
type refusal struct {
	status        int
	code, message string
}

func refusalOf(t testing.TB, answer *httptest.ResponseRecorder) refusal {
	t.Helper()
	var body struct {
		Error struct{ Code, Message string } `json:"error"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatalf("the error %q is no JSON: %v", answer.Body, err)
	}
	return refusal{answer.Code, body.Error.Code, body.Error.Message}
}

// sign returns the signature headers of a body.
func sign(secret, body string, at time.Time) []string {
	timestamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, timestamp+"."+body)
	return []string{"X-Service-Timestamp", timestamp, "X-Service-Signature", hex.EncodeToString(mac.Sum(nil))}
}

const searchBody = `{"query": "queues"}`

func search(headers ...string) *http.Request {
	return request(http.MethodPost, "/v1/docs/search", searchBody, headers...)
}

func TestPublicErrors(t *testing.T) {
	t.Parallel()
	page := []string{"X-Service-Key", publishableKey}
	for name, c := range map[string]struct {
		request *http.Request
		want    refusal
	}{
		"no key":      {search(), refusal{401, "unauthorized", "API key required"}},
		"empty key":   {search("X-Service-Key", ""), refusal{401, "unauthorized", "API key required"}},
		"session":     {search("Authorization", "Bearer session"), refusal{401, "unauthorized", "API key required"}},
		"unknown key": {search("X-Service-Key", "svc_sk_other"), refusal{401, "invalid_key", "Invalid API key"}},
		"expired key": {search("X-Service-Key", "svc_sk_expired"), refusal{401, "key_expired", "API key has expired"}},
		"bad signature": {search("X-Service-Key", secretKey, "X-Service-Timestamp", "1", "X-Service-Signature", "00"),
			refusal{401, "invalid_signature", "Invalid request signature"}},
		"no signature": {search("X-Service-Key", signedKey), refusal{401, "invalid_signature", "Invalid request signature"}},
		"collection": {request(http.MethodGet, "/v1/docs/search?query=q&collection="+otherID, "", "X-Service-Key", secretKey),
			refusal{403, "forbidden", "Collection access denied"}},
		"other host":     {search(append(page, "Origin", "https://evil.example.org")...), refusal{403, "forbidden", "Host not allowed"}},
		"no host":        {search(page...), refusal{403, "forbidden", "Host not allowed"}},
		"unknown page":   {request(http.MethodGet, "/v1/other", "", "X-Service-Key", secretKey), refusal{404, "not_found", "Page not found"}},
		"dashboard page": {request(http.MethodGet, "/v1/collections", "", "X-Service-Key", secretKey), refusal{404, "not_found", "Page not found"}},
		"other method":   {request(http.MethodDelete, "/v1/docs/search", ""), refusal{405, "method_not_allowed", "Method not allowed; this path allows GET, HEAD, POST"}},
		"database away":  {search("X-Service-Key", "svc_sk_broken"), refusal{500, "internal", "Something went wrong on our side; the log has the details under this request's id."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := newFixture(t).send(c.request)
			if got := refusalOf(t, answer); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			for _, header := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				if answer.Header().Get(header) == "" {
					t.Errorf("the answer has no %s", header)
				}
			}
		})
	}
}

func TestTheDashboardRequiresASession(t *testing.T) {
	t.Parallel()
	want := refusal{401, "unauthorized", "Session required"}
	for name, headers := range map[string][]string{
		"none":       nil,
		"API key":    {"X-Service-Key", secretKey},
		"basic":      {"Authorization", "Basic session"},
		"empty":      {"Authorization", "Bearer "},
		"no scheme":  {"Authorization", "session"},
		"wrong":      {"Authorization", "Bearer other"},
		"in the key": {"X-Service-Key", "session"},
	} {
		if got := refusalOf(t, newFixture(t).send(request(http.MethodGet, "/api/v1/collections", "", headers...))); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	h := newFixture(t)
	if answer := h.send(request(http.MethodGet, "/api/v1/collections", "", "Authorization", "bearer session")); answer.Code != 200 {
		t.Errorf("a lower case scheme is answered %d", answer.Code)
	}
	if v := h.viewers[0]; v.Surface != viewer.SurfaceDashboard || v.Kind != viewer.KindSession {
		t.Errorf("the resolver saw %+v", v)
	}
	if got := refusalOf(t, h.send(request(http.MethodGet, "/api/v1/collections", "", "Authorization", "Bearer broken"))); got.status != 500 {
		t.Errorf("without a database: %+v", got)
	}
}

// Each request violates all checks from one on. The first of them must answer.
func TestChecksRunInOrder(t *testing.T) {
	t.Parallel()
	over := strings.Repeat("x", 101)
	h := newFixture(t, func(o *rest.Options) {
		o.Limits.Body, o.Limits.Secret, o.Limits.Publishable = 100, 1, 1
	})
	origin := []string{"Origin", "https://docs.example.com"}
	with := func(body string, headers ...string) *http.Request {
		return request(http.MethodPost, "/v1/docs/search", body, append(headers, "Content-Type", "text/plain")...)
	}
	signed := func(secret, body string) []string { return append(sign(secret, body, now()), "X-Service-Key", secret) }
	unreachable, spent := `{"query":"quota","collection":"`+otherID+`"}`, `{"query":"quota"}`
	for _, c := range []struct {
		what    string
		request *http.Request
		want    refusal
	}{
		{"size before key", with(over), refusal{413, "too_large", "The request body may have at most 100 bytes"}},
		{"key before signature", with("{", "X-Service-Key", "no", "X-Service-Signature", "no"), refusal{401, "invalid_key", "Invalid API key"}},
		{"quota last", request(http.MethodPost, "/v1/docs/search", spent, signed(signedKey, spent)...), refusal{402, "quota_exceeded", "Query limit exceeded"}},
		{"signature before rate", with("{", "X-Service-Key", signedKey), refusal{401, "invalid_signature", "Invalid request signature"}},
		{"rate before type", with("{", signed(signedKey, "{")...), refusal{429, "rate_limited", "Rate limit exceeded"}},
		{"type before body", with("{", append(origin, "X-Service-Key", publishableKey)...), refusal{415, "unsupported_media_type", "send the body as Content-Type: application/json"}},
		{"host before rate", with("{", "X-Service-Key", publishableKey), refusal{403, "forbidden", "Host not allowed"}},
		{"body before collection", request(http.MethodPost, "/v1/docs/search", `{"limit":0,`+unreachable[1:], "X-Service-Key", freeKey), refusal{400, "invalid_request", "limit: must be between 1 and 100"}},
		{"collection before quota", request(http.MethodPost, "/v1/docs/search", unreachable, "X-Service-Key", freeKey), refusal{403, "forbidden", "Collection access denied"}},
	} {
		if got := refusalOf(t, h.send(c.request)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.what, got, c.want)
		}
	}
	if len(h.calls) != 1 {
		t.Errorf("resolver calls: %v, want only that of the last request", h.calls)
	}
}

// leaks records the reported keys.
type leaks struct{ reports []string }

func (l *leaks) ReportLeak(_ context.Context, key authn.Key, origin string) {
	l.reports = append(l.reports, fmt.Sprint(key.ID == uuid.NewSHA1(uuid.Nil, []byte(secretKey)), " ", origin))
}

func TestASecretKeyInABrowserIsAcceptedAndReported(t *testing.T) {
	t.Parallel()
	l := &leaks{}
	h := newFixture(t, func(o *rest.Options) { o.Leaks = l })
	for _, r := range []*http.Request{
		search("X-Service-Key", secretKey),
		search("X-Service-Key", secretKey, "Origin", ""),
		search("X-Service-Key", secretKey, "Referer", "https://docs.example.com/"),
		search("X-Service-Key", publishableKey, "Origin", "https://docs.example.com"),
	} {
		if answer := h.send(r); answer.Code != 200 || len(l.reports) != 0 {
			t.Errorf("%v: %d, %v", r.Header, answer.Code, l.reports)
		}
	}
	if h.send(search("X-Service-Key", "svc_sk_other", "Origin", "https://docs.example.com")); len(l.reports) != 0 {
		t.Errorf("an invalid key was reported: %v", l.reports)
	}
	if answer := h.send(search("X-Service-Key", secretKey, "Origin", "https://docs.example.com")); answer.Code != 200 {
		t.Errorf("status %d", answer.Code)
	}
	if answer := h.send(search("X-Service-Key", secretKey, "Origin", "null", "X-Service-Signature", "00")); answer.Code != 401 {
		t.Errorf("with a wrong signature it is answered %d", answer.Code)
	}
	if got := strings.Join(l.reports, ", "); got != "true https://docs.example.com, true null" {
		t.Errorf("reported: %s", got)
	}
}

func TestTheLimitOfAKeyOverridesTheDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own  *int
		want []int
	}{"none of its own": {nil, []int{200, 200, 429}}, "one": {new(1), []int{200, 429, 429}}, "no limit": {new(0), []int{200, 200, 200}}} {
		for _, publishable := range []bool{true, false} {
			h := newFixture(t, func(o *rest.Options) {
				o.Limits.Publishable, o.Limits.Secret = 2, 2
				o.Keys = limited{own: c.own, publishable: publishable}
			})
			for i, want := range c.want {
				if got := h.send(search("X-Service-Key", "any", "Origin", "https://docs.example.com")).Code; got != want {
					t.Errorf("%s, publishable %v: request %d is answered %d", name, publishable, i+1, got)
				}
			}
			other := search("X-Service-Key", "any", "Origin", "https://docs.example.com")
			other.RemoteAddr = "198.51.100.77:1"
			want := 429
			if publishable || c.want[2] == 200 {
				want = 200 // each address has a separate limit
			}
			if got := h.send(other).Code; got != want {
				t.Errorf("%s, publishable %v: another address is answered %d", name, publishable, got)
			}
		}
	}
}

func TestEventsOfVisitorsHaveARateLimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(o *rest.Options) { o.Limits.Publishable = 2 })
	tell := func(remote, origin string) *httptest.ResponseRecorder {
		r := request(http.MethodPost, "/v1/docs/events", `{"type":"click","request_id":"`+visitID+`","result_id":"`+messageID+`","position":1}`,
			"X-Service-Key", publishableKey, "Origin", origin)
		r.RemoteAddr = remote
		return h.send(r)
	}
	for _, c := range []struct {
		remote, origin string
		want           int
	}{
		{"192.0.2.1:1000", "https://evil.example.com", 403}, {"192.0.2.1:1000", "https://docs.example.com", 202}, {"192.0.2.1:1001", "https://docs.example.com", 202},
		{"192.0.2.1:1002", "https://docs.example.com", 429}, {"192.0.2.2:1000", "https://docs.example.com", 202},
	} {
		if got := tell(c.remote, c.origin); got.Code != c.want || (got.Header().Get("Retry-After") == "30") != (c.want == 429) {
			t.Errorf("%+v: %d, Retry-After %q: %s", c, got.Code, got.Header().Get("Retry-After"), got.Body)
		}
	}
	if calls := len(h.calls); calls != 3 {
		t.Errorf("%d events are recorded, want 3", calls)
	}
	page := search("X-Service-Key", publishableKey, "Origin", "https://docs.example.com")
	page.RemoteAddr = "192.0.2.1:1003"
	if got := h.send(page); got.Code != 200 || got.Header().Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("a search after the events: %d, %s remain", got.Code, got.Header().Get("X-RateLimit-Remaining"))
	}
}

// limited is a KeyAuthenticator with one key that has a rate limit.
type limited struct {
	own         *int
	publishable bool
}

func (l limited) Authenticate(context.Context, string) (authn.Key, error) {
	key, err := keys{}.Authenticate(context.Background(), secretKey)
	key.RatePerMinute, key.Publishable, key.Hosts = l.own, l.publishable, []string{"*"}
	return key, err
}

func TestASignatureCoversTheExactBody(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	status := func(r *http.Request) int { return h.send(r).Code }
	headers := append(sign(secretKey, searchBody, now()), "X-Service-Key", secretKey)
	if got := status(search(headers...)); got != 200 {
		t.Errorf("a signed request is answered %d", got)
	}
	if got := status(request(http.MethodPost, "/v1/docs/search", `{"query":"queues"}`, headers...)); got != 401 {
		t.Errorf("the same JSON in other bytes is answered %d", got)
	}
	for skew, want := range map[time.Duration]int{-5 * time.Minute: 200, 5 * time.Minute: 200, -5*time.Minute - time.Millisecond: 401, 5*time.Minute + time.Millisecond: 401} {
		if got := status(search(append(sign(secretKey, searchBody, now().Add(skew)), "X-Service-Key", secretKey)...)); got != want {
			t.Errorf("signed %v off: %d", skew, got)
		}
	}
	half := sign(secretKey, searchBody, now())
	if got := status(search(append(half[:2:2], "X-Service-Key", secretKey)...)); got != 401 {
		t.Errorf("a timestamp alone is answered %d", got)
	}
	if got := status(search(append(half[2:], "X-Service-Key", secretKey)...)); got != 401 {
		t.Errorf("a signature alone is answered %d", got)
	}
	twice := search(headers...)
	twice.Header.Add("X-Service-Signature", headers[3])
	if got := status(twice); got != 401 {
		t.Errorf("two signatures are answered %d", got)
	}
	get := request(http.MethodGet, "/v1/docs/search?query=q", "", append(sign(signedKey, "", now()), "X-Service-Key", signedKey)...)
	if got := status(get); got != 200 {
		t.Errorf("a signed GET is answered %d", got)
	}
	page := search("X-Service-Key", publishableKey, "Origin", "https://docs.example.com", "X-Service-Signature", "no")
	if got := status(page); got != 200 {
		t.Errorf("a publishable key's signature counts: %d", got)
	}
}

func TestARequiredSignatureIsValidOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	try := func(h *fixture, want int, what, key string, at time.Time, change func([]string)) {
		t.Helper()
		headers := append(sign(key, searchBody, at), "X-Service-Key", key)
		if change != nil {
			change(headers)
		}
		answer := h.send(search(headers...))
		if answer.Code != want {
			t.Errorf("%s: %d %s", what, answer.Code, answer.Body)
		}
		if want == 401 {
			if got := refusalOf(t, answer); got.code != "invalid_signature" || got.message != "Invalid request signature" {
				t.Errorf("%s: %+v", what, got)
			}
			if answer.Header().Get("X-RateLimit-Remaining") == "" {
				t.Errorf("%s: no rate headers", what)
			}
		}
	}
	upper := func(headers []string) { headers[3] = strings.ToUpper(headers[3]) }
	try(h, 200, "the first time", signedKey, now(), nil)
	try(h, 401, "again", signedKey, now(), nil)
	try(h, 401, "again in other letters", signedKey, now(), upper)
	try(h, 200, "the next millisecond", signedKey, now().Add(time.Millisecond), nil)
	try(h, 200, "a key that asks for none", secretKey, now(), nil)
	try(h, 200, "that key again", secretKey, now(), nil)
	get := func(query string) int {
		return h.send(request(http.MethodGet, "/v1/docs/search?query="+query, "", append(sign(signedKey, "", now()), "X-Service-Key", signedKey)...)).Code
	}
	if first, other := get("a"), get("b"); first != 200 || other != 401 {
		t.Errorf("a GET is answered %d, another one with its signature %d", first, other)
	}

	slow := newFixture(t, func(o *rest.Options) { o.Limits.Secret = 1 })
	try(slow, 200, "within the rate", signedKey, now(), nil)
	for range 2 {
		try(slow, 429, "over the rate, as often as it is tried", signedKey, now().Add(time.Second), nil)
	}

	lax := newFixture(t, func(o *rest.Options) { o.AllowReplays = true })
	for range 2 {
		try(lax, 200, "where it is allowed", signedKey, now(), nil)
	}
}

func TestResolversSeeTheScopeOfTheKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, key := range []string{secretKey, everywhereKey} {
		h.send(request(http.MethodGet, "/v1/docs/search?query=q&collection="+collectionID, "", "X-Service-Key", key))
	}
	h.send(request(http.MethodGet, "/v1/docs/search?query=q&collection="+otherID, "", "X-Service-Key", everywhereKey))
	if len(h.viewers) != 3 || h.viewers[0].AllCollections || !h.viewers[2].AllCollections || h.viewers[0].Surface != viewer.SurfacePublic || !h.viewers[0].Secret {
		t.Errorf("the resolvers saw %+v", h.viewers)
	}
}

// trusting configures a network of trusted proxies.
func trusting(o *rest.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
}

func TestRateLimitsApplyToKeysAndAddresses(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(o *rest.Options) {
		o.Limits.Publishable, o.Limits.Secret = 2, 3
		trusting(o)
	})
	ask := func(key, remote, forwarded string) *httptest.ResponseRecorder {
		r := search("X-Service-Key", key, "Origin", "https://docs.example.com")
		r.RemoteAddr = remote
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		return h.send(r)
	}
	expect := func(what string, answer *httptest.ResponseRecorder, status int, remaining string) {
		t.Helper()
		if got := answer.Header().Get("X-RateLimit-Remaining"); answer.Code != status || got != remaining {
			t.Errorf("%s: %d with %s remaining, want %d with %s", what, answer.Code, got, status, remaining)
		}
	}
	expect("first", ask(publishableKey, "192.0.2.1:1000", ""), 200, "1")
	expect("a claimed address", ask(publishableKey, "192.0.2.1:1001", "198.51.100.9"), 200, "0")
	refused := ask(publishableKey, "192.0.2.1:1002", "")
	expect("over the limit", refused, 429, "0")
	if got := refused.Header().Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After = %q, want the half minute until the next request", got)
	}
	if got, want := refused.Header().Get("X-RateLimit-Reset"), strconv.FormatInt(now().Add(time.Minute).Unix(), 10); got != want {
		t.Errorf("X-RateLimit-Reset = %s, want %s", got, want)
	}
	expect("another address", ask(publishableKey, "192.0.2.2:1000", ""), 200, "1")
	expect("behind a proxy", ask(publishableKey, "10.0.0.1:1000", "203.0.113.5"), 200, "1")
	expect("the same with a forged hop", ask(publishableKey, "10.0.0.2:1000", "8.8.8.8, 203.0.113.5, 10.1.1.1"), 200, "0")
	expect("IPv6", ask(publishableKey, "[2001:db8::1]:1000", ""), 200, "1")
	expect("IPv6, same network", ask(publishableKey, "[2001:db8::ffff]:1000", ""), 200, "0")
	expect("secret", ask(secretKey, "192.0.2.1:1000", ""), 200, "2")
	expect("secret from elsewhere", ask(secretKey, "192.0.2.2:1000", ""), 200, "1")
	expect("no limit", ask(freeKey, "192.0.2.2:1000", ""), 200, "2147483647")
	expect("a call that is refused earlier", h.send(search("X-Service-Key", signedKey)), 401, "3")
	expect("and does not count", h.send(search(append(sign(signedKey, searchBody, now()), "X-Service-Key", signedKey)...)), 200, "2")
}

func TestInternalErrorsAreLoggedWithTheRequestIDAndHidden(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := newFixture(t, func(o *rest.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	answer := h.send(request(http.MethodGet, "/v1/docs/search?query=fault", "", "X-Service-Key", secretKey, "X-Request-Id", "mine-1"))
	if got := answer.Header().Get("X-Request-Id"); got != "mine-1" {
		t.Errorf("the request id became %q", got)
	}
	if strings.Contains(answer.Body.String(), "passages") {
		t.Errorf("the response has the cause: %s", answer.Body)
	}
	line := log.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, "request_id=mine-1") || !strings.Contains(line, "route=/v1/docs/search") || !strings.Contains(line, "passages") {
		t.Errorf("the log says %q", line)
	}
	log.Reset()
	h.send(request(http.MethodGet, "/v1/docs/search?query=quota", "", "X-Service-Key", secretKey))
	if log.Len() > 0 {
		t.Errorf("a client error is logged: %s", &log)
	}
}

func TestOnlySafeRequestIDsAreKept(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, id := range []string{"", "a b", strings.Repeat("x", 129), "<script>", "a\x00"} {
		r := request(http.MethodGet, "/api/v1/nothing", "")
		r.Header["X-Request-Id"] = []string{id}
		if got := h.send(r).Header().Get("X-Request-Id"); got == "" || got == id {
			t.Errorf("%q became %q", id, got)
		}
	}
}

func TestSearchesWhileTypingHaveARateLimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(o *rest.Options) { o.Limits.Publishable = 60 })
	send := func(r *http.Request) *httptest.ResponseRecorder {
		r.Header.Set("X-Service-Key", publishableKey)
		r.Header.Set("Origin", "https://docs.example.com")
		return h.send(r)
	}
	// An office of 50 behind one address: each types a query of 20 letters in a minute and
	// searches for it.
	for person := range 50 {
		for letter := range 20 {
			r := request(http.MethodPost, "/v1/docs/search", `{"query":"q","prefix":true}`)
			switch letter % 3 {
			case 1:
				r = request(http.MethodGet, "/v1/docs/search?query=q&prefix=true", "")
			case 2:
				r = request(http.MethodGet, "/v1/docs/suggest?q=q", "")
			}
			if answer := send(r); answer.Code != 200 || answer.Header().Get("X-RateLimit-Limit") != "1200" {
				t.Fatalf("letter %d of person %d is answered %d with the limit %s", letter, person, answer.Code, answer.Header().Get("X-RateLimit-Limit"))
			}
		}
		if answer := send(search()); answer.Code != 200 || answer.Header().Get("X-RateLimit-Remaining") != strconv.Itoa(59-person) {
			t.Fatalf("the search of person %d is answered %d, %s remain", person, answer.Code, answer.Header().Get("X-RateLimit-Remaining"))
		}
	}
	refused := 0
	for range 300 {
		if send(request(http.MethodGet, "/v1/docs/suggest?q=q", "")).Code == 429 {
			refused++
		}
	}
	if refused != 100 {
		t.Errorf("%d of 300 further ones are refused, want 100", refused)
	}
	// What is not a search while typing counts as an ordinary request.
	for _, r := range []*http.Request{
		request(http.MethodPost, "/v1/docs/search", `{"query":"prefix","prefix":false}`), request(http.MethodPost, "/v1/docs/search", `{"query":"q","prefix":true,"prefix":false}`),
		request(http.MethodPost, "/v1/docs/search", `{"query":"q","prefix":null}`), request(http.MethodGet, "/v1/docs/search?query=q&prefix=false", ""),
		request(http.MethodGet, "/v1/docs/search?query=q&prefix=true&prefix=true", ""), request(http.MethodPost, "/v1/docs/search", `{"query":"q","prefix":1}`),
		request(http.MethodPost, "/v1/docs/search?prefix=true", `{"query":"q"}`),
	} {
		if got := send(r).Header().Get("X-RateLimit-Limit"); got != "60" {
			t.Errorf("%s counts to the limit %s", r.URL, got)
		}
	}
}
