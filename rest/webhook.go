package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
)

// Inbox takes what platforms tell of changes; inbound.Inbox does.
type Inbox interface {
	// Deliver takes a delivery for one connector or, with uuid.Nil, for all those
	// of the kind that it names, and returns what the platform wants to hear.
	Deliver(ctx context.Context, kind string, connector uuid.UUID, header http.Header, body []byte) (answer []byte, err error)
	// Validates reports whether the platform of a kind asks whether it reaches
	// this service before it sends deliveries.
	Validates(kind string) bool
}

// WebhookOptions of a Webhooks handler.
type WebhookOptions struct {
	Inbox Inbox         // needed
	Body  int64         // bytes of a delivery: 25 MiB, the most that a platform sends
	Read  time.Duration // time for a body: 30 s
	// InFlight is how many bytes of larger deliveries are held at once: 128 MiB.
	InFlight int64
	Log      *slog.Logger // nil: silent
}

// Webhooks answers the paths under /webhooks/connectors/. They have no session
// and no key: a delivery is verified with its connector's secret, on the raw
// body, and nothing happens before that.
type Webhooks struct {
	opt  WebhookOptions
	held chan struct{} // one for each megabyte in flight
}

// NewWebhooks makes the handler.
func NewWebhooks(o WebhookOptions) *Webhooks {
	o.Body, o.InFlight = orElse(o.Body, 25<<20), orElse(o.InFlight, 128<<20)
	o.Read = orElse(o.Read, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Webhooks{opt: o, held: make(chan struct{}, max(1, o.InFlight>>20))}
}

const webhookRoot = "/webhooks/connectors/"

func (h *Webhooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, rest, deeper := strings.Cut(strings.TrimPrefix(r.URL.Path, webhookRoot), "/")
	switch {
	case !strings.HasPrefix(r.URL.Path, webhookRoot) || !nameForm.MatchString(kind) || (deeper && (rest == "" || strings.Contains(rest, "/"))):
		h.fail(w, r, apierr.NotFound("Page"))
	case rest == "validate" && !h.opt.Inbox.Validates(kind):
		h.fail(w, r, apierr.NotFound("Webhook"))
	case rest == "validate":
		h.validate(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path takes POST"))
	default:
		connector := uuid.Nil
		if deeper {
			var err error
			if connector, err = uuid.Parse(rest); err != nil || connector == uuid.Nil || len(rest) != len(connector.String()) {
				h.fail(w, r, apierr.NotFound("Connector"))
				return
			}
		}
		h.deliver(w, r, kind, connector)
	}
}

// maxChallenge bounds what is given back to a platform that asks whether it
// reaches this service, in bytes.
const maxChallenge = 1024

// validate gives a platform that asks whether it reaches this service its
// challenge back, as plain text.
func (h *Webhooks) validate(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path takes GET"))
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
			h.answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte(challenge))
		}
		return
	}
	h.answer(w, http.StatusOK, "application/json; charset=utf-8", []byte(`{"data":{"ok":true}}`))
}

func (h *Webhooks) deliver(w http.ResponseWriter, r *http.Request, kind string, connector uuid.UUID) {
	if r.ContentLength > h.opt.Body {
		h.fail(w, r, h.tooLarge())
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.opt.Read)) // a writer of a test has none
	body, release, err := h.read(http.MaxBytesReader(w, r.Body, h.opt.Body))
	defer release()
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			err = h.tooLarge()
		} else if _, known := errors.AsType[*apierr.Error](err); !known {
			err = apierr.New(apierr.InvalidRequest, "body: could not be read to its end")
		}
		h.fail(w, r, err)
		return
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
		h.answer(w, http.StatusOK, kind, answer)
	default:
		h.answer(w, http.StatusOK, "application/json; charset=utf-8", []byte(`{"data":{"ok":true}}`))
	}
}

// small is how much of each delivery is read whatever else is in flight.
const small = 64 << 10

// read reads a delivery. What is more than a little counts, megabyte by megabyte
// as it comes, until release.
func (h *Webhooks) read(from io.Reader) (body []byte, release func(), err error) {
	taken := 0
	release = func() {
		for range taken {
			<-h.held
		}
	}
	var b bytes.Buffer
	for piece := int64(small); ; piece = 1 << 20 {
		n, err := b.ReadFrom(io.LimitReader(from, piece))
		if err != nil || n < piece {
			return b.Bytes(), release, err
		}
		select {
		case h.held <- struct{}{}:
			taken++
		default:
			return nil, release, &apierr.Error{Code: apierr.Unavailable, Message: "Too many deliveries at once; send it again", RetryAfter: time.Second}
		}
	}
}

func (h *Webhooks) tooLarge() error {
	return apierr.New(apierr.TooLarge, "The delivery may have at most "+bytesText(h.opt.Body))
}

func (h *Webhooks) answer(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // text or JSON, never HTML; the platform may have gone
}

func (h *Webhooks) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := apierr.From(err)
	if status := e.Code.Status(); status >= http.StatusInternalServerError && r.Context().Err() == nil {
		h.opt.Log.ErrorContext(r.Context(), "a delivery could not be taken", slog.String(requestid.LogKey, requestid.From(r.Context())), slog.Any("error", err))
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", seconds(e.RetryAfter))
	}
	code, message := shown(e)
	h.answer(w, e.Code.Status(), "application/json; charset=utf-8", errorBody(code, message))
}
