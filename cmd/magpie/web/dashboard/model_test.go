package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type object = map[string]any

// chatModel starts a stand-in of a chat model. It answers from what it was given, with
// citations, calls search_documents first if it may, and the first tool of the webhook
// "desk" if the question asks for a ticket.
func chatModel(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct {
				Role    string
				Content any
			}
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
			http.Error(w, `{"error": {"message": "chat completions only"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(delta object, finish any) {
			text, err := json.Marshal(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(w, "data: %s\n\n", text) // the reader may be gone
		}
		question := ""
		for _, message := range in.Messages {
			if text, ok := message.Content.(string); ok && message.Role == "user" {
				question = text
			}
		}
		wanted := "search_documents"
		arguments := object{"query": question}
		if strings.Contains(question, "ticket") {
			wanted, arguments = "desk__", object{"title": "Broken lamp"}
		}
		name := ""
		for _, tool := range in.Tools {
			if strings.HasPrefix(tool.Function.Name, wanted) {
				name = tool.Function.Name
			}
		}
		if name != "" && in.Messages[len(in.Messages)-1].Role != "tool" {
			call, err := json.Marshal(arguments)
			if err != nil {
				return
			}
			say(object{"tool_calls": []object{{"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": string(call)}}}}, nil)
			say(object{}, "tool_calls")
		} else {
			for word := range strings.SplitSeq("The lamp is **replaced** by the night shift [1].", " ") {
				say(object{"content": word + " "}, nil)
			}
			say(object{}, "stop")
		}
		_, _ = fmt.Fprint(w, `data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}
