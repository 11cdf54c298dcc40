package scim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Root is the path below which the interface is.
const Root = "/scim/v2"

const (
	maxBody     = 2 << 20 // bytes
	maxResults  = 200     // of a page
	defaultPage = 100
	mediaType   = "application/scim+json"
	readTimeout = 30 * time.Second
)

// Accounts authenticates tokens. authn.Accounts implements it.
type Accounts interface {
	Authenticate(ctx context.Context, bearer string) (viewer.Viewer, error)
}

// Options configure a Handler. Accounts and Directory are required.
type Options struct {
	Accounts  Accounts
	Directory *people.Directory
	// BaseURL is the address of the service, without a slash at the end.
	BaseURL string
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger // nil: discarded
}

// Handler serves the interface.
type Handler struct{ opt Options }

// New returns a handler.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{opt: o}
}

// Route returns the pattern of a path, for logs.
func Route(path string) string {
	kind, _, nested := strings.Cut(strings.TrimPrefix(path, Root+"/"), "/")
	switch kind {
	case "Users", "Groups", "Schemas", "ResourceTypes", "ServiceProviderConfig":
	default:
		return Root + "/*"
	}
	if nested {
		return Root + "/" + kind + "/{id}"
	}
	return Root + "/" + kind
}

// An exchange is a request with its response.
type exchange struct {
	h *Handler
	w http.ResponseWriter
	r *http.Request
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client := ratelimit.Client(r, h.opt.TrustedProxies)
	r = r.WithContext(authn.WithClient(ratelimit.WithClient(r.Context(), client), authn.ClientInfo{Address: client, UserAgent: r.UserAgent()}))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	x := &exchange{h, w, r}
	if err := x.serve(); err != nil {
		x.fail(err)
	}
}

// serve authenticates the directory and calls the operation.
func (x *exchange) serve() error {
	v, err := x.directory()
	if err != nil {
		return err
	}
	x.r = x.r.WithContext(viewer.With(x.r.Context(), v))
	kind, id, nested := strings.Cut(strings.TrimPrefix(x.r.URL.Path, Root+"/"), "/")
	switch kind {
	case "Users":
		return x.resource(id, nested, operations{x.listUsers, x.createUser, x.getUser, x.replaceUser, x.patchUser, x.deleteUser})
	case "Groups":
		return x.resource(id, nested, operations{x.listGroups, x.createGroup, x.getGroup, x.replaceGroup, x.patchGroup, x.deleteGroup})
	case "ServiceProviderConfig", "ResourceTypes", "Schemas":
		return x.describe(kind, id)
	default:
		return apierr.NotFound("Resource")
	}
}

// directory returns the viewer of the service token of a directory. Cookies, sessions,
// personal tokens and API keys do not count.
func (x *exchange) directory() (viewer.Viewer, error) {
	scheme, token, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || !authn.IsAccessToken(strings.TrimSpace(token)) {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Send a service token of Magpie as Authorization: Bearer")
	}
	v, err := x.h.opt.Accounts.Authenticate(x.r.Context(), strings.TrimSpace(token))
	if err != nil {
		return viewer.Viewer{}, err
	}
	v.Surface = viewer.SurfaceDashboard
	return v, people.CheckDirectory(v)
}

// operations are the operations of a kind of resources.
type operations struct {
	list, create               func() error
	get, replace, patch, erase func(id uuid.UUID) error
}

func (x *exchange) resource(id string, nested bool, o operations) error {
	if !nested || id == "" {
		switch x.r.Method {
		case http.MethodGet:
			return o.list()
		case http.MethodPost:
			return o.create()
		}
		return x.notAllowed("GET, POST")
	}
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(parsed.String()) {
		return apierr.NotFound("Resource")
	}
	switch x.r.Method {
	case http.MethodGet:
		return o.get(parsed)
	case http.MethodPut:
		return o.replace(parsed)
	case http.MethodPatch:
		return o.patch(parsed)
	case http.MethodDelete:
		return o.erase(parsed)
	}
	return x.notAllowed("GET, PUT, PATCH, DELETE")
}

func (x *exchange) notAllowed(methods string) error {
	x.w.Header().Set("Allow", methods)
	return apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows "+methods)
}

// object is a JSON object whose names are compared in any case, as SCIM does.
type object map[string]any

// get returns a member in any case of its name.
func (o object) get(name string) (any, bool) {
	if value, ok := o[name]; ok {
		return value, true
	}
	for key, value := range o {
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
	return nil, false
}

// read reads the body, a JSON object of bounded size.
func (x *exchange) read() (object, error) {
	kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != mediaType && kind != "application/json" || x.r.Header.Get("Content-Encoding") != "" {
		return nil, apierr.New(apierr.UnsupportedMediaType, "send the body as Content-Type: "+mediaType+", without a Content-Encoding")
	}
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(readTimeout)) // the wall clock, which deadlines use
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, apierr.New(apierr.TooLarge, "The request body may have at most 2 MiB")
	}
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "The request body is incomplete")
	}
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{}) // otherwise it would cancel the request like a disconnect
	var out object
	if !utf8.Valid(raw) || json.Unmarshal(raw, &out) != nil || out == nil {
		return nil, syntaxError("The body must be a JSON object")
	}
	return out, nil
}

func (x *exchange) send(status int, body any) error {
	x.w.Header().Set("Content-Type", mediaType+"; charset=utf-8")
	x.w.WriteHeader(status)
	_ = json.NewEncoder(x.w).Encode(body) // the client may have disconnected
	return nil
}

// protocolError is an error with a scimType (RFC 7644, section 3.12).
type protocolError struct{ kind, detail string }

func (e *protocolError) Error() string { return e.kind + ": " + e.detail }

func syntaxError(detail string) error { return &protocolError{"invalidSyntax", detail} }
func filterError(detail string) error { return &protocolError{"invalidFilter", detail} }
func pathError(detail string) error   { return &protocolError{"invalidPath", detail} }
func valueError(detail string) error  { return &protocolError{"invalidValue", detail} }

type errorBody struct {
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	ScimType string   `json:"scimType,omitempty"`
	Detail   string   `json:"detail"`
}

// fail sends an error in the form of SCIM.
func (x *exchange) fail(err error) {
	body := errorBody{Schemas: []string{"urn:ietf:params:scim:api:messages:2.0:Error"}}
	status := http.StatusBadRequest
	if known, ok := errors.AsType[*protocolError](err); ok {
		body.ScimType, body.Detail = known.kind, known.detail
	} else {
		e := apierr.From(err)
		status, body.Detail = e.Code.Status(), e.Message
		switch {
		case errors.Is(err, people.ErrTaken):
			body.ScimType = "uniqueness"
		case e.Code == apierr.InvalidRequest:
			body.ScimType = "invalidValue"
		case e.Code == apierr.Internal && x.r.Context().Err() == nil:
			x.h.opt.Log.ErrorContext(x.r.Context(), "scim request failed", slog.Any("error", err))
		}
		if status == http.StatusUnauthorized {
			x.w.Header().Set("WWW-Authenticate", `Bearer realm="Magpie"`)
		}
		e.SetRetryAfter(x.w.Header())
	}
	body.Status = strconv.Itoa(status)
	_ = x.send(status, body)
}

// location returns the address of a resource.
func (x *exchange) location(kind string, id uuid.UUID) string {
	return x.h.opt.BaseURL + Root + "/" + kind + "/" + id.String()
}

type listBody struct {
	Schemas      []string `json:"schemas"`
	TotalResults int      `json:"totalResults"`
	StartIndex   int      `json:"startIndex"`
	ItemsPerPage int      `json:"itemsPerPage"`
	Resources    []any    `json:"Resources"`
}

// page returns the part of a list that a request asks for. Values out of range count as
// the nearest in range (RFC 7644, section 3.4.2.4).
func (x *exchange) page() (start, count int, err error) {
	start, count = 1, defaultPage
	query := x.r.URL.Query()
	for name, into := range map[string]*int{"startIndex": &start, "count": &count} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, 0, valueError(name + " must be a number")
		}
		*into = n
	}
	return min(max(start, 1), 1<<30), min(max(count, 0), maxResults), nil
}

func (x *exchange) sendList(resources []any, start, total int) error {
	if resources == nil {
		resources = []any{}
	}
	for i := range resources {
		var err error
		if resources[i], err = x.wanted(resources[i]); err != nil {
			return err
		}
	}
	return x.send(http.StatusOK, listBody{
		Schemas: []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"}, TotalResults: total, StartIndex: start, ItemsPerPage: len(resources), Resources: resources,
	})
}

// excludes reports whether a request does not want an attribute (RFC 7644, section 3.9). Of those with parts, such as
// name.givenName, attributes wants the whole, and excludedAttributes excludes nothing.
func (x *exchange) excludes(attribute string) bool {
	query := x.r.URL.Query()
	for name := range strings.SplitSeq(query.Get("excludedAttributes"), ",") {
		if strings.EqualFold(attributeOf(name), attribute) {
			return true
		}
	}
	wanted := query.Get("attributes")
	if wanted == "" {
		return false
	}
	for name := range strings.SplitSeq(wanted, ",") {
		first, _, _ := strings.Cut(attributeOf(name), ".")
		if strings.EqualFold(first, attribute) {
			return false
		}
	}
	return true
}

// attributeOf returns the name of an attribute without the schema that may be before it.
func attributeOf(name string) string {
	name = strings.TrimSpace(name)
	for _, schema := range []string{coreUser, coreGroup} {
		if n := len(schema); len(name) > n && name[n] == ':' && strings.EqualFold(name[:n], schema) {
			return name[n+1:]
		}
	}
	return name
}

// wanted returns a resource with the attributes that the request wants. Every one has schemas and id.
func (x *exchange) wanted(resource any) (any, error) {
	if query := x.r.URL.Query(); query.Get("attributes") == "" && query.Get("excludedAttributes") == "" {
		return resource, nil
	}
	text, err := json.Marshal(resource)
	if err != nil {
		return nil, fmt.Errorf("write a resource: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read a resource: %w", err)
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		return name != "schemas" && name != "id" && x.excludes(name)
	})
	return all, nil
}

// sendResource sends a resource with the attributes that the request wants.
func (x *exchange) sendResource(status int, resource any) error {
	body, err := x.wanted(resource)
	if err != nil {
		return err
	}
	return x.send(status, body)
}
