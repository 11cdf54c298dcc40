package conformance_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/rest"
)

func limitCases() map[string]check {
	return map[string]check{
		"8 limit": func(t *testing.T, s *site) {
			if r := found(t, "default", s.search(t, `{"query":"lighthouse"}`)); r.Data.Limit != 10 {
				t.Errorf("the default is %d", r.Data.Limit)
			}
			found(t, "100", s.search(t, `{"query":"lighthouse","limit":100}`))
			invalid(t, "101", s.search(t, `{"query":"lighthouse","limit":101}`), "limit")
			invalid(t, "0", s.search(t, `{"query":"lighthouse","limit":0}`), "limit")
		},
		"8 min_score": func(t *testing.T, s *site) {
			found(t, "0", s.search(t, `{"query":"lighthouse","min_score":0}`))
			found(t, "1", s.search(t, `{"query":"lighthouse","min_score":1}`))
			invalid(t, "under", s.search(t, `{"query":"lighthouse","min_score":-0.01}`), "min_score")
			invalid(t, "over", s.search(t, `{"query":"lighthouse","min_score":1.01}`), "min_score")
		},
		"8 publishable keys are limited per IP": func(t *testing.T, s *site) {
			k := s.key(t, map[string]any{"rateLimitPerMinute": 2})
			behind := proxied(t, s)
			from := func(at *site, hops ...string) answer {
				headers := []string{"X-Service-Key", k.Publishable, "Origin", origin}
				for _, hop := range hops {
					headers = append(headers, "X-Forwarded-For", hop)
				}
				return at.search(t, query, headers...)
			}
			for _, hops := range [][]string{{"203.0.113.1"}, {"8.8.8.8, 203.0.113.1"}} { // what a client claims itself is passed over
				found(t, hops[0], from(behind, hops...))
			}
			refused(t, "the third", from(behind, "1.1.1.1", "203.0.113.1"), 429, "rate_limited", "Rate limit exceeded")
			found(t, "another address", from(behind, "203.0.113.2"))
			found(t, "IPv6", from(behind, "2001:db8::1"))
			found(t, "IPv6, the same network", from(behind, "[2001:db8::ffff]:80"))
			refused(t, "IPv6, the same network again", from(behind, "2001:db8:0:0:1::"), 429, "rate_limited", "")
			found(t, "IPv6, another network", from(behind, "2001:db8:0:1::1"))
			// Without a proxy that is trusted the header is a claim.
			found(t, "first", from(s, "203.0.113.7"))
			found(t, "second", from(s, "203.0.113.8"))
			refused(t, "third, whatever it claims", from(s, "203.0.113.9"), 429, "rate_limited", "Rate limit exceeded")
			other := s.key(t, map[string]any{"rateLimitPerMinute": 2})
			found(t, "another key from there", s.search(t, query, "X-Service-Key", other.Publishable, "Origin", origin))
			found(t, "the secret key of the pair counts for itself", s.search(t, query, "X-Service-Key", k.Secret))
		},
		"8 secret keys are not limited per IP": func(t *testing.T, s *site) {
			k := s.key(t, map[string]any{"rateLimitPerMinute": 3})
			behind := proxied(t, s)
			for i := range 3 {
				a := behind.search(t, query, "X-Service-Key", k.Secret, "X-Forwarded-For", "203.0.113."+strconv.Itoa(i))
				found(t, "secret", a)
				if got := a.header.Get("X-RateLimit-Remaining"); got != strconv.Itoa(2-i) {
					t.Errorf("remaining after %d: %s", i+1, got)
				}
			}
			refused(t, "from a fourth address", behind.search(t, query, "X-Service-Key", k.Secret, "X-Forwarded-For", "203.0.113.9"), 429, "rate_limited", "Rate limit exceeded")
		},
		"8 headers of a 429": func(t *testing.T, s *site) {
			k := s.key(t, map[string]any{"rateLimitPerMinute": 20}) // one comes back every three seconds
			for i := range 20 {
				began := time.Now()
				a := s.search(t, query, "X-Service-Key", k.Secret)
				found(t, "within the limit", a)
				left, reset := number(t, a, "X-RateLimit-Remaining"), time.Unix(int64(number(t, a, "X-RateLimit-Reset")), 0)
				if number(t, a, "X-RateLimit-Limit") != 20 || left < 19-i || left > 20 || reset.Before(began.Truncate(time.Second)) || reset.After(time.Now().Add(62*time.Second)) {
					t.Errorf("request %d: %v", i, a.header)
				}
			}
			var last answer
			for range 20 { // those that came back meanwhile
				if last = s.search(t, query, "X-Service-Key", k.Secret); last.status == 429 {
					break
				}
			}
			refused(t, "used up", last, 429, "rate_limited", "Rate limit exceeded")
			wait := number(t, last, "Retry-After")
			if wait < 1 || wait > 60 || number(t, last, "X-RateLimit-Limit") != 20 || number(t, last, "X-RateLimit-Remaining") != 0 {
				t.Errorf("%v", last.header)
			}
			must(t, testkit.Delay(t.Context(), time.Duration(wait)*time.Second))
			found(t, "after Retry-After", s.search(t, query, "X-Service-Key", k.Secret))
		},
		"design rate limits": func(t *testing.T, _ *site) {
			s := start(t, map[string]string{"SECRET_RATE_LIMIT": "600", "PUBLISHABLE_RATE_LIMIT": "60"})
			k := s.key(t, nil)
			if a := s.search(t, query, "X-Service-Key", k.Publishable, "Origin", origin); number(t, a, "X-RateLimit-Limit") != 60 {
				t.Errorf("publishable: %v", a.header)
			}
			if a := s.search(t, query, "X-Service-Key", k.Secret); number(t, a, "X-RateLimit-Limit") != 600 {
				t.Errorf("secret: %v", a.header)
			}
			free := s.key(t, map[string]any{"rateLimitPerMinute": 0})
			for range 70 {
				if a := s.search(t, query, "X-Service-Key", free.Publishable, "Origin", origin); a.status != 200 || number(t, a, "X-RateLimit-Remaining") < 1000 {
					t.Fatalf("a key without a limit: %d %v", a.status, a.header)
				}
			}
			// A refused request counts for nobody, and its headers tell how the key stands.
			a := s.search(t, query, "X-Service-Key", k.Publishable, "Origin", "https://evil.example")
			if left := number(t, a, "X-RateLimit-Remaining"); a.status != 403 || left < 59 {
				t.Errorf("after a refusal: %d %v", a.status, a.header)
			}
			if a = s.search(t, `{`, "X-Service-Key", k.Publishable, "Origin", origin); a.status != 400 || number(t, a, "X-RateLimit-Remaining") > 59 {
				t.Errorf("a bad body counts: %d %v", a.status, a.header)
			}
		},
	}
}

// proxied is the site behind proxies of the loopback network.
func proxied(t *testing.T, s *site) *site {
	t.Helper()
	return s.with(t, func(o *rest.Options) { o.TrustedProxies = loopback() })
}

func number(t testing.TB, a answer, header string) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get(header))
	if err != nil {
		t.Errorf("%s is %q", header, a.header.Get(header))
	}
	return n
}

// A hundred at once: not one more passes than the limit allows.
// patient is the site behind a server of its own that waits for Redis however slow
// the machine is; others would count by themselves for a moment.
func (s *site) patient(t *testing.T) *site {
	t.Helper()
	return s.with(t, func(o *rest.Options) {
		o.Limiter = ratelimit.New(ratelimit.Options{Redis: s.app.Redis, Timeout: time.Minute})
	})
}

func TestTheLimitIsExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	servers := [2]*site{s.patient(t), s.patient(t)} // one Redis
	k := s.key(t, map[string]any{"rateLimitPerMinute": 7})
	began := time.Now()
	var wait sync.WaitGroup
	statuses := make(chan int, 100)
	for i := range 100 {
		at := servers[i%2]
		wait.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.url+searchPath+"?query=q", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("X-Service-Key", k.Secret)
			response, err := at.client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
			statuses <- response.StatusCode
		})
	}
	wait.Wait()
	close(statuses)
	counts := map[int]int{}
	for status := range statuses {
		counts[status]++
	}
	back := int(time.Since(began) / (time.Minute / 7)) // that came back while they ran
	if counts[200] < 7 || counts[200] > 7+back || counts[200]+counts[429] != 100 {
		t.Errorf("%v of 100 at 7 a minute, %d came back", counts, back)
	}
}

// A full burst, and another as soon as the next fixed window would begin, is
// caught: what passes in any stretch of time is a burst and what came back in it.
func TestABurstOverAMinutesBoundaryIsCaught(t *testing.T) {
	t.Parallel()
	s := start(t, nil).patient(t)
	k := s.key(t, map[string]any{"rateLimitPerMinute": 30})
	began, passed := time.Now(), 0
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	// Until the second in which a window of ten seconds, as of a minute, would turn.
	for turn := began.Truncate(10 * time.Second).Add(11 * time.Second); time.Now().Before(turn); <-tick.C {
		if a := s.get(t, "query=q", "X-Service-Key", k.Secret); a.status == 200 {
			passed++
		}
	}
	if most := 30 + int(time.Since(began)/(2*time.Second)) + 1; passed < 30 || passed > most {
		t.Errorf("%d passed in %v, at most %d may", passed, time.Since(began), most)
	}
}
