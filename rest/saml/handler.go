package saml

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/ratelimit"
)

// maxBody is the maximum length of a posted form: that of the response with each of
// its characters escaped.
const maxBody = 3*signon.MaxSAMLResponse + 4<<10

// Options configure a Handler. SAML is required.
type Options struct {
	SAML *signon.SAML
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger // nil: discarded
}

// Handler serves the addresses.
type Handler struct{ opt Options }

// New returns a handler.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{opt: o}
}

// Serves reports whether a path is one of the addresses.
func Serves(path string) bool { return path == signon.SAMLMetadataPath || path == signon.SAMLACSPath }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client := ratelimit.Client(r, h.opt.TrustedProxies)
	r = r.WithContext(authn.WithClient(ratelimit.WithClient(r.Context(), client), authn.ClientInfo{Address: client, UserAgent: r.UserAgent()}))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	switch {
	case r.URL.Path == signon.SAMLACSPath && r.Method == http.MethodPost:
		h.consume(w, r)
	case r.URL.Path == signon.SAMLACSPath:
		h.refuseMethod(w, r, http.MethodPost)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		h.metadata(w, r)
	default:
		h.refuseMethod(w, r, "GET, HEAD")
	}
}

func (h *Handler) refuseMethod(w http.ResponseWriter, r *http.Request, allowed string) {
	w.Header().Set("Allow", allowed)
	h.fail(w, r, apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows "+allowed))
}

func (h *Handler) metadata(w http.ResponseWriter, r *http.Request) {
	described, err := h.opt.SAML.Metadata()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/samlmetadata+xml; charset=utf-8")
	w.Header().Set("Content-Disposition", `inline; filename="magpie-metadata.xml"`)
	_, _ = w.Write(described) // the client may have disconnected
}

// consume takes the response that the provider lets the browser post. The page that
// posts is the provider's, so it is of another origin, and no cookie is read.
func (h *Handler) consume(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	result, err := h.opt.SAML.HandleResponse(r.Context(), signon.SAMLResponse{Response: form.Get("SAMLResponse"), RelayState: form.Get("RelayState")})
	switch {
	case err != nil:
		h.fail(w, r, err)
	case result.ReturnTo != "":
		w.Header().Set("Location", result.ReturnTo)
		w.WriteHeader(http.StatusSeeOther)
	default:
		h.send(w, http.StatusOK, map[string]any{"data": map[string]any{"code": result.Code, "redirect_url": nil}})
	}
}

// readForm reads a form of bounded length, in which each field is given once.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" || r.Header.Get("Content-Encoding") != "" {
		return nil, apierr.New(apierr.UnsupportedMediaType, "send the form as Content-Type: application/x-www-form-urlencoded, without a Content-Encoding")
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, apierr.New(apierr.TooLarge, "The response of the provider is too long")
	}
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "The request body is incomplete")
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "The form is malformed")
	}
	for _, name := range []string{"SAMLResponse", "RelayState"} {
		switch len(form[name]) {
		case 0:
			return nil, apierr.Invalid(name, "is required")
		case 1:
		default:
			return nil, apierr.Invalid(name, "is given more than once")
		}
	}
	return form, nil
}

func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := apierr.From(err)
	if e.Code == apierr.Internal && r.Context().Err() == nil {
		h.opt.Log.ErrorContext(r.Context(), "saml request failed", slog.Any("error", err))
	}
	e.SetRetryAfter(w.Header())
	h.send(w, e.Code.Status(), map[string]any{"error": map[string]any{"code": e.Code, "message": e.Message}})
}

func (h *Handler) send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}
