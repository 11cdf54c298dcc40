package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/live/connection"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/request/body"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	keyHeader = "X-Service-Key"
	// uploadMemory is the maximum size of a multipart body in memory.
	uploadMemory = 8 << 20
	// formOverhead is the size of a multipart body without the file.
	formOverhead = 1 << 20
)

// AddTransports adds the GraphQL transports to a server: WebSocket (protocol
// graphql-transport-ws), server-sent events, multipart forms and POST. Transports for
// other paths must be added before.
func AddTransports(s *handler.Server, streams *connection.Server, uploadLimit int64) {
	s.AddTransport(streams.WebSocket(ratelimit.ClientOf))
	s.AddTransport(operations{streams})
	s.AddTransport(forms{transport.MultipartForm{MaxUploadSize: uploadLimit + formOverhead, MaxMemory: uploadMemory}})
}

// hosts converts origins to the host patterns of the WebSocket library, in which the
// brackets of an IPv6 address have a meaning.
func hosts(origins []string) []string {
	patterns := make([]string, 0, len(origins))
	for _, origin := range origins {
		address, anyPort := strings.CutSuffix(origin, ":*")
		if origin == "*" {
			patterns = append(patterns, origin)
		} else if parsed, err := url.Parse(address); err == nil {
			pattern := strings.NewReplacer("[", `\[`, "]", `\]`).Replace(parsed.Host)
			if anyPort {
				pattern += ":*"
			}
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// tooDeep returns the error of JSON that is nested too deeply.
func tooDeep() error {
	return apierr.New(apierr.InvalidRequest, fmt.Sprintf("The body is nested more than %d levels deep", body.MaxDepth))
}

const keyRejected = "API keys are for /v1; GraphQL needs a session or a token: send Authorization: Bearer"

// bearer returns the viewer of an Authorization header.
func bearer(ctx context.Context, accounts Accounts, authorization string) (viewer.Viewer, error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(authorization), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	if strings.HasPrefix(token, "svc_") {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, keyRejected)
	}
	who, err := accounts.Authenticate(ctx, token)
	who.Surface = viewer.SurfaceDashboard
	return who, err
}

// graphqlGuard authenticates requests and rejects malformed operations, whose bodies
// the transports would log.
func graphqlGuard(o Options, next http.Handler) http.Handler {
	known := &documents{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard}
		client := ratelimit.Client(r, o.TrustedProxies)
		r = r.WithContext(authn.WithClient(r.Context(), authn.ClientInfo{Address: client, UserAgent: r.UserAgent()}))
		if r.Header.Get(keyHeader) != "" {
			writeGraphQLError(w, apierr.New(apierr.Unauthorized, keyRejected))
			return
		}
		if authorization := r.Header.Get("Authorization"); authorization != "" {
			var err error
			if who, err = bearer(r.Context(), o.Accounts, authorization); err != nil {
				if apierr.From(err).Code.Status() >= http.StatusInternalServerError && r.Context().Err() == nil {
					o.Log.ErrorContext(r.Context(), "request failed", slog.Any("error", err))
				}
				writeGraphQLError(w, err)
				return
			}
		}
		accesslog.From(r.Context()).SetCaller(who)
		r = r.WithContext(ratelimit.WithClient(viewer.With(r.Context(), who), client))
		if isWebSocket(r) {
			next.ServeHTTP(w, r)
			return
		}
		r.Header.Del("Upgrade") // other upgrades may be ignored, but a transport would handle them
		if r.Method == http.MethodGet && who.Kind != viewer.KindAnonymous {
			var err error
			if r, err = fromGET(r, who); err != nil {
				writeGraphQLError(w, err)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			writeGraphQLError(w, apierr.New(apierr.MethodNotAllowed, "Send operations by POST, or subscriptions over WebSocket"))
			return
		}
		if err := checkBody(w, r, known); err != nil {
			if errors.Is(err, errNotPersisted) {
				writeNotPersisted(w, r)
				return
			}
			writeGraphQLError(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isWebSocket(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Upgrade"), func(value string) bool {
		return strings.Contains(strings.ToLower(value), "websocket")
	})
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// checkBody checks a JSON body, or the JSON parts of a form, and restores the body, with
// the document of an operation that has only its hash.
func checkBody(w http.ResponseWriter, r *http.Request, known *documents) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "multipart/form-data":
		if who, _ := viewer.From(r.Context()); who.Kind == viewer.KindAnonymous {
			return apierr.New(apierr.Unauthorized, "Session required") // before the body is read
		}
		return checkForm(r)
	case err != nil || kind != "application/json":
		return apierr.New(apierr.UnsupportedMediaType, "Send the operation as application/json or multipart/form-data")
	}
	who, _ := viewer.From(r.Context())
	limit := body.Limit(who)
	limited := http.MaxBytesReader(w, r.Body, body.MaxBytes)
	text, err := io.ReadAll(io.LimitReader(limited, limit+1))
	if err == nil && int64(len(text)) > limit {
		_, _ = io.Copy(io.Discard, limited) // a client that is still sending may not read the response
		return apierr.New(apierr.TooLarge, "The operation is larger than "+body.FormatLimit(limit))
	}
	if isTooLarge(err) {
		return apierr.New(apierr.TooLarge, "The operation is larger than "+body.FormatLimit(limit))
	}
	if err != nil {
		return apierr.New(apierr.InvalidRequest, "The body is incomplete")
	}
	if body.CheckDepth(text) != nil {
		return tooDeep()
	}
	var operation struct {
		operationBody
		Variables  map[string]any `json:"variables"`
		Extensions map[string]any `json:"extensions"`
	}
	err = json.Unmarshal(text, &operation)
	if err == nil && operation.Extensions["persistedQuery"] != nil {
		var o operationBody
		if err = json.Unmarshal(text, &o); err == nil {
			hadText := o.Query != ""
			if err := known.resolve(who, &o); err != nil {
				return err
			}
			if operation.Query = o.Query; !hadText {
				text, err = json.Marshal(o)
			}
		}
	}
	if err != nil || operation.Query == "" {
		return apierr.New(apierr.InvalidRequest, `The body must be a JSON object such as {"query": "{ me { role } }", "variables": {}}`)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}
