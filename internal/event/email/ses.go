package email

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	topicsName  = "topic_arns"
	keyIDName   = "access_key_id"
	keyName     = "secret_access_key"
	maxMailSize = 40 << 20 // SES accepts mails of 40 MB
)

// region matches the name of a region.
var region = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d{1,2}$`)

// topicARN matches the name of a topic; its first group is the region.
var topicARN = regexp.MustCompile(`^arn:aws(?:-[a-z-]+)?:sns:([a-z0-9-]{1,40}):\d{12}:[A-Za-z0-9_.-]{1,256}$`)

// SES returns the provider of mails that Amazon SES receives and SNS delivers.
func SES(d Deps) event.Provider {
	keys := newCertificates(d.Client, d.Roots)
	return event.Provider{
		Family: event.Email, Name: "ses", Title: "Amazon SES", Description: "Mails that Amazon SES receives, by an SNS topic.",
		Documentation: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
		Options: options(connectors.Option{
			Name: topicsName, Title: "Topics", Type: connectors.TypeStringList, Required: true, Example: "arn:aws:sns:eu-west-1:123456789012:mails",
			Help: "The ARNs of the SNS topics. Messages of other topics are refused, although Amazon has signed them.",
			Check: func(v any) error {
				list, _ := v.([]string)
				for _, arn := range list {
					if !topicARN.MatchString(arn) {
						return errors.New("has a value that is no ARN of an SNS topic")
					}
				}
				return nil
			},
		}, senderOption("An address that SES may send from. With it and an access key, answers to the mails go by SES."), connectors.Option{
			Name: regionName, Title: "Region of answers", Type: connectors.TypeString, Example: "eu-west-1", Help: "Where SES sends from. Empty: the region of the first topic.",
			Check: func(v any) error {
				if text, _ := v.(string); text != "" && !region.MatchString(text) {
					return errors.New("must be a region such as eu-west-1")
				}
				return nil
			},
		}),
		Credentials: []connectors.Option{
			{Name: keyIDName, Title: "Access key id", Type: connectors.TypeString, Help: "For rules with the action S3: a key that may read the bucket. To answer by SES: one that may ses:SendEmail."},
			{Name: keyName, Title: "Secret access key", Type: connectors.TypeString, Sensitive: true, Help: "For rules with the action S3, and to answer by SES."},
		},
		Hint: "In SES: a receipt rule with the action SNS (mails up to 150 KB) or S3 with a topic. In SNS: subscribe the address to the topic by HTTPS. Magpie confirms the subscription.",
		Keys: func(s connectors.Settings) []string {
			out := addressKeys(s)
			for _, arn := range s.Strings(topicsName) {
				out = append(out, strings.ToLower(arn))
			}
			return out
		},
		Route: func(r *event.Request) ([]string, error) {
			m, err := readSNS(r.Body)
			if err != nil || m.TopicARN == "" {
				return nil, event.ErrDelivery
			}
			return []string{strings.ToLower(m.TopicARN)}, nil
		},
		Verify: func(ctx context.Context, r *event.Request, s connectors.Settings, _ string, now time.Time) error {
			m, err := readSNS(r.Body)
			if err != nil {
				return event.Refuse("the request is no message of Amazon SNS")
			}
			if !slices.Contains(s.Strings(topicsName), m.TopicARN) {
				return event.Refuse("the topic is not one of the integration")
			}
			return keys.verify(ctx, m, now)
		},
		Receive: func(ctx context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
			return receiveSES(ctx, keys.client, r.Body)
		},
		Read: func(p event.Payload) (event.Content, error) {
			m, err := readSNS(p.Body)
			if err != nil {
				return event.Content{}, err
			}
			out, err := readSES(m)
			return event.Content{Mail: out}, err
		},
		Complete: func(ctx context.Context, c *event.Content, s connectors.Settings) error {
			return completeSES(ctx, d, c.Mail, s)
		},
	}
}

func receiveSES(ctx context.Context, client *http.Client, body []byte) (event.Delivery, error) {
	m, err := readSNS(body)
	if err != nil {
		return event.Delivery{}, err
	}
	switch m.Type {
	case snsSubscribe:
		u, err := snsURL(m.SubscribeURL)
		if err != nil {
			return event.Delivery{}, err
		}
		if _, err := fetch(ctx, client, u.String(), maxConfirmBytes); err != nil {
			return event.Delivery{}, fmt.Errorf("confirm a subscription: %w", err)
		}
		return event.Delivery{}, nil
	case snsUnsubscribe:
		return event.Delivery{Failing: "The topic was unsubscribed; subscribe the address again in Amazon SNS"}, nil
	}
	mail, err := readSES(m)
	if errors.Is(err, errNoMail) {
		return event.Delivery{}, nil // a test of the topic
	}
	if err != nil {
		return event.Delivery{}, err
	}
	return received(m.MessageID, mail), nil
}

type sesVerdict struct {
	Status string `json:"status"`
}

func (v sesVerdict) text() string { return strings.ToLower(safetext.Line(v.Status)) }

type sesNotification struct {
	Type string `json:"notificationType"`
	Mail *struct {
		Source        string   `json:"source"`
		MessageID     string   `json:"messageId"`
		Destination   []string `json:"destination"`
		CommonHeaders struct {
			From      []string `json:"from"`
			To        []string `json:"to"`
			CC        []string `json:"cc"`
			Subject   string   `json:"subject"`
			MessageID string   `json:"messageId"`
			Date      string   `json:"date"`
		} `json:"commonHeaders"`
		Headers []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"headers"`
	} `json:"mail"`
	Receipt struct {
		Recipients []string   `json:"recipients"`
		SPF        sesVerdict `json:"spfVerdict"`
		DKIM       sesVerdict `json:"dkimVerdict"`
		DMARC      sesVerdict `json:"dmarcVerdict"`
		Spam       sesVerdict `json:"spamVerdict"`
		Virus      sesVerdict `json:"virusVerdict"`
		Action     struct {
			Type     string `json:"type"`
			Encoding string `json:"encoding"`
			Bucket   string `json:"bucketName"`
			Key      string `json:"objectKey"`
		} `json:"action"`
	} `json:"receipt"`
	Content *string `json:"content"`
}

var errNoMail = errors.New("the message is about no mail")

func readSES(m snsMessage) (*event.Mail, error) {
	var n sesNotification
	if json.Unmarshal([]byte(m.Message), &n) != nil || n.Type != "Received" || n.Mail == nil {
		return nil, errNoMail
	}
	var out *event.Mail
	if n.Content != nil {
		raw := []byte(*n.Content)
		if strings.EqualFold(n.Receipt.Action.Encoding, "BASE64") {
			decoded, err := base64.StdEncoding.DecodeString(*n.Content)
			if err != nil {
				return nil, event.ErrDelivery
			}
			raw = decoded
		}
		var err error
		if out, err = parseMIME(raw); err != nil {
			return nil, err
		}
	} else {
		out = &event.Mail{Headers: map[string]string{}}
		for _, h := range n.Mail.Headers {
			if name := http.CanonicalHeaderKey(h.Name); out.Headers[name] == "" && len(out.Headers) < 200 {
				out.Headers[name] = safetext.TruncateBytes(safetext.Line(decodeWords(h.Value)), 2000)
			}
		}
		fromHeaders(out)
		common := n.Mail.CommonHeaders
		if len(common.From) > 0 {
			out.From = parseAddress(common.From[0])
		}
		out.To, out.CC, out.Subject, out.MessageID = parseAddresses(strings.Join(common.To, ", ")), parseAddresses(strings.Join(common.CC, ", ")), common.Subject, common.MessageID
		if date, err := parseDate(common.Date); err == nil {
			out.Date = date
		}
		if n.Receipt.Action.Type == "S3" {
			out.Object = &event.StoredMail{Bucket: n.Receipt.Action.Bucket, Key: n.Receipt.Action.Key, Region: topicRegion(m.TopicARN)}
		}
		complete(out)
	}
	recipients := n.Receipt.Recipients
	if len(recipients) == 0 {
		recipients = n.Mail.Destination
	}
	out.Recipient = safetext.Line(strings.Join(recipients[:min(len(recipients), maxRecipients)], ", "))
	n.judge(out)
	return out, nil
}

// judge sets the verdicts of SES.
func (n sesNotification) judge(m *event.Mail) {
	m.SPF, m.DKIM, m.DMARC, m.Virus = n.Receipt.SPF.text(), n.Receipt.DKIM.text(), n.Receipt.DMARC.text(), n.Receipt.Virus.text()
	if n.Receipt.Spam.text() == "fail" {
		m.SpamScore = 10
	}
	// The verdicts are about the sender that SES has read. Another reader of the same mail
	// may see another one, which nobody has verified.
	from := n.Mail.CommonHeaders.From
	if len(from) != 1 || m.From.Email == "" || !strings.EqualFold(parseAddress(from[0]).Email, m.From.Email) {
		return
	}
	m.Verified = m.DMARC == "pass" || m.DMARC != "fail" && m.SPF == "pass" && aligned(n.Mail.Source, m.From.Email)
}

func topicRegion(arn string) string {
	if found := topicARN.FindStringSubmatch(arn); found != nil {
		return found[1]
	}
	return ""
}

func parseDate(text string) (time.Time, error) {
	at, err := mail.ParseDate(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("parse a date: %w", err)
	}
	return at.UTC(), nil
}

// completeSES reads a mail that SES stored in a bucket.
func completeSES(ctx context.Context, d Deps, m *event.Mail, s connectors.Settings) error {
	if m == nil || m.Object == nil {
		return nil
	}
	if s.Credentials[keyIDName] == "" || s.Credentials[keyName] == "" {
		return event.Refuse("the mail is in the bucket %s, and the integration has no access key for it", safetext.Line(m.Object.Bucket))
	}
	endpoint, secure := "s3."+m.Object.Region+".amazonaws.com", true
	if d.S3Endpoint != "" {
		u, err := url.Parse(d.S3Endpoint)
		if err != nil {
			return fmt.Errorf("read the address of S3: %w", err)
		}
		endpoint, secure = u.Host, u.Scheme == "https"
	}
	o := &minio.Options{Creds: credentials.NewStaticV4(s.Credentials[keyIDName], s.Credentials[keyName], ""), Secure: secure, Region: m.Object.Region}
	if d.Client != nil {
		o.Transport = d.Client.Transport
	}
	client, err := minio.New(endpoint, o)
	if err != nil {
		return event.Refuse("the bucket cannot be addressed: %s", err.Error())
	}
	object, err := client.GetObject(ctx, m.Object.Bucket, m.Object.Key, minio.GetObjectOptions{})
	if err != nil {
		return event.Refuse("the bucket cannot be addressed: %s", err.Error())
	}
	defer func() { _ = object.Close() }()
	raw, err := io.ReadAll(io.LimitReader(object, maxMailSize+1))
	if code := minio.ToErrorResponse(err).Code; err != nil {
		if code == "AccessDenied" || code == "NoSuchKey" || code == "NoSuchBucket" || code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" {
			return event.Refuse("the mail cannot be read from the bucket: %s", code)
		}
		return fmt.Errorf("read a mail from a bucket: %w", err)
	}
	if len(raw) > maxMailSize {
		return event.Refuse("the mail in the bucket is larger than 40 MB")
	}
	full, err := parseMIME(raw)
	if err != nil {
		return event.Refuse("the object in the bucket is no mail")
	}
	full.Recipient, full.SPF, full.DKIM, full.DMARC, full.Virus, full.SpamScore = m.Recipient, m.SPF, m.DKIM, m.DMARC, m.Virus, m.SpamScore
	full.Verified = m.Verified && strings.EqualFold(full.From.Email, m.From.Email)
	*m = *full
	return nil
}
