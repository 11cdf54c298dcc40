package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// Inbox receives webhook deliveries. [inbound.Inbox] implements it.
type Inbox interface {
	// Deliver processes a delivery for a connector or, with uuid.Nil, for the
	// connectors of a kind that the delivery names. It returns the response body.
	Deliver(ctx context.Context, kind string, connector uuid.UUID, header http.Header, body []byte) (answer []byte, err error)
	// Challenge returns the response to a request that only tests the address of a
	// kind; ok is false for any other request.
	Challenge(kind string, query url.Values, header http.Header, body []byte) (response string, ok bool)
	// ProbesAddress reports whether the platform of a kind validates the URL before it
	// sends deliveries.
	ProbesAddress(kind string) bool
}

// WebhookOptions configures Webhooks. Zero means the default in the comment.
type WebhookOptions struct {
	Inbox Inbox // required
	// Events receives the deliveries of inbound integrations; nil for none. BaseURL is
	// the address at which their platforms reach the service.
	Events EventInbox
	// Approvals receives what people do with approvals in Slack; nil for none.
	Approvals ApprovalInbox
	BaseURL   string
	Body      int64         // bytes of a delivery; default 25 MiB, the maximum of the platforms
	Read      time.Duration // timeout of reading a body; default 30 s
	// InFlight is the maximum number of bytes of concurrent large deliveries;
	// default 128 MiB.
	InFlight int64
	// Limiter counts deliveries with a wrong signature by the sender's address; nil
	// counts in this process. BadSignatures is their limit a minute; default 300.
	Limiter       Limiter
	BadSignatures int
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger // nil: discarded
}

// Webhooks serves the paths below /webhooks/connectors/ and /api/v1/webhooks/. A delivery
// has no session and no API key; the Inbox first verifies the raw body with the secret of
// the connector or integration.
type Webhooks struct {
	opt   WebhookOptions
	slots chan struct{} // one element for each megabyte in flight
}

// NewWebhooks returns a handler.
func NewWebhooks(o WebhookOptions) *Webhooks {
	o.Body, o.InFlight = orElse(o.Body, 25<<20), orElse(o.InFlight, 128<<20)
	o.Read, o.BadSignatures = orElse(o.Read, 30*time.Second), orElse(o.BadSignatures, 300)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Limiter == nil {
		o.Limiter = ratelimit.New(ratelimit.Options{Log: o.Log})
	}
	return &Webhooks{opt: o, slots: make(chan struct{}, max(1, o.InFlight>>20))}
}

const webhookRoot = "/webhooks/connectors/"

func (h *Webhooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, eventRoot) {
		h.serveEvent(w, r)
		return
	}
	kind, suffix, nested := strings.Cut(strings.TrimPrefix(r.URL.Path, webhookRoot), "/")
	switch {
	case !strings.HasPrefix(r.URL.Path, webhookRoot) || !nameRegexp.MatchString(kind) || (nested && (suffix == "" || strings.Contains(suffix, "/"))):
		h.fail(w, r, apierr.NotFound("Page"))
	case suffix == "validate" && !h.opt.Inbox.ProbesAddress(kind):
		h.fail(w, r, apierr.NotFound("Webhook"))
	case suffix == "validate":
		accesslog.From(r.Context()).SetRoute(webhookRoot + "{kind}/validate")
		h.validate(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows POST"))
	default:
		connector, route := uuid.Nil, webhookRoot+"{kind}"
		if nested {
			route += "/{connector}"
			var err error
			if connector, err = uuid.Parse(suffix); err != nil || connector == uuid.Nil || len(suffix) != len(connector.String()) {
				h.fail(w, r, apierr.NotFound("Connector"))
				return
			}
		}
		accesslog.From(r.Context()).SetRoute(route)
		h.deliver(w, r, kind, connector)
	}
}

// maxChallenge is the maximum length of a challenge in bytes.
const maxChallenge = 1024

// validate answers the validation of the URL with the challenge, as plain text.
func (h *Webhooks) validate(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows GET"))
		return
	}
	query := r.URL.Query()
	for _, name := range []string{"validationToken", "challenge", "hub.challenge"} {
		switch challenge := query.Get(name); {
		case challenge == "":
			continue
		case len(challenge) > maxChallenge:
			h.fail(w, r, apierr.Invalid(name, "is longer than 1024 bytes"))
		default:
			h.send(w, http.StatusOK, "text/plain; charset=utf-8", []byte(challenge))
		}
		return
	}
	h.send(w, http.StatusOK, "application/json; charset=utf-8", []byte(`{"data":{"ok":true}}`))
}

func (h *Webhooks) deliver(w http.ResponseWriter, r *http.Request, kind string, connector uuid.UUID) {
	body, release, err := h.body(w, r)
	defer release()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if r.URL.RawQuery != "" && len(body) <= uncountedBytes {
		if response, ok := h.opt.Inbox.Challenge(kind, r.URL.Query(), r.Header, body); ok {
			h.answerChallenge(w, r, response)
			return
		}
	}
	answer, err := h.opt.Inbox.Deliver(r.Context(), kind, connector, r.Header, body)
	switch {
	case err != nil:
		h.fail(w, r, err)
	case answer != nil:
		kind := "text/plain; charset=utf-8"
		if len(answer) > 0 && answer[0] == '{' {
			kind = "application/json; charset=utf-8"
		}
		h.send(w, http.StatusOK, kind, answer)
	default:
		h.send(w, http.StatusOK, "application/json; charset=utf-8", []byte(`{"data":{"ok":true}}`))
	}
}

// body returns the body of a delivery. release ends its part of the bytes in flight.
func (h *Webhooks) body(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	if r.ContentLength > h.opt.Body {
		return nil, func() {}, h.tooLarge()
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.opt.Read)) // writers of tests may not support it
	body, release, err = h.read(http.MaxBytesReader(w, r.Body, h.opt.Body))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			err = h.tooLarge()
		} else if _, known := errors.AsType[*apierr.Error](err); !known {
			err = apierr.New(apierr.InvalidRequest, "body: is incomplete")
		}
	}
	return body, release, err
}

// countBadSignature counts a delivery whose signature is wrong, and returns another
// error if its sender has sent too many. The signature is verified first, so that a
// flood of wrong deliveries does not keep out a right one from the same address.
func (h *Webhooks) countBadSignature(w http.ResponseWriter, r *http.Request, err error) error {
	if apierr.From(err).Code != apierr.InvalidSignature {
		return err
	}
	result, limitErr := h.opt.Limiter.Allow(r.Context(), "webhook:"+ratelimit.Client(r, h.opt.TrustedProxies), h.opt.BadSignatures)
	if limitErr != nil || result.Allowed {
		return err
	}
	setRateHeaders(w.Header(), result)
	return &apierr.Error{Code: apierr.RateLimited, Message: "Too many deliveries with a wrong signature", RetryAfter: max(result.RetryAfter, 1)}
}

// maxResponse is the maximum length of the response to a challenge in bytes. The
// platforms' tokens have a few hundred.
const maxResponse = 4096

// answerChallenge answers a test of the address. Anybody may send one, so that the
// response must not be taken for markup.
func (h *Webhooks) answerChallenge(w http.ResponseWriter, r *http.Request, response string) {
	if len(response) > maxResponse {
		h.fail(w, r, apierr.New(apierr.InvalidRequest, "query: the challenge is longer than 4096 bytes"))
		return
	}
	text := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(response)
	h.send(w, http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}

// uncountedBytes is the part of each delivery that does not count as in flight.
const uncountedBytes = 64 << 10

// read reads a delivery. Beyond uncountedBytes, each megabyte takes a slot until
// release is called.
func (h *Webhooks) read(from io.Reader) (body []byte, release func(), err error) {
	acquired := 0
	release = func() {
		for range acquired {
			<-h.slots
		}
	}
	var b bytes.Buffer
	for piece := int64(uncountedBytes); ; piece = 1 << 20 {
		n, err := b.ReadFrom(io.LimitReader(from, piece))
		if err != nil || n < piece {
			return b.Bytes(), release, err
		}
		select {
		case h.slots <- struct{}{}:
			acquired++
		default:
			return nil, release, &apierr.Error{Code: apierr.Unavailable, Message: "Too many deliveries at once; send it again", RetryAfter: time.Second}
		}
	}
}

func (h *Webhooks) tooLarge() error {
	return apierr.New(apierr.TooLarge, "The delivery may have at most "+bytesText(h.opt.Body))
}

func (h *Webhooks) send(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // text or JSON, never HTML; the platform may have disconnected
}

func (h *Webhooks) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := apierr.From(h.countBadSignature(w, r, err))
	if status := e.Code.Status(); status >= http.StatusInternalServerError && r.Context().Err() == nil {
		h.opt.Log.ErrorContext(r.Context(), "webhook delivery failed", slog.String(requestid.LogKey, requestid.From(r.Context())), slog.Any("error", err))
	}
	e.SetRetryAfter(w.Header())
	code, message := publicError(e)
	h.send(w, e.Code.Status(), "application/json; charset=utf-8", errorBody(code, message))
}
