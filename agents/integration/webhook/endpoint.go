package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/internal/apierr"
)

// An Endpoint says how the arguments of a call become a request.
type Endpoint struct {
	// Method is GET, HEAD, POST, PUT, PATCH or DELETE.
	Method string `json:"method"`
	// Path is below the integration's address, with arguments in braces: /tickets/{id}.
	Path string `json:"path"`
	// Query are the arguments that become parameters of the query.
	Query []string `json:"query,omitempty"`
	// Body are the arguments that become fields of the JSON body; nil means those that
	// are in neither path nor query. Whole is the argument that is the body.
	Body  []string `json:"body,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// Result leads to the part of the answer that the agent gets, such as $.data.items;
	// empty for all.
	Result string `json:"result,omitempty"`
}

// The lengths of the longest path and result expression, in characters.
const (
	maxPath   = 500
	maxResult = 200
)

func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func hasBody(method string) bool {
	return method != http.MethodGet && method != http.MethodHead
}

// Check returns an error if the endpoint cannot be called with arguments of a schema.
func (e Endpoint) Check(schema json.RawMessage) error {
	if !slices.Contains(methods(), e.Method) {
		return apierr.Invalid("method", "must be one of "+strings.Join(methods(), ", "))
	}
	names, err := e.placeholders()
	if err != nil {
		return err
	}
	var s struct {
		Type       any            `json:"type"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" {
		return apierr.Invalid("inputSchema", `must be the JSON schema of an object: {"type": "object", "properties": {…}}`)
	}
	used := map[string]string{}
	whole := []string{}
	if e.Whole != "" {
		whole = []string{e.Whole}
	}
	for _, part := range []struct {
		field string
		names []string
	}{{"path", names}, {"query", e.Query}, {"body", e.Body}, {"body", whole}} {
		for _, name := range part.names {
			switch {
			case s.Properties[name] == nil:
				return apierr.Invalid(part.field, fmt.Sprintf("names the argument %q, which inputSchema has not", name))
			case used[name] != "":
				return apierr.Invalid(part.field, fmt.Sprintf("has the argument %q, which is used in the %s already", name, used[name]))
			}
			used[name] = part.field
		}
	}
	if (len(e.Body) > 0 || e.Whole != "") && !hasBody(e.Method) {
		return apierr.Invalid("body", "is not sent with "+e.Method)
	}
	if _, err := steps(e.Result); err != nil {
		return err
	}
	return nil
}

// placeholders returns the names of the arguments in the path.
func (e Endpoint) placeholders() ([]string, error) {
	if !strings.HasPrefix(e.Path, "/") || len(e.Path) > maxPath || strings.ContainsAny(e.Path, "?#\\%") || strings.Contains(e.Path, "//") {
		return nil, apierr.Invalid("path", "must begin with a slash and have no query, no % and no empty part")
	}
	var names []string
	rest := e.Path
	for {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, apierr.Invalid("path", "has a brace without its pair")
		}
		if !found {
			break
		}
		name, more, closed := strings.Cut(after, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return nil, apierr.Invalid("path", "has a brace without its pair")
		}
		names = append(names, name)
		rest = more
	}
	for part := range strings.SplitSeq(e.Path, "/") {
		if part == "." || part == ".." {
			return nil, apierr.Invalid("path", `must not have the part "." or ".."`)
		}
	}
	return names, nil
}

// request returns the request of a call.
func (e Endpoint) request(raw json.RawMessage) (request, error) {
	var args map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return request{}, apierr.New(apierr.InvalidRequest, "The arguments are no JSON object.")
	}
	names, err := e.placeholders()
	if err != nil {
		return request{}, err
	}
	format := e.Path
	parts := make([]string, len(names))
	for i, name := range names {
		value, ok := args[name]
		text, scalar := textOf(value)
		if !ok || !scalar {
			return request{}, apierr.Invalid(name, "is required in the path")
		}
		parts[i] = text
		format = strings.Replace(format, "{"+name+"}", "%s", 1)
		delete(args, name)
	}
	out := request{path: platform.Path(format, parts...), query: url.Values{}}
	if out.path == "" {
		return request{}, apierr.New(apierr.InvalidRequest, `An argument of the path is empty, "." or "..".`)
	}
	rest := e.Query
	if !hasBody(e.Method) {
		rest = nil
		for name := range args { // there is no other place for them
			rest = append(rest, name)
		}
		slices.Sort(rest)
	}
	for _, name := range rest {
		list, isList := args[name].([]any)
		if !isList {
			list = []any{args[name]}
		}
		for _, value := range list {
			if value == nil {
				continue
			}
			text, scalar := textOf(value)
			if !scalar {
				return request{}, apierr.Invalid(name, "must be a text, a number, true or false, or a list of these")
			}
			out.query.Add(name, text)
		}
		delete(args, name)
	}
	switch {
	case !hasBody(e.Method):
	case e.Whole != "":
		out.body = args[e.Whole]
	case e.Body != nil:
		body := map[string]any{}
		for _, name := range e.Body {
			if value, ok := args[name]; ok {
				body[name] = value
			}
		}
		out.body = body
	case len(args) > 0 || e.Method != http.MethodDelete:
		out.body = args
	}
	return out, nil
}

// textOf returns a scalar as text.
func textOf(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}

// A step leads from a value into it: to a key, an index, or every item of a list.
type step struct {
	key   string
	index int
	every bool
}

// steps parses a path such as $.data.items[0].names[*].
func steps(path string) ([]step, error) {
	if path == "" || path == "$" {
		return nil, nil
	}
	wrong := apierr.Invalid("result", "must be a path such as $.data.items[0].name or $.items[*].id")
	if len(path) > maxResult || !strings.HasPrefix(path, "$") {
		return nil, wrong
	}
	token := regexp.MustCompile(`^(?:\.([A-Za-z0-9_$@-]+)|\[(\d{1,6})\]|\[(\*)\]|\['([^'\]]+)'\])`)
	var out []step
	for rest := path[1:]; rest != ""; {
		m := token.FindStringSubmatch(rest)
		switch {
		case m == nil:
			return nil, wrong
		case m[3] != "":
			out = append(out, step{every: true})
		case m[2] != "":
			n, err := strconv.Atoi(m[2])
			if err != nil {
				return nil, wrong
			}
			out = append(out, step{index: n})
		default:
			out = append(out, step{key: m[1] + m[4]})
		}
		rest = rest[len(m[0]):]
	}
	return out, nil
}

// pick returns the part of a value at a path. ok is false if there is none.
func pick(value any, path string) (part any, ok bool) {
	all, err := steps(path)
	if err != nil {
		return nil, false
	}
	return follow(value, all)
}

func follow(value any, path []step) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	if object, ok := value.(map[string]any); ok && path[0].key != "" {
		inner, ok := object[path[0].key]
		if !ok {
			return nil, false
		}
		return follow(inner, path[1:])
	}
	list, ok := value.([]any)
	if !ok || path[0].key != "" {
		return nil, false
	}
	if !path[0].every {
		if path[0].index >= len(list) {
			return nil, false
		}
		return follow(list[path[0].index], path[1:])
	}
	out := []any{}
	for _, item := range list {
		if inner, ok := follow(item, path[1:]); ok {
			out = append(out, inner)
		}
	}
	return out, true
}
