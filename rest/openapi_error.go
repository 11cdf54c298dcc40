package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/openapi"
)

// audience is a group of callers with the same errors.
type audience string

const (
	keyAudience     audience = "Public"
	sessionAudience audience = "Dashboard"
	signInAudience  audience = "SignIn"
)

func audiences() []audience { return []audience{keyAudience, sessionAudience, signInAudience} }

func (r *route) audience() audience {
	switch {
	case r.Surface == viewer.SurfacePublic:
		return keyAudience
	case r.Anonymous:
		return signInAudience
	default:
		return sessionAudience
	}
}

// errorExample is an error of the interface.
type errorExample struct {
	to      []audience // nil: all
	code    apierr.Code
	message string
}

// errorExamples returns examples of all errors, ordered by status.
func (d *describer) errorExamples() []errorExample {
	internal, late := apierr.From(errors.New("unknown")), apierr.From(context.DeadlineExceeded)
	return []errorExample{
		{[]audience{keyAudience, sessionAudience}, apierr.InvalidRequest, "limit: must be between 1 and 100"},
		{[]audience{signInAudience}, apierr.InvalidRequest, "email: is required"},
		{[]audience{keyAudience}, apierr.Unauthorized, "API key required"},
		{[]audience{keyAudience}, apierr.InvalidKey, "Invalid API key"},
		{[]audience{keyAudience}, apierr.KeyExpired, "API key has expired"},
		{[]audience{keyAudience}, apierr.InvalidSignature, "Invalid request signature"},
		{[]audience{signInAudience}, apierr.InvalidCredentials, "Email or password is wrong"},
		{[]audience{sessionAudience}, apierr.InvalidCredentials, "The present password is wrong"},
		{[]audience{sessionAudience, signInAudience}, apierr.Unauthorized, "Session required"},
		{[]audience{keyAudience, sessionAudience}, apierr.QuotaExceeded, "Query limit exceeded"},
		{[]audience{keyAudience, sessionAudience}, apierr.Forbidden, "Collection access denied"},
		{[]audience{keyAudience}, apierr.Forbidden, "Host not allowed"},
		{[]audience{keyAudience}, apierr.Forbidden, "Secret key required"},
		{[]audience{sessionAudience}, apierr.Forbidden, "Your role does not allow this; it needs the role editor"},
		{[]audience{signInAudience}, apierr.Forbidden, "Sign-up is closed; ask for an invitation"},
		{[]audience{signInAudience}, apierr.CodeNotFound, "Invitation not found"},
		{[]audience{signInAudience}, apierr.Forbidden, "You have signed in, but you are a member of no workspace here; ask to be invited"},
		{[]audience{sessionAudience, signInAudience}, apierr.Forbidden, "cookie=1 is for pages of this service's own origin; leave it out, and keep the refresh_token of the response"},
		{[]audience{sessionAudience}, apierr.CodeNotFound, "Collection not found"},
		{[]audience{signInAudience}, apierr.CodeNotFound, "Provider not found"},
		{[]audience{keyAudience}, apierr.CodeNotFound, "Conversation not found"},
		{[]audience{keyAudience, sessionAudience}, apierr.CodeNotFound, "Page not found"},
		{[]audience{sessionAudience}, apierr.Conflict, "The connector is disabled; enable it before you sync it."},
		{[]audience{signInAudience}, apierr.Conflict, "The invitation has expired; ask for a new one"},
		{nil, apierr.TooLarge, "The request body may have at most " + bytesText(d.limits.Body)},
		{nil, apierr.UnsupportedMediaType, "send the body as Content-Type: application/json"},
		{[]audience{keyAudience}, apierr.RateLimited, "Rate limit exceeded"},
		{[]audience{sessionAudience, signInAudience}, apierr.RateLimited, "Too many attempts; wait a little"},
		{[]audience{sessionAudience}, apierr.RateLimited, "You have 4 runs under way, which is the most at once; wait for one to end."},
		{nil, internal.Code, internal.Message},
		{nil, late.Code, late.Message},
	}
}

// errorStatuses returns the error statuses of a route.
func (d *describer) errorStatuses(r *route, o *operation) []int {
	changes := o.root(r).field == d.schema.Mutation.Fields.ForName(o.root(r).field.Name)
	statuses := []int{http.StatusInternalServerError, http.StatusServiceUnavailable}
	add := func(when bool, status ...int) {
		if when {
			statuses = append(statuses, status...)
		}
	}
	reads := r.Method != http.MethodGet // the body is read even if it is unused
	named := slices.ContainsFunc(r.segments, func(s segment) bool { return s.parameter != "" })
	add(reads || r.from != noInput, http.StatusBadRequest)
	add(true, http.StatusUnauthorized)
	add(usesQuota(o.root(r).field), http.StatusPaymentRequired)
	add(!r.Anonymous || r.mayForbid || o.opensSession, http.StatusForbidden)
	add(named || slices.ContainsFunc(r.fields, func(f field) bool { return f.kind == uid }), http.StatusNotFound)
	runs := o.root(r).field.Name == "runAgent" // may conflict with a run of the conversation, or exceed the limit of runs
	add(changes && r.audience() == sessionAudience || runs, http.StatusConflict)
	add(reads, http.StatusRequestEntityTooLarge)
	add(r.from == body || r.from == multipartForm, http.StatusUnsupportedMediaType)
	add(r.audience() != sessionAudience || runs, http.StatusTooManyRequests)
	add(true, r.statuses...)
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

// usesQuota reports whether a root field counts against the monthly quota.
func usesQuota(f *ast.FieldDefinition) bool {
	return f.Name == "search" || f.Name == "chat" || f.Name == "runAgent"
}

// errorResponseName returns the component name of a status for an audience.
func errorResponseName(to audience, status int) string {
	return string(to) + strings.ReplaceAll(http.StatusText(status), " ", "")
}

// addErrors adds the error responses, one component for each status and audience.
func (d *describer) addErrors() {
	d.doc.Components.Schemas.Set(errorName, errorSchema())
	for _, to := range audiences() {
		for rows := d.errorExamples(); len(rows) > 0; {
			status, same := rows[0].code.Status(), 1
			for same < len(rows) && rows[same].code.Status() == status {
				same++
			}
			d.addErrorResponse(to, status, rows[:same])
			rows = rows[same:]
		}
	}
}

func (d *describer) addErrorResponse(to audience, status int, rows []errorExample) {
	var codes []string
	media := &openapi.MediaType{Schema: openapi.Refer(errorName)}
	for _, row := range rows {
		if row.to != nil && !slices.Contains(row.to, to) {
			continue
		}
		if !slices.Contains(codes, string(row.code)) {
			codes = append(codes, string(row.code))
		}
		name, value := string(row.code), map[string]any{"error": map[string]any{"code": row.code, "message": row.message}}
		for n := 2; ; n++ {
			if _, exists := media.Examples.Get(name); !exists {
				break
			}
			name = string(row.code) + "_" + strconv.Itoa(n)
		}
		media.Examples.Set(name, &openapi.Example{Summary: row.message, Value: value})
	}
	if len(codes) == 0 {
		return
	}
	out := &openapi.Response{Description: http.StatusText(status) + ": " + strings.Join(codes, " or ") + ".", Headers: d.standardHeaders(to), Content: openapi.MapOf("application/json", media)}
	switch {
	case status == http.StatusTooManyRequests:
		out.Headers.Set("Retry-After", &openapi.Header{Ref: "#/components/headers/Retry-After"})
	case status == http.StatusServiceUnavailable:
		later, _ := d.doc.Components.Headers.Get("Retry-After")
		optional := *later
		optional.Required = false
		out.Headers.Set("Retry-After", &optional)
	case status == http.StatusUnauthorized && to != keyAudience:
		out.Headers.Set("WWW-Authenticate", &openapi.Header{Ref: "#/components/headers/WWW-Authenticate"})
	}
	d.doc.Components.Responses.Set(errorResponseName(to, status), out)
}

// errorName is the name of the component of every error.
const errorName = "Error"

// errorSchema returns the schema of an error.
func errorSchema() *openapi.Schema {
	code := openapi.Of(openapi.String)
	code.Description = "One of the codes of the error answers; new ones may be added."
	message := openapi.Of(openapi.String)
	message.Description = "A message for people, safe to display."
	inner := openapi.Of(openapi.Object)
	inner.Properties.Set("code", code)
	inner.Properties.Set("message", message)
	inner.Required = []string{"code", "message"}
	outer := openapi.Of(openapi.Object)
	outer.Properties.Set("error", inner)
	outer.Required = []string{"error"}
	return outer
}

// addHeaders adds the response headers.
func (d *describer) addHeaders() {
	count := func() *openapi.Schema { return openapi.Of(openapi.Integer) }
	id := openapi.Of(openapi.String)
	id.Format = "uuid"
	for _, h := range []struct {
		name, about string
		schema      *openapi.Schema
	}{
		{requestid.Header, "The ID of the request, which the server's log contains.", openapi.Of(openapi.String)},
		{limitHeader, "The allowed requests of the caller in a minute; 2147483647 without a limit.", count()},
		{remainingHeader, "The remaining requests.", count()},
		{resetHeader, "The time at which all requests are available again, in Unix seconds.", count()},
		{"Retry-After", "The seconds to wait before a retry.", count()},
		{"WWW-Authenticate", "Bearer.", openapi.Of(openapi.String)},
		{conversationHeader, "The ID of the conversation.", id},
	} {
		d.doc.Components.Headers.Set(h.name, &openapi.Header{Description: h.about, Required: true, Schema: h.schema})
	}
}

// standardHeaders returns the headers of every response to an audience.
func (d *describer) standardHeaders(to audience) openapi.Map[*openapi.Header] {
	var out openapi.Map[*openapi.Header]
	names := []string{requestid.Header}
	if to == keyAudience {
		names = append(names, limitHeader, remainingHeader, resetHeader)
	}
	for _, name := range names {
		out.Set(name, &openapi.Header{Ref: "#/components/headers/" + name})
	}
	return out
}
