package mailer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/tracing"
)

// APIOptions configure an API. Zero means the default in the comment.
type APIOptions struct {
	// Dial makes the connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Now  func() time.Time // time.Now
	// Postmark and SES replace the addresses of the services, for tests.
	Postmark, SES string
	Transport     http.RoundTripper // replaces the connections of the process, for tests
}

// API reaches mail services by HTTP. It is safe for concurrent use, and follows no
// redirects.
type API struct {
	opt  APIOptions
	http *http.Client
}

// NewAPI returns an API.
func NewAPI(o APIOptions) *API {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = tracing.Transport(&http.Transport{DialContext: o.Dial, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second})
	}
	return &API{opt: o, http: &http.Client{
		Timeout: timeout, Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

const (
	maxAnswer  = 1 << 20 // bytes of an answer that are read
	maxRefusal = 300     // characters of the reason of a refusal
)

// A Postmark sends mails by a server of Postmark.
type Postmark struct {
	api   *API
	from  mail.Address
	token string
}

// Postmark returns a Postmark that sends as from with the token of a server.
func (a *API) Postmark(from, token string) (*Postmark, error) {
	address, err := parseSender(from)
	if err != nil {
		return nil, err
	}
	return &Postmark{api: a, from: address, token: token}, nil
}

// parseSender returns the address of a sender.
func parseSender(from string) (mail.Address, error) {
	address, err := mail.ParseAddress(from)
	if err != nil {
		return mail.Address{}, fmt.Errorf("the sender %q is no mail address", from)
	}
	return *address, nil
}

// From returns the address of the sender.
func (p *Postmark) From() string { return p.from.Address }

// Send sends a mail. The error is as that of [Mailer.Send].
//
// https://postmarkapp.com/developer/api/email-api
func (p *Postmark) Send(ctx context.Context, m Message) error {
	h, err := m.header()
	if err != nil {
		return &Refused{Cause: err}
	}
	// Without X-PM-KeepID, Postmark replaces the id.
	headers := []map[string]string{{"Name": "Message-ID", "Value": h.id}, {"Name": "X-PM-KeepID", "Value": "true"}}
	for _, field := range h.fields {
		headers = append(headers, map[string]string{"Name": field.name, "Value": field.value})
	}
	body, err := json.Marshal(map[string]any{
		"From": p.from.String(), "To": h.to.String(), "ReplyTo": h.replyTo, "Subject": safetext.Line(m.Subject), "TextBody": safetext.Storable(m.Text),
		"Headers": headers, "MessageStream": "outbound", "TrackOpens": false, "TrackLinks": "None",
	})
	if err != nil {
		return &Refused{Cause: fmt.Errorf("encode a mail: %w", err)}
	}
	base := p.api.opt.Postmark
	if base == "" {
		base = "https://api.postmarkapp.com"
	}
	answer, err := p.api.send(ctx, base+"/email", body, func(r *http.Request) { r.Header.Set("X-Postmark-Server-Token", p.token) })
	if err != nil {
		return err
	}
	var said struct {
		ErrorCode *int   `json:"ErrorCode"`
		Message   string `json:"Message"`
	}
	known := json.Unmarshal(answer.body, &said) == nil && said.ErrorCode != nil
	switch {
	case answer.refused():
		return answer.refusal("Postmark", said.Message, answer.status == http.StatusTooManyRequests)
	case answer.status != http.StatusOK || !known:
		return fmt.Errorf("send a mail by Postmark: the answer of the status %d says nothing", answer.status)
	case *said.ErrorCode != 0:
		return answer.refusal("Postmark", said.Message, false)
	}
	return nil
}

// An SES sends mails by Amazon SES.
type SES struct {
	api                *API
	from               mail.Address
	region, keyID, key string
}

// SES returns an SES that sends as from, in a region, with an access key that may call
// ses:SendEmail.
func (a *API) SES(from, region, keyID, key string) (*SES, error) {
	address, err := parseSender(from)
	if err != nil {
		return nil, err
	}
	if region == "" || strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return nil, errors.New("the region is none of Amazon's")
	}
	return &SES{api: a, from: address, region: region, keyID: keyID, key: key}, nil
}

// From returns the address of the sender.
func (s *SES) From() string { return s.from.Address }

// Send sends a mail. The error is as that of [Mailer.Send]. Amazon replaces the id of the
// mail.
//
// https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html
func (s *SES) Send(ctx context.Context, m Message) error {
	now := s.api.opt.Now()
	raw, to, err := render(m, s.from, now)
	if err != nil {
		return &Refused{Cause: err}
	}
	body, err := json.Marshal(map[string]any{
		"FromEmailAddress": s.from.Address, "Destination": map[string]any{"ToAddresses": []string{to}},
		"Content": map[string]any{"Raw": map[string]any{"Data": base64.StdEncoding.EncodeToString(raw)}},
	})
	if err != nil {
		return &Refused{Cause: fmt.Errorf("encode a mail: %w", err)}
	}
	base := s.api.opt.SES
	if base == "" {
		base = "https://email." + s.region + ".amazonaws.com"
		if strings.HasPrefix(s.region, "cn-") {
			base += ".cn"
		}
	}
	answer, err := s.api.send(ctx, base+"/v2/email/outbound-emails", body, func(r *http.Request) { sign(r, body, s.keyID, s.key, s.region, "ses", now) })
	if err != nil {
		return err
	}
	var said struct {
		MessageID string `json:"MessageId"`
		Message   string `json:"message"`
	}
	known := json.Unmarshal(answer.body, &said) == nil
	switch {
	case answer.refused():
		failure, _, _ := strings.Cut(answer.header.Get("X-Amzn-Errortype"), ":")
		later := answer.status == http.StatusTooManyRequests || strings.HasPrefix(failure, "Throttling") || failure == "TooManyRequestsException" || failure == "LimitExceededException"
		return answer.refusal("Amazon SES", strings.TrimSpace(failure+" "+said.Message), later)
	case answer.status != http.StatusOK || !known || said.MessageID == "":
		return fmt.Errorf("send a mail by Amazon SES: the answer of the status %d says nothing", answer.status)
	}
	return nil
}

// answer is the answer of a service.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// refused reports whether the service took nothing. Of what a server failed at, nobody
// knows.
func (a answer) refused() bool { return a.status >= 300 && a.status < 500 }

func (a answer) refusal(service, reason string, later bool) error {
	if reason == "" {
		reason = fmt.Sprintf("the status %d", a.status)
	}
	return &Refused{Later: later, Cause: fmt.Errorf("%s refused it: %s", service, safetext.Truncate(safetext.Line(reason), maxRefusal))}
}

// send makes a request. The error is a *Refused if the service has not seen it.
func (a *API) send(ctx context.Context, address string, body []byte, authorize func(*http.Request)) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return answer{}, &Refused{Cause: withoutAddress(err)}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	authorize(request)
	request, begun := httpx.Watch(request)
	response, err := a.http.Do(request)
	switch {
	case err != nil && !begun():
		return answer{}, &Refused{Later: true, Cause: fmt.Errorf("reach the mail service: %w", withoutAddress(err))}
	case err != nil:
		return answer{}, fmt.Errorf("send a mail: %w", withoutAddress(err))
	}
	defer func() { _ = response.Body.Close() }()
	out := answer{status: response.StatusCode, header: response.Header}
	if out.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil && !out.refused() {
		return answer{}, fmt.Errorf("send a mail: read the answer: %w", err)
	}
	return out, nil
}

func withoutAddress(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
