package llm_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

// canned is a transport that answers every request with the same stream.
type canned []byte

func (c canned) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c)), Request: request}, nil
}

func FuzzStream(f *testing.F) {
	events, ending := llmtest.Stream([]string{"a", "数据"}, &[2]int{1, 2})
	for _, seed := range []string{events + ending, events, "data: {\"error\":\"x\"}\n", "{\"error\":{\"code\":500}}", "data:\n\n: c\nevent: e\ndata: null\n", "data: {\"choices\":[{}]}\ndata: [DONE]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		model, err := llm.NewOpenAI(answering(stream))
		if err != nil {
			t.Fatal(err)
		}
		readToTheEnd(t, model)
	})
}

func FuzzAnthropicStream(f *testing.F) {
	events, ending := llmtest.AnthropicStream([]string{"a", "数据"}, &[2]int{1, 2})
	for _, seed := range []string{
		events + ending, events, "event: error\ndata: {\"error\":\"x\"}\n\n", "event: message_start\ndata: {}\n\n", "event: error\ndata: null\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":7}}\n\n",
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":null}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		model, err := llm.NewAnthropic(answering(stream))
		if err != nil {
			t.Fatal(err)
		}
		readToTheEnd(t, model)
	})
}

// answering returns the configuration of a service with the same stream for every request.
func answering(stream []byte) llm.Config {
	return llm.Config{
		BaseURL: "http://service.test/v1", Model: "m", HTTPClient: &http.Client{Transport: canned(stream)},
		Sleep: func(context.Context, time.Duration) error { return nil },
	}
}

func readToTheEnd(t *testing.T, model llm.ChatModel) {
	t.Helper()
	ended := false
	for event, err := range model.Stream(t.Context(), hello) {
		if ended {
			t.Fatal("an event follows the end")
		}
		ended = err != nil || event.Usage != nil
		if err != nil && (err.Error() == "" || !utf8.ValidString(err.Error())) {
			t.Fatalf("bad error text %q", err)
		}
	}
	if !ended {
		t.Fatal("the stream has no end")
	}
}
