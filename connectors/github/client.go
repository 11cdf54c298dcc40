package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// advice is what to do about answers that are none of GitHub's.
const advice = "check config." + optionAPI + ", and whether a proxy or a login stands between"

const (
	secondaryPause = time.Minute // what GitHub asks for where it names no time
	maxNote        = 1 << 20
)

// limited reads GitHub's ways to say that too much was asked: the hourly limit
// with its reset, and the secondary limits.
func limited(r *http.Response) (time.Duration, bool) {
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
		return secondaryPause, true
	}
	return 0, false
}

// untilReset compares the end of the limit with the server's own clock.
func untilReset(header http.Header) time.Duration {
	reset, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64)
	now, dateErr := http.ParseTime(header.Get("Date"))
	if err != nil || dateErr != nil {
		return secondaryPause
	}
	return max(time.Unix(reset, 0).Sub(now)+time.Second, time.Second)
}

// explain is GitHub's message about a refusal.
func explain(body []byte) string {
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

// kept is an answer that is asked for again with its ETag.
type kept[T any] struct {
	Asked string `json:"asked"`
	ETag  string `json:"etag"`
	Next  string `json:"next"` // the query of the page that follows
	Data  T      `json:"data"`
}

// ask gets an answer, of which the note of that name has what is worth keeping:
// GitHub does not count a request whose answer is that one still. shorten leaves
// out of the answer what is not worth it; it may be nil. whole is false for an
// answer from the note. next is the query of the next page, "" for none.
func ask[T any](ctx context.Context, s *source, note string, r restapi.Request, shorten func(T) T) (data T, next string, whole bool, err error) {
	asked := r.Path + "?" + r.Query.Encode()
	var old kept[T]
	if err := s.recall(ctx, note, &old); err != nil {
		return data, "", false, err
	}
	if old.ETag != "" && old.Asked == asked {
		r.Header = http.Header{"If-None-Match": {old.ETag}}
	} else {
		old = kept[T]{}
	}
	header, changed, err := s.api.JSONIfChanged(ctx, r, &data)
	switch {
	case err != nil:
		return data, "", false, err
	case !changed:
		return old.Data, old.Next, false, nil
	}
	if next, err = nextQuery(header); err != nil {
		return data, "", false, err
	}
	if etag := header.Get("Etag"); etag != "" {
		short := data
		if shorten != nil {
			short = shorten(data)
		}
		err = s.remember(ctx, note, kept[T]{Asked: asked, ETag: etag, Next: next, Data: short})
	}
	return data, next, true, err
}

// recall reads a note; what cannot be read is as if it were not there.
func (s *source) recall(ctx context.Context, name string, into any) error {
	if s.notes == nil {
		return nil
	}
	data, err := s.notes.Get(ctx, name)
	if err != nil {
		return fmt.Errorf("read a note: %w", err)
	}
	_ = json.Unmarshal(data, into)
	return nil
}

// remember writes a note, unless it is too long.
func (s *source) remember(ctx context.Context, name string, data any) error {
	if s.notes == nil {
		return nil
	}
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode a note: %w", err)
	}
	if len(text) > maxNote {
		return nil
	}
	if err := s.notes.Put(ctx, name, text); err != nil {
		return fmt.Errorf("write a note: %w", err)
	}
	return nil
}

var nextLink = regexp.MustCompile(`<([^<>]*)>\s*;[^,]*rel="?next"?`)

// nextQuery is the query of the page that follows, from the Link header; "" at the
// end. Its address is not followed otherwise: the path is known.
func nextQuery(header http.Header) (string, error) {
	match := nextLink.FindStringSubmatch(header.Get("Link"))
	if match == nil {
		return "", nil
	}
	u, err := url.Parse(match[1])
	if err == nil && u.RawQuery != "" {
		_, err = url.ParseQuery(u.RawQuery)
	}
	if err != nil || u.RawQuery == "" {
		return "", connectors.Retryable(errors.New("GitHub names a next page that cannot be"), 0)
	}
	return u.RawQuery, nil
}

// graphql makes a query, whose answer must have some fields, named as in
// [restapi.Request].RequiredFields. Errors that GraphQL tells inside of a success are told
// as those of statuses are.
func (s *source) graphql(ctx context.Context, query string, variables map[string]any, out any, needs ...string) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	header, err := s.api.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: s.config.graphql, Body: map[string]any{"query": query, "variables": variables},
	}, &answer)
	if err != nil {
		return err
	}
	if len(answer.Errors) > 0 {
		first := answer.Errors[0]
		err := fmt.Errorf("GitHub refuses a query: %s", shortened(first.Message, 300))
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
	for _, path := range needs {
		if !restapi.HasField(answer.Data, path) {
			return connectors.Retryable(fmt.Errorf("GitHub answered a query without %q; %s", path, advice), 0)
		}
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		return connectors.Retryable(errors.New("GitHub answered a query with JSON of another shape; "+advice), 0)
	}
	return nil
}

func shortened(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
