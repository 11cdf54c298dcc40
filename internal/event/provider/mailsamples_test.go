package provider_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1" // SignatureVersion 1 of SNS
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"mime/multipart"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/event"
)

const topic = "arn:aws:sns:eu-west-1:123456789012:mails"

func mailOf(check func(t *testing.T, m *event.Mail)) func(t *testing.T, c event.Content) {
	return func(t *testing.T, c event.Content) {
		t.Helper()
		if c.Mail == nil {
			t.Fatalf("no mail: %+v", c)
		}
		check(t, c.Mail)
	}
}

// parsedForm returns a body of SendGrid in Latin 1.
func parsedForm(t testing.TB) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.SetBoundary("xYzZY"))
	for _, field := range [][2]string{
		{"headers", "Received: by mx0047p1mdw1.sendgrid.net\r\nMessage-ID: <m1@example.com>\r\nReferences: <a@example.com>\r\n <b@example.com>\r\nDate: Tue, 24 Nov 2026 11:59:00 +0000\r\n"},
		{"dkim", "{@example.com : pass}"}, {"to", "Support <support@acme.example>"}, {"html", "<p>Caf\xe9 <b>order</b></p>"}, {"from", "Ada Lovelace <ada@example.com>"},
		{"sender_ip", "192.0.2.1"}, {"envelope", `{"to":["support+tok@acme.example"],"from":"ada@example.com"}`}, {"attachments", "1"},
		{"subject", "Caf\xe9"}, {"attachment-info", `{"attachment1":{"filename":"a.txt","name":"a.txt","type":"text/plain"}}`},
		{"charsets", `{"to":"UTF-8","html":"iso-8859-1","subject":"iso-8859-1","from":"UTF-8"}`}, {"SPF", "pass"}, {"spam_score", "0.5"},
	} {
		must(w.WriteField(field[0], field[1]))
	}
	part, err := w.CreateFormFile("attachment1", "a.txt")
	must(err)
	_, err = part.Write([]byte("content"))
	must(err)
	must(w.Close())
	return w.FormDataContentType(), b.String()
}

// authority signs as Amazon SNS does. Its certificate was issued by root.
type authority struct {
	key     *rsa.PrivateKey
	pem     []byte
	roots   *x509.CertPool
	version string // of signatures; 2 if empty
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	root := newIssuer(t, "Root", nil)
	key, text := root.issue(t, nil)
	return authority{key: key, pem: text, roots: root.pool()}
}

// issuer is an authority of certificates.
type issuer struct {
	key  *rsa.PrivateKey
	cert *x509.Certificate
}

// newIssuer returns an authority that is issued by another one, or by itself.
func newIssuer(t testing.TB, name string, by *issuer) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: moment().Add(-24 * time.Hour), NotAfter: moment().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{key, cert}
}

func (i *issuer) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.cert)
	return pool
}

// issue returns a key with a certificate of SNS in PEM.
func (i *issuer) issue(t testing.TB, change func(*x509.Certificate)) (*rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, DNSNames: []string{"sns.amazonaws.com"},
		NotBefore: moment().Add(-24 * time.Hour), NotAfter: moment().Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &key.PublicKey, i.key)
	if err != nil {
		t.Fatal(err)
	}
	return key, pemOf(der)
}

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

const certURL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem"

// envelope returns a signed message of SNS. A secret other than the topic signs with
// another key.
func (a authority) envelope(t testing.TB, typ, message, arn string, at time.Time, more map[string]string) []byte {
	t.Helper()
	fields := map[string]string{"Type": typ, "MessageId": "sns-1", "TopicArn": arn, "Message": message, "Timestamp": at.Format("2006-01-02T15:04:05.000Z")}
	for name, value := range more {
		fields[name] = value
	}
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if typ != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text strings.Builder
	for _, name := range names {
		if value, ok := fields[name]; ok {
			text.WriteString(name + "\n" + value + "\n")
		}
	}
	hash, version := crypto.SHA256, "2"
	if a.version == "1" {
		hash, version = crypto.SHA1, "1"
	}
	sum := hash.New()
	sum.Write([]byte(text.String()))
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, hash, sum.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	fields["SignatureVersion"], fields["Signature"], fields["SigningCertURL"] = version, base64.StdEncoding.EncodeToString(signature), certURL
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const sesMessage = `{"notificationType":"Received","mail":{"timestamp":"2026-11-24T11:59:00.000Z","source":"ada@example.com","messageId":"o3vrnil0e2ic28trm7dfhrc2v0clambda4nbp0g1","destination":["support@acme.example"],"commonHeaders":{"from":["Ada <ada@example.com>"],"to":["support@acme.example"],"subject":"Hello","messageId":"<m1@example.com>","date":"Tue, 24 Nov 2026 11:59:00 +0000"}},"receipt":{"recipients":["support@acme.example"],"spamVerdict":{"status":"PASS"},"virusVerdict":{"status":"PASS"},"spfVerdict":{"status":"PASS"},"dkimVerdict":{"status":"PASS"},"dmarcVerdict":{"status":"PASS"},"action":{"type":"SNS","topicArn":"` + topic + `","encoding":"UTF8"}},"content":"From: =?utf-8?q?Ad=C3=A4?= <ada@example.com>\r\nTo: support@acme.example\r\nSubject: Hello\r\nMessage-ID: <m1@example.com>\r\nDate: Tue, 24 Nov 2026 11:59:00 +0000\r\nAuto-Submitted: auto-replied\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nCaf=E9\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVs\r\nbG8=\r\n--b--\r\n"}`

func mailSamples(t testing.TB, sns authority) map[string]sample {
	t.Helper()
	sendGridKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	otherKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&sendGridKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	foreign := newAuthority(t)
	contentType, form := parsedForm(t)
	return map[string]sample{
		"postmark": {
			settings: settings(map[string]any{"addresses": []any{"yourhash+SampleHash@inbound.postmarkapp.com"}}), secret: "p4ssword",
			sign: func(body []byte, secret string, _ time.Time) *event.Request {
				return newRequest(body, address, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("magpie:"+secret)))
			},
			keys: []string{"yourhash+samplehash@inbound.postmarkapp.com", "yourhash+samplehash", "samplehash", "firstcc@postmarkapp.com", "firstcc"},
			id:   "73e6d360-66eb-11e1-8e72-a8904824019b", typ: "email",
			content: mailOf(func(t *testing.T, m *event.Mail) {
				t.Helper()
				if m.From.Email != "support@postmarkapp.com" || m.Subject != "Test subject" || m.StrippedReply != "This is the reply text" || m.MessageID != "<m1@postmarkapp.com>" ||
					!m.Verified || m.SPF != "pass" || m.SpamScore != -0.1 || m.Automatic != "" || len(m.Attachments) != 1 || string(m.Attachments[0].Content[:4]) != "This" {
					t.Errorf("the mail is %+v", m)
				}
			}),
		},
		"sendgrid": {
			settings: settings(map[string]any{"public_key": base64.StdEncoding.EncodeToString(public)}), secret: "signed", body: form, timed: true,
			sign: func(body []byte, secret string, at time.Time) *event.Request {
				key := sendGridKey
				if secret != "signed" {
					key = otherKey
				}
				stamp := strconv.FormatInt(at.Unix(), 10)
				sum := sha256.Sum256(append([]byte(stamp), body...))
				signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
				if err != nil {
					t.Fatal(err)
				}
				return newRequest(body, address, "Content-Type", contentType, "X-Twilio-Email-Event-Webhook-Timestamp", stamp,
					"X-Twilio-Email-Event-Webhook-Signature", base64.StdEncoding.EncodeToString(signature))
			},
			keys: []string{"support+tok@acme.example", "support+tok", "tok", "support@acme.example", "support"}, id: "<m1@example.com> support+tok@acme.example", typ: "email",
			content: mailOf(func(t *testing.T, m *event.Mail) {
				t.Helper()
				if m.From.Name != "Ada Lovelace" || m.Subject != "Café" || m.Text != "Café order" || !m.Verified || m.DKIM != "pass" || len(m.References) != 2 ||
					len(m.Attachments) != 1 || m.Attachments[0].Name != "a.txt" || m.Date.IsZero() {
					t.Errorf("the mail is %+v", m)
				}
			}),
		},
		"ses": {
			settings: settings(map[string]any{"topic_arns": []any{topic}}), secret: "signed", body: sesMessage, timed: true,
			sign: func(body []byte, secret string, at time.Time) *event.Request {
				by := sns
				if secret != "signed" {
					by = foreign
				}
				return newRequest(by.envelope(t, "Notification", string(body), topic, at, nil), address, "Content-Type", "text/plain; charset=UTF-8")
			},
			keys: []string{strings.ToLower(topic)}, id: "sns-1", typ: "email",
			content: mailOf(func(t *testing.T, m *event.Mail) {
				t.Helper()
				if m.From.Name != "Adä" || m.Text != "Café" || m.Automatic == "" || !m.Verified || m.DMARC != "pass" || m.Recipient != "support@acme.example" ||
					len(m.Attachments) != 1 || string(m.Attachments[0].Content) != "Hello" {
					t.Errorf("the mail is %+v", m)
				}
			}),
		},
	}
}
