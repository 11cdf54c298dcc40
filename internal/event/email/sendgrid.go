package email

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const publicKeyName = "public_key"

// SendGrid returns the provider of SendGrid's Inbound Parse.
func SendGrid() event.Provider {
	return event.Provider{
		Family: event.Email, Name: "sendgrid", Title: "SendGrid", Description: "Mails that SendGrid's Inbound Parse receives, parsed or raw.",
		Documentation: "https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/securing-your-parse-webhooks",
		Options: options(connectors.Option{
			Name: publicKeyName, Title: "Public key", Type: connectors.TypeString,
			Help:  "The public key of the security policy of the parse setting. With it, the signature is required; without it, the password of the address.",
			Check: func(v any) error { _, err := parseKey(v); return err },
		}),
		Credentials: []connectors.Option{{
			Name: secretName, Title: "Password", Type: connectors.TypeString, Sensitive: true, Help: "The password in the address. Leave it empty to have one made.",
		}},
		Secret: secretName, Generated: true, Basic: true,
		Published: func(s connectors.Settings) bool { return s.String(publicKeyName) != "" },
		Hint:      "Settings, Inbound Parse, Add Host & URL. Paste the address, which has the user and the password. Better: attach a security policy with a signature, and enter its public key here.",
		Keys:      addressKeys,
		Route: func(r *event.Request) ([]string, error) {
			form, err := readForm(r.Header.Get("Content-Type"), r.Body, true)
			if err != nil {
				return nil, err
			}
			recipients := form.envelope().To
			for _, a := range parseAddresses(form.text("to")) {
				recipients = append(recipients, a.Email)
			}
			return recipientKeys(recipients...), nil
		},
		Verify: verifySendGrid,
		Receive: func(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
			m, err := readSendGrid(r.Header.Get("Content-Type"), r.Body)
			if err != nil {
				return event.Delivery{}, err
			}
			id := m.MessageID
			if id != "" {
				id += " " + m.Recipient // a mail to two hosts of one integration arrives twice
			}
			return received(id, m), nil
		},
		Headers: []string{"Content-Type"},
		Read: func(p event.Payload) (event.Content, error) {
			m, err := readSendGrid(p.Header.Get("Content-Type"), p.Body)
			return event.Content{Mail: m}, err
		},
	}
}

// parseKey reads a public key as SendGrid shows it: DER in base64.
func parseKey(value any) (*ecdsa.PublicKey, error) {
	text, _ := value.(string)
	der, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("is not base64")
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("is no public key")
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return nil, errors.New("is no public key of the kind ECDSA")
	}
	return public, nil
}

// verifySendGrid checks the signature over the timestamp and the raw body or, without a
// public key, the password.
func verifySendGrid(_ context.Context, r *event.Request, s connectors.Settings, secret string, now time.Time) error {
	if s.String(publicKeyName) == "" {
		return event.VerifyBasic(r.Header, secret)
	}
	key, err := parseKey(s.String(publicKeyName))
	if err != nil {
		return event.Refuse("the public key of the integration is malformed")
	}
	stamp := r.Header.Get("X-Twilio-Email-Event-Webhook-Timestamp")
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Twilio-Email-Event-Webhook-Signature"))
	if err != nil || len(signature) == 0 {
		return event.Refuse("the signature is missing")
	}
	sum := sha256.Sum256(append([]byte(stamp), r.Body...))
	if !ecdsa.VerifyASN1(key, sum[:], signature) {
		return event.Refuse("the signature does not match")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return event.Refuse("the timestamp of the signature is malformed")
	}
	return event.CheckTime(time.Unix(seconds, 0), now, event.Window)
}

// form is a parsed body of SendGrid.
type form struct {
	fields map[string][]byte
	files  []event.Attachment
}

const maxFormParts = 300

// readForm reads a multipart body. brief leaves out the contents that routing does not need.
func readForm(contentType string, body []byte, brief bool) (form, error) {
	f := form{fields: map[string][]byte{}}
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || parameters["boundary"] == "" {
		return f, event.ErrDelivery
	}
	reader := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for range maxFormParts {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, event.ErrDelivery
		}
		name := part.FormName()
		if brief && name != "envelope" && name != "to" {
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return f, event.ErrDelivery
		}
		if part.FileName() != "" {
			f.files = append(f.files, event.Attachment{
				Name: safetext.TruncateBytes(safetext.Line(part.FileName()), 255), ContentType: mediaType(part.Header), Size: len(content), Content: content,
				ContentID: name,
			})
			continue
		}
		f.fields[name] = content
	}
	return f, event.ErrDelivery
}

func mediaType(h textproto.MIMEHeader) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind
}

// text returns a field in its charset, which the field charsets says.
func (f form) text(name string) string {
	var charsets map[string]string
	_ = json.Unmarshal(f.fields["charsets"], &charsets)
	return toUTF8(f.fields[name], charsets[name])
}

type envelope struct {
	To   []string `json:"to"`
	From string   `json:"from"`
}

func (f form) envelope() envelope {
	var e envelope
	_ = json.Unmarshal(f.fields["envelope"], &e)
	return e
}

func readSendGrid(contentType string, body []byte) (*event.Mail, error) {
	f, err := readForm(contentType, body, false)
	if err != nil {
		return nil, err
	}
	var m *event.Mail
	switch raw := f.fields["email"]; {
	case raw != nil:
		if m, err = parseMIME(raw); err != nil {
			return nil, err
		}
	case f.fields["from"] == nil:
		return nil, event.ErrDelivery
	default:
		m = f.parsed()
	}
	e := f.envelope()
	if len(e.To) > 0 {
		m.Recipient = safetext.Line(strings.Join(e.To[:min(len(e.To), maxRecipients)], ", "))
	}
	m.SPF = strings.ToLower(safetext.Line(f.text("SPF")))
	var signed bool
	m.DKIM, signed = readDKIM(f.text("dkim"), m.From.Email)
	m.Verified = signed || m.SPF == "pass" && aligned(e.From, m.From.Email)
	m.SpamScore, _ = strconv.ParseFloat(strings.TrimSpace(f.text("spam_score")), 64)
	return m, nil
}

// parsed returns the mail of a body whose parts SendGrid has parsed.
func (f form) parsed() *event.Mail {
	m := &event.Mail{Headers: map[string]string{}, Text: f.text("text"), HTML: f.text("html")}
	senders := 0
	for line := range strings.SplitSeq(unfold(f.text("headers")), "\n") {
		name, value, ok := strings.Cut(line, ":")
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if ok && name == "From" {
			senders++
		}
		if ok && m.Headers[name] == "" && len(m.Headers) < 200 {
			m.Headers[name] = safetext.TruncateBytes(safetext.Line(decodeWords(value)), 2000)
		}
	}
	fromHeaders(m)
	m.From, m.To, m.Subject = parseAddress(f.text("from")), parseAddresses(f.text("to")), f.text("subject")
	if senders > 1 {
		m.From = event.Address{} // as in parseMIME
	}
	if cc := f.text("cc"); cc != "" {
		m.CC = parseAddresses(cc)
	}
	if date, err := parseDate(m.Headers["Date"]); err == nil {
		m.Date = date
	}
	m.Attachments = f.files
	complete(m)
	return m
}

// unfold joins the lines of headers that continue.
func unfold(text string) string {
	return strings.NewReplacer("\r\n ", " ", "\r\n\t", " ", "\n ", " ", "\n\t", " ").Replace(text)
}

// readDKIM reads the field dkim: {@example.com : pass}. signed says that the domain of the
// sender passes.
func readDKIM(text, from string) (result string, signed bool) {
	result = "none"
	for entry := range strings.SplitSeq(strings.Trim(strings.ToLower(text), "{} \r\n"), ",") {
		name, verdict, ok := strings.Cut(entry, ":")
		if !ok {
			continue
		}
		verdict, name = strings.TrimSpace(verdict), strings.Trim(strings.TrimSpace(name), "@")
		if result != "pass" {
			result = safetext.TruncateBytes(safetext.Line(verdict), 40)
		}
		if verdict == "pass" && name != "" && name == domain(from) {
			signed = true
		}
	}
	return result, signed
}
