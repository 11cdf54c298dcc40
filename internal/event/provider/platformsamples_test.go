package provider_test

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/provider"
)

// bodies returns the example bodies by provider.
func bodies() map[string]string {
	out := map[string]string{}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		return out
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err == nil {
			base := filepath.Base(name)
			out[base[:len(base)-len(filepath.Ext(base))]] = string(text)
		}
	}
	return out
}

// samples returns a sample of each provider, and the providers.
func samples(t testing.TB) (map[string]sample, map[string]event.Provider) {
	t.Helper()
	sns, google, foreign := newAuthority(t), newAuthority(t), newAuthority(t)
	all := platformSamples()
	maps.Copy(all, mailSamples(t, sns))
	maps.Copy(all, meetingSamples(t, google.key, foreign.key))
	for name, s := range all {
		if s.body == "" {
			if s.body = bodies()[name]; s.body == "" {
				t.Fatalf("testdata has no body of %s", name)
			}
		}
		all[name] = s
	}
	answers := answering{certURL: sns.pem, "https://www.googleapis.com/oauth2/v3/certs": keySet(&google.key.PublicKey)}
	providers := map[string]event.Provider{}
	for _, p := range provider.All(provider.Deps{Transport: answers, Roots: sns.roots, Now: moment}) {
		if providers[p.Name].Name != "" {
			t.Errorf("two providers are named %s", p.Name)
		}
		providers[p.Name] = p
	}
	return all, providers
}

// answering answers requests from a table by address.
type answering map[string][]byte

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if body, ok := a[r.URL.String()]; ok {
		_, _ = w.Write(body)
	} else {
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

func settings(config map[string]any) connectors.Settings {
	return connectors.Settings{ConnectorID: "i", Config: config, Credentials: map[string]string{}}
}

const address = "https://magpie.example.com/api/v1/webhooks/events/x/018f0000-0000-801b-8000-000000000001?a=b%3Ac"

func object(check func(t *testing.T, o *event.Object)) func(t *testing.T, c event.Content) {
	return func(t *testing.T, c event.Content) {
		t.Helper()
		if c.Object == nil {
			t.Fatalf("no object: %+v", c)
		}
		check(t, c.Object)
	}
}

// is checks the fields of an object that most automations use.
func is(kind, id, action, title, parent string) func(t *testing.T, c event.Content) {
	return object(func(t *testing.T, o *event.Object) {
		t.Helper()
		if o.Kind != kind || o.ID != id || o.Action != action || o.Title != title || o.Parent != parent {
			t.Errorf("the object is %+v", o)
		}
	})
}

func hexMAC(secret string, parts ...[]byte) string {
	return hex.EncodeToString(event.MAC(secret, parts...))
}

func base64MAC(secret string, parts ...[]byte) string {
	return base64.StdEncoding.EncodeToString(event.MAC(secret, parts...))
}

func platformSamples() map[string]sample {
	return map[string]sample{
		"github": {
			settings: settings(map[string]any{"repositories": []any{"Codertocat/Hello-World"}}), secret: "It's a Secret to Everybody",
			sign: func(body []byte, secret string, _ time.Time) *event.Request {
				return newRequest(body, address, "Content-Type", "application/json", "X-GitHub-Event", "issues", "X-GitHub-Delivery", "d-1", "X-Hub-Signature-256", "sha256="+hexMAC(secret, body))
			},
			keys: []string{"codertocat/hello-world", "codertocat/*"}, id: "d-1", typ: "issues.opened",
			content: is("issue", "1", "opened", "Spelling error in the README file", "Codertocat/Hello-World"),
		},
		"jira": {
			settings: settings(map[string]any{"site": "jira.atlassian.com"}), secret: "s3cret",
			sign: func(body []byte, secret string, _ time.Time) *event.Request {
				return newRequest(body, address, "X-Atlassian-Webhook-Identifier", "w-1", "X-Hub-Signature", "sha256="+hexMAC(secret, body))
			},
			keys: []string{"jira.atlassian.com"}, id: "w-1", typ: "jira:issue_updated",
			content: object(func(t *testing.T, o *event.Object) {
				t.Helper()
				if o.Kind != "issue" || o.ID != "JRA-20002" || o.Action != "updated" || o.Title != "I feel the need for speed" ||
					o.Text != "Make the issue nav 10x faster" || o.URL != "https://jira.atlassian.com/browse/JRA-20002" || o.Actor.Email != "bryansemail@atlassian.com" {
					t.Errorf("the object is %+v", o)
				}
				if changes, _ := o.Fields["changes"].([]any); len(changes) != 2 {
					t.Errorf("the changes are %v", o.Fields["changes"])
				}
			}),
		},
		"zendesk": {
			settings: settings(map[string]any{"account_id": "22129848"}), secret: "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==", timed: true,
			sign: func(body []byte, secret string, at time.Time) *event.Request {
				stamp := at.Format(time.RFC3339)
				return newRequest(body, address, "X-Zendesk-Webhook-Signature-Timestamp", stamp, "X-Zendesk-Webhook-Signature", base64MAC(secret, []byte(stamp), body),
					"X-Zendesk-Webhook-Invocation-Id", "01F", "X-Zendesk-Account-Id", "22129848")
			},
			keys: []string{"22129848"}, id: "01F", typ: "ticket.created", content: is("ticket", "5158", "created", "Parade", ""),
		},
		"hubspot": {
			settings: settings(map[string]any{"portal_id": "33"}), secret: "client", timed: true,
			sign: func(body []byte, secret string, at time.Time) *event.Request {
				stamp := strconv.FormatInt(at.UnixMilli(), 10)
				const signed = "POSThttps://magpie.example.com/api/v1/webhooks/events/x/018f0000-0000-801b-8000-000000000001?a=b:c"
				return newRequest(body, address, "X-HubSpot-Request-Timestamp", stamp, "X-HubSpot-Signature-v3", base64MAC(secret, []byte(signed), body, []byte(stamp)))
			},
			keys: []string{"33"}, id: "33:25:100:1462216307945", typ: "contact.propertyChange", content: is("contact", "1246965", "propertyChange", "", "33"),
		},
		"confluence": {
			settings: settings(map[string]any{"site": "https://wiki.example.com/"}), secret: "s3cret",
			sign: func(body []byte, secret string, _ time.Time) *event.Request {
				return newRequest(body, address, "X-Hub-Signature", "sha256="+hexMAC(secret, body), "X-Event-Key", "page_created")
			},
			keys: []string{"wiki.example.com"}, id: "63c44ce605bac2285013497af2e001bfb57697c87a070114793b254c7416d52e", typ: "page_created", content: is("page", "1", "created", "Parade plan", "EVENTS"),
		},
		"salesforce": {
			settings: settings(map[string]any{"organization_id": "00D5g000004xyzAEAQ"}), secret: "t0ken",
			sign: func(body []byte, secret string, _ time.Time) *event.Request {
				return newRequest(body, "https://magpie.example.com/x?token="+secret, "Content-Type", "text/xml; charset=utf-8", "SOAPAction", `""`)
			},
			keys: []string{"00d5g000004xyza"}, id: "04l5g00000AbCdEAAV", typ: "Case.changed", content: is("Case", "5005g00000XyZabAAF", "changed", "The parade is late", "00D5g000004xyzAEAQ"),
		},
	}
}
