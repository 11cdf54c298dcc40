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

// description is the interface's description as a validator reads it. It is
// stricter than the one that is served: answers have no field that is not
// described.
type description struct {
	doc     *openapi3.T
	router  routers.Router
	options *openapi3filter.Options
	seen    sync.Map // answers that were checked: it takes the validator milliseconds
}

// served is the handler of the description of the project's own schema.
func served(version string) (http.Handler, error) {
	schema, err := readSchema()
	if err != nil {
		return nil, err
	}
	made, err := rest.New(rest.Options{Schema: schema, Keys: keys{}, Sessions: sessions{}})
	if err != nil {
		return nil, err
	}
	return made.OpenAPI(version)
}

var readDescription = sync.OnceValues(func() (*description, error) {
	serve, err := served("1.2.3")
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
		return nil, fmt.Errorf("load the description: %w", err)
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
		return nil, fmt.Errorf("the description is no valid OpenAPI: %w", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route by the description: %w", err)
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

// described is the description, read once.
func described(t testing.TB) *description {
	t.Helper()
	d, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// closeAnswers forbids further fields in every schema but those of requests.
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

func closeObjects(at any) {
	switch at := at.(type) {
	case map[string]any:
		if _, ok := at["properties"].(map[string]any); ok && at["type"] != nil {
			at["additionalProperties"] = false
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

// authenticated checks that the credentials of a scheme are there; whether they
// are good, the description cannot say.
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

// tapped is a request with what was read of its body.
type tapped struct {
	*http.Request
	read bytes.Buffer
	body io.Reader
}

// tap keeps what is read of a request's body.
func tap(r *http.Request) *tapped {
	t := &tapped{Request: r.Clone(r.Context())}
	if r.Body != nil && r.Body != http.NoBody {
		t.body = io.TeeReader(r.Body, &t.read)
		r.Body = io.NopCloser(t.body)
	}
	return t
}

// again is the request anew, with its whole body.
func (t *tapped) again() *http.Request {
	r := t.Clone(context.Background())
	if t.body != nil {
		_, _ = io.Copy(io.Discard, t.body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(t.read.Bytes())), int64(t.read.Len())
	}
	return r
}

// check holds a request and its answer against the description.
func (d *description) check(t testing.TB, sent *tapped, answer *httptest.ResponseRecorder) {
	t.Helper()
	for _, problem := range d.problems(sent, answer) {
		t.Errorf("%s %s, answered %d: %s", sent.Method, sent.URL.RequestURI(), answer.Code, problem)
	}
}

// problems are where a request or its answer is not as described: the answer is
// one of those described, a request that was accepted fits its description, and
// one that was refused for its form does not.
func (d *description) problems(sent *tapped, answer *httptest.ResponseRecorder) (problems []string) {
	status := answer.Code
	if sent.Method == http.MethodHead || sent.Method == http.MethodOptions && status == http.StatusNoContent || !rest.Owns(sent.URL.Path) {
		return nil
	}
	say := func(format string, arguments ...any) { problems = append(problems, fmt.Sprintf(format, arguments...)) }
	route, parameters, err := d.router.FindRoute(sent.Request)
	if err != nil {
		if wrong := d.unrouted(sent, answer); wrong != nil {
			say("the description has no such route (%v), nor such an answer: %v", err, wrong)
		}
		return problems
	}
	request := &openapi3filter.RequestValidationInput{Request: sent.Request, PathParams: parameters, Route: route, Options: d.options}
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: status, Header: answer.Header(), Options: d.options}
	response.SetBodyBytes(answer.Body.Bytes())
	seen := fmt.Sprint(sent.Method, route.Path, status, answer.Header()["Content-Type"], len(answer.Header()), answer.Body)
	if _, again := d.seen.LoadOrStore(seen, true); !again {
		if err := openapi3filter.ValidateResponse(context.Background(), response); err != nil {
			say("the answer is not as described: %v\n%.2000s", err, answer.Body)
		}
	}
	if status == http.StatusNoContent && answer.Body.Len() > 0 {
		say("an answer of no content has %s", answer.Body)
	}
	if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/event-stream") {
		problems = append(problems, d.eventProblems(route, answer.Body.String())...)
	}
	form := status == http.StatusBadRequest || status == http.StatusUnsupportedMediaType
	if status >= 300 && !form || form && beyondSchemas(answer.Body.String()) {
		return problems
	}
	request.Request = sent.again()
	wrong := openapi3filter.ValidateRequest(context.Background(), request)
	switch {
	case status < 300 && wrong != nil:
		say("it does not fit the description: %v", wrong)
	case form && wrong == nil:
		say("it fits the description: %s", answer.Body)
	}
	return problems
}

// beyondSchemas reports refusals for what no schema can say, or what the
// validator does not look at.
func beyondSchemas(refusal string) bool {
	for _, reason := range []string{
		"must not contain the character U+0000", "must be UTF-8 text", "there is more after it", "is given more than once", "is given twice",
		"]: is unknown; filters are", // a parameter; in a body the schema says it
		"must be a next_cursor that this list gave",
		"The multipart body is malformed or ends too early", "every part needs a file name", "must be given once for each file",
		"its only charset is utf-8", "without a Content-Encoding",
		"min_score: does not fit", "request_id: does not fit", "state: is unknown", "X-Service-User: must be one email address", "did not grant access", // a resolver's own refusal, in the fixture
	} {
		if strings.Contains(refusal, reason) {
			return true
		}
	}
	return false
}

// unrouted checks the answer of a path or method that is not described.
func (d *description) unrouted(sent *tapped, answer *httptest.ResponseRecorder) error {
	name := "Public"
	if strings.HasPrefix(sent.URL.Path, "/api/") {
		name = "Dashboard"
	}
	switch answer.Code {
	case http.StatusNotFound:
		name += "NotFound"
	case http.StatusMethodNotAllowed:
		name += "MethodNotAllowed"
	default:
		return fmt.Errorf("%d for what does not exist", answer.Code)
	}
	response := d.doc.Components.Responses[name].Value
	for header := range response.Headers {
		if answer.Header().Get(header) == "" {
			return fmt.Errorf("there is no %s", header)
		}
	}
	var body any
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		return err
	}
	return response.Content["application/json"].Schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020())
}

// eventProblems are where the events of a stream are not as described.
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

// eventSchema is the schema of each event of a stream; nil when there is none.
func (d *description) eventSchema(o *openapi3.Operation) *openapi3.Schema {
	media := o.Responses.Status(http.StatusOK).Value.Content["text/event-stream"]
	item, _ := media.Extensions["x-itemSchema"].(map[string]any)
	reference, _ := item["$ref"].(string)
	schema := d.doc.Components.Schemas[strings.TrimPrefix(reference, "#/components/schemas/")]
	if schema == nil {
		return nil
	}
	return schema.Value
}
