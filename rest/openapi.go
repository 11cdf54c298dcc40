package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/openapi"
)

// Names of the security schemes.
const (
	keyScheme       = "serviceKey"
	bearerKeyScheme = "bearerKey"
	sessionScheme   = "session"
)

const introduction = `Search over indexed documents, chat that answers from them, and the management of both.

The paths under /v1 are the public surface, called with an API key; those under /api/v1 are the dashboard's, called with a session.

- Fields and query parameters that are not described here are ignored. A field with the value null is the same as a missing field, unless its description says that null clears it.
- Every error is ` + "`{\"error\": {\"code\": …, \"message\": …}}`" + `; with the code invalid_request the message begins with the input's name.
- An unknown path is answered with 404, a method that a path does not have with 405 and Allow. HEAD is possible wherever GET is.
- Lists have the parameters limit and cursor, and return next_cursor, which is null on the last page.
- Times are RFC 3339, in UTC. Fields may be added to answers; clients must ignore unknown fields.`

// describer builds the OpenAPI document from the route table, the stored operations
// and the schema.
type describer struct {
	schema     *ast.Schema
	operations map[string]*operation
	limits     Limits
	doc        *openapi.Document
	names      map[string]string // object schema names by signature
	samples    openapi.Samples
	bodies     map[string]string // names of the response bodies by operation
}

// describe returns the OpenAPI document of a table of routes.
func (t *Transport) describe(table []*route, version string) (*openapi.Document, error) {
	d := &describer{
		schema: t.schema, operations: t.operations, limits: t.limits, bodies: map[string]string{}, samples: samples(),
		doc: &openapi.Document{
			OpenAPI: "3.1.0",
			Info: openapi.Info{
				Title: "Magpie", Description: introduction, Version: version,
				License: openapi.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []openapi.Server{{URL: "/", Description: "The server of this document."}},
		},
	}
	d.addSecurity()
	d.addHeaders()
	d.addErrors()
	d.names = d.nameObjects(table)
	for _, r := range table {
		out, err := d.operation(r)
		if err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", r.Method, r.Pattern, err)
		}
		item, ok := d.doc.Paths.Get(r.Pattern)
		if !ok {
			item = &openapi.PathItem{}
			d.doc.Paths.Set(r.Pattern, item)
		}
		item.Set(strings.ToLower(r.Method), out)
	}
	return d.doc, nil
}

// addSecurity adds the security schemes and their headers.
func (d *describer) addSecurity() {
	c := &d.doc.Components
	c.SecuritySchemes.Set(keyScheme, &openapi.SecurityScheme{
		Type: "apiKey", In: "header", Name: keyHeader,
		Description: "A publishable key (svc_pk_…) works on the hosts that it allows, by Origin or else Referer, with a rate limit for each IP address. " +
			"A secret key (svc_sk_…) is for servers, may sign its requests, and has one rate limit.",
	})
	c.SecuritySchemes.Set(sessionScheme, &openapi.SecurityScheme{
		Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "The access_token of a sign-in, or a personal or service token (mgp_pat_…, mgp_svc_…).",
	})
	c.SecuritySchemes.Set(bearerKeyScheme, &openapi.SecurityScheme{
		Type: "http", Scheme: "bearer", Description: "The same keys as in " + keyHeader + ", for clients that send only this header.",
	})
	for _, p := range []*openapi.Parameter{
		{Name: requestid.Header, In: "header", Schema: openapi.Of(openapi.String),
			Description: "The caller's ID of the request, with at most 128 safe characters; any other value is replaced."},
		{Name: timestampHeader, In: "header", Schema: openapi.Of(openapi.String),
			Description: "With a secret key: the time of the signature in Unix milliseconds, at most five minutes off."},
		{Name: signatureHeader, In: "header", Schema: openapi.Of(openapi.String),
			Description: "With a secret key: the hex HMAC-SHA256 of timestamp, dot and exact body with the key. It is checked when it is sent; a key may require it."},
		{Name: userHeader, In: "header", Schema: openapi.Of(openapi.String),
			Description: "With a secret key: the email address of the end user. Restricted documents are found if this user may see them in the source. " +
				"With a publishable key it is ignored."},
	} {
		c.Parameters.Set(p.Name, p)
	}
}

// operation describes a route.
func (d *describer) operation(r *route) (*openapi.Operation, error) {
	o := d.operations[r.Operation]
	root := o.root(r)
	out := &openapi.Operation{
		OperationID: r.id(), Summary: summary(r.id()), Tags: []string{d.tag(r)}, Security: []map[string][]string{},
		Description: sentence(root.field.Description),
	}
	if r.Status == http.StatusNoContent {
		out.Description = withoutResult(out.Description)
	}
	if least := root.field.Directives.ForName("role"); least != nil {
		out.Description = strings.TrimSpace(out.Description + " Needs the role " + strings.ToLower(least.Arguments.ForName("atLeast").Value.Raw) + ".")
	}
	headers := []string{requestid.Header}
	switch {
	case r.Surface == viewer.SurfacePublic:
		out.Security = append(out.Security, map[string][]string{keyScheme: {}}, map[string][]string{bearerKeyScheme: {}})
		headers = append(headers, timestampHeader, signatureHeader, userHeader)
	case r.optionalSession:
		out.Security = append(out.Security, map[string][]string{}, map[string][]string{sessionScheme: {}})
	case !r.Anonymous:
		out.Security = append(out.Security, map[string][]string{sessionScheme: {}})
	}
	out.Parameters = d.pathParameters(r)
	if r.from == query {
		out.Parameters = append(out.Parameters, d.queryParameters(r)...)
	}
	if o.opensSession {
		out.Parameters = append(out.Parameters, cookieModeParameter())
	}
	for _, name := range headers {
		out.Parameters = append(out.Parameters, &openapi.Parameter{Ref: "#/components/parameters/" + name})
	}
	switch r.from {
	case body:
		out.RequestBody = d.requestBody(r, out.OperationID)
	case multipartForm:
		out.RequestBody = d.uploadBody()
	}
	success, err := d.success(r, o)
	if err != nil {
		return nil, err
	}
	out.Responses.Set(fmt.Sprint(r.Status), success)
	if r.redirect != "" {
		out.Responses.Set(fmt.Sprint(http.StatusSeeOther), d.redirection(r))
	}
	for _, status := range d.errorStatuses(r, o) {
		out.Responses.Set(fmt.Sprint(status), &openapi.Response{Ref: "#/components/responses/" + errorResponseName(r.audience(), status)})
	}
	return out, nil
}

// root returns the root field whose result the route returns.
func (o *operation) root(r *route) member {
	key, _, _ := strings.Cut(r.answer, ".")
	i := slices.IndexFunc(o.shape.members, func(m member) bool { return m.key == key })
	return o.shape.members[max(i, 0)] // the only one, for answer "." and streams
}

// tag returns the tag of a route: public, or the first path segment of the dashboard
// route.
func (d *describer) tag(r *route) string {
	name, about := "public", "Search and chat with an API key."
	if r.Surface != viewer.SurfacePublic {
		name = r.segments[2].literal
		about = "The dashboard's " + name + ", with a session."
	}
	if !slices.ContainsFunc(d.doc.Tags, func(t openapi.Tag) bool { return t.Name == name }) {
		d.doc.Tags = append(d.doc.Tags, openapi.Tag{Name: name, Description: about})
	}
	return name
}

// success describes the success response of a route.
func (d *describer) success(r *route, o *operation) (*openapi.Response, error) {
	out := &openapi.Response{Description: http.StatusText(r.Status), Headers: d.standardHeaders(r.audience())}
	switch {
	case r.Status == http.StatusNoContent:
	case r.file != "":
		out.Description = "The whole list as a file. In CSV, an apostrophe precedes texts that a spreadsheet would evaluate as a formula."
		out.Content = openapi.MapOf(r.file.contentType(), &openapi.MediaType{Schema: openapi.Of(openapi.String)})
	case o.stream:
		out.Description = "The answer as a stream of server-sent events. An error before the first event is an error response."
		out.Headers.Set(conversationHeader, &openapi.Header{Ref: "#/components/headers/" + conversationHeader})
		out.Content = openapi.MapOf(eventStream, d.events(o))
	default:
		schema := openapi.Of(openapi.Object)
		target, field := o.shape, (*ast.FieldDefinition)(nil)
		if r.answer != "." {
			for key := range strings.SplitSeq(r.answer, ".") {
				i := slices.IndexFunc(target.members, func(m member) bool { return m.key == key })
				if i < 0 {
					return nil, fmt.Errorf("the result has no %s", r.answer)
				}
				target, field = target.members[i].shape, target.members[i].field
			}
			schema.Properties.Set("data", d.value(target, field.Type))
		} else {
			schema.Properties.Set("data", d.object(target, ""))
		}
		schema.Required = []string{"data"}
		if o.opensSession || r.endsSession {
			out.Headers.Set("Set-Cookie", sessionCookieHeader(r))
		}
		if r.pages != "" {
			next := openapi.Nullable(openapi.Of(openapi.String))
			next.Description = "The cursor of the page after this one; null on the last page."
			schema.Properties.Set("next_cursor", next)
			schema.Required = append(schema.Required, "next_cursor")
		}
		name := d.bodyName(r)
		d.doc.Components.Schemas.Set(name, schema)
		out.Content = openapi.MapOf("application/json", &openapi.MediaType{Schema: openapi.Refer(name), Example: d.sample("", schema)})
	}
	return out, nil
}

// redirection describes the redirect of a browser.
func (d *describer) redirection(r *route) *openapi.Response {
	out := &openapi.Response{
		Description: "A redirect to the URL that was requested at the start of the flow, with the outcome as query parameters.", Headers: d.standardHeaders(r.audience()),
	}
	out.Headers.Set("Location", &openapi.Header{Description: "The URL.", Schema: openapi.Of(openapi.String)})
	return out
}

// sentence returns a description of the schema as a sentence.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || strings.Contains(text, " is enum for the field ") {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// withoutResult removes the part of a description that is about the GraphQL result.
func withoutResult(text string) string {
	text, _, _ = strings.Cut(text, " Answers")
	text, _, cut := strings.Cut(text, "; answers")
	if cut {
		text += "."
	}
	return text
}
