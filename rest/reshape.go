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

// head is how the body of every answer begins.
const head = `{"data":`

// reshape makes the body {"data": …} of an operation's data; a paged answer has
// next_cursor beside it, null at the end.
func (r *route) reshape(s *shape, data json.RawMessage) ([]byte, error) {
	raw, at := data, s
	if r.answer != "." {
		var err error
		if raw, err = dig(data, r.answer); err != nil {
			return nil, err
		}
		at = s.at(r.answer)
	}
	if kept, ok := at.withoutEmpty(raw); ok {
		body := append(make([]byte, 0, len(raw)+len(head)), head...)
		return append(append(body, kept...), "}}"...), nil
	}
	if body := withoutCopy(at, data, raw); body != nil && r.pages == "" {
		return body, nil
	}
	body := make([]byte, 0, len(raw)+64)
	body = append(body, head...)
	body, err := at.write(body, raw)
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

// withoutCopy is data where it is the body already; nil where it is not.
func withoutCopy(s *shape, data, raw json.RawMessage) []byte {
	if s.plain && len(data) == len(head)+len(raw)+len("}") && bytes.HasPrefix(data, []byte(head)) {
		return data
	}
	return nil
}

func (r *route) nextCursor(data json.RawMessage) ([]byte, error) {
	raw, err := dig(data, r.pages)
	if err != nil {
		return nil, err
	}
	if raw, err = dig(raw, "pageInfo"); err != nil {
		return nil, err
	}
	var info struct {
		HasNextPage bool    `json:"hasNextPage"`
		EndCursor   *string `json:"endCursor"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("read the page's end: %w", err)
	}
	if !info.HasNextPage || info.EndCursor == nil {
		return []byte("null"), nil
	}
	return encode(wrapCursor(r.Pattern, *info.EndCursor)), nil
}

// dig takes the value under a dotted path of keys.
func dig(raw json.RawMessage, path string) (json.RawMessage, error) {
	for key := range strings.SplitSeq(path, ".") {
		fields, err := parts(raw, 1)
		if err != nil {
			return nil, fmt.Errorf("take %s out of the answer: %w", path, err)
		}
		if raw = valueOf(fields, key); raw == nil {
			return nil, fmt.Errorf("the answer has no %s", path)
		}
	}
	return raw, nil
}

// edgeError is the first GraphQL error as the error of the edge. Its code and
// message are those that the server's error presenter gave it. GraphQL's own
// refusals of a value are the caller's mistake.
func (r *route) edgeError(list gqlerror.List) error {
	first := list[0]
	var known *apierr.Error
	if !errors.As(first.Err, &known) {
		known = &apierr.Error{Cause: first.Err}
	}
	code := known.Code
	switch given := first.Extensions["code"].(type) {
	case string:
		code = apierr.Code(given)
	case apierr.Code:
		code = given
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
	// Resolvers name an input as GraphQL does; callers of REST know another name.
	if name, rest, ok := strings.Cut(e.Message, ": "); ok && code == apierr.InvalidRequest {
		if wire := wireName(r.fields, name); wire != "" {
			e.Field, e.Message = wire, wire+": "+rest
		}
	}
	return e
}

// wireName is the name on the wire of what an operation's input calls name;
// empty when it has none.
func wireName(fields []field, name string) string {
	for _, f := range fields {
		switch f.kind {
		case group:
			if inner := wireName(f.fields, name); inner != "" {
				return f.name + "." + inner
			}
		case objects:
			if inner := f.wireNameInside(name); inner != "" {
				return inner
			}
		}
		if f.kind != group && f.variable[strings.LastIndexByte(f.variable, '.')+1:] == name {
			return f.name
		}
	}
	return ""
}

// wireNameInside is the name on the wire of a field of an array's item, which
// an operation calls items[3].name, or name where the item stands alone.
func (f *field) wireNameInside(name string) string {
	if f.alone != "" && !strings.Contains(name, "[") {
		return wireName(f.fields, name)
	}
	list := f.variable[strings.LastIndexByte(f.variable, '.')+1:]
	place, inner, found := strings.Cut(name, "].")
	index, ours := strings.CutPrefix(place, list+"[")
	if !found || !ours {
		return ""
	}
	if inner = wireName(f.fields, inner); inner == "" {
		return ""
	}
	return f.name + "[" + index + "]." + inner
}
