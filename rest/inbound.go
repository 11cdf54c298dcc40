package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/request/accesslog"
)

// EventInbox receives the deliveries of inbound integrations. [inbox.Inbox] implements it.
type EventInbox interface {
	// Serves reports whether there is a provider of a family with a name.
	Serves(family, provider string) bool
	// Receive verifies and stores a delivery for one integration or, with uuid.Nil, for
	// those that the delivery names.
	Receive(ctx context.Context, provider string, integration uuid.UUID, r *event.Request) (event.Answer, error)
}

// ApprovalInbox receives what people do with the messages of approvals in Slack.
type ApprovalInbox interface {
	// Receive verifies a request for one integration or, with uuid.Nil, for those that
	// it names, and does what the person did.
	Receive(ctx context.Context, integration uuid.UUID, r *event.Request) (event.Answer, error)
}

// approvalPath is the path, below eventRoot, of what people do in Slack.
const approvalPath = "slack/approvals"

const eventRoot = "/api/v1/webhooks/"

// serveEvent serves the paths below /api/v1/webhooks: a family, a provider and perhaps the
// id of an integration, which the query may have instead.
func (h *Webhooks) serveEvent(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, eventRoot), "/")
	forApprovals := len(parts) >= 2 && parts[0]+"/"+parts[1] == approvalPath && h.opt.Approvals != nil
	if len(parts) < 2 || len(parts) > 3 || !forApprovals && (h.opt.Events == nil || !h.opt.Events.Serves(parts[0], parts[1])) {
		h.fail(w, r, apierr.NotFound("Provider"))
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows POST"))
		return
	}
	text, route := r.URL.Query().Get("integration"), eventRoot+parts[0]+"/"+parts[1]
	if len(parts) == 3 {
		text, route = parts[2], route+"/{integration}"
	}
	accesslog.From(r.Context()).SetRoute(route)
	integration := uuid.Nil
	if text != "" || len(parts) == 3 {
		id, err := uuid.Parse(text)
		if err != nil || id == uuid.Nil || len(text) != len(id.String()) {
			h.fail(w, r, apierr.NotFound("Integration"))
			return
		}
		integration = id
	}
	body, release, err := h.body(w, r)
	defer release()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	request := &event.Request{Header: r.Header, Query: r.URL.Query(), URL: strings.TrimRight(h.opt.BaseURL, "/") + r.URL.RequestURI(), Body: body}
	var answer event.Answer
	if forApprovals {
		answer, err = h.opt.Approvals.Receive(r.Context(), integration, request)
	} else {
		answer, err = h.opt.Events.Receive(r.Context(), parts[1], integration, request)
	}
	switch {
	case err != nil:
		h.fail(w, r, err)
	case answer.Body == nil:
		h.send(w, http.StatusOK, "application/json; charset=utf-8", []byte(`{"data":{"ok":true}}`))
	case answer.ContentType == "":
		h.send(w, http.StatusOK, "text/plain; charset=utf-8", answer.Body)
	default:
		h.send(w, http.StatusOK, answer.ContentType, answer.Body)
	}
}
