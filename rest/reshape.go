package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
)

// bodyPrefix is the beginning of every result body.
const bodyPrefix = `{"data":`

// reshape converts the result of an operation to the body {"data": …}. A page also
// has next_cursor, which is null on the last page.
func (r *route) reshape(s *shape, data json.RawMessage) ([]byte, error) {
	if body, ok := r.verbatim(s, data); ok {
		return body, nil
	}
	raw, target := data, s
	if r.answer != "." {
		var err error
		if raw, err = valueAt(data, r.answer); err != nil {
			return nil, err
		}
		target = s.lookup(r.answer)
	}
	body := make([]byte, 0, len(raw)+64)
	body = append(body, bodyPrefix...)
	body, err := target.write(body, raw)
	if err != nil {
		return nil, err
	}
	if r.pages != "" {
		next, err := r.nextCursor(data)
		if err != nil {
			return nil, err
		}
		body = append(append(body, `,"next_cursor":`...), next...)
	}
	return append(body, '}'), nil
}

// verbatim returns data as the body if nothing in it has to be converted: the result
// is the only field, is called data, and is copied. The results of searches are
// therefore not parsed. The executor writes data without white space.
func (r *route) verbatim(s *shape, data json.RawMessage) (body []byte, ok bool) {
	if r.answer != "data" || r.pages != "" || len(s.members) != 1 || s.hidden || s.abstract || !bytes.HasPrefix(data, []byte(bodyPrefix)) {
		return nil, false
	}
	target := s.members[0].shape
	if kept, ok := target.withoutEmpty(data[:len(data)-1]); ok {
		return append(kept[:len(kept):len(kept)], "}}"...), true
	}
	return data, target.verbatim && target.sparse == 0
}

func (r *route) nextCursor(data json.RawMessage) ([]byte, error) {
	raw, err := valueAt(data, r.pages)
	if err != nil {
		return nil, err
	}
	if raw, err = valueAt(raw, "pageInfo"); err != nil {
		return nil, err
	}
	var info struct {
		HasNextPage bool    `json:"hasNextPage"`
		EndCursor   *string `json:"endCursor"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("read pageInfo: %w", err)
	}
	if !info.HasNextPage || info.EndCursor == nil {
		return []byte("null"), nil
	}
	return encode(wrapCursor(r.Pattern, *info.EndCursor)), nil
}

// valueAt returns the value at a dotted path of keys.
func valueAt(raw json.RawMessage, path string) (json.RawMessage, error) {
	for key := range strings.SplitSeq(path, ".") {
		var fields jsonObject
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("read %s of the result: %w", path, err)
		}
		value, ok := fields[key]
		if !ok {
			return nil, fmt.Errorf("the result has no %s", path)
		}
		raw = value
	}
	return raw, nil
}

// apiError converts the first GraphQL error. Code and message are those of the
// server's error presenter. Validation errors of GraphQL become invalid requests.
func (r *route) apiError(list gqlerror.List) error {
	first := list[0]
	var known *apierr.Error
	if !errors.As(first.Err, &known) {
		known = &apierr.Error{Cause: first.Err}
	}
	code := known.Code
	switch value := first.Extensions["code"].(type) {
	case string:
		code = apierr.Code(value)
	case apierr.Code:
		code = value
	}
	switch code {
	case "GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED", "BAD_USER_INPUT":
		code = apierr.InvalidRequest
	}
	if code.Status() == http.StatusInternalServerError {
		cause := first.Err
		if cause == nil {
			cause = first
		}
		return &apierr.Error{Code: apierr.Internal, Message: "operation failed", Op: r.Operation, Cause: cause}
	}
	e := &apierr.Error{Code: code, Message: first.Message, RetryAfter: known.RetryAfter, Op: known.Op, Cause: known.Cause}
	if seconds, ok := first.Extensions["retryAfter"].(int); ok && e.RetryAfter == 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	// Resolvers name an input as GraphQL does.
	if name, problem, ok := strings.Cut(e.Message, ": "); ok && code == apierr.InvalidRequest {
		if wire := wireName(r.fields, name); wire != "" {
			e.Field, e.Message = wire, wire+": "+problem
		}
	}
	return e
}

// wireName returns the REST name of an operation's input, or "". The operation names it
// by its path, such as filters.dateAfter or ranges[2], or by the end of its path.
func wireName(fields []field, name string) string {
	name = strings.TrimPrefix(name, inputPrefix)
	if wire := wireNameBy(fields, name, func(variable string) string { return strings.TrimPrefix(variable, inputPrefix) }); wire != "" {
		return wire
	}
	return wireNameBy(fields, name, func(variable string) string { return variable[strings.LastIndexByte(variable, '.')+1:] })
}

// inputPrefix is the beginning of the variables of an input object.
const inputPrefix = "input."

// wireNameBy returns the REST name of an input whose variable has a name, or "".
func wireNameBy(fields []field, name string, of func(variable string) string) string {
	for _, f := range fields {
		switch f.kind {
		case group:
			if inner := wireNameBy(f.fields, name, of); inner != "" {
				return f.name + "." + inner
			}
			if whole, _, nested := cutLast(f.fields[0].variable); nested && of(whole) == name {
				return f.name
			}
			continue
		case objects:
			if inner := f.itemWireName(name); inner != "" {
				return inner
			}
		}
		if inside, ok := strings.CutPrefix(name, of(f.variable)); ok && (inside == "" || inside[0] == '.' || inside[0] == '[') {
			return f.name + inside
		}
	}
	return ""
}

// itemWireName returns the REST name of a field of an array's item. The operation
// calls the field items[3].name, or name for a single item.
func (f *field) itemWireName(name string) string {
	if f.single != "" && !strings.Contains(name, "[") {
		return wireName(f.fields, name)
	}
	list := f.variable[strings.LastIndexByte(f.variable, '.')+1:]
	before, inner, found := strings.Cut(name, "].")
	index, matches := strings.CutPrefix(before, list+"[")
	if !found || !matches {
		return ""
	}
	if inner = wireName(f.fields, inner); inner == "" {
		return ""
	}
	return f.name + "[" + index + "]." + inner
}
