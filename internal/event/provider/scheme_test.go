package provider_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/provider"
)

// The vectors that platforms publish.
func TestPublishedSignaturesAreAccepted(t *testing.T) {
	t.Parallel()
	_, all := samples(t)
	sendGrid := newRequest([]byte(`{"category":"example_payload","event":"test_event","message_id":"message_id"}`), address,
		"X-Twilio-Email-Event-Webhook-Timestamp", "1588788367", "X-Twilio-Email-Event-Webhook-Signature",
		"MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=")
	s := settings(map[string]any{"public_key": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZFceEu/1FwCM/QmGUhA=="})
	at := time.Unix(1588788367, 0)
	if err := all["sendgrid"].Verify(t.Context(), sendGrid, s, "", at); err != nil {
		t.Errorf("SendGrid: %v", err)
	}
	text, err := os.ReadFile("testdata/vectors/github.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Secret, Body string
		Headers      map[string]string
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	r := newRequest([]byte(v.Body), address)
	for name, value := range v.Headers {
		r.Header.Set(name, value)
	}
	if err := all["github"].Verify(t.Context(), r, settings(nil), v.Secret, at); err != nil {
		t.Errorf("GitHub: %v", err)
	}
}

func TestFurtherProofsOfPlatforms(t *testing.T) {
	t.Parallel()
	each, all := samples(t)
	v2 := func(version, secret string) *event.Request {
		body := `{"vid":7,"properties":{"email":{"value":"a@example.com"}}}`
		sum := sha256.Sum256([]byte(secret + "POST" + address + body))
		return newRequest([]byte(body), address, "X-HubSpot-Signature-Version", version, "X-HubSpot-Signature", hex.EncodeToString(sum[:]))
	}
	for name, try := range map[string]struct {
		provider string
		request  *event.Request
		ok       bool
	}{
		"a workflow of HubSpot":              {"hubspot", v2("v2", "s"), true},
		"another secret":                     {"hubspot", v2("v2", "t"), false},
		"version 1":                          {"hubspot", v2("v1", "s"), false},
		"a rule of Confluence":               {"confluence", newRequest([]byte("{}"), address, "Authorization", "Bearer s"), true},
		"another token":                      {"confluence", newRequest([]byte("{}"), address, "Authorization", "Bearer t"), false},
		"an old Jira":                        {"jira", newRequest([]byte("{}"), address+"&token=s"), true},
		"an old Jira, another token":         {"jira", newRequest([]byte("{}"), address+"&token=t"), false},
		"a token and a wrong signature":      {"jira", newRequest([]byte("{}"), address+"&token=s", "X-Hub-Signature", "sha256=00"), false},
		"an app's signature of Jira":         {"jira", newRequest([]byte("{}"), address, "Authorization", "JWT x.y.z"), false},
		"a password of SendGrid":             {"sendgrid", newRequest([]byte("{}"), address, "Authorization", "Basic bWFncGllOnM="), true},
		"another password of SendGrid":       {"sendgrid", newRequest([]byte("{}"), address, "Authorization", "Basic bWFncGllOnQ="), false},
		"a flow of Salesforce":               {"salesforce", newRequest([]byte(`{"organizationId":"00D5g000004xyzA","id":"1"}`), address, "Authorization", "Bearer s"), true},
		"another organization of Salesforce": {"salesforce", newRequest([]byte(`{"organizationId":"00D5g000004xyzB","id":"1"}`), address, "Authorization", "Bearer s"), false},
	} {
		s := each[try.provider].settings
		if try.provider == "sendgrid" {
			s = settings(nil)
		}
		if err := all[try.provider].Verify(t.Context(), try.request, s, "s", moment()); (err == nil) != try.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSalesforceGetsItsAcknowledgement(t *testing.T) {
	t.Parallel()
	each, all := samples(t)
	s := each["salesforce"]
	d, err := all["salesforce"].Receive(t.Context(), newRequest([]byte(s.body), address), s.settings, s.secret)
	if err != nil || len(d.Events) != 2 || d.Answer == nil || !strings.Contains(string(d.Answer.Body), "<Ack>true</Ack>") || d.Answer.ContentType != "text/xml; charset=utf-8" {
		t.Errorf("%+v, %v", d, err)
	}
	deep := strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100)
	for _, body := range []string{deep, `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, "<a>&b;</a>", "<Envelope/>"} {
		if _, err := all["salesforce"].Route(newRequest([]byte(body), address)); !errors.Is(err, event.ErrDelivery) {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

func TestHubSpotSendsManyEventsAtOnce(t *testing.T) {
	t.Parallel()
	each, all := samples(t)
	s := each["hubspot"]
	d, err := all["hubspot"].Receive(t.Context(), newRequest([]byte(s.body), address), s.settings, s.secret)
	if err != nil || len(d.Events) != 2 || d.Events[0].ID == d.Events[1].ID || d.Events[1].Type != "contact.creation" {
		t.Errorf("%+v, %v", d, err)
	}
}

// recording notes what is requested.
type recording struct {
	answering
	asked *[]string
}

func (r recording) RoundTrip(request *http.Request) (*http.Response, error) {
	*r.asked = append(*r.asked, request.URL.String())
	return r.answering.RoundTrip(request)
}

func TestSubscriptionsOfTopicsAreConfirmed(t *testing.T) {
	t.Parallel()
	sns := newAuthority(t)
	const confirm = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=t"
	asked := []string{}
	var ses event.Provider
	for _, p := range provider.All(provider.Deps{Transport: recording{answering{certURL: sns.pem, confirm: []byte("<ok/>")}, &asked}, Roots: sns.roots}) {
		if p.Name == "ses" {
			ses = p
		}
	}
	s := settings(map[string]any{"topic_arns": []any{topic}})
	message := func(typ, arn, subscribe string) *event.Request {
		return newRequest(sns.envelope(t, typ, "You have chosen to subscribe", arn, moment(), map[string]string{"SubscribeURL": subscribe, "Token": "t"}), address)
	}
	r := message("SubscriptionConfirmation", topic, confirm)
	if err := ses.Verify(t.Context(), r, s, "", moment()); err != nil {
		t.Fatal(err)
	}
	if d, err := ses.Receive(t.Context(), r, s, ""); err != nil || len(d.Events) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if len(asked) != 2 || asked[1] != confirm {
		t.Errorf("asked %q", asked)
	}
	for what, try := range map[string]*event.Request{
		"another topic":  message("SubscriptionConfirmation", topic+"2", confirm),
		"another host":   message("SubscriptionConfirmation", topic, "https://sns.eu-west-1.amazonaws.com.evil.example/"),
		"another scheme": message("SubscriptionConfirmation", topic, "http://sns.eu-west-1.amazonaws.com/"),
		"another port":   message("SubscriptionConfirmation", topic, "https://sns.eu-west-1.amazonaws.com:8443/"),
		"a name":         message("SubscriptionConfirmation", topic, "https://x@sns.eu-west-1.amazonaws.com/"),
	} {
		err := ses.Verify(t.Context(), try, s, "", moment())
		if err == nil {
			_, err = ses.Receive(t.Context(), try, s, "")
		}
		if _, ok := errors.AsType[*event.Refusal](err); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked %q", asked)
	}
	ended := message("UnsubscribeConfirmation", topic, confirm)
	if d, err := ses.Receive(t.Context(), ended, s, ""); err != nil || d.Failing == "" || len(asked) != 2 {
		t.Errorf("after the end: %+v, %v, asked %q", d, err, asked)
	}
	for i, address := range []string{"https://evil.example/a.pem", "https://sns.eu-west-1.amazonaws.com/a.txt", "http://sns.eu-west-1.amazonaws.com/a.pem"} {
		var fields map[string]string
		if err := json.Unmarshal(message("Notification", topic, "").Body, &fields); err != nil {
			t.Fatal(err)
		}
		fields["SigningCertURL"] = address
		body, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := errors.AsType[*event.Refusal](ses.Verify(t.Context(), newRequest(body, address), s, "", moment())); !ok || len(asked) != 2 {
			t.Errorf("certificate "+strconv.Itoa(i)+": accepted, or asked for: %q", asked)
		}
	}
	if err := ses.Verify(t.Context(), r, s, "", moment().Add(48*time.Hour)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired certificate: %v", err)
	}
}
