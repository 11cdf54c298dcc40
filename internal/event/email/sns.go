package email

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1 of SNS
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
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
	if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || !snsHost.MatchString(u.Host) {
		return nil, event.Refuse("an address in the message is not one of Amazon SNS")
	}
	return u, nil
}

// verify checks the signature and the age of a message.
func (c *certificates) verify(ctx context.Context, m snsMessage, now time.Time) error {
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil || len(signature) == 0 {
		return event.Refuse("the signature is missing")
	}
	cert, err := c.get(ctx, m.SigningCertURL, now)
	if err != nil {
		return err
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
