package rest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/rest"
)

// inbox answers with the delivery.
type inbox struct{ answer []byte }

func (b inbox) Deliver(_ context.Context, kind string, connector uuid.UUID, header http.Header, body []byte) ([]byte, error) {
	switch {
	case kind != "wiki":
		return nil, apierr.NotFound("Webhook")
	case header.Get("X-Signature") != "good":
		return nil, apierr.New(apierr.InvalidSignature, "Invalid request signature")
	case string(body) == "broken":
		return nil, errors.New("a secret of the inside")
	case string(body) == "who":
		return []byte(connector.String()), nil
	}
	return b.answer, nil
}

func (inbox) Challenge(kind string, query url.Values, _ http.Header, body []byte) (string, bool) {
	token := query.Get("validationToken")
	return token, kind == "wiki" && token != "" && len(body) == 0
}

func (inbox) ProbesAddress(kind string) bool { return kind == "wiki" }

func TestWebhooksAnswer(t *testing.T) {
	t.Parallel()
	h := rest.NewWebhooks(rest.WebhookOptions{Inbox: inbox{}, Body: 64})
	const one = "018f0000-0000-7000-8000-000000000001"
	for _, c := range []struct {
		method, path, signature, body string
		status                        int
		answer                        string
	}{
		{"POST", "/webhooks/connectors/wiki", "good", "{}", 200, `{"data":{"ok":true}}`},
		{"POST", "/webhooks/connectors/wiki", "good", "who", 200, uuid.Nil.String()},
		{"POST", "/webhooks/connectors/wiki/" + one, "good", "who", 200, one},
		{"POST", "/webhooks/connectors/wiki/" + one, "bad", "{}", 401, `{"error":{"code":"invalid_signature","message":"Invalid request signature"}}`},
		{"POST", "/webhooks/connectors/wiki", "good", "broken", 500, `{"error":{"code":"internal","message":"Something went wrong on our side; the log has the details under this request's id."}}`},
		{"POST", "/webhooks/connectors/wiki", "good", strings.Repeat("x", 65), 413, `{"error":{"code":"too_large","message":"The delivery may have at most 64 bytes"}}`},
		{"POST", "/webhooks/connectors/wiki?validationToken=a%20%2B%26%3Cb%3E+c", "", "", 200, `a +&&lt;b&gt; c`},
		{"POST", "/webhooks/connectors/wiki/" + one + "?validationToken=opaque", "", "", 200, `opaque`},
		{"POST", "/webhooks/connectors/wiki?validationToken=opaque", "bad", "{}", 401, `{"error":{"code":"invalid_signature","message":"Invalid request signature"}}`},
		{"POST", "/webhooks/connectors/wiki?validationToken=" + strings.Repeat("x", 4097), "", "", 400, `{"error":{"code":"invalid_request","message":"query: the challenge is longer than 4096 bytes"}}`},
		{"POST", "/webhooks/connectors/other?validationToken=opaque", "", "", 404, `{"error":{"code":"not_found","message":"Webhook not found"}}`},
		{"POST", "/webhooks/connectors/other", "good", "{}", 404, `{"error":{"code":"not_found","message":"Webhook not found"}}`},
		{"POST", "/webhooks/connectors/wiki/1", "good", "{}", 404, `{"error":{"code":"not_found","message":"Connector not found"}}`},
		{"POST", "/webhooks/connectors/wiki/{" + one + "}", "good", "{}", 404, `{"error":{"code":"not_found","message":"Connector not found"}}`},
		{"POST", "/webhooks/connectors/wiki/" + uuid.Nil.String(), "good", "{}", 404, `{"error":{"code":"not_found","message":"Connector not found"}}`},
		{"POST", "/webhooks/connectors/wiki/" + one + "/more", "good", "{}", 404, `{"error":{"code":"not_found","message":"Page not found"}}`},
		{"POST", "/webhooks/connectors/wiki/", "good", "{}", 404, `{"error":{"code":"not_found","message":"Page not found"}}`},
		{"POST", "/webhooks/connectors/", "good", "{}", 404, `{"error":{"code":"not_found","message":"Page not found"}}`},
		{"POST", "/webhooks", "good", "{}", 404, `{"error":{"code":"not_found","message":"Page not found"}}`},
		{"GET", "/webhooks/connectors/wiki", "good", "", 405, `{"error":{"code":"method_not_allowed","message":"Method not allowed; this path allows POST"}}`},
		{"GET", "/webhooks/connectors/wiki/validate", "", "", 200, `{"data":{"ok":true}}`},
		{"GET", "/webhooks/connectors/wiki/validate?validationToken=a%20%3Cb%3E", "", "", 200, `a <b>`},
		{"GET", "/webhooks/connectors/wiki/validate?validationToken=" + strings.Repeat("x", 1025), "", "", 400, `{"error":{"code":"invalid_request","message":"validationToken: is longer than 1024 bytes"}}`},
		{"GET", "/webhooks/connectors/other/validate?challenge=x", "", "", 404, `{"error":{"code":"not_found","message":"Webhook not found"}}`},
		{"POST", "/webhooks/connectors/other/validate", "good", "{}", 404, `{"error":{"code":"not_found","message":"Webhook not found"}}`},
		{"POST", "/webhooks/connectors/wiki/validate", "good", "{}", 405, `{"error":{"code":"method_not_allowed","message":"Method not allowed; this path allows GET"}}`},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("X-Signature", c.signature)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.String() != c.answer {
			t.Errorf("%s %s: %d %s, not %d %s", c.method, c.path, w.Code, w.Body, c.status, c.answer)
		}
		if c.signature == "" && c.status == 200 && (!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") && !strings.HasPrefix(c.answer, "{") ||
			w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s %s: the headers are %v", c.method, c.path, w.Header())
		}
		if c.status == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
		if strings.Contains(w.Body.String(), "<b>") && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s %s is %s", c.method, c.path, w.Header().Get("Content-Type"))
		}
	}
}

// slow returns its bytes and then blocks until it is released.
type slow struct {
	io.Reader
	read, release chan struct{}
	once          *sync.Once
}

func (s slow) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		s.once.Do(func() { close(s.read) })
		<-s.release
	}
	return n, err
}

func TestTheMemoryOfLargeDeliveriesIsLimited(t *testing.T) {
	t.Parallel()
	h := rest.NewWebhooks(rest.WebhookOptions{Inbox: inbox{}, InFlight: 2 << 20, Read: time.Minute})
	send := func(body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/webhooks/connectors/wiki", body)
		r.Header.Set("X-Signature", "good")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	large := bytes.Repeat([]byte("x"), 1<<20+70<<10)
	held := slow{Reader: bytes.NewReader(large), read: make(chan struct{}), release: make(chan struct{}), once: &sync.Once{}}
	var sender sync.WaitGroup
	sender.Go(func() {
		if w := send(held); w.Code != http.StatusOK {
			t.Errorf("the blocked delivery: %d", w.Code)
		}
	})
	<-held.read
	if w := send(bytes.NewReader(large)); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a concurrent large delivery: %d %v", w.Code, w.Header())
	}
	if w := send(strings.NewReader("{}")); w.Code != http.StatusOK {
		t.Errorf("a concurrent small delivery: %d", w.Code)
	}
	close(held.release)
	sender.Wait()
	if w := send(bytes.NewReader(large)); w.Code != http.StatusOK {
		t.Errorf("a later delivery: %d", w.Code)
	}
}

// A flood of wrong signatures is limited by address. A right one is never refused.
func TestWrongSignaturesAreLimited(t *testing.T) {
	t.Parallel()
	const limit = 5
	h := rest.NewWebhooks(rest.WebhookOptions{Inbox: inbox{}, BadSignatures: limit, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	send := func(signature, client string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/webhooks/connectors/wiki", strings.NewReader("{}"))
		r.Header.Set("X-Signature", signature)
		r.Header.Set("X-Forwarded-For", client)
		r.RemoteAddr = "10.0.0.1:1234"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for n := range 4 * limit {
		want := http.StatusUnauthorized
		if n >= limit {
			want = http.StatusTooManyRequests
		}
		w := send("bad", "198.51.100.1")
		if w.Code != want {
			t.Fatalf("wrong delivery %d: %d %s, not %d", n, w.Code, w.Body, want)
		}
		if want != http.StatusTooManyRequests {
			continue
		}
		for _, name := range []string{"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			if w.Header().Get(name) == "" {
				t.Errorf("the refusal has no %s: %v", name, w.Header())
			}
		}
		if w := send("good", "198.51.100.1"); w.Code != http.StatusOK {
			t.Errorf("a right delivery among them: %d %s", w.Code, w.Body)
		}
	}
	if w := send("bad", "198.51.100.2"); w.Code != http.StatusUnauthorized {
		t.Errorf("another address: %d", w.Code)
	}
}
