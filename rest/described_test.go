package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/rest"
)

// description is the OpenAPI document as a validator reads it. Unlike the served
// document, its response schemas allow no additional properties.
type description struct {
	doc     *openapi3.T
	router  routers.Router
	options *openapi3filter.Options
	checked sync.Map // checked responses, since the validator takes milliseconds
}

// openAPIHandler returns the handler of the document for the real schema.
func openAPIHandler(version string) (http.Handler, error) {
	schema, err := readSchema()
	if err != nil {
		return nil, err
	}
	transport, err := rest.New(rest.Options{Schema: schema, Keys: keys{}, Sessions: sessions{}})
	if err != nil {
		return nil, err
	}
	return transport.OpenAPI(version)
}

var readDescription = sync.OnceValues(func() (*description, error) {
	serve, err := openAPIHandler("1.2.3")
	if err != nil {
		return nil, err
	}
	answer := httptest.NewRecorder()
	serve.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var document map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		return nil, err
	}
	closeAnswers(document)
	strict, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(strict)
	if err != nil {
		return nil, fmt.Errorf("load the document: %w", err)
	}
	doc.SetStringFormatValidator("uuid", format(func(s string) error {
		if len(s) != 36 {
			return errors.New("no UUID")
		}
		return uuid.Validate(s)
	}))
	doc.SetStringFormatValidator("date", format(func(s string) error { _, err := time.Parse(time.DateOnly, s); return err }))
	doc.SetStringFormatValidator("date-time", format(func(s string) error { _, err := time.Parse(time.RFC3339, s); return err }))
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation(),
		openapi3.EnableSchemaDefaultsValidation(), openapi3.EnableMultiError()); err != nil {
		return nil, fmt.Errorf("the document is not valid OpenAPI: %w", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("create the router: %w", err)
	}
	for _, text := range []string{"text/event-stream", "text/csv", "application/x-ndjson"} {
		openapi3filter.RegisterBodyDecoder(text, openapi3filter.PlainBodyDecoder)
	}
	return &description{doc: doc, router: router, options: &openapi3filter.Options{
		IncludeResponseStatus: true, SkipSettingDefaults: true, MultiError: true, AuthenticationFunc: authenticated,
		SchemaValidationOptions: doc.GetSchemaValidationOptions(),
	}}, nil
})

func format(check func(string) error) openapi3.StringFormatValidator {
	return openapi3.NewCallbackValidator(check)
}

// loadDescription returns the description, which is loaded once.
func loadDescription(t testing.TB) *description {
	t.Helper()
	d, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// closeAnswers forbids additional properties in all schemas except those of requests.
func closeAnswers(document map[string]any) {
	components := document["components"].(map[string]any)
	for name, schema := range components["schemas"].(map[string]any) {
		if !strings.HasSuffix(name, "Request") {
			closeObjects(schema)
		}
	}
	closeObjects(components["responses"])
	for _, item := range document["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			closeObjects(operation.(map[string]any)["responses"])
		}
	}
}

// allowNull gives a schema of any value all types: without, the validator of OpenAPI 3.0
// refuses null.
func allowNull(schema map[string]any) {
	for key := range schema {
		if key != "description" {
			return
		}
	}
	scalars := []any{"string", "number", "boolean", "object", "null"}
	schema["type"] = append([]any{"array"}, scalars...)
	schema["items"] = map[string]any{"type": scalars}
}

func closeObjects(at any) {
	switch at := at.(type) {
	case map[string]any:
		if _, ok := at["properties"].(map[string]any); ok && at["type"] != nil {
			at["additionalProperties"] = false
		}
		if items, ok := at["items"].(map[string]any); ok {
			allowNull(items)
		}
		if properties, ok := at["properties"].(map[string]any); ok {
			for _, property := range properties {
				allowNull(property.(map[string]any))
			}
		}
		for key, inner := range at {
			if key != "example" && key != "examples" {
				closeObjects(inner)
			}
		}
	case []any:
		for _, inner := range at {
			closeObjects(inner)
		}
	}
}

// authenticated checks that a request has the credentials of a scheme, valid or not.
func authenticated(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	given := in.RequestValidationInput.Request.Header.Get("X-Service-Key")
	if in.SecuritySchemeName == "session" {
		scheme, token, _ := strings.Cut(in.RequestValidationInput.Request.Header.Get("Authorization"), " ")
		given = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") {
			given = ""
		}
	}
	if given == "" {
		return errors.New("no credentials")
	}
	return nil
}

// recordedRequest is a request with the part of its body that was read.
type recordedRequest struct {
	*http.Request
	read bytes.Buffer
	body io.Reader
}

// record records the body of a request while it is read.
func record(r *http.Request) *recordedRequest {
	t := &recordedRequest{Request: r.Clone(r.Context())}
	if r.Body != nil && r.Body != http.NoBody {
		t.body = io.TeeReader(r.Body, &t.read)
		r.Body = io.NopCloser(t.body)
	}
	return t
}

// replay returns the request with its body.
func (t *recordedRequest) replay() *http.Request {
	r := t.Clone(context.Background())
	if t.body != nil {
		_, _ = io.Copy(io.Discard, t.body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(t.read.Bytes())), int64(t.read.Len())
	}
	return r
}

// check checks a request and its response against the document.
func (d *description) check(t testing.TB, sent *recordedRequest, answer *httptest.ResponseRecorder) {
	t.Helper()
	for _, problem := range d.problems(sent, answer) {
		t.Errorf("%s %s, answered %d: %s", sent.Method, sent.URL.RequestURI(), answer.Code, problem)
	}
}

// problems returns the differences between the document and a request and response.
// The response must be one of the documented responses. An accepted request must be
// valid, and a request that was rejected for its form must not be.
func (d *description) problems(sent *recordedRequest, answer *httptest.ResponseRecorder) (problems []string) {
	status := answer.Code
	if sent.Method == http.MethodHead || sent.Method == http.MethodOptions && status == http.StatusNoContent || !rest.Owns(sent.URL.Path) {
		return nil
	}
	report := func(format string, arguments ...any) { problems = append(problems, fmt.Sprintf(format, arguments...)) }
	route, parameters, err := d.router.FindRoute(sent.Request)
	if err != nil {
		if wrong := d.unrouted(sent, answer); wrong != nil {
			report("the document has no such route (%v); the response: %v", err, wrong)
		}
		return problems
	}
	request := &openapi3filter.RequestValidationInput{Request: sent.Request, PathParams: parameters, Route: route, Options: d.options}
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: status, Header: answer.Header(), Options: d.options}
	response.SetBodyBytes(answer.Body.Bytes())
	if code := wrongCode(route.Operation, answer); code != "" {
		report("the response has the code %s, which no example of the status has", code)
	}
	key := fmt.Sprint(sent.Method, route.Path, status, answer.Header()["Content-Type"], len(answer.Header()), answer.Body)
	if _, loaded := d.checked.LoadOrStore(key, true); !loaded {
		if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil {
			report("the response is not valid: %v\n%.2000s", err, answer.Body)
		}
	}
	if status == http.StatusNoContent && answer.Body.Len() > 0 {
		report("a response 204 has the body %s", answer.Body)
	}
	if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/event-stream") {
		problems = append(problems, d.eventProblems(route, answer.Body.String())...)
	}
	form := status == http.StatusBadRequest || status == http.StatusUnsupportedMediaType
	if status >= 300 && !form || form && isBeyondSchema(answer.Body.String()) {
		return problems
	}
	request.Request = sent.replay()
	wrong := openapi3filter.ValidateRequest(context.Background(), request)
	switch {
	case status < 300 && wrong != nil:
		report("the accepted request is not valid: %v", wrong)
	case form && wrong == nil:
		report("the rejected request is valid: %s", answer.Body)
	}
	return problems
}

// wrongCode returns the code of an error that the document shows no example of for the
// status of the response, or "".
func wrongCode(o *openapi3.Operation, answer *httptest.ResponseRecorder) string {
	described := o.Responses.Status(answer.Code)
	if answer.Code < 400 || described == nil {
		return ""
	}
	var body struct {
		Error struct{ Code string }
	}
	if json.Unmarshal(answer.Body.Bytes(), &body) != nil {
		return ""
	}
	for _, example := range described.Value.Content["application/json"].Examples {
		if example.Value.Value.(map[string]any)["error"].(map[string]any)["code"] == body.Error.Code {
			return ""
		}
	}
	return body.Error.Code
}

// isBeyondSchema reports whether an error is about something that schemas cannot
// express or the validator does not check.
func isBeyondSchema(refusal string) bool {
	for _, reason := range []string{
		"must not contain the character U+0000", "must be UTF-8 text", "there is more after it", "is given more than once", "is given twice",
		"]: is unknown; filters are", // a parameter; in a body the schema detects it
		"must be a next_cursor of this list",
		"refresh_token: is required", // unless a cookie has it
		"The multipart body is malformed or ends too early", "every part needs a file name", "must be given once for each file",
		"its only charset is utf-8", "without a Content-Encoding",
		"min_score: does not fit", "request_id: does not fit", "state: is unknown", "X-Service-User: must be one email address", "did not grant access", // errors of resolvers of the fixture
	} {
		if strings.Contains(refusal, reason) {
			return true
		}
	}
	return false
}

// unrouted checks the response to an unknown path or method.
func (d *description) unrouted(sent *recordedRequest, answer *httptest.ResponseRecorder) error {
	name := "Public"
	if strings.HasPrefix(sent.URL.Path, "/api/") {
		name = "Dashboard"
	}
	switch answer.Code {
	case http.StatusNotFound:
		name += "NotFound"
	case http.StatusMethodNotAllowed: // of no operation, so that only the introduction has it
		name += "NotFound"
		if answer.Header().Get("Allow") == "" {
			return errors.New("no header Allow")
		}
	default:
		return fmt.Errorf("status %d for an unknown path or method", answer.Code)
	}
	response := d.doc.Components.Responses[name].Value
	for header := range response.Headers {
		if answer.Header().Get(header) == "" {
			return fmt.Errorf("no header %s", header)
		}
	}
	var body any
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		return err
	}
	return response.Content["application/json"].Schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020())
}

// eventProblems returns the differences between the document and the events of a
// stream.
func (d *description) eventProblems(route *routers.Route, body string) (problems []string) {
	schema := d.eventSchema(route.Operation)
	if schema == nil {
		return []string{"the events have no schema"}
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if strings.HasPrefix(text, ":") {
			continue
		}
		first, rest, _ := strings.Cut(text, "\n")
		var data any
		raw := strings.ReplaceAll(strings.TrimPrefix(rest, "data: "), "\ndata: ", "\n")
		if err := json.Unmarshal([]byte(raw), &data); err != nil {
			problems = append(problems, fmt.Sprintf("the event %q is cut off or no JSON: %v", text, err))
			continue
		}
		event := map[string]any{"event": strings.TrimPrefix(first, "event: "), "data": data}
		if err := schema.VisitJSON(event, append(d.options.SchemaValidationOptions, openapi3.EnableJSONSchema2020())...); err != nil {
			problems = append(problems, fmt.Sprintf("the event %q is not described: %v", text, err))
		}
	}
	return problems
}

// eventSchema returns the schema of the events of a stream, or nil.
func (d *description) eventSchema(o *openapi3.Operation) *openapi3.Schema {
	media := o.Responses.Status(http.StatusOK).Value.Content["text/event-stream"]
	if content := media.Schema.Value.ContentSchema; content != nil && content.Value.Items != nil {
		return content.Value.Items.Value
	}
	return nil
}
