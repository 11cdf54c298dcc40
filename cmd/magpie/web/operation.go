package web

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/live/connection"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// operations is the transport for POST with a JSON body by the GraphQL-over-HTTP
// specification (github.com/graphql/graphql-over-http). The result is JSON for queries
// and mutations, and server-sent events for subscriptions.
type operations struct{ live *connection.Server }

// Media types of responses.
const (
	typeJSON     = "application/json"
	typeResponse = "application/graphql-response+json"
	typeEvents   = "text/event-stream"
)

// Supports reports whether a request is a POST with a JSON body.
func (operations) Supports(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == typeJSON && r.Method == http.MethodPost
}

// Do runs an operation. The guard has checked the body.
func (t operations) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	params := &graphql.RawParams{Headers: r.Header}
	params.ReadTime.Start = graphql.Now()
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber() // keep large numbers exact
	if err := decoder.Decode(params); err != nil {
		writeGraphQLError(w, apierr.New(apierr.InvalidRequest, "The body is not an operation in JSON"))
		return
	}
	params.ReadTime.End = graphql.Now()
	answer, events := accepted(r.Header.Values("Accept"))
	rc, errs := exec.CreateOperationContext(ctx, params)
	isStream := len(errs) == 0 && rc.Operation.Operation == ast.Subscription
	if len(errs) == 0 && queriesOnly(ctx) && rc.Operation.Operation != ast.Query {
		w.Header().Set("Allow", "POST")
		writeGraphQLError(w, apierr.New(apierr.MethodNotAllowed, "GET is for queries; send mutations by POST, and subscriptions over WebSocket or by POST"))
		return
	}
	if events && (isStream || answer == "") {
		if err := t.live.Events(ctx, w, exec, rc, errs, ratelimit.ClientOf(ctx)); err != nil {
			writeGraphQLError(w, err)
		}
		return
	}
	if answer == "" {
		answer = typeJSON
	}
	if isStream {
		errs = gqlerror.List{subscriptionRejected()}
	}
	var response *graphql.Response
	status := http.StatusOK
	if len(errs) > 0 {
		response = exec.DispatchError(graphql.WithOperationContext(ctx, rc), errs)
		// With application/json, status 200 means that the response is from the GraphQL
		// server and not from an intermediary.
		if answer == typeResponse {
			status = http.StatusBadRequest
		}
	} else {
		var responses graphql.ResponseHandler
		responses, ctx = exec.DispatchOperation(graphql.WithOperationContext(ctx, rc), rc)
		response = responses(ctx)
	}
	var body []byte
	var err error
	if len(errs) > 0 { // without an execution, there must be no data, not even null
		body, err = json.Marshal(map[string]any{"errors": response.Errors})
	} else {
		body, err = json.Marshal(response)
	}
	if err != nil {
		panic(fmt.Errorf("encode response: %w", err)) // recoverPanics handles it
	}
	h := w.Header()
	h.Set("Content-Type", answer+"; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// subscriptionRejected returns the error of a subscription whose client accepts only
// one result.
func subscriptionRejected() *gqlerror.Error {
	return &gqlerror.Error{
		Message:    "subscriptions need WebSocket, or server-sent events with Accept: text/event-stream",
		Extensions: map[string]any{"code": string(apierr.InvalidRequest)},
	}
}

// accepted returns the media type of a JSON response by Accept, or "" if none is
// accepted, and whether an event stream is accepted. If nothing matches, Accept is
// ignored, as the specification allows.
func accepted(header []string) (answer string, events bool) {
	accept := strings.Join(header, ",")
	if strings.TrimSpace(accept) == "" {
		return typeJSON, false
	}
	quality := map[string]float64{}
	for part := range strings.SplitSeq(accept, ",") {
		kind, parameters, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		quality[kind] = max(q, quality[kind])
	}
	of := func(kind string) (q float64, named bool) {
		if q, named = quality[kind]; named {
			return q, true
		}
		family, _, _ := strings.Cut(kind, "/")
		if q, ok := quality[family+"/*"]; ok {
			return q, false
		}
		return quality["*/*"], false
	}
	plain, _ := of(typeJSON)
	response, named := of(typeResponse)
	stream, explicit := of(typeEvents)
	events = explicit && stream > 0
	switch {
	case named && response > 0 && response >= plain:
		return typeResponse, events
	case plain > 0:
		return typeJSON, events
	case response > 0:
		return typeResponse, events
	case events:
		return "", true
	default:
		return typeJSON, false
	}
}

// initiate authenticates a WebSocket connection. Browsers send the session token or another token in
// the payload of the first message, since they cannot set headers.
func initiate(accounts Accounts) connection.Init {
	return func(ctx context.Context, payload map[string]any) (who viewer.Viewer, err error) {
		authorization := ""
		for name, value := range payload {
			if text, ok := value.(string); ok && strings.EqualFold(name, "authorization") {
				authorization = text
			}
			if strings.EqualFold(name, keyHeader) {
				return who, apierr.New(apierr.Unauthorized, keyRejected)
			}
		}
		if authorization == "" {
			who, _ = viewer.From(ctx) // the viewer of the headers
			return who, nil
		}
		return bearer(ctx, accounts, authorization)
	}
}

// NewLive returns the server of subscriptions. The caller must close it.
func NewLive(ctx context.Context, accounts Accounts, origins []string, limits connection.Limits, log *slog.Logger) *connection.Server {
	return connection.New(ctx, connection.Options{
		Init: initiate(accounts), Sessions: accounts, Origins: hosts(origins), Limits: limits, Log: log,
	})
}
