package llmtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

var weather = llm.Request{
	Messages: []llm.Message{{Role: llm.RoleSystem, Content: "Be short."}, {Role: llm.RoleUser, Content: "Weather?"}},
	Tools: []llm.Tool{
		{Name: "weather", Description: "the weather of a town", Schema: json.RawMessage(`{"type":"object","properties":{"town":{"type":"string"}},"required":["town"],"additionalProperties":false}`)},
		{Name: "clock", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	},
}

// CollectCalls reads an answer with calls to its end.
func CollectCalls(t *testing.T, model llm.ChatModel, request llm.Request) (text string, calls []llm.ToolCall, finish llm.Finish, err error) {
	t.Helper()
	for event, failure := range model.Stream(t.Context(), request) {
		text += event.Text
		if event.Call != nil {
			calls = append(calls, *event.Call)
		}
		if event.Usage != nil {
			finish = event.Finish
		}
		err = failure
	}
	return text, calls, finish, err
}

func toolCalls(t *testing.T, build Make) {
	asked := []llm.ToolCall{
		{ID: "call_a", Name: "weather", Arguments: `{"town":"Zürich, \"old\" 数据"}`},
		{ID: "call_b", Name: "clock", Arguments: "{}"},
		{ID: "call_c", Name: "weather", Arguments: `{"town": 7`},
	}
	for _, size := range []int{0, 1, 5} {
		server := NewServer(t, Reply{Parts: []string{"Let me ", "look."}, Calls: asked, Usage: &[2]int{30, 12}, Pieces: size}, Reply{Parts: []string{"Rain."}})
		model := build(t, config(server))
		text, calls, finish, err := CollectCalls(t, model, weather)
		if err != nil || text != "Let me look." || !slices.Equal(calls, asked) || finish != llm.FinishTools {
			t.Fatalf("in pieces of %d: text %q, calls %+v, finish %q, error %v", size, text, calls, finish, err)
		}
		// The next request has the turn with its results. One result is empty, and the arguments of one call are invalid.
		next := weather
		next.ToolsOff = true
		next.Messages = append(slices.Clone(weather.Messages), llm.Message{Role: llm.RoleAssistant, Content: text, Calls: calls})
		for i, call := range calls {
			next.Messages = append(next.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID, Content: []string{"rain", "", "bad arguments"}[i], Failed: i == 2})
		}
		next.Messages = append(next.Messages, llm.Message{Role: llm.RoleUser, Content: "Answer now."})
		text, calls, finish, err = CollectCalls(t, model, next)
		if err != nil || text != "Rain." || len(calls) != 0 || finish != llm.FinishStop {
			t.Errorf("the answer: text %q, calls %v, finish %q, error %v", text, calls, finish, err)
		}
		body, _ := json.Marshal(server.Requests()[1].Body)
		wants := []string{"rain", "bad arguments", "Answer now."}
		if _, shown := server.Requests()[1].Body["tools"]; shown {
			wants = append(wants, "additionalProperties", "the weather of a town", `"none"`)
		} else { // the service cannot show tools and forbid calls
			wants = append(wants, "(The call call_a: weather", "The result of the call call_a: rain")
		}
		for _, want := range wants {
			if !strings.Contains(string(body), want) {
				t.Errorf("the request has no %s: %s", want, body)
			}
		}
	}
}

func oddCalls(t *testing.T, build Make) {
	// Missing and duplicate ids are replaced by unique ones.
	for _, ids := range [][]string{{"x", "x", "x"}, {"", "call_1", "call_1"}} {
		var given []llm.ToolCall
		for _, id := range ids {
			given = append(given, llm.ToolCall{ID: id, Name: "clock", Arguments: `{}`})
		}
		server := NewServer(t, Reply{Calls: given})
		_, calls, _, err := CollectCalls(t, build(t, config(server)), weather)
		seen := map[string]bool{"": true}
		for _, call := range calls {
			if seen[call.ID] || call.Name != "clock" || call.Arguments != "{}" {
				t.Errorf("ids %v: call %+v of %+v", ids, call, calls)
			}
			seen[call.ID] = true
		}
		if err != nil || len(calls) != 3 {
			t.Errorf("ids %v: %d calls, error %v", ids, len(calls), err)
		}
	}
	// Too many calls and too long arguments.
	many := make([]llm.ToolCall, 200)
	for i := range many {
		many[i] = llm.ToolCall{ID: "c" + strings.Repeat("i", i), Name: "clock", Arguments: "{}"}
	}
	server := NewServer(t, Reply{Calls: many})
	if _, calls, _, err := CollectCalls(t, build(t, config(server)), weather); !provider.IsKind(err, provider.KindInvalid) || len(calls) != 0 {
		t.Errorf("%d calls, error %v", len(calls), err)
	}
	// A stream that ends within a call has no calls, and the request is retried.
	cut := Reply{Calls: []llm.ToolCall{{ID: "a", Name: "clock", Arguments: `{"zone":"UTC"}`}}, Cut: true}
	server = NewServer(t, cut, Reply{Parts: []string{"noon"}})
	if text, calls, _, err := CollectCalls(t, build(t, config(server)), weather); err != nil || text != "noon" || len(calls) != 0 {
		t.Errorf("after a cut: text %q, calls %v, error %v", text, calls, err)
	}
}

func noTools(t *testing.T, build Make) {
	for status, message := range map[int]string{
		http.StatusBadRequest:          `registry.ollama.ai/library/gemma:2b does not support tools`,
		http.StatusNotFound:            `No endpoints found that support tool use.`,
		http.StatusUnprocessableEntity: `\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`,
	} {
		reply := Reply{Status: status, Body: `{"error":{"message":"` + message + `","type":"invalid_request_error"}}`}
		model := build(t, config(NewServer(t, reply)))
		var failure *provider.Error
		if _, _, _, err := CollectCalls(t, model, weather); !errors.As(err, &failure) || failure.Kind != provider.KindNoTools || failure.Retryable() {
			t.Errorf("%d: error %v", status, err)
		}
		if _, _, _, err := CollectCalls(t, model, hello); err == nil || provider.IsKind(err, provider.KindNoTools) {
			t.Errorf("%d without tools: error %v", status, err)
		}
	}
}
