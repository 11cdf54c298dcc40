package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

type object = map[string]any

// standIn is a stand-in of a chat model. It answers from what it was given, with
// citations. Words of the question make it do other things:
//
//   - "use NAME {…}" calls the tool with the name and the arguments first; without it, an
//     agent calls search_documents, and for a "ticket" a tool of the webhook "desk"
//   - "slowly": it waits in the middle of its answer for goOn
//   - "hopeless": it refuses the request
//   - "broken off": it ends the connection in the middle of its answer
type standIn struct {
	url string
	// What it answers, and the title of the ticket that it opens.
	answer, ticket string

	mu   sync.Mutex
	gate chan struct{} // closed when the answers of now may go on
}

// goOn lets the answers go on that were asked for "slowly".
func (m *standIn) goOn() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.gate)
	m.gate = make(chan struct{})
}

// chatModel starts a stand-in of a chat model.
func chatModel(t *testing.T) *standIn {
	t.Helper()
	m := &standIn{answer: "The lamp is **replaced** by the night shift [1].", ticket: "Broken lamp", gate: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(m.complete))
	t.Cleanup(server.Close)
	m.url = server.URL + "/v1"
	return m
}

type completion struct {
	Messages []struct {
		Role    string
		Content any
	}
	Tools []struct{ Function struct{ Name string } }
}

// question returns the last message of a person.
func (c completion) question() (text string) {
	for _, message := range c.Messages {
		if content, ok := message.Content.(string); ok && message.Role == "user" {
			text = content
		}
	}
	return text
}

var use = regexp.MustCompile(`\buse (\w+) (\{.*\})`)

// call returns the call that the question asks for, while it has not been made.
func (c completion) call(ticket string) (name, arguments string) {
	if c.Messages[len(c.Messages)-1].Role == "tool" {
		return "", ""
	}
	question := c.question()
	query, err := json.Marshal(object{"query": question})
	if err != nil {
		return "", ""
	}
	wanted, arguments := "search_documents", string(query)
	if found := use.FindStringSubmatch(question); found != nil {
		wanted, arguments = found[1], found[2]
	} else if strings.Contains(question, "ticket") {
		wanted, arguments = "desk_", fmt.Sprintf(`{"title": %q}`, ticket)
	}
	for _, tool := range c.Tools {
		if strings.HasPrefix(tool.Function.Name, wanted) {
			name = tool.Function.Name
		}
	}
	return name, arguments
}

func (m *standIn) complete(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	var in completion
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 || strings.Contains(in.question(), "hopeless") {
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
	if name, arguments := in.call(m.ticket); name != "" {
		say(object{"tool_calls": []object{{"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": arguments}}}}, nil)
		say(object{}, "tool_calls")
	} else {
		for n, word := range strings.SplitAfter(m.answer, " ") {
			if n == 4 {
				pause(w, r, in.question(), gate)
			}
			say(object{"content": word}, nil)
		}
		say(object{}, "stop")
	}
	_, _ = fmt.Fprint(w, `data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`+"\n\ndata: [DONE]\n\n")
}

// pause waits or breaks off in the middle of an answer, if the question asks for that.
func pause(w http.ResponseWriter, r *http.Request, question string, gate <-chan struct{}) {
	_ = http.NewResponseController(w).Flush() // the reader may be gone
	switch {
	case strings.Contains(question, "slowly"):
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	case strings.Contains(question, "broken off"):
		panic(http.ErrAbortHandler)
	}
}
