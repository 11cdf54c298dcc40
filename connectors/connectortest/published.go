package connectortest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// PublishedDial returns a dial that fails the test if a request on its connections is
// not in the model of the API that the platform publishes: if the model has no such
// method and path, query parameter, required parameter, property of the body, or field
// of a selection. file is the path of the model, in the form of [publishedModel].
// elsewhere is a regular expression for the paths of requests that are not of the API,
// such as those for tokens; "" is for none.
func PublishedDial(t testing.TB, dial connectors.Dial, file, elsewhere string) connectors.Dial {
	t.Helper()
	skip := regexp.MustCompile(elsewhere)
	model, err := readPublishedModel(file)
	if err != nil {
		t.Fatalf("read the model of the API: %v", err)
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: conn, watch: func(r *http.Request, body []byte) {
			if elsewhere != "" && skip.MatchString(r.URL.EscapedPath()) {
				return
			}
			if err := model.check(r.Method, r.URL, body); err != nil {
				t.Errorf("%s %s: %v", r.Method, r.URL.RequestURI(), err)
			}
		}}, nil
	}
}

// A publishedModel has the facts of a published model that requests are held against.
type publishedModel struct {
	// Source names the model, and Version its version.
	Source, Version string
	// Bases are the paths that all operations begin with, such as "/v1/". Other
	// segments can be before them, as those of a gateway are.
	Bases      []string
	Operations []publishedOperation
}

// A publishedOperation is one method of one path.
type publishedOperation struct {
	Method string
	// Path has segments in braces for any segment. A last segment such as {path*} is
	// for any number of segments.
	Path string
	// Query has the query parameters, and Required those that must be there.
	Query, Required []string
	// Body has the properties of the body, at its top. Bodies are allowed only if there
	// are some.
	Body []string
	// Fields has the fields that the value of a parameter may select, with dots between
	// the names of nested ones.
	Fields map[string][]string
	// Batch says that the body has requests.
	Batch bool
}

func readPublishedModel(file string) (*publishedModel, error) {
	text, err := os.ReadFile(file) //nolint:gosec // of the test
	if err != nil {
		return nil, err
	}
	model := &publishedModel{}
	if err := json.Unmarshal(text, model); err != nil {
		return nil, err
	}
	if model.Source == "" || model.Version == "" || len(model.Bases) == 0 || len(model.Operations) == 0 {
		return nil, fmt.Errorf("%s has no source, version, bases or operations", file)
	}
	return model, nil
}

// check returns an error if a request is not in the model.
func (m *publishedModel) check(method string, address *url.URL, body []byte) error {
	path := address.EscapedPath()
	for _, base := range m.Bases {
		if at := strings.Index(path, base); at > 0 {
			path = path[at:]
			break
		}
	}
	// The operation with the fewest variable segments is meant.
	var found *publishedOperation
	for i := range m.Operations {
		o := &m.Operations[i]
		if o.Method == method && o.matches(path) && (found == nil || strings.Count(o.Path, "{") < strings.Count(found.Path, "{")) {
			found = o
		}
	}
	if found == nil {
		return fmt.Errorf("the published API has no operation %s %s", method, path)
	}
	if err := found.checkQuery(address.Query()); err != nil {
		return fmt.Errorf("%s %s: %w", found.Method, found.Path, err)
	}
	if err := found.checkBody(body); err != nil {
		return fmt.Errorf("%s %s: %w", found.Method, found.Path, err)
	}
	if found.Batch {
		return m.checkBatch(body)
	}
	return nil
}

// matches reports whether a path is one of the operation.
func (o *publishedOperation) matches(path string) bool {
	want, have := strings.Split(o.Path, "/"), strings.Split(path, "/")
	for i, segment := range want {
		if strings.HasSuffix(segment, "*}") {
			return len(have) > i
		}
		if i >= len(have) || !matchesSegment(segment, have[i]) {
			return false
		}
	}
	return len(want) == len(have)
}

// matchesSegment reports whether a segment of a path is one of the template. It can
// have text around one variable.
func matchesSegment(template, segment string) bool {
	before, rest, variable := strings.Cut(template, "{")
	if !variable {
		return template == segment
	}
	_, after, _ := strings.Cut(rest, "}")
	return len(segment) > len(before)+len(after) && strings.HasPrefix(segment, before) && strings.HasSuffix(segment, after)
}

func (o *publishedOperation) checkQuery(query url.Values) error {
	for name, values := range query {
		if !slices.Contains(o.Query, name) {
			return fmt.Errorf("the published operation has no query parameter %q", name)
		}
		allowed, selects := o.Fields[name]
		for _, value := range values {
			if !selects {
				break
			}
			for _, field := range selectedFields(value) {
				if !slices.Contains(allowed, field) {
					return fmt.Errorf("the published operation has no field %q for %s", field, name)
				}
			}
		}
	}
	for _, name := range o.Required {
		if !query.Has(name) {
			return fmt.Errorf("the published operation requires the query parameter %q", name)
		}
	}
	return nil
}

// selectedFields returns the fields of a selection such as "a,b(c,d(e))", with the
// names of nested ones below those of the outer ones: a, b, b.c, b.d, b.d.e.
func selectedFields(selection string) (fields []string) {
	var outer []string
	name := ""
	end := func() {
		if name = strings.TrimSpace(name); name != "" {
			fields = append(fields, strings.Join(append(slices.Clone(outer), name), "."))
		}
	}
	for _, r := range selection {
		switch r {
		case ',':
			end()
			name = ""
		case '(':
			end()
			outer, name = append(outer, name), ""
		case ')':
			end()
			name = ""
			outer = outer[:max(len(outer)-1, 0)]
		default:
			name += string(r)
		}
	}
	end()
	return fields
}

func (o *publishedOperation) checkBody(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	if len(o.Body) == 0 {
		return fmt.Errorf("the published operation has no body")
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return fmt.Errorf("the body is no JSON object: %w", err)
	}
	for name := range properties {
		if !slices.Contains(o.Body, name) {
			return fmt.Errorf("the published operation has no property %q in its body", name)
		}
	}
	return nil
}

// checkBatch checks the requests within a body.
func (m *publishedModel) checkBatch(body []byte) error {
	var batch struct {
		Requests []struct {
			Method, URL string
			Body        json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &batch); err != nil {
		return err
	}
	for _, r := range batch.Requests {
		address, err := url.Parse(strings.TrimSuffix(m.Bases[0], "/") + r.URL)
		if err != nil {
			return err
		}
		if err := m.check(r.Method, address, r.Body); err != nil {
			return fmt.Errorf("in a batch: %w", err)
		}
	}
	return nil
}

// A watchedConn calls watch with each request that is written to it, before its last
// bytes are sent.
type watchedConn struct {
	net.Conn
	watch func(r *http.Request, body []byte)

	mutex sync.Mutex
	sent  []byte // of a request that is not complete
}

// Write implements [net.Conn].
func (c *watchedConn) Write(data []byte) (int, error) {
	c.mutex.Lock()
	c.sent = append(c.sent, data...)
	for len(c.sent) > 0 {
		rest := bytes.NewReader(c.sent)
		buffered := bufio.NewReader(rest)
		request, err := http.ReadRequest(buffered)
		if err != nil {
			break // more is to come
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			break
		}
		c.sent = c.sent[len(c.sent)-rest.Len()-buffered.Buffered():]
		c.watch(request, body)
	}
	c.mutex.Unlock()
	return c.Conn.Write(data)
}
