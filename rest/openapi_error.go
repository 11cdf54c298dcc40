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

// audience is who a route is for, as far as its errors go.
type audience string

const (
	byKey     audience = "Public"
	bySession audience = "Dashboard"
	byNobody  audience = "SignIn"
)

func audiences() []audience { return []audience{byKey, bySession, byNobody} }

func (r *route) audience() audience {
	switch {
	case r.Surface == viewer.SurfacePublic:
		return byKey
	case r.Anonymous:
		return byNobody
	default:
		return bySession
	}
}

// refused is one row of the interface's table of errors, or an example of one
// whose message depends on the request.
type refused struct {
	to      []audience // nil: everybody
	code    apierr.Code
	message string
}

// refusedRows are the errors by code and message, in the order of their statuses.
func (d *describer) refusedRows() []refused {
	internal, late := apierr.From(errors.New("unknown")), apierr.From(context.DeadlineExceeded)
	return []refused{
		{[]audience{byKey, bySession}, apierr.InvalidRequest, "limit: must be between 1 and 100"},
		{[]audience{byNobody}, apierr.InvalidRequest, "email: is required"},
		{[]audience{byKey}, apierr.Unauthorized, "API key required"},
		{[]audience{byKey}, apierr.InvalidKey, "Invalid API key"},
		{[]audience{byKey}, apierr.KeyExpired, "API key has expired"},
		{[]audience{byKey}, apierr.InvalidSignature, "Invalid request signature"},
		{[]audience{byNobody}, apierr.InvalidCredentials, "Email or password is wrong"},
		{[]audience{bySession}, apierr.InvalidCredentials, "The present password is wrong"},
		{[]audience{bySession, byNobody}, apierr.Unauthorized, "Session required"},
		{[]audience{byKey, bySession}, apierr.QuotaExceeded, "Query limit exceeded"},
		{[]audience{byKey, bySession}, apierr.Forbidden, "Collection access denied"},
		{[]audience{byKey}, apierr.Forbidden, "Host not allowed"},
		{[]audience{byKey}, apierr.Forbidden, "Secret key required"},
		{[]audience{bySession}, apierr.Forbidden, "Your role does not allow this; it needs the role editor"},
		{[]audience{byNobody}, apierr.Forbidden, "Sign-up is closed; ask for an invitation"},
		{[]audience{byNobody}, apierr.CodeNotFound, "Invitation not found"},
		{[]audience{byNobody}, apierr.Forbidden, "You have signed in, but you are a member of no workspace here; ask to be invited"},
		{[]audience{bySession}, apierr.CodeNotFound, "Collection not found"},
		{[]audience{byNobody}, apierr.CodeNotFound, "Provider not found"},
		{[]audience{byKey}, apierr.CodeNotFound, "Conversation not found"},
		{[]audience{byKey, bySession}, apierr.CodeNotFound, "Page not found"},
		{[]audience{byKey, bySession}, apierr.MethodNotAllowed, "Method not allowed; this path takes GET, HEAD, POST"},
		{[]audience{bySession}, apierr.Conflict, "The connector is disabled; enable it before you sync it."},
		{[]audience{byNobody}, apierr.Conflict, "The invitation has expired; ask for a new one"},
		{nil, apierr.TooLarge, "The request body may have at most " + bytesText(d.limits.Body)},
		{nil, apierr.UnsupportedMediaType, "send the body as Content-Type: application/json"},
		{[]audience{byKey}, apierr.RateLimited, "Rate limit exceeded"},
		{[]audience{bySession, byNobody}, apierr.RateLimited, "Too many attempts; wait a little"},
		{[]audience{bySession}, apierr.RateLimited, "You have 4 runs under way, which is the most at once; wait for one to end."},
		{nil, internal.Code, internal.Message},
		{nil, late.Code, late.Message},
	}
}

// refusals are the statuses with which a route may be refused.
func (d *describer) refusals(r *route, o *operation) []int {
	changes := o.root(r).field == d.schema.Mutation.Fields.ForName(o.root(r).field.Name)
	statuses := []int{http.StatusInternalServerError, http.StatusServiceUnavailable}
	add := func(when bool, status ...int) {
		if when {
			statuses = append(statuses, status...)
		}
	}
	reads := r.Method != http.MethodGet // a body, though it may go unused
	named := slices.ContainsFunc(r.segments, func(s segment) bool { return s.parameter != "" })
	add(reads || r.from != nowhere, http.StatusBadRequest)
	add(true, http.StatusUnauthorized)
	add(counted(o.root(r).field), http.StatusPaymentRequired)
	add(!r.Anonymous || r.refuses, http.StatusForbidden)
	add(named || slices.ContainsFunc(r.fields, func(f field) bool { return f.kind == uid }), http.StatusNotFound)
	runs := o.root(r).field.Name == "runAgent" // of which there may be too many, or one in the conversation already
	add(changes && r.audience() == bySession || runs, http.StatusConflict)
	add(reads, http.StatusRequestEntityTooLarge)
	add(r.from == body || r.from == multipartForm, http.StatusUnsupportedMediaType)
	add(r.audience() != bySession || runs, http.StatusTooManyRequests)
	add(true, r.also...)
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

// counted reports the root fields that count against the monthly quota.
func counted(f *ast.FieldDefinition) bool {
	return f.Name == "search" || f.Name == "chat" || f.Name == "runAgent"
}

// refusalName is the component of a status for an audience.
func refusalName(to audience, status int) string {
	return string(to) + strings.ReplaceAll(http.StatusText(status), " ", "")
}

// errors describes the error answers, one component for each status and audience.
func (d *describer) errors() {
	d.doc.Components.Schemas.Set("Error", errorSchema(nil))
	for _, to := range audiences() {
		for rows := d.refusedRows(); len(rows) > 0; {
			status, same := rows[0].code.Status(), 1
			for same < len(rows) && rows[same].code.Status() == status {
				same++
			}
			d.refusal(to, status, rows[:same])
			rows = rows[same:]
		}
	}
}

func (d *describer) refusal(to audience, status int, rows []refused) {
	var codes []any
	media := &openapi.MediaType{}
	for _, row := range rows {
		if row.to != nil && !slices.Contains(row.to, to) {
			continue
		}
		if !slices.Contains(codes, any(row.code)) {
			codes = append(codes, row.code)
		}
		name, value := string(row.code), map[string]any{"error": map[string]any{"code": row.code, "message": row.message}}
		for again := 2; ; again++ {
			if _, taken := media.Examples.Get(name); !taken {
				break
			}
			name = string(row.code) + "_" + strconv.Itoa(again)
		}
		media.Examples.Set(name, &openapi.Example{Summary: row.message, Value: value})
	}
	if len(codes) == 0 {
		return
	}
	media.Schema = errorSchema(codes)
	made := &openapi.Response{Description: http.StatusText(status), Headers: d.standardHeaders(to), Content: openapi.MapOf("application/json", media)}
	switch {
	case status == http.StatusMethodNotAllowed:
		made.Headers.Set("Allow", &openapi.Header{Ref: "#/components/headers/Allow"})
	case status == http.StatusTooManyRequests:
		made.Headers.Set("Retry-After", &openapi.Header{Ref: "#/components/headers/Retry-After"})
	case status == http.StatusServiceUnavailable:
		later, _ := d.doc.Components.Headers.Get("Retry-After")
		maybe := *later
		maybe.Required = false
		made.Headers.Set("Retry-After", &maybe)
	case status == http.StatusUnauthorized && to != byKey:
		made.Headers.Set("WWW-Authenticate", &openapi.Header{Ref: "#/components/headers/WWW-Authenticate"})
	}
	d.doc.Components.Responses.Set(refusalName(to, status), made)
}

// errorSchema is the schema of an error with one of some codes; nil is any.
func errorSchema(codes []any) *openapi.Schema {
	code := openapi.Of(openapi.String)
	code.Enum = codes
	if codes == nil {
		code.Description = "One of the codes of the error answers; new ones may be added."
	}
	message := openapi.Of(openapi.String)
	message.Description = "For people; safe to show."
	inner := openapi.Of(openapi.Object)
	inner.Properties.Set("code", code)
	inner.Properties.Set("message", message)
	inner.Required = []string{"code", "message"}
	outer := openapi.Of(openapi.Object)
	outer.Properties.Set("error", inner)
	outer.Required = []string{"error"}
	return outer
}

// headers describes the headers of answers.
func (d *describer) headers() {
	count := func() *openapi.Schema { return openapi.Of(openapi.Integer) }
	id := openapi.Of(openapi.String)
	id.Format = "uuid"
	for _, h := range []struct {
		name, about string
		schema      *openapi.Schema
	}{
		{requestid.Header, "The request's id, by which the server's log knows it.", openapi.Of(openapi.String)},
		{limitHeader, "Requests a minute that the caller may make; 2147483647 without a limit.", count()},
		{remainingHeader, "How many of them are left.", count()},
		{resetHeader, "When all of them are there again, in Unix seconds.", count()},
		{"Retry-After", "Seconds to wait before the request is sent again.", count()},
		{"Allow", "The methods that the path has.", openapi.Of(openapi.String)},
		{"WWW-Authenticate", "Bearer.", openapi.Of(openapi.String)},
		{conversationHeader, "The conversation, to go on with.", id},
	} {
		d.doc.Components.Headers.Set(h.name, &openapi.Header{Description: h.about, Required: true, Schema: h.schema})
	}
}

// standardHeaders are those that every answer to an audience has.
func (d *describer) standardHeaders(to audience) openapi.Map[*openapi.Header] {
	var made openapi.Map[*openapi.Header]
	names := []string{requestid.Header}
	if to == byKey {
		names = append(names, limitHeader, remainingHeader, resetHeader)
	}
	for _, name := range names {
		made.Set(name, &openapi.Header{Ref: "#/components/headers/" + name})
	}
	return made
}
