package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"magpie/internal/apierr"
)

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
	body := make([]byte, 0, len(raw)+64)
	body = append(body, `{"data":`...)
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

func (r *route) nextCursor(data json.RawMessage) ([]byte, error) {
	raw, err := dig(data, r.pages)
	if err != nil {
		return nil, err
	}
	var page struct {
		PageInfo struct {
			HasNextPage bool    `json:"hasNextPage"`
			EndCursor   *string `json:"endCursor"`
		} `json:"pageInfo"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("read the page's end: %w", err)
	}
	if !page.PageInfo.HasNextPage || page.PageInfo.EndCursor == nil {
		return []byte("null"), nil
	}
	return encode(wrapCursor(r.Pattern, *page.PageInfo.EndCursor)), nil
}

// dig takes the value under a dotted path of keys.
func dig(raw json.RawMessage, path string) (json.RawMessage, error) {
	for key := range strings.SplitSeq(path, ".") {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("take %s out of the answer: %w", path, err)
		}
		value, ok := fields[key]
		if !ok {
			return nil, fmt.Errorf("the answer has no %s", path)
		}
		raw = value
	}
	return raw, nil
}

// edgeError is the first GraphQL error as the error of the edge. The error
// itself is used where it came through; else its extensions.code counts.
// GraphQL's own refusals of a value are the caller's mistake.
func edgeError(list gqlerror.List) error {
	first := list[0]
	var known *apierr.Error
	if errors.As(first.Err, &known) {
		return known
	}
	code, _ := first.Extensions["code"].(string)
	switch {
	case code == "GRAPHQL_VALIDATION_FAILED", code == "GRAPHQL_PARSE_FAILED", code == "BAD_USER_INPUT":
		return &apierr.Error{Code: apierr.InvalidRequest, Message: first.Message}
	case code == string(apierr.Internal), code == "", apierr.Code(code).Status() == apierr.Internal.Status():
		return apierr.From(error(first))
	default:
		return &apierr.Error{Code: apierr.Code(code), Message: first.Message, Cause: first.Err}
	}
}
