package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/safetext"
)

// checkAdvice says what to do about responses that are not GitHub's.
const checkAdvice = "check config." + optionAPI + ", and whether a proxy or a login stands between"

const (
	secondaryLimitPause = time.Minute // what GitHub asks for where it names no time
)

// RateLimited detects GitHub's hourly limit, with its reset, and its secondary
// limits.
func RateLimited(r *http.Response) (time.Duration, bool) {
	if r.StatusCode != http.StatusForbidden && r.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	if restapi.RetryAfter(r.Header) > 0 {
		return 0, true
	}
	if r.Header.Get("X-Ratelimit-Remaining") == "0" {
		return untilReset(r.Header), true
	}
	body, _ := io.ReadAll(r.Body)
	if text := strings.ToLower(string(body)); strings.Contains(text, "secondary rate limit") || strings.Contains(text, "abuse detection") {
		return secondaryLimitPause, true
	}
	return 0, false
}

// untilReset returns the time until the hourly limit is reset.
func untilReset(header http.Header) time.Duration {
	reset, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64)
	wait, ok := restapi.Until(header, time.Unix(reset, 0))
	if err != nil || !ok {
		return secondaryLimitPause
	}
	return max(wait+time.Second, time.Second)
}

// errorMessage returns GitHub's message in the body of an unsuccessful
// response.
func errorMessage(body []byte) string {
	var refusal struct {
		Message string `json:"message"`
		Errors  []any  `json:"errors"`
	}
	if json.Unmarshal(body, &refusal) != nil {
		return ""
	}
	text := refusal.Message
	for _, e := range refusal.Errors[:min(3, len(refusal.Errors))] {
		switch detail := e.(type) {
		case string:
			text += "; " + detail
		case map[string]any:
			if message, _ := detail["message"].(string); message != "" {
				text += "; " + message
			}
		}
	}
	return text
}

// A cachedResponse is a response in the state.
type cachedResponse[T any] struct {
	Request string `json:"asked"`
	ETag    string `json:"etag"`
	Next    string `json:"next"` // the query of the next page
	Data    T      `json:"data"`
}

// getCached requests JSON with the ETag of the response in the state: GitHub does
// not count a request whose response is unchanged. trim, if not nil, removes from
// the data what is not worth storing. isNew is false for data from the state. next
// is the query of the next page, "" for none.
func getCached[T any](ctx context.Context, s *source, key string, r restapi.Request, trim func(T) T) (data T, next string, isNew bool, err error) {
	request := r.Path + "?" + r.Query.Encode()
	var cached cachedResponse[T]
	if _, err := connectors.GetJSON(ctx, s.state, key, &cached); err != nil {
		return data, "", false, err
	}
	if cached.ETag != "" && cached.Request == request {
		r.Header = http.Header{"If-None-Match": {cached.ETag}}
	} else {
		cached = cachedResponse[T]{}
	}
	header, changed, err := s.api.JSONIfChanged(ctx, r, &data)
	switch {
	case err != nil:
		return data, "", false, err
	case !changed:
		return cached.Data, cached.Next, false, nil
	}
	if next, err = restapi.NextLink("GitHub", header); err != nil {
		return data, "", false, err
	}
	if etag := header.Get("Etag"); etag != "" {
		trimmed := data
		if trim != nil {
			trimmed = trim(data)
		}
		err = connectors.PutJSON(ctx, s.state, key, cachedResponse[T]{Request: request, ETag: etag, Next: next, Data: trimmed})
	}
	return data, next, true, err
}

// A queryRefusal is an error of a GraphQL query.
type queryRefusal struct{ message string }

func (e *queryRefusal) Error() string { return "GitHub refuses a query: " + e.message }

// graphql makes a GraphQL query, whose data must have the required fields; see
// [restapi.Request].RequiredFields. Errors in the response are marked as those
// of a status are.
func (s *source) graphql(ctx context.Context, query string, variables map[string]any, out any, required ...string) error {
	var result struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	header, err := s.api.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: s.config.graphql, Body: map[string]any{"query": query, "variables": variables},
	}, &result)
	if err != nil {
		return err
	}
	if len(result.Errors) > 0 {
		first := result.Errors[0]
		err := &queryRefusal{safetext.Truncate(strings.ToValidUTF8(first.Message, "?"), 300)}
		switch first.Type {
		case "RATE_LIMITED", "RATE_LIMIT":
			return connectors.Retryable(err, min(untilReset(header), time.Hour))
		case "NOT_FOUND":
			return fmt.Errorf("%w: %w", err, connectors.ErrNotFound)
		case "FORBIDDEN", "INSUFFICIENT_SCOPES", "SAML_FAILURE":
			return connectors.NeedsAuth(err)
		case "":
			return connectors.Retryable(err, 0) // its timeouts have no type
		default:
			return connectors.Fatal(err)
		}
	}
	for _, path := range required {
		if !restapi.HasField(result.Data, path) {
			return connectors.Retryable(fmt.Errorf("GitHub answered a query without %q; %s", path, checkAdvice), 0)
		}
	}
	if err := json.Unmarshal(result.Data, out); err != nil {
		return connectors.Retryable(errors.New("GitHub answered a query with JSON of another shape; "+checkAdvice), 0)
	}
	return nil
}
