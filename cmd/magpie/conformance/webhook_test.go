package conformance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

const hookSecret = "8f742231b10e8888abcd99yyyzzz85a5"

func hexOf(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// fromGitHub and fromSlack are the headers of deliveries, signed as the platforms
// do it.
func fromGitHub(secret, event, body string) []string {
	return []string{"X-GitHub-Event", event, "X-GitHub-Delivery", uuid.NewString(), "X-Hub-Signature-256", "sha256=" + hexOf(secret, body)}
}

func fromSlack(secret, body string, at time.Time) []string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return []string{"X-Slack-Request-Timestamp", stamp, "X-Slack-Signature", "v0=" + hexOf(secret, "v0:"+stamp+":"+body)}
}

// connectorWithDeliveries creates a connector that accepts deliveries, and returns its id.
func (s *site) connectorWithDeliveries(t *testing.T, kind, config, credentials string) string {
	t.Helper()
	made := data(t, "the connector", s.atDashboard(t, "POST", "/api/v1/connectors", fmt.Sprintf(
		`{"name":"pushed by %s","type":%q,"collection":%q,"enabled":false,"config":%s,"credentials":%s}`, kind, kind, s.docs.id, config, credentials)), 201)
	id, _ := made["id"].(string)
	return id
}

// webhookCases are the rows of what platforms tell of changes.
func webhookCases() map[string]check {
	const push = `{"ref":"refs/heads/main","repository":{"id":7,"name":"hooks","full_name":"acme/hooks","default_branch":"main","owner":{"login":"acme"}},` +
		`"commits":[{"added":["a.md"],"modified":[],"removed":[]}]}`
	// A push without a connector's id reaches all connectors of its repository, those of a row that runs beside among them.
	github := func(t *testing.T, s *site, repository string) string {
		return s.connectorWithDeliveries(t, "github", `{"repos":["`+repository+`"]}`, `{"token":"t","webhookSecret":"`+hookSecret+`"}`)
	}
	return map[string]check{
		"4 POST /webhooks/connectors/{connectorType}": func(t *testing.T, s *site) {
			github(t, s, "acme/hooks")
			const path = "/webhooks/connectors/github"
			if a := s.do(t, call{"POST", path, push, fromGitHub(hookSecret, "push", push)}); a.status != 200 {
				t.Errorf("a push: %d %s", a.status, a.body)
			}
			rejected(t, "another secret", s.do(t, call{"POST", path, push, fromGitHub("other", "push", push)}), 401, "invalid_signature", "Invalid request signature")
			rejected(t, "no signature", s.do(t, call{"POST", path, push, []string{"X-GitHub-Event", "push"}}), 401, "invalid_signature", "Invalid request signature")
			rejected(t, "no event", s.do(t, call{"POST", path, push, nil}), 400, "invalid_request", "")
			rejected(t, "an unknown type", s.do(t, call{"POST", "/webhooks/connectors/wizard", push, fromGitHub(hookSecret, "push", push)}), 404, "not_found", "")
			rejected(t, "a type without webhooks", s.do(t, call{"POST", "/webhooks/connectors/s3", push, fromGitHub(hookSecret, "push", push)}), 404, "not_found", "")
			rejected(t, "GET", s.do(t, call{"GET", path, "", nil}), 405, "method_not_allowed", "")
		},
		"4 POST /webhooks/connectors/{connectorType}/{connectorID}": func(t *testing.T, s *site) {
			id := github(t, s, "acme/one")
			push := strings.ReplaceAll(push, "acme/hooks", "acme/one")
			path := "/webhooks/connectors/github/" + id
			const ping = `{"zen":"Keep it logically awesome.","hook_id":1,"repository":{"id":7,"name":"hooks","full_name":"acme/one","owner":{"login":"acme"}}}`
			for event, body := range map[string]string{"ping": ping, "push": push} {
				if a := s.do(t, call{"POST", path, body, fromGitHub(hookSecret, event, body)}); a.status != 200 {
					t.Errorf("%s: %d %s", event, a.status, a.body)
				}
			}
			if hook, _ := data(t, "the connector", s.atDashboard(t, "GET", "/api/v1/connectors/"+id, ""), 200)["webhook"].(map[string]any); hook["ready"] != true ||
				hook["lastDelivery"] == nil || hook["waiting"] != float64(1) {
				t.Errorf("the connector says %v", hook)
			}
			rejected(t, "one changed byte", s.do(t, call{"POST", path, push + " ", fromGitHub(hookSecret, "push", push)}), 401, "invalid_signature", "Invalid request signature")
			rejected(t, "an unknown connector", s.do(t, call{"POST", "/webhooks/connectors/github/" + uuid.NewString(), push, fromGitHub(hookSecret, "push", push)}), 404, "not_found", "")
			rejected(t, "another type's", s.do(t, call{"POST", "/webhooks/connectors/slack/" + id, push, fromGitHub(hookSecret, "push", push)}), 404, "not_found", "")
			rejected(t, "no id", s.do(t, call{"POST", "/webhooks/connectors/github/1", push, fromGitHub(hookSecret, "push", push)}), 404, "not_found", "")
		},
		"4 GET /webhooks/connectors/{connectorType}/validate": func(t *testing.T, s *site) {
			const path = "/webhooks/connectors/google_drive/validate"
			if a := s.do(t, call{"GET", path, "", nil}); a.status != 200 || a.body != `{"data":{"ok":true}}` {
				t.Errorf("%d %s", a.status, a.body)
			}
			if a := s.do(t, call{"GET", path + "?validationToken=a%20%3Cb%3E", "", nil}); a.status != 200 || a.body != "a <b>" || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%d %s %v", a.status, a.body, a.header)
			}
			rejected(t, "POST", s.do(t, call{"POST", path, "{}", nil}), 405, "method_not_allowed", "")
			if a := s.do(t, call{"GET", "/webhooks/connectors/sharepoint/validate?validationToken=t", "", nil}); a.status != 200 || a.body != "t" {
				t.Errorf("sharepoint: %d %s", a.status, a.body)
			}
			for _, kind := range []string{"github", "gitlab", "slack", "s3", "web_crawler", "web", "file_upload", "wizard"} {
				rejected(t, kind, s.do(t, call{"GET", "/webhooks/connectors/" + kind + "/validate?challenge=x", "", nil}), 404, "not_found", "")
			}
		},
		"4 POST /api/v1/webhooks/email/{provider}": func(t *testing.T, s *site) {
			const mail = `{"FromFull":{"Email":"ada@example.com"},"OriginalRecipient":"help@conformance.example","Subject":"Hello","MessageID":"m-1","TextBody":"x"}`
			data(t, "the integration", s.atDashboard(t, "POST", "/api/v1/integrations/inbound",
				`{"provider":"postmark","name":"mails","config":{"addresses":["help@conformance.example"]},"credentials":{"password":"`+hookSecret+`"}}`), 201)
			const path = "/api/v1/webhooks/email/postmark"
			basic := func(password string) []string {
				return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("magpie:"+password))}
			}
			if a := s.do(t, call{"POST", path, mail, basic(hookSecret)}); a.status != 200 {
				t.Errorf("a mail: %d %s", a.status, a.body)
			}
			rejected(t, "another password", s.do(t, call{"POST", path, mail, basic("guess")}), 401, "invalid_signature", "")
			for _, provider := range []string{"sendgrid", "ses"} {
				rejected(t, provider, s.do(t, call{"POST", "/api/v1/webhooks/email/" + provider, "no mail", nil}), 400, "invalid_request", "")
			}
			rejected(t, "an unknown provider", s.do(t, call{"POST", "/api/v1/webhooks/email/wizard", mail, basic(hookSecret)}), 404, "not_found", "")
		},
		"4 POST /api/v1/webhooks/meetings/{provider}": func(t *testing.T, s *site) {
			if a := s.do(t, call{"POST", "/api/v1/webhooks/meetings/teams?validationToken=Validation%3A%20Testing", "", nil}); a.status != 200 || a.body != "Validation: Testing" || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
				t.Errorf("the validation of Teams: %d %s %v", a.status, a.body, a.header)
			}
			data(t, "the integration", s.atDashboard(t, "POST", "/api/v1/integrations/inbound",
				`{"provider":"zoom","name":"meetings","config":{"account_id":"conformance"},"credentials":{"secret":"`+hookSecret+`"}}`), 201)
			const ended = `{"event":"meeting.ended","event_ts":1626230691572,"payload":{"account_id":"conformance","object":{"uuid":"u","topic":"Weekly"}}}`
			fromZoom := func(secret string, at time.Time) []string {
				stamp := strconv.FormatInt(at.Unix(), 10)
				return []string{"x-zm-request-timestamp", stamp, "x-zm-signature", "v0=" + hexOf(secret, "v0:"+stamp+":"+ended)}
			}
			const path = "/api/v1/webhooks/meetings/zoom"
			if a := s.do(t, call{"POST", path, ended, fromZoom(hookSecret, time.Now())}); a.status != 200 {
				t.Errorf("an ended meeting: %d %s", a.status, a.body)
			}
			rejected(t, "another secret", s.do(t, call{"POST", path, ended, fromZoom("guess", time.Now())}), 401, "invalid_signature", "")
			if a := s.do(t, call{"POST", path, ended, fromZoom(hookSecret, time.Now().Add(-6*time.Minute))}); a.status != 401 || !strings.Contains(a.body, "timestamp") {
				t.Errorf("an old one: %d %s", a.status, a.body)
			}
			rejected(t, "no push of Google", s.do(t, call{"POST", "/api/v1/webhooks/meetings/google_meet", "{}", nil}), 400, "invalid_request", "")
		},
		"4 POST /api/v1/webhooks/events/{provider}": func(t *testing.T, s *site) {
			const path = "/api/v1/webhooks/events/github"
			const issue = `{"action":"opened","issue":{"number":1,"title":"t"},"repository":{"full_name":"acme/events"}}`
			made := data(t, "the integration", s.atDashboard(t, "POST", "/api/v1/integrations/inbound",
				`{"provider":"github","name":"events","config":{"repositories":["acme/events"]},"credentials":{"secret":"`+hookSecret+`"}}`), 201)
			row, _ := made["integration"].(map[string]any)
			id, _ := row["id"].(string)
			headers := fromGitHub(hookSecret, "issues", issue)
			for _, address := range []string{path, path, path + "/" + id, path + "?integration=" + id} {
				if a := s.do(t, call{"POST", address, issue, headers}); a.status != 200 || a.body != `{"data":{"ok":true}}` {
					t.Errorf("%s: %d %s", address, a.status, a.body)
				}
			}
			if kept := s.atDashboard(t, "GET", "/api/v1/integrations/inbound/"+id+"/events", ""); strings.Count(kept.body, `"providerEventId"`) != 1 {
				t.Errorf("kept: %s", kept.body)
			}
			rejected(t, "another secret", s.do(t, call{"POST", path, issue, fromGitHub("other", "issues", issue)}), 401, "invalid_signature", "Invalid request signature")
			rejected(t, "an unknown provider", s.do(t, call{"POST", "/api/v1/webhooks/events/wizard", issue, headers}), 404, "not_found", "")
			rejected(t, "another family", s.do(t, call{"POST", "/api/v1/webhooks/email/github", issue, headers}), 404, "not_found", "")
			rejected(t, "an unknown integration", s.do(t, call{"POST", path + "/" + uuid.NewString(), issue, headers}), 404, "not_found", "")
			rejected(t, "GET", s.do(t, call{"GET", path, "", nil}), 405, "method_not_allowed", "")
		},
		"4 POST /api/v1/webhooks/slack/approvals": func(t *testing.T, s *site) {
			const path = "/api/v1/webhooks/slack/approvals"
			made := data(t, "the integration", s.atDashboard(t, "POST", "/api/v1/integrations/inbound",
				`{"provider":"slack","name":"approvals","config":{"team_id":"T1"},"credentials":{"signing_secret":"`+hookSecret+`","bot_token":"xoxb-1"}}`), 201)
			row, _ := made["integration"].(map[string]any)
			id, _ := row["id"].(string)
			if address, _ := row["url"].(string); !strings.HasSuffix(address, path+"?integration="+id) {
				t.Errorf("the address is %s", address)
			}
			body := "payload=" + url.QueryEscape(`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"actions":[{"action_id":"open","value":""}]}`)
			headers := fromSlack(hookSecret, body, time.Now())
			for _, address := range []string{path, path + "/" + id, path + "?integration=" + id} {
				if a := s.do(t, call{"POST", address, body, headers}); a.status != 200 || a.body != "" {
					t.Errorf("%s: %d %q", address, a.status, a.body)
				}
			}
			if a := s.do(t, call{"POST", path, "ssl_check=1&token=x", nil}); a.status != 200 {
				t.Errorf("a check of the certificate: %d %s", a.status, a.body)
			}
			rejected(t, "another secret", s.do(t, call{"POST", path, body, fromSlack("other", body, time.Now())}), 401, "invalid_signature", "Invalid request signature")
			rejected(t, "a stale request", s.do(t, call{"POST", path, body, fromSlack(hookSecret, body, time.Now().Add(-time.Hour))}), 401, "invalid_signature", "")
			rejected(t, "an unknown integration", s.do(t, call{"POST", path + "/" + uuid.NewString(), body, headers}), 404, "not_found", "")
			rejected(t, "GET", s.do(t, call{"GET", path, "", nil}), 405, "method_not_allowed", "")
		},
		"5 code hosting: X-Hub-Signature-256": func(t *testing.T, s *site) {
			id := s.connectorWithDeliveries(t, "github", `{"repos":["acme/signed"]}`, `{"token":"t","webhookSecret":"It's a Secret to Everybody"}`)
			// The published example: its body is no delivery, which the server finds only after it has checked the signature.
			headers := []string{"X-GitHub-Event", "push", "X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}
			rejected(t, "the published example", s.do(t, call{"POST", "/webhooks/connectors/github/" + id, "Hello, World!", headers}), 400, "invalid_request", "")
			rejected(t, "another body", s.do(t, call{"POST", "/webhooks/connectors/github/" + id, "Hello, World?", headers}), 401, "invalid_signature", "")
		},
		"5 chat platform: X-Slack-Signature": func(t *testing.T, s *site) {
			id := s.connectorWithDeliveries(t, "slack", `{}`, `{"botToken":"xoxb-1","signingSecret":"`+hookSecret+`"}`)
			path := "/webhooks/connectors/slack/" + id
			const hello = `{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`
			if a := s.do(t, call{"POST", path, hello, fromSlack(hookSecret, hello, time.Now())}); a.status != 200 || a.body != "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" {
				t.Errorf("the challenge: %d %s", a.status, a.body)
			}
			// Slack asks so, too, at the address without an id, where the body names nobody.
			const shared = "/webhooks/connectors/slack"
			if a := s.do(t, call{"POST", shared, hello, fromSlack(hookSecret, hello, time.Now())}); a.status != 200 || a.body != "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" {
				t.Errorf("the challenge without an id: %d %s", a.status, a.body)
			}
			rejected(t, "a challenge by a stranger", s.do(t, call{"POST", shared, hello, fromSlack("another", hello, time.Now())}), 401, "invalid_signature", "")
			rejected(t, "an old challenge", s.do(t, call{"POST", shared, hello, fromSlack(hookSecret, hello, time.Now().Add(-6*time.Minute))}), 401, "invalid_signature", "")
			rejected(t, "an unsigned challenge", s.do(t, call{"POST", shared, hello, []string{"Accept", "*/*"}}), 401, "invalid_signature", "")
			long := strings.Replace(hello, "{", "{"+strings.Repeat(" ", 4<<10), 1)
			rejected(t, "a long challenge", s.do(t, call{"POST", shared, long, fromSlack(hookSecret, long, time.Now())}), 401, "invalid_signature", "")
			rejected(t, "an event of nobody", s.do(t, call{"POST", shared, `{"type":"event_callback"}`, fromSlack(hookSecret, `{"type":"event_callback"}`, time.Now())}), 401, "invalid_signature", "")
			rejected(t, "an old one", s.do(t, call{"POST", path, hello, fromSlack(hookSecret, hello, time.Now().Add(-6*time.Minute))}), 401, "invalid_signature", "")
			rejected(t, "the published example, today", s.do(t, call{"POST", path, "token=xyzz0WbapA4vBCDEFasx0q6G", []string{
				"X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
			}}), 401, "invalid_signature", "")
		},
	}
}
