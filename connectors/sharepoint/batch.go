package sharepoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// batchSize is the largest number of requests of a $batch.
const batchSize = 20

// A batchAnswer is the response of a $batch. Its status says nothing of the
// responses in it.
type batchAnswer struct {
	Responses []struct {
		ID      string          `json:"id"`
		Status  int             `json:"status"`
		Headers map[string]any  `json:"headers"`
		Body    json.RawMessage `json:"body"`
	} `json:"responses"`
}

// batch makes at most batchSize GET requests at once. It calls read with each
// response and the index of its path, and returns the most important of the errors.
func (s *source) batch(ctx context.Context, paths []string, read func(index, status int, header http.Header, body json.RawMessage) error) error {
	type request struct {
		ID     string `json:"id"`
		Method string `json:"method"`
		URL    string `json:"url"`
	}
	var requests []request
	for i, at := range paths {
		requests = append(requests, request{ID: strconv.Itoa(i + 1), Method: http.MethodGet, URL: "/" + at})
	}
	for range len(paths) - 1 { // each one counts; the client waits for the batch
		if err := s.settings.Wait(ctx); err != nil {
			return err
		}
	}
	var answer batchAnswer
	if _, err := s.graph.client.JSON(ctx, restapi.Request{
		Method: http.MethodPost, Path: s.graph.base + "/$batch", Body: map[string]any{"requests": requests}, RequiredFields: []string{"responses"},
	}, &answer); isNoQuery(err) || restapi.StatusOf(err) == http.StatusForbidden {
		return s.single(ctx, paths, read)
	} else if err != nil {
		return err
	}
	got := map[string]bool{}
	var failed error
	for _, response := range answer.Responses {
		number, err := strconv.Atoi(response.ID)
		if err != nil || number < 1 || number > len(paths) || got[response.ID] {
			return errInvalid("a batch of answers")
		}
		got[response.ID] = true
		header := http.Header{}
		for name, value := range response.Headers {
			header.Set(name, fmt.Sprint(value))
		}
		if err := read(number-1, response.Status, header, response.Body); err != nil {
			failed = laterError(failed, err)
		}
	}
	if failed == nil && len(got) != len(paths) {
		return errInvalid("a batch that lacks answers")
	}
	return failed
}

// single makes the requests of a batch one by one, for a proxy without $batch.
func (s *source) single(ctx context.Context, paths []string, read func(index, status int, header http.Header, body json.RawMessage) error) error {
	for i, at := range paths {
		var body json.RawMessage
		header, err := s.graph.client.JSON(ctx, restapi.Request{Path: s.graph.base + "/" + at}, &body)
		status := http.StatusOK
		if failure, ok := errors.AsType[*restapi.StatusError](err); ok {
			status, header, body = failure.Status, failure.Header, failure.Body
		} else if err != nil {
			return err
		}
		if err := read(i, status, header, body); err != nil {
			return err
		}
	}
	return nil
}

// batchError returns the marked error of a response in a batch that is neither a
// success nor expected.
func batchError(what string, status int, header http.Header, body json.RawMessage) error {
	switch {
	case status == http.StatusUnauthorized:
		return connectors.NeedsAuth(errors.New("Microsoft Graph does not accept the credentials; enter them again")) //nolint:staticcheck // a name
	case status == http.StatusTooManyRequests || status >= 500:
		return connectors.Retryable(fmt.Errorf("Microsoft Graph asks to wait before the next request for %s (%d)", what, status), restapi.RetryAfter(header)) //nolint:staticcheck // a name
	}
	return connectors.Retryable(fmt.Errorf("Microsoft Graph refuses a request for %s (%d): %s", what, status, errorMessage(body)), 0) //nolint:staticcheck // a name
}

// laterError returns the error that asks for the longer wait. An error that is not
// retryable wins.
func laterError(a, b error) error {
	if a == nil {
		return b
	}
	waitA, againA := connectors.RetryAfterOf(a)
	waitB, againB := connectors.RetryAfterOf(b)
	if !againA || againB && waitA >= waitB {
		return a
	}
	return b
}
