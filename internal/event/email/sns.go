package email

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1 of SNS
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/event"
)

// Types of SNS messages.
const (
	snsNotification = "Notification"
	snsSubscribe    = "SubscriptionConfirmation"
	snsUnsubscribe  = "UnsubscribeConfirmation"
)

// snsWindow is the largest age of a message. SNS repeats a delivery with the same
// timestamp for up to an hour.
const snsWindow = time.Hour

//nolint:tagliatelle // the names of SNS
type snsMessage struct {
	Type             string  `json:"Type"`
	MessageID        string  `json:"MessageId"`
	TopicARN         string  `json:"TopicArn"`
	Subject          *string `json:"Subject"`
	Message          string  `json:"Message"`
	Timestamp        string  `json:"Timestamp"`
	SignatureVersion string  `json:"SignatureVersion"`
	Signature        string  `json:"Signature"`
	SigningCertURL   string  `json:"SigningCertURL"`
	SubscribeURL     string  `json:"SubscribeURL"`
	Token            string  `json:"Token"`
}

func readSNS(body []byte) (snsMessage, error) {
	var m snsMessage
	if json.Unmarshal(body, &m) != nil {
		return m, event.ErrDelivery
	}
	switch m.Type {
	case snsNotification, snsSubscribe, snsUnsubscribe:
		return m, nil
	}
	return m, event.ErrDelivery
}

// canonical returns the text that SNS signs.
func (m snsMessage) canonical() []byte {
	var b strings.Builder
	add := func(name, value string) { b.WriteString(name + "\n" + value + "\n") }
	add("Message", m.Message)
	add("MessageId", m.MessageID)
	if m.Type == snsNotification {
		if m.Subject != nil {
			add("Subject", *m.Subject)
		}
	} else {
		add("SubscribeURL", m.SubscribeURL)
	}
	add("Timestamp", m.Timestamp)
	if m.Type != snsNotification {
		add("Token", m.Token)
	}
	add("TopicArn", m.TopicARN)
	add("Type", m.Type)
	return []byte(b.String())
}

var snsHost = regexp.MustCompile(`^sns\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?$`)

// snsURL checks an address of SNS.
func snsURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" || !snsHost.MatchString(u.Host) {
		return nil, event.Refuse("an address in the message is not one of Amazon SNS")
	}
	return u, nil
}

// certificates are the keys of SNS by their address.
type certificates struct {
	client *http.Client

	mu    sync.Mutex
	known map[string]*x509.Certificate
}

const (
	maxCertificates     = 100
	maxCertificateBytes = 64 << 10
	platformTimeout     = 10 * time.Second
)

// get returns a certificate, which it reads once.
func (c *certificates) get(ctx context.Context, address string) (*x509.Certificate, error) {
	u, err := snsURL(address)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(u.Path, ".pem") || u.RawQuery != "" {
		return nil, event.Refuse("an address in the message is not one of Amazon SNS")
	}
	c.mu.Lock()
	known := c.known[u.String()]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	text, err := fetch(ctx, c.client, u.String(), maxCertificateBytes)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of SNS: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, event.Refuse("the certificate of SNS is malformed")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, event.Refuse("the certificate of SNS is malformed")
	}
	// The connection to the host above proves where it comes from.
	if cert.VerifyHostname(u.Hostname()) != nil && cert.VerifyHostname("sns.amazonaws.com") != nil {
		return nil, event.Refuse("the certificate is not one of Amazon SNS")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCertificates {
		c.known = map[string]*x509.Certificate{}
	}
	c.known[u.String()] = cert
	return cert, nil
}

// fetch reads an address of a platform.
func fetch(ctx context.Context, client *http.Client, address string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, platformTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if client == nil {
		return nil, fmt.Errorf("make a request: %w", http.ErrSkipAltProtocol)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the platform answered %d", answer.StatusCode) //nolint:err113 // for the log
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return body, nil
}

// verify checks the signature and the age of a message.
func (c *certificates) verify(ctx context.Context, m snsMessage, now time.Time) error {
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil || len(signature) == 0 {
		return event.Refuse("the signature is missing")
	}
	cert, err := c.get(ctx, m.SigningCertURL)
	if err != nil {
		return err
	}
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		return event.Refuse("the certificate of SNS has expired or is not valid yet")
	}
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return event.Refuse("the certificate of SNS has another kind of key")
	}
	switch m.SignatureVersion {
	case "1":
		sum := sha1.Sum(m.canonical()) //nolint:gosec // SignatureVersion 1 of SNS
		err = rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature)
	case "2":
		sum := sha256.Sum256(m.canonical())
		err = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	default:
		return event.Refuse("the signature has an unknown version")
	}
	if err != nil {
		return event.Refuse("the signature does not match")
	}
	at, err := time.Parse(time.RFC3339, m.Timestamp)
	if err != nil {
		return event.Refuse("the timestamp of the signature is malformed")
	}
	return event.CheckTime(at, now, snsWindow)
}
