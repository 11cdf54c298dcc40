package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// Limits of a request.
const (
	maxBody     = 1 << 20
	readTimeout = 30 * time.Second
)

// Keys admits requests by API key. [rest.Transport] implements it.
type Keys interface {
	AdmitKey(w http.ResponseWriter, r *http.Request, key string, body []byte) (context.Context, error)
}

// Applications authenticates access tokens of programs that people have connected.
// [application.Server] implements it.
type Applications interface {
	// Authenticate returns the person of a token for this endpoint.
	Authenticate(ctx context.Context, token string) (viewer.Viewer, error)
}

// Options configures a Transport. Schema, Keys and Applications are required.
type Options struct {
	Schema       *ast.Schema // the schema of the GraphQL server
	Keys         Keys
	Applications Applications
	// URL is the public address of the service. Requests to a loopback address must
	// name its host or a loopback one, which keeps web pages from reaching a
	// service on the reader's own machine by a name that they control.
	URL     string
	Version string
	// Metadata is the URL of the metadata from which clients learn where they get
	// access tokens.
	Metadata string
	// RunAgents offers people the tool run_agent.
	RunAgents bool
	// DatabaseTools offers people the database tools. Keys have a flag of their own.
	DatabaseTools bool
	Log           *slog.Logger // nil: discarded
}

// Transport serves the Model Context Protocol on a GraphQL server. It must be added
// before gqlgen's own transports, whose Supports only checks the content type.
type Transport struct {
	opt     Options
	host    string
	schemas *protocol.SchemaCache
	handler http.Handler
}

var _ graphql.Transport = (*Transport)(nil)

// New returns a transport. It fails when a stored operation is not valid for the
// schema.
func New(o Options) (*Transport, error) {
	if o.Schema == nil || o.Keys == nil || o.Applications == nil {
		return nil, errors.New("mcp: Options.Schema, Keys and Applications are required")
	}
	if err := checkOperations(o.Schema); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Transport{opt: o, schemas: protocol.NewSchemaCache()}
	if u, err := url.Parse(o.URL); err == nil {
		t.host = u.Hostname()
	}
	t.handler = protocol.NewStreamableHTTPHandler(serverOf, &protocol.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		DisableLocalhostProtection:   true, // checkHost knows the public name, too
		PropagateRequestCancellation: true,
	})
	return t, nil
}

// Handler returns a handler that serves the endpoint by server, which must have the
// transport, to pages of any origin: every request has its credentials in a header.
func Handler(server http.Handler) http.Handler {
	return cors.New(cors.Options{
		AllowedOrigins: []string{"*"}, AllowedMethods: []string{http.MethodPost}, AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"Mcp-Protocol-Version", "WWW-Authenticate", "X-Request-Id", "Retry-After"}, MaxAge: 600,
	}).Handler(server)
}

// Supports reports whether a request is for the endpoint.
func (t *Transport) Supports(r *http.Request) bool { return r.URL.Path == Path }

type serverKey struct{}

// serverOf returns the server that Do has made for a request.
func serverOf(r *http.Request) *protocol.Server {
	server, _ := r.Context().Value(serverKey{}).(*protocol.Server)
	return server
}

// Do serves a request.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := t.serve(w, r, exec); err != nil {
		t.fail(w, r, err)
	}
}

func (t *Transport) serve(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return apierr.New(apierr.MethodNotAllowed, "Method not allowed; this server keeps no sessions, and its path allows POST")
	}
	if err := t.checkHost(r); err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	ctx, err := t.authenticate(w, r, body)
	if err != nil {
		return err
	}
	s := &session{transport: t, caller: caller{exec}, method: methodOf(body)}
	server, err := s.server(ctx)
	if err != nil {
		return err
	}
	r = r.WithContext(context.WithValue(ctx, serverKey{}, server))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	t.handler.ServeHTTP(w, r)
	return nil
}

// checkHost refuses a request to a loopback address by a foreign name.
func (t *Transport) checkHost(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !isLoopback(local.String()) || isLoopback(r.Host) {
		return nil
	}
	if host, _, err := net.SplitHostPort(r.Host); strings.EqualFold(r.Host, t.host) || err == nil && strings.EqualFold(host, t.host) {
		return nil
	}
	return apierr.New(apierr.Forbidden, "The Host header names neither this machine nor the address in BASE_URL")
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := apierr.New(apierr.TooLarge, "The request body may have at most 1 MiB")
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close") // instead of reading all of it
		return nil, tooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readTimeout)) // writers of tests may not support it
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge
	}
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "The request body is incomplete")
	}
	return body, nil
}

// methodOf returns the method of a request, or "" for a malformed one.
func methodOf(body []byte) string {
	var request struct{ Method string }
	_ = json.Unmarshal(body, &request) // the handler reports errors
	return request.Method
}

const keyHeader = "X-Service-Key"

// authenticate returns a context with the viewer: of a secret API key, in
// X-Service-Key or as a bearer token, or of a person's access token.
func (t *Transport) authenticate(w http.ResponseWriter, r *http.Request, body []byte) (context.Context, error) {
	keys, tokens := r.Header.Values(keyHeader), r.Header.Values("Authorization")
	if len(keys)+len(tokens) != 1 {
		return nil, apierr.New(apierr.Unauthorized, "Send a secret API key or an access token in one header: Authorization: Bearer, or X-Service-Key for a key")
	}
	key := strings.Join(keys, "")
	if len(tokens) == 1 {
		scheme, token, _ := strings.Cut(strings.TrimSpace(tokens[0]), " ")
		if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
			return nil, apierr.New(apierr.Unauthorized, "The Authorization header must be: Bearer, a blank, and a secret API key or an access token")
		}
		if !strings.HasPrefix(token, "svc_") {
			return t.authenticatePerson(r.Context(), token)
		}
		key = token
	}
	if strings.HasPrefix(key, authn.PublishablePrefix) {
		return nil, errPublishable()
	}
	ctx, err := t.opt.Keys.AdmitKey(w, r, key, body)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	if !v.Secret {
		return nil, errPublishable()
	}
	v.Surface = viewer.SurfaceMCP
	return viewer.With(ctx, v), nil
}

func errPublishable() error {
	return apierr.New(apierr.Forbidden, "This is a publishable key, which is for websites; use the secret key of the pair")
}

func (t *Transport) authenticatePerson(ctx context.Context, token string) (context.Context, error) {
	v, err := t.opt.Applications.Authenticate(ctx, token)
	if err != nil {
		if apierr.From(err).Code.Status() == http.StatusUnauthorized {
			return nil, apierr.New(apierr.Unauthorized, "The access token is not valid or has expired")
		}
		return nil, apierr.Wrap("check the access token", err)
	}
	v.Surface = viewer.SurfaceMCP
	accesslog.From(ctx).SetCaller(v)
	return viewer.With(ctx, v), nil
}

// fail sends an error response. Of server errors the client sees no cause.
func (t *Transport) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := apierr.From(err)
	status := e.Code.Status()
	message := e.Message
	if status >= http.StatusInternalServerError {
		if r.Context().Err() == nil {
			t.opt.Log.ErrorContext(r.Context(), "request failed", slog.Any("error", err))
		}
		if e.Code == apierr.Internal {
			message = "Something went wrong on our side."
		}
	}
	if status == http.StatusUnauthorized {
		challenge := `Bearer realm="magpie", resource_metadata="` + t.opt.Metadata + `"`
		if len(r.Header.Values("Authorization")) > 0 {
			challenge += `, error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	e.SetRetryAfter(w.Header())
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"code": e.Code, "message": message}}) // strings always encode
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
