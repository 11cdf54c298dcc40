package email_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/email"
)

// fromSES reads a mail that SES has received and judged.
func fromSES(t *testing.T, raw, source string, common []string, verdicts string) *event.Mail {
	t.Helper()
	inner, err := json.Marshal(map[string]any{
		"notificationType": "Received", "mail": map[string]any{"source": source, "commonHeaders": map[string]any{"from": common}}, "receipt": json.RawMessage(verdicts), "content": raw,
	})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"Type": "Notification", "TopicArn": "arn", "Message": string(inner)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := email.SES(email.Deps{}).Read(event.Payload{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return c.Mail
}

// fromSendGrid reads a mail that SendGrid has received, raw or in parts.
func fromSendGrid(t *testing.T, fields map[string]string) *event.Mail {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := email.SendGrid().Read(event.Payload{Header: http.Header{"Content-Type": {w.FormDataContentType()}}, Body: b.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return c.Mail
}

// A verdict is about one sender. A mail that others could read as from another one is of
// nobody.
func TestOnlyTheSenderThatThePlatformHasJudgedIsVerified(t *testing.T) {
	t.Parallel()
	const pass, spf = `{"dmarcVerdict":{"status":"PASS"}}`, `{"spfVerdict":{"status":"PASS"}}`
	const one = "From: Ada <ada@example.com>\r\nSubject: x\r\n\r\nHello\r\n"
	const two = "From: boss@example.com\r\nFrom: ada@example.com\r\nSubject: x\r\n\r\nHello\r\n"
	for what, try := range map[string]struct {
		raw, source, verdicts string
		common                []string
		verified              bool
	}{
		"one sender":                {one, "ada@example.com", pass, []string{"Ada <ada@example.com>"}, true},
		"by SPF":                    {one, "bounce@example.com", spf, []string{"ada@example.com"}, true},
		"SPF of another domain":     {one, "ada@evil.example", spf, []string{"ada@example.com"}, false},
		"two headers":               {two, "ada@example.com", pass, []string{"ada@example.com"}, false},
		"two senders of SES":        {one, "ada@example.com", pass, []string{"ada@example.com", "boss@example.com"}, false},
		"SES has read another one":  {one, "eve@evil.example", pass, []string{"eve@evil.example"}, false},
		"SES has read none":         {one, "ada@example.com", pass, nil, false},
		"nobody, from nowhere":      {"Subject: x\r\n\r\nHello\r\n", "", spf, []string{""}, false},
		"nobody, with a verdict":    {"Subject: x\r\n\r\nHello\r\n", "", pass, []string{""}, false},
		"a sender without a domain": {"From: ada\r\n\r\nHello\r\n", "x@", spf, []string{"ada"}, false},
	} {
		m := fromSES(t, try.raw, try.source, try.common, try.verdicts)
		if m.Verified != try.verified || what == "two headers" && m.From.Email != "" {
			t.Errorf("SES, %s: verified is %t, from %q", what, m.Verified, m.From.Email)
		}
	}
	const dkim = "{@example.com : pass}"
	for what, try := range map[string]struct {
		fields   map[string]string
		verified bool
	}{
		"raw":               {map[string]string{"email": one, "dkim": dkim}, true},
		"raw, two headers":  {map[string]string{"email": two, "dkim": dkim}, false},
		"in parts":          {map[string]string{"headers": "From: ada@example.com\nX: y\n", "from": "ada@example.com", "dkim": dkim}, true},
		"in parts, twice":   {map[string]string{"headers": "From: boss@example.com\nfrom: ada@example.com\n", "from": "boss@example.com", "dkim": dkim}, false},
		"SPF of no domain":  {map[string]string{"from": "ada", "SPF": "pass", "envelope": `{"from":"x@"}`}, false},
		"SPF of the domain": {map[string]string{"from": "ada@example.com", "SPF": "pass", "envelope": `{"from":"b@example.com"}`}, true},
	} {
		if m := fromSendGrid(t, try.fields); m.Verified != try.verified {
			t.Errorf("SendGrid, %s: verified is %t, from %q", what, m.Verified, m.From.Email)
		}
	}
}

// A mail may have any number of headers and parts.
func TestJunkDoesNotDisplaceWhatDecides(t *testing.T) {
	t.Parallel()
	var raw strings.Builder
	for i := range 500 {
		fmt.Fprintf(&raw, "A-Junk-%d: x\r\n", i)
	}
	raw.WriteString("From: ada@example.com\r\nAuto-Submitted: auto-replied\r\nMessage-ID: <m@example.com>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n")
	for range 400 {
		raw.WriteString("--b\r\nContent-Type: text/plain\r\n\r\n" + strings.Repeat("word ", 2000) + "\r\n")
	}
	raw.WriteString("--b--\r\n")
	m := fromSendGrid(t, map[string]string{"email": raw.String()})
	if m.From.Email != "ada@example.com" || m.Automatic == "" || m.MessageID != "<m@example.com>" || len(m.Headers) != 200 || len(m.Text) > 1<<20 {
		t.Errorf("from %q, automatic %q, id %q, %d headers, %d bytes", m.From.Email, m.Automatic, m.MessageID, len(m.Headers), len(m.Text))
	}
}
