package mailer_test

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/mailer"
	"github.com/magpie-search/magpie/internal/testkit/smtpserver"
)

func at() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }

func send(t *testing.T, s *smtpserver.Server, m mailer.Message) error {
	t.Helper()
	sender, err := mailer.New(mailer.Options{URL: s.URL, From: "Söhne & Co <support@example.com>", Now: at})
	if err != nil {
		t.Fatal(err)
	}
	return sender.Send(t.Context(), m)
}

func TestAMailArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := smtpserver.New(t)
	text := "Grüße,\n.\n..dots\nA line that is much longer than the seventy-six characters which quoted-printable allows in a line of a mail.\n"
	err := send(t, s, mailer.Message{
		To: "Ada <ada@example.com>", ReplyTo: "help@example.com", Subject: "Re: Überweisung", Text: text, ID: "run-1@magpie.example.com",
		InReplyTo: "<first@example.com>", References: []string{"root@example.com"}, Automatic: true, Headers: map[string]string{"X-Magpie-Run": "r1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := s.Mails()
	if len(all) != 1 || all[0].From != "support@example.com" || len(all[0].To) != 1 || all[0].To[0] != "ada@example.com" {
		t.Fatalf("%+v", all)
	}
	got, err := mail.ReadMessage(strings.NewReader(all[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"To": `"Ada" <ada@example.com>`, "Reply-To": "<help@example.com>", "Message-Id": "<run-1@magpie.example.com>", "In-Reply-To": "<first@example.com>",
		"References": "<root@example.com> <first@example.com>", "Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "All", "X-Magpie-Run": "r1",
		"Date": "Fri, 27 Nov 2026 12:00:00 +0000",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q", name, got.Header.Get(name))
		}
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject")); subject != "Re: Überweisung" {
		t.Errorf("the subject is %q, %v", subject, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(got.Body))
	if strings.ReplaceAll(string(body), "\r\n", "\n") != text {
		t.Errorf("the text is %q, %v", body, err)
	}
}

// What comes from a mail or a model becomes no header and no second recipient.
func TestTextsBecomeNoHeaders(t *testing.T) {
	t.Parallel()
	s := smtpserver.New(t)
	evil := "x\r\nBcc: eve@example.com\r\n\r\nbody"
	if err := send(t, s, mailer.Message{To: "ada@example.com", ReplyTo: evil, Subject: evil, Text: "t", ID: "1@x", InReplyTo: evil, References: []string{evil}, Headers: map[string]string{"X-A": evil}}); err != nil {
		t.Fatal(err)
	}
	got, err := mail.ReadMessage(strings.NewReader(s.Mails()[0].Data))
	if err != nil || got.Header.Get("Bcc") != "" || got.Header.Get("In-Reply-To") != "" || len(s.Mails()[0].To) != 1 {
		t.Errorf("%v, %v", err, s.Mails())
	}
	for _, to := range []string{"", "ada", "ada@example.com, eve@example.com", "ada@example.com\r\nRCPT TO:<eve@example.com>"} {
		err := send(t, s, mailer.Message{To: to, Subject: "s", Text: "t", ID: "2@x"})
		if refused, ok := errors.AsType[*mailer.Refused](err); !ok || refused.Later {
			t.Errorf("%q: %v", to, err)
		}
	}
	if len(s.Mails()) != 1 {
		t.Errorf("%d mails", len(s.Mails()))
	}
}

// Whoever repeats a mail must know whether it may have been sent.
func TestTheErrorTellsWhetherAMailMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault       smtpserver.Fault
		sent, later bool
	}{
		{smtpserver.Fault{Command: "MAIL", Reply: "451 later"}, false, true},
		{smtpserver.Fault{Command: "RCPT", Reply: "550 nobody here"}, false, false},
		{smtpserver.Fault{Command: "RCPT", Reply: "450 greylisted"}, false, true},
		{smtpserver.Fault{Command: "DATA", Reply: "554 no"}, false, false},
		{smtpserver.Fault{Command: "MAIL", Drop: true}, false, true},
		{smtpserver.Fault{Command: ".", Reply: "552 too large"}, false, false},
		{smtpserver.Fault{Command: ".", Drop: true}, true, false},
	} {
		t.Run(fmt.Sprint(c.fault), func(t *testing.T) {
			t.Parallel()
			s := smtpserver.New(t)
			s.Fail(c.fault)
			err := send(t, s, mailer.Message{To: "ada@example.com", Subject: "s", Text: "t", ID: "1@x"})
			refused, ok := errors.AsType[*mailer.Refused](err)
			if err == nil || ok == c.sent || ok && refused.Later != c.later {
				t.Errorf("%v", err)
			}
		})
	}
	s := smtpserver.New(t)
	s.Close()
	err := send(t, s, mailer.Message{To: "ada@example.com", Subject: "s", Text: "t", ID: "1@x"})
	if refused, ok := errors.AsType[*mailer.Refused](err); !ok || !refused.Later {
		t.Errorf("no server: %v", err)
	}
}

func TestSettingsOfTheServerAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []mailer.Options{{URL: "http://x", From: "a@b.c"}, {URL: "smtp://", From: "a@b.c"}, {URL: "smtp://x", From: "nobody"}, {}} {
		if _, err := mailer.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// A password is sent in plain text to this machine only, with either mechanism.
func TestTheMailerSignsIn(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"PLAIN", "LOGIN"} {
		s := smtpserver.New(t)
		s.RequireAuth(mechanism, "ada", "secret")
		sender, err := mailer.New(mailer.Options{URL: strings.Replace(s.URL, "smtp://", "smtp://ada:secret@", 1), From: "a@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		if err := sender.Send(t.Context(), mailer.Message{To: "ada@example.com", Text: "t", ID: "1@x"}); err != nil || len(s.Mails()) != 1 {
			t.Errorf("%s: %v", mechanism, err)
		}
		if err := send(t, s, mailer.Message{To: "ada@example.com", Text: "t", ID: "2@x"}); err == nil {
			t.Errorf("%s: sent without signing in", mechanism)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add("ada@example.com", "subject", "text", "<a@b>")
	f.Add("a@b\r\nBcc: c@d", "s\r\nX: y", ".\r\n", "a b")
	f.Fuzz(func(t *testing.T, to, subject, text, id string) {
		raw, recipient, err := mailer.Render(mailer.Message{To: to, Subject: subject, Text: text, ID: "1@x", InReplyTo: id, References: []string{id}}, "me@example.com", at())
		if err != nil {
			return
		}
		got, err := mail.ReadMessage(strings.NewReader(string(raw)))
		if err != nil || got.Header.Get("Bcc") != "" || len(got.Header) > 12 || strings.ContainsAny(recipient, "\r\n <>") {
			t.Errorf("%q: %v", raw, err)
		}
	})
}
