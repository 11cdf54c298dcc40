package authorize

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/cors"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/application"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
)

// The paths.
const (
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/token" //nolint:gosec // a path
	RegisterPath  = "/oauth/register"
	RevokePath    = "/oauth/revoke"
	ClientPath    = "/oauth/client"
	ServerPath    = "/.well-known/oauth-authorization-server"
	ResourcePath  = "/.well-known/oauth-protected-resource"
)

const maxBody = 64 << 10

// Options configure a Handler. Server is required.
type Options struct {
	Server *application.Server
	// RedirectURL is the address that authorization servers of other services send people
	// back to who connect Magpie to them. Empty serves no metadata of Magpie as a client.
	RedirectURL string
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger // nil: discarded
	Now            func() time.Time
}

// Handler serves the endpoints.
type Handler struct {
	opt    Options
	secure bool // browsers use https only
	open   http.Handler
}

// New returns a handler.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Handler{opt: o, secure: strings.HasPrefix(o.Server.Issuer(), "https://")}
	// Pages of any origin may register and exchange tokens: there are no cookies. The command
	// line's are refused (refusesPage).
	h.open = cors.New(cors.Options{
		AllowedOrigins: []string{"*"}, AllowedMethods: []string{http.MethodGet, http.MethodPost}, AllowedHeaders: []string{"*"}, MaxAge: 600,
	}).Handler(http.HandlerFunc(h.serveOpen))
	return h
}

// Paths returns the paths of the endpoints without those below ResourcePath and
// ServerPath.
func Paths() []string {
	return []string{AuthorizePath, TokenPath, RegisterPath, RevokePath, ClientPath, ServerPath, ResourcePath}
}

// Serves reports whether a path is one of the endpoints.
func Serves(path string) bool {
	return strings.HasPrefix(path, "/oauth/") || path == ServerPath || path == ResourcePath || strings.HasPrefix(path, ResourcePath+"/") || strings.HasPrefix(path, ServerPath+"/")
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client := ratelimit.Client(r, h.opt.TrustedProxies)
	ctx := authn.WithClient(ratelimit.WithClient(r.Context(), client), authn.ClientInfo{Address: client, UserAgent: r.UserAgent()})
	r = r.WithContext(ctx)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if r.URL.Path == AuthorizePath {
		h.authorize(w, r)
		return
	}
	h.open.ServeHTTP(w, r)
}

func (h *Handler) serveOpen(w http.ResponseWriter, r *http.Request) {
	methods := http.MethodPost
	var serve http.HandlerFunc
	switch r.URL.Path {
	case TokenPath:
		serve = h.token
	case RegisterPath:
		serve = h.register
	case RevokePath:
		serve = h.revoke
	case ServerPath, ServerPath + h.resourcePath():
		methods, serve = http.MethodGet, h.serverMetadata
	case ClientPath:
		methods, serve = http.MethodGet, h.clientMetadata
	case ResourcePath, ResourcePath + h.resourcePath():
		methods, serve = http.MethodGet, h.resourceMetadata
	default:
		h.notFound(w, r)
		return
	}
	if r.Method != methods {
		w.Header().Set("Allow", methods)
		h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows "+methods))
		return
	}
	serve(w, r)
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, apierr.NotFound("Page"))
}

func (h *Handler) resourcePath() string {
	return strings.TrimPrefix(h.opt.Server.Resource(), h.opt.Server.Issuer())
}

// clientMetadata answers with Magpie's metadata as a client of other authorization servers,
// whose id is the address of this document.
func (h *Handler) clientMetadata(w http.ResponseWriter, r *http.Request) {
	if h.opt.RedirectURL == "" {
		h.notFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	sendJSON(w, http.StatusOK, map[string]any{
		"client_id": h.opt.Server.Issuer() + ClientPath, "client_name": "Magpie", "client_uri": h.opt.Server.Issuer(), "redirect_uris": []string{h.opt.RedirectURL},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none",
		"application_type": "web",
	})
}

// serverMetadata answers with the metadata of RFC 8414.
func (h *Handler) serverMetadata(w http.ResponseWriter, _ *http.Request) {
	issuer := h.opt.Server.Issuer()
	sendJSON(w, http.StatusOK, map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + AuthorizePath, "token_endpoint": issuer + TokenPath,
		"registration_endpoint": issuer + RegisterPath, "revocation_endpoint": issuer + RevokePath,
		"scopes_supported": []string{application.Scope}, "response_types_supported": []string{"code"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
	})
}

// resourceMetadata answers with the metadata of RFC 9728.
func (h *Handler) resourceMetadata(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, http.StatusOK, map[string]any{
		"resource": h.opt.Server.Resource(), "authorization_servers": []string{h.opt.Server.Issuer()},
		"scopes_supported": []string{application.Scope}, "bearer_methods_supported": []string{"header"}, "resource_name": "Magpie",
	})
}

func (h *Handler) register(w http.ResponseWriter, r *http.Request) {
	var m application.Registration
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		h.fail(w, r, &application.Error{Code: "invalid_client_metadata", Description: "the body must be a JSON object of at most 64 KiB"})
		return
	}
	c, err := h.opt.Server.Register(r.Context(), m)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	sendJSON(w, http.StatusCreated, map[string]any{
		"client_id": c.ID, "client_id_issued_at": c.CreatedAt, "client_name": c.Name, "redirect_uris": c.Redirects,
		"token_endpoint_auth_method": "none", "grant_types": []string{"authorization_code", "refresh_token"},
		"response_types": []string{"code"}, "scope": application.Scope,
	})
}

// form reads a form, in which no parameter may be repeated.
func (h *Handler) form(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	body, err := io.ReadAll(r.Body)
	var values url.Values
	if err == nil {
		values, err = url.ParseQuery(string(body))
	}
	for _, given := range values {
		if len(given) > 1 {
			err = errors.New("a parameter is repeated")
		}
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); err != nil || strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		h.fail(w, r, &application.Error{Code: "invalid_request", Description: "the body must be a form (application/x-www-form-urlencoded) of at most 64 KiB without repeated parameters"})
		return nil, false
	}
	return values, true
}

func (h *Handler) token(w http.ResponseWriter, r *http.Request) {
	form, ok := h.form(w, r)
	if !ok {
		return
	}
	request := application.TokenRequest{
		GrantType: form.Get("grant_type"), ClientID: form.Get("client_id"), Code: form.Get("code"), CodeVerifier: form.Get("code_verifier"),
		RedirectURI: form.Get("redirect_uri"), RefreshToken: form.Get("refresh_token"), Scope: form.Get("scope"), Resource: form.Get("resource"),
	}
	if h.refusesPage(w, r, request.ClientID) {
		return
	}
	if request.ClientID == application.CommandLine {
		h.personalToken(w, r, request)
		return
	}
	tokens, err := h.opt.Server.Exchange(r.Context(), request)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	sendJSON(w, http.StatusOK, map[string]any{
		"access_token": tokens.Access, "token_type": "Bearer", "expires_in": max(1, int(tokens.ExpiresAt.Sub(h.opt.Now()).Seconds())),
		"refresh_token": tokens.Refresh, "scope": application.Scope,
	})
}

// refusesPage refuses requests of pages that call themselves the command line: no browser
// needs a personal token.
func (h *Handler) refusesPage(w http.ResponseWriter, r *http.Request, client string) bool {
	if client != application.CommandLine || len(r.Header.Values("Origin")) == 0 {
		return false
	}
	h.fail(w, r, &application.Error{Code: "invalid_request", Description: "the client " + application.CommandLine + " is no page in a browser"})
	return true
}

// personalToken answers the command line, whose code is for a personal token.
func (h *Handler) personalToken(w http.ResponseWriter, r *http.Request, request application.TokenRequest) {
	made, err := h.opt.Server.ExchangeLogin(r.Context(), request)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	answer := map[string]any{"access_token": made.Secret, "token_type": "Bearer"}
	if at := made.Row.ExpiresAt; at != nil {
		answer["expires_in"] = max(1, int(at.Sub(h.opt.Now()).Seconds()))
	}
	sendJSON(w, http.StatusOK, answer)
}

func (h *Handler) revoke(w http.ResponseWriter, r *http.Request) {
	form, ok := h.form(w, r)
	if !ok {
		return
	}
	client, token := form.Get("client_id"), form.Get("token")
	if h.refusesPage(w, r, client) {
		return
	}
	var err error
	if client == application.CommandLine {
		err = h.opt.Server.RevokeLogin(r.Context(), token)
	} else {
		err = h.opt.Server.Revoke(r.Context(), client, token)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	sendJSON(w, http.StatusOK, map[string]any{})
}

// fail sends an error as OAuth shapes it. Of server errors the client sees no cause.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if known, ok := errors.AsType[*application.Error](err); ok {
		status := http.StatusBadRequest
		if known.Code == "invalid_client" {
			status = http.StatusUnauthorized
		}
		sendJSON(w, status, map[string]any{"error": known.Code, "error_description": known.Description})
		return
	}
	e := apierr.From(err)
	code, message := "invalid_request", e.Message
	switch status := e.Code.Status(); {
	case status == http.StatusTooManyRequests || e.Code == apierr.Unavailable:
		code = "temporarily_unavailable"
	case status >= http.StatusInternalServerError:
		code, message = "server_error", "Something went wrong on our side."
		h.log(r.Context(), err)
	}
	e.SetRetryAfter(w.Header())
	sendJSON(w, e.Code.Status(), map[string]any{"error": code, "error_description": message})
}

func (h *Handler) log(ctx context.Context, err error) {
	if ctx.Err() == nil {
		h.opt.Log.ErrorContext(ctx, "authorization failed", slog.Any("error", err))
	}
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	body, _ := json.Marshal(value) // strings, numbers and lists of them always encode
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func parseWorkspace(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}
