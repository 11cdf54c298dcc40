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

// operations is POST with a JSON body, after the GraphQL-over-HTTP
// specification (github.com/graphql/graphql-over-http): queries and mutations
// are answered as JSON, subscriptions as server-sent events.
type operations struct{ live *connection.Server }

// The media types of answers.
const (
	typeJSON     = "application/json"
	typeResponse = "application/graphql-response+json"
	typeEvents   = "text/event-stream"
)

// Supports takes every POST of JSON.
func (operations) Supports(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == typeJSON && r.Method == http.MethodPost
}

// Do answers one operation. The guard has looked at the body already.
func (t operations) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	params := &graphql.RawParams{Headers: r.Header}
	params.ReadTime.Start = graphql.Now()
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber() // an id or a large count must not become a float
	if err := decoder.Decode(params); err != nil {
		writeGraphQLError(w, apierr.New(apierr.InvalidRequest, "The body is not an operation in JSON"))
		return
	}
	params.ReadTime.End = graphql.Now()
	answer, events := accepted(r.Header.Values("Accept"))
	rc, wrong := exec.CreateOperationContext(ctx, params)
	goesOn := len(wrong) == 0 && rc.Operation.Operation == ast.Subscription
	if events && (goesOn || answer == "") {
		if err := t.live.Events(ctx, w, exec, rc, wrong, ratelimit.ClientOf(ctx)); err != nil {
			writeGraphQLError(w, err)
		}
		return
	}
	if answer == "" {
		answer = typeJSON
	}
	if goesOn {
		wrong = gqlerror.List{refusedHere()}
	}
	var response *graphql.Response
	status := http.StatusOK
	if len(wrong) > 0 {
		response = exec.DispatchError(graphql.WithOperationContext(ctx, rc), wrong)
		// application/json says with 200 that the answer is GraphQL's: a client cannot
		// tell it from one of something in between otherwise.
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
	if len(wrong) > 0 { // nothing was executed: there is no data, not even null
		body, err = json.Marshal(map[string]any{"errors": response.Errors})
	} else {
		body, err = json.Marshal(response)
	}
	if err != nil {
		panic(fmt.Errorf("encode an answer: %w", err)) // is answered and logged
	}
	h := w.Header()
	h.Set("Content-Type", answer+"; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept")
	w.WriteHeader(status)
	_, _ = w.Write(body) // nothing can be done when the client has left
}

// refusedHere is for a subscription whose client can read one answer only: its
// first event would come and nothing more.
func refusedHere() *gqlerror.Error {
	return &gqlerror.Error{
		Message:    "subscriptions come over WebSocket, or as server-sent events to Accept: text/event-stream",
		Extensions: map[string]any{"code": string(apierr.InvalidRequest)},
	}
}

// accepted reads Accept: the media type of an answer in JSON, "" when none is
// wanted, and whether a stream of events is. What nothing fits is disregarded, as the
// specification allows.
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
		if given, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(given, 64); err != nil {
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
	stream, asked := of(typeEvents)
	events = asked && stream > 0
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

// initiate says who opens a WebSocket. A browser cannot send the session token
// as a header: it stands in the payload of the first message.
func initiate(accounts Accounts) connection.Init {
	return func(ctx context.Context, payload map[string]any) (who viewer.Viewer, err error) {
		authorization := ""
		for name, value := range payload {
			if text, ok := value.(string); ok && strings.EqualFold(name, "authorization") {
				authorization = text
			}
			if strings.EqualFold(name, keyHeader) {
				return who, apierr.New(apierr.Unauthorized, keysRefused)
			}
		}
		if authorization == "" {
			who, _ = viewer.From(ctx) // whoever the headers said; signing in needs nobody
			return who, nil
		}
		return bearer(ctx, accounts, authorization)
	}
}

// NewLive makes the server of what goes on: subscriptions, for the people that
// accounts know. Close it once.
func NewLive(ctx context.Context, accounts Accounts, origins []string, limits connection.Limits, log *slog.Logger) *connection.Server {
	return connection.New(ctx, connection.Options{
		Init: initiate(accounts), Sessions: accounts, Origins: hosts(origins), Limits: limits, Log: log,
	})
}
