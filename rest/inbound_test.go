package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/rest"
)

// events is an EventInbox with one provider.
type events struct{ got []received }

type received struct {
	integration uuid.UUID
	request     *event.Request
}

func (e *events) Serves(family, provider string) bool {
	return family == "events" && provider == "github"
}

func (e *events) Receive(_ context.Context, _ string, integration uuid.UUID, r *event.Request) (event.Answer, error) {
	e.got = append(e.got, received{integration, r})
	switch r.Header.Get("X-Case") {
	case "refused":
		return event.Answer{}, apierr.New(apierr.InvalidSignature, "Invalid request signature")
	case "text":
		return event.Answer{Body: []byte("a<b")}, nil
	case "xml":
		return event.Answer{ContentType: "text/xml; charset=utf-8", Body: []byte("<Ack/>")}, nil
	}
	return event.Answer{}, nil
}

func TestDeliveriesOfIntegrationsAreServed(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	const root = "/api/v1/webhooks"
	for name, try := range map[string]struct {
		method, path, kase, body string
		status                   int
		answer                   string
	}{
		"by its keys":          {"POST", root + "/events/github", "", "{}", 200, `{"data":{"ok":true}}`},
		"by its id":            {"POST", root + "/events/github/" + id, "", "{}", 200, `{"data":{"ok":true}}`},
		"by a query":           {"POST", root + "/events/github?integration=" + id, "", "{}", 200, `{"data":{"ok":true}}`},
		"a text":               {"POST", root + "/events/github", "text", "{}", 200, "a<b"},
		"a document":           {"POST", root + "/events/github", "xml", "{}", 200, "<Ack/>"},
		"refused":              {"POST", root + "/events/github", "refused", "{}", 401, "invalid_signature"},
		"unknown provider":     {"POST", root + "/events/fax", "", "{}", 404, "not_found"},
		"of another family":    {"POST", root + "/email/github", "", "{}", 404, "not_found"},
		"no provider":          {"POST", root + "/events", "", "{}", 404, "not_found"},
		"an empty provider":    {"POST", root + "/events/", "", "{}", 404, "not_found"},
		"too long":             {"POST", root + "/events/github/" + id + "/x", "", "{}", 404, "not_found"},
		"no id":                {"POST", root + "/events/github/7", "", "{}", 404, "not_found"},
		"an empty id":          {"POST", root + "/events/github/", "", "{}", 404, "not_found"},
		"no id in the query":   {"POST", root + "/events/github?integration=7", "", "{}", 404, "not_found"},
		"another method":       {"GET", root + "/events/github", "", "", 405, "method_not_allowed"},
		"unknown by GET":       {"GET", root + "/events/fax", "", "", 404, "not_found"},
		"too large":            {"POST", root + "/events/github", "", strings.Repeat("x", 1025), 413, "too_large"},
		"as large as allowed":  {"POST", root + "/events/github", "", strings.Repeat("x", 1024), 200, `{"data":{"ok":true}}`},
		"an id in capitals":    {"POST", root + "/events/github/" + strings.ToUpper(id), "", "{}", 200, `{"data":{"ok":true}}`},
		"the nil id":           {"POST", root + "/events/github/" + uuid.Nil.String(), "", "{}", 404, "not_found"},
		"an id with urn":       {"POST", root + "/events/github/urn:uuid:" + id, "", "{}", 404, "not_found"},
		"an address for Slack": {"POST", root + "/slack/approvals", "", "{}", 404, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inbox := &events{}
			h := rest.NewWebhooks(rest.WebhookOptions{Events: inbox, BaseURL: "https://magpie.example.com/", Body: 1024})
			r := httptest.NewRequest(try.method, try.path, strings.NewReader(try.body))
			r.Header.Set("X-Case", try.kase)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != try.status || !strings.Contains(w.Body.String(), try.answer) || w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if try.status == http.StatusMethodNotAllowed && w.Header().Get("Allow") != "POST" {
				t.Errorf("Allow: %q", w.Header().Get("Allow"))
			}
			if try.status == http.StatusOK {
				if len(inbox.got) != 1 || string(inbox.got[0].request.Body) != try.body || inbox.got[0].request.URL != "https://magpie.example.com"+try.path ||
					(inbox.got[0].integration != uuid.Nil) != strings.Contains(strings.ToLower(try.path), id) {
					t.Errorf("the inbox got %+v", inbox.got)
				}
			}
		})
	}
}

// Many large deliveries at once are refused for now, and their bytes are free again.
func TestDeliveriesOfIntegrationsShareTheBytesInFlight(t *testing.T) {
	t.Parallel()
	inbox := &events{}
	h := rest.NewWebhooks(rest.WebhookOptions{Events: inbox, Body: 3 << 20, InFlight: 1 << 20})
	send := func(size int) int {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/webhooks/events/github", io.LimitReader(zeros{}, int64(size)))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for range 2 {
		if status := send(2<<20 + 1); status != http.StatusServiceUnavailable {
			t.Errorf("more than fits: %d", status)
		}
		if status := send(1 << 20); status != http.StatusOK {
			t.Errorf("what fits: %d", status)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
