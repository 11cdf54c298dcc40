package stack_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/testkit"
)

// integrate creates an inbound integration and sends an event to it.
func (s *service) integrate(name string) (integration, event string) {
	s.t.Helper()
	made := s.call(http.MethodPost, "/api/v1/integrations/inbound", map[string]any{"provider": "github", "name": "Hooks of " + name})
	row, _ := made.data["integration"].(map[string]any)
	integration, _ = row["id"].(string)
	word, _ := made.data["secret"].(string)
	body := `{"action":"opened","issue":{"number":7,"title":"The ` + canary + ` of ` + name + `"},"repository":{"full_name":"acme/hooks"}}`
	mac := hmac.New(sha256.New, []byte(word))
	mac.Write([]byte(body))
	sent := s.request(http.MethodPost, "/api/v1/webhooks/events/github/"+integration, "application/json", strings.NewReader(body),
		"X-GitHub-Event", "issues", "X-GitHub-Delivery", "1", "X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	defer func() { _ = sent.Body.Close() }()
	if sent.StatusCode != http.StatusOK {
		s.t.Fatalf("created: %s\nsent: %d", made.body, sent.StatusCode)
	}
	testkit.WaitFor(s.t, "a worker ignores the event", func() bool {
		events := s.call(http.MethodGet, "/api/v1/integrations/inbound/"+integration+"/events?status=ignored", nil)
		if len(events.list) == 1 {
			event, _ = events.list[0]["id"].(string)
		}
		return event != ""
	})
	return integration, event
}

// inboundIntrusions has one case for each route of inbound integrations.
func inboundIntrusions(ada belongings) map[string]intrusion {
	const all = "/api/v1/integrations/inbound"
	one := all + "/" + ada.integration
	return map[string]intrusion{
		"GET " + all:                              {all, nil, 200},
		"GET " + all + "/providers":               {all + "/providers", nil, 200},
		"POST " + all:                             {all, map[string]any{"provider": "github", "name": "Mine"}, 201},
		"GET " + all + "/{id}":                    {one, nil, 404},
		"PUT " + all + "/{id}":                    {one, map[string]any{"name": "Mine"}, 404},
		"DELETE " + all + "/{id}":                 {one, nil, 404},
		"POST " + all + "/{id}/rotate-secret":     {one + "/rotate-secret", map[string]any{}, 404},
		"POST " + all + "/{id}/test":              {one + "/test", nil, 404},
		"GET " + all + "/{id}/events":             {one + "/events", nil, 404},
		"POST /api/v1/inbound-events/{id}/resend": {"/api/v1/inbound-events/" + ada.event + "/resend", nil, 404},
	}
}
