package mailer_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/mailer"
)

// service stands in for a mail service. It keeps the mails that it takes from requests
// with the right credentials.
type service struct {
	url  string
	mu   sync.Mutex
	sent []map[string]any
	// fail is the answer to the next request in place of the usual one: a status with a
	// body, or "drop" to take the mail and say nothing.
	status     int
	kind, fail string
}

func newService(t *testing.T, authorized func(r *http.Request, body []byte) bool, fine string) (*service, *mailer.API) {
	t.Helper()
	s := &service{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		var in map[string]any
		if err != nil || r.Method != http.MethodPost || json.Unmarshal(body, &in) != nil || !authorized(r, body) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"ErrorCode":10,"Message":"bad token","message":"bad signature"}`)
			return
		}
		if s.fail == "" || s.fail == "drop" {
			s.sent = append(s.sent, in)
		}
		switch s.fail {
		case "":
			_, _ = io.WriteString(w, fine)
		case "drop":
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("X-Amzn-Errortype", s.kind)
			w.WriteHeader(s.status)
			_, _ = io.WriteString(w, s.fail)
		}
	}))
	s.url = server.URL
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return s, mailer.NewAPI(mailer.APIOptions{Postmark: server.URL, SES: server.URL, Transport: transport, Now: at})
}

type sender interface {
	Send(ctx context.Context, m mailer.Message) error
	From() string
}

// newPostmark returns a sender by a stand-in of Postmark.
func newPostmark(t *testing.T) (*service, sender) {
	t.Helper()
	s, api := newService(t, func(r *http.Request, _ []byte) bool {
		return r.URL.Path == "/email" && r.Header.Get("X-Postmark-Server-Token") == "token-1" && r.Header.Get("Content-Type") == "application/json"
	}, `{"To":"ada@example.com","MessageID":"b7bc2f4a","ErrorCode":0,"Message":"OK"}`)
	p, err := api.Postmark("Support <support@example.com>", "token-1")
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// newSES returns a sender by a stand-in of Amazon SES, which checks the signature.
func newSES(t *testing.T) (*service, sender) {
	t.Helper()
	s, api := newService(t, func(r *http.Request, body []byte) bool {
		return r.URL.Path == "/v2/email/outbound-emails" && r.Header.Get("Authorization") == signature(r, body, "AKID", "top secret")
	}, `{"MessageId":"0100"}`)
	p, err := api.SES("Support <support@example.com>", "eu-west-1", "AKID", "top secret")
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// signature computes the signature of a request as Amazon describes it.
func signature(r *http.Request, body []byte, keyID, key string) string {
	sum := func(text string) string { h := sha256.Sum256([]byte(text)); return hex.EncodeToString(h[:]) }
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	date := r.Header.Get("X-Amz-Date")
	canonical := fmt.Sprintf("POST\n%s\n\ncontent-type:%s\nhost:%s\nx-amz-date:%s\n\ncontent-type;host;x-amz-date\n%s", r.URL.Path, r.Header.Get("Content-Type"), r.Host, date, sum(string(body)))
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n20261127/eu-west-1/ses/aws4_request\n%s", date, sum(canonical))
	derived := mac(mac(mac(mac([]byte("AWS4"+key), "20261127"), "eu-west-1"), "ses"), "aws4_request")
	return fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20261127/eu-west-1/ses/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=%x", keyID, mac(derived, text))
}

// The example that Amazon publishes in its test suite for the signature (get-vanilla).
func TestASignatureIsAsAmazonPublishesIt(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "https://example.amazonaws.com/", nil)
	mailer.Sign(r, nil, "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, " +
		"Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("got %s", got)
	}
}

func reply() mailer.Message {
	return mailer.Message{
		To: "Ada <ada@example.com>", ReplyTo: "help@example.com", Subject: "Re: Überweisung", Text: "Grüße", ID: "run-1@magpie.example.com", InReplyTo: "<first@example.com>",
		References: []string{"root@example.com"}, Automatic: true, Headers: map[string]string{"X-Magpie-Run": "r1"},
	}
}

func TestPostmarkGetsTheHeadersOfAReply(t *testing.T) {
	t.Parallel()
	s, p := newPostmark(t)
	if err := p.Send(t.Context(), reply()); err != nil || len(s.sent) != 1 || p.From() != "support@example.com" {
		t.Fatalf("%v, %v", err, s.sent)
	}
	got, headers := s.sent[0], map[string]string{}
	list, _ := got["Headers"].([]any)
	for _, h := range list {
		one, _ := h.(map[string]any)
		headers[fmt.Sprint(one["Name"])] = fmt.Sprint(one["Value"])
	}
	for name, want := range map[string]string{
		"Message-ID": "<run-1@magpie.example.com>", "X-PM-KeepID": "true", "In-Reply-To": "<first@example.com>", "References": "<root@example.com> <first@example.com>",
		"Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All", "X-Magpie-Run": "r1",
	} {
		if headers[name] != want {
			t.Errorf("%s: %q", name, headers[name])
		}
	}
	for name, want := range map[string]any{
		"From": `"Support" <support@example.com>`, "To": `"Ada" <ada@example.com>`, "ReplyTo": "<help@example.com>", "Subject": "Re: Überweisung", "TextBody": "Grüße",
		"MessageStream": "outbound", "TrackOpens": false,
	} {
		if got[name] != want {
			t.Errorf("%s: %v", name, got[name])
		}
	}
}

func TestSESGetsTheWholeMailSigned(t *testing.T) {
	t.Parallel()
	s, p := newSES(t)
	if err := p.Send(t.Context(), reply()); err != nil || len(s.sent) != 1 {
		t.Fatalf("%v, %v", err, s.sent)
	}
	var in struct {
		FromEmailAddress string
		Destination      struct{ ToAddresses []string }
		Content          struct{ Raw struct{ Data string } }
	}
	text, err := json.Marshal(s.sent[0])
	if err != nil || json.Unmarshal(text, &in) != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(in.Content.Raw.Data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.ReadMessage(strings.NewReader(string(raw)))
	if err != nil || in.FromEmailAddress != "support@example.com" || fmt.Sprint(in.Destination.ToAddresses) != "[ada@example.com]" {
		t.Fatalf("%v, %+v", err, in)
	}
	for name, want := range map[string]string{
		"From": `"Support" <support@example.com>`, "To": `"Ada" <ada@example.com>`, "Reply-To": "<help@example.com>", "In-Reply-To": "<first@example.com>",
		"References": "<root@example.com> <first@example.com>", "Auto-Submitted": "auto-replied", "X-Magpie-Run": "r1",
	} {
		if m.Header.Get(name) != want {
			t.Errorf("%s: %q", name, m.Header.Get(name))
		}
	}
}

// Whoever repeats a mail must know whether it may have been sent, by whatever way.
func TestTheAPIsTellWhetherAMailMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open        func(t *testing.T) (*service, sender)
		status      int
		kind, body  string
		sent, later bool
	}{
		"postmark: inactive recipient": {newPostmark, 422, "", `{"ErrorCode":406,"Message":"You tried to send to an inactive recipient"}`, false, false},
		"postmark: error with 200":     {newPostmark, 200, "", `{"ErrorCode":300,"Message":"Invalid request"}`, false, false},
		"postmark: patience":           {newPostmark, 429, "", ``, false, true},
		"postmark: broken":             {newPostmark, 500, "", `{"ErrorCode":0}`, true, false},
		"postmark: a web page":         {newPostmark, 200, "", `<html>`, true, false},
		"postmark: a lost answer":      {newPostmark, 0, "", `drop`, true, false},
		"ses: rejected":                {newSES, 400, "MessageRejected:http://internal.amazon.com/", `{"message":"Email address is not verified."}`, false, false},
		"ses: forbidden":               {newSES, 403, "AccessDeniedException", `{"message":"no"}`, false, false},
		"ses: throttled":               {newSES, 400, "ThrottlingException", `{"message":"Rate exceeded"}`, false, true},
		"ses: patience":                {newSES, 429, "TooManyRequestsException", `{}`, false, true},
		"ses: a redirect":              {newSES, 307, "", `elsewhere`, false, false},
		"ses: broken":                  {newSES, 503, "", `{}`, true, false},
		"ses: nothing said":            {newSES, 200, "", `{}`, true, false},
		"ses: a lost answer":           {newSES, 0, "", `drop`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := c.open(t)
			s.status, s.kind, s.fail = c.status, c.kind, c.body
			if s.fail == "" {
				s.fail = " "
			}
			err := p.Send(t.Context(), reply())
			refused, ok := errors.AsType[*mailer.Refused](err)
			if err == nil || ok == c.sent || ok && refused.Later != c.later || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token-1") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestWrongCredentialsAndAddressesAreRefused(t *testing.T) {
	t.Parallel()
	_, api := newService(t, func(*http.Request, []byte) bool { return false }, "{}")
	bad, err := api.Postmark("support@example.com", "wrong")
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := api.SES("support@example.com", "eu-west-1", "AKID", "wrong")
	if err != nil {
		t.Fatal(err)
	}
	away, err := mailer.NewAPI(mailer.APIOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") }}).Postmark("support@example.com", "t")
	if err != nil {
		t.Fatal(err)
	}
	evil := reply()
	evil.To = "ada@example.com, eve@example.com"
	for name, c := range map[string]struct {
		err   error
		later bool
	}{
		"postmark": {bad.Send(t.Context(), reply()), false}, "ses": {stolen.Send(t.Context(), reply()), false}, "no network": {away.Send(t.Context(), reply()), true},
		"two recipients by postmark": {bad.Send(t.Context(), evil), false}, "two recipients by ses": {stolen.Send(t.Context(), evil), false},
	} {
		if refused, ok := errors.AsType[*mailer.Refused](c.err); !ok || refused.Later != c.later {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	for _, region := range []string{"", "eu-west-1.evil.example/", "EU"} {
		if _, err := api.SES("support@example.com", region, "a", "b"); err == nil {
			t.Errorf("the region %q is accepted", region)
		}
	}
	if _, err := api.Postmark("nobody", "t"); err == nil {
		t.Error("a sender without an address is accepted")
	}
}

// What comes from a mail or a model becomes no header of a mail by an API.
func TestTextsBecomeNoHeadersOfTheAPIs(t *testing.T) {
	t.Parallel()
	s, p := newPostmark(t)
	evil := "x\r\nBcc: eve@example.com"
	if err := p.Send(t.Context(), mailer.Message{To: "ada@example.com", ReplyTo: evil, Subject: evil, Text: "t", ID: "1@x", InReplyTo: evil, References: []string{evil}, Headers: map[string]string{"X-A": evil}}); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s.sent[0])
	if err != nil || strings.Contains(string(text), `\r`) || strings.Contains(string(text), `\n`) || s.sent[0]["Bcc"] != nil || s.sent[0]["ReplyTo"] != "" {
		t.Errorf("%s, %v", text, err)
	}
}
