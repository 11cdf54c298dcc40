package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/openapi"
)

// The names of the security schemes.
const (
	keyScheme     = "serviceKey"
	sessionScheme = "session"
)

const introduction = `Search over indexed documents, chat that answers from them, and the management of both.

The paths under /v1 are the public surface, called with an API key; those under /api/v1 are the dashboard's, called with a session.

- Fields and query parameters that are not described here are ignored. A field of null is one that is left out, where it is not said to clear something.
- Every error is ` + "`{\"error\": {\"code\": …, \"message\": …}}`" + `; with the code invalid_request the message begins with the input's name.
- A path that does not exist is answered 404, a method that a path does not have 405 with Allow; HEAD is answered wherever GET is.
- Lists take limit and cursor and answer next_cursor, which is null on the last page.
- Times are RFC 3339, in UTC. Fields may be added to answers; clients ignore those that they do not know.`

// describer writes the interface's description from the route table, the stored
// operations and the schema, so that it cannot say anything else than they do.
type describer struct {
	schema     *ast.Schema
	operations map[string]*operation
	limits     Limits
	doc        *openapi.Document
	names      map[string]string // of the object schemas, by their signature
	samples    openapi.Samples
	ids        map[string]bool // of operations, that are taken
}

// describe makes the description of a table of routes.
func (t *Transport) describe(table []*route, version string) (*openapi.Document, error) {
	d := &describer{
		schema: t.schema, operations: t.operations, limits: t.limits, ids: map[string]bool{}, samples: samples(),
		doc: &openapi.Document{
			OpenAPI: "3.1.0",
			Info: openapi.Info{
				Title: "Magpie", Description: introduction, Version: version,
				License: openapi.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []openapi.Server{{URL: "/", Description: "The server that this document comes from."}},
		},
	}
	d.credentials()
	d.headers()
	d.errors()
	d.names = d.nameObjects(table)
	for _, r := range table {
		made, err := d.operation(r)
		if err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", r.Method, r.Pattern, err)
		}
		item, ok := d.doc.Paths.Get(r.Pattern)
		if !ok {
			item = &openapi.PathItem{}
			d.doc.Paths.Set(r.Pattern, item)
		}
		item.Set(strings.ToLower(r.Method), made)
	}
	return d.doc, nil
}

func (d *describer) credentials() {
	c := &d.doc.Components
	c.SecuritySchemes.Set(keyScheme, &openapi.SecurityScheme{
		Type: "apiKey", In: "header", Name: keyHeader,
		Description: "A publishable key (svc_pk_…) works from the hosts it names, by Origin, else Referer, and is counted by address; " +
			"a secret key (svc_sk_…) stays on servers, may sign its requests and is counted by itself.",
	})
	c.SecuritySchemes.Set(sessionScheme, &openapi.SecurityScheme{
		Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "The access_token that signing in answers.",
	})
	for _, p := range []*openapi.Parameter{
		{Name: requestid.Header, In: "header", Schema: openapi.Of(openapi.String),
			Description: "The caller's own id of the request, of at most 128 harmless characters; another one is replaced."},
		{Name: timestampHeader, In: "header", Schema: openapi.Of(openapi.String),
			Description: "With a secret key: when the request was signed, in Unix milliseconds, at most five minutes off."},
		{Name: signatureHeader, In: "header", Schema: openapi.Of(openapi.String),
			Description: "With a secret key: the hex HMAC-SHA256 of timestamp, dot and exact body under the key. One that is there is checked; a key may require one."},
		{Name: userHeader, In: "header", Schema: openapi.Of(openapi.String),
			Description: "With a secret key: the email address of the person who asks. Documents that are not for everybody are found by those who may see them at the source. " +
				"Of a publishable key it is ignored."},
	} {
		c.Parameters.Set(p.Name, p)
	}
}

// operation describes one route.
func (d *describer) operation(r *route) (*openapi.Operation, error) {
	o := d.operations[r.Operation]
	root := o.root(r)
	made := &openapi.Operation{
		OperationID: d.id(r), Summary: d.summary(r), Tags: []string{d.tag(r)}, Security: []map[string][]string{},
		Description: sentence(root.field.Description),
	}
	if r.Status == http.StatusNoContent {
		made.Description = withoutAnswer(made.Description)
	}
	if least := root.field.Directives.ForName("role"); least != nil {
		made.Description = strings.TrimSpace(made.Description + " Needs the role " + strings.ToLower(least.Arguments.ForName("atLeast").Value.Raw) + ".")
	}
	headers := []string{requestid.Header}
	switch {
	case r.Surface == viewer.SurfacePublic:
		made.Security = append(made.Security, map[string][]string{keyScheme: {}})
		headers = append(headers, timestampHeader, signatureHeader, userHeader)
	case r.optional:
		made.Security = append(made.Security, map[string][]string{}, map[string][]string{sessionScheme: {}})
	case !r.Anonymous:
		made.Security = append(made.Security, map[string][]string{sessionScheme: {}})
	}
	made.Parameters = d.pathParameters(r)
	if r.from == query {
		made.Parameters = append(made.Parameters, d.queryParameters(r)...)
	}
	for _, name := range headers {
		made.Parameters = append(made.Parameters, &openapi.Parameter{Ref: "#/components/parameters/" + name})
	}
	switch r.from {
	case body:
		made.RequestBody = d.requestBody(r, made.OperationID)
	case multipartForm:
		made.RequestBody = d.form()
	}
	success, err := d.success(r, o)
	if err != nil {
		return nil, err
	}
	made.Responses.Set(fmt.Sprint(r.Status), success)
	if r.redirect != "" {
		made.Responses.Set(fmt.Sprint(http.StatusSeeOther), d.redirection(r))
	}
	for _, status := range d.refusals(r, o) {
		made.Responses.Set(fmt.Sprint(status), &openapi.Response{Ref: "#/components/responses/" + refusalName(r.audience(), status)})
	}
	return made, nil
}

// root is the root field whose answer the route shows.
func (o *operation) root(r *route) member {
	key, _, _ := strings.Cut(r.answer, ".")
	i := slices.IndexFunc(o.shape.members, func(m member) bool { return m.key == key })
	return o.shape.members[max(i, 0)] // answered whole, or a stream: there is one only
}

// id is the operation's name, with the method and then the surface behind it
// where another route runs the same operation.
func (d *describer) id(r *route) string {
	id := strings.ToLower(r.Operation[:1]) + r.Operation[1:]
	for _, more := range []string{"", "By" + r.Method[:1] + strings.ToLower(r.Method[1:]), "On" + title(string(r.Surface))} {
		if id += more; !d.ids[id] {
			break
		}
	}
	d.ids[id] = true
	return id
}

// summary is the operation's name in words.
func (d *describer) summary(r *route) string {
	var words strings.Builder
	for i, c := range r.Operation {
		if i > 0 && unicode.IsUpper(c) {
			words.WriteByte(' ')
			c = unicode.ToLower(c)
		}
		words.WriteRune(c)
	}
	return words.String()
}

// tag groups the routes by surface and, on the dashboard's, by what they are about.
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

// success describes the answer of a route that went well.
func (d *describer) success(r *route, o *operation) (*openapi.Response, error) {
	made := &openapi.Response{Description: http.StatusText(r.Status), Headers: d.standardHeaders(r.audience())}
	switch {
	case r.Status == http.StatusNoContent:
	case r.file != "":
		made.Description = "All of the list as a file; in CSV, a text that a spreadsheet would take for a formula has an apostrophe before it."
		made.Content = openapi.MapOf(r.file.contentType(), &openapi.MediaType{Schema: openapi.Of(openapi.String)})
	case o.stream:
		made.Description = "The answer as it is written, in server-sent events. What goes wrong before the first one is a plain status."
		made.Headers.Set(conversationHeader, &openapi.Header{Ref: "#/components/headers/" + conversationHeader})
		made.Content = openapi.MapOf("text/event-stream", d.events(o))
	default:
		schema := openapi.Of(openapi.Object)
		at, field := o.shape, (*ast.FieldDefinition)(nil)
		if r.answer != "." {
			for key := range strings.SplitSeq(r.answer, ".") {
				i := slices.IndexFunc(at.members, func(m member) bool { return m.key == key })
				if i < 0 {
					return nil, fmt.Errorf("the operation answers no %s", r.answer)
				}
				at, field = at.members[i].shape, at.members[i].field
			}
			schema.Properties.Set("data", d.value(at, field.Type))
		} else {
			schema.Properties.Set("data", d.object(at, ""))
		}
		schema.Required = []string{"data"}
		if r.pages != "" {
			next := openapi.Nullable(openapi.Of(openapi.String))
			next.Description = "The cursor of the page after this one; null on the last page."
			schema.Properties.Set("next_cursor", next)
			schema.Required = append(schema.Required, "next_cursor")
		}
		name := r.Operation + "Response"
		d.doc.Components.Schemas.Set(name, schema)
		made.Content = openapi.MapOf("application/json", &openapi.MediaType{Schema: openapi.Refer(name), Example: d.sample("", schema)})
	}
	return made, nil
}

// redirection describes the answer that sends a browser on.
func (d *describer) redirection(r *route) *openapi.Response {
	made := &openapi.Response{
		Description: "The browser is sent to where the beginning asked for, with the outcome in the address.", Headers: d.standardHeaders(r.audience()),
	}
	made.Headers.Set("Location", &openapi.Header{Description: "Where to go.", Schema: openapi.Of(openapi.String)})
	return made
}

// sentence makes text of the schema into one for people.
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

// withoutAnswer leaves out what the operation answers in GraphQL.
func withoutAnswer(text string) string {
	text, _, _ = strings.Cut(text, " Answers")
	text, _, cut := strings.Cut(text, "; answers")
	if cut {
		text += "."
	}
	return text
}

// title is a word with its first letter alone in upper case.
func title(word string) string { return word[:1] + strings.ToLower(word[1:]) }
