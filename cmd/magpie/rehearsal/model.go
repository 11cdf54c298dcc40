package rehearsal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// model is a stand-in of a chat model with the OpenAI chat completions protocol. It searches
// the documents for the question of the mail, and answers with the beginning of the first
// passage and its number.
type model struct {
	stage *Stage
	url   string
	asked atomic.Int64
}

// completion is the part of a request that the model reads.
type completion struct {
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// object is JSON.
type object = map[string]any

// ServeHTTP answers a completion.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in completion
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&in) != nil {
		http.Error(w, `{"error": {"message": "this stand-in has chat completions only"}}`, http.StatusNotFound)
		return
	}
	m.asked.Add(1)
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(delta object, finish any) {
		text, err := json.Marshal(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text) // the caller may be gone
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	found := in.found()
	if found == nil && in.has("search_documents") {
		if m.stage.reach(PointQuestion) {
			return
		}
		arguments, err := json.Marshal(object{"query": in.question()})
		if err != nil {
			return
		}
		say(object{"tool_calls": []object{{"index": 0, "id": "call_1", "type": "function", "function": object{"name": "search_documents", "arguments": string(arguments)}}}}, nil)
		say(object{}, "tool_calls")
	} else {
		answer := found.answer()
		half := len(answer) / 2
		say(object{"content": answer[:half]}, nil)
		if m.stage.reach(PointAnswer) {
			return
		}
		say(object{"content": answer[half:]}, nil)
		say(object{}, "stop")
	}
	_, _ = fmt.Fprint(w, `data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`+"\n\ndata: [DONE]\n\n")
}

func (c *completion) has(tool string) bool {
	for _, t := range c.Tools {
		if t.Function.Name == tool {
			return true
		}
	}
	return false
}

// question returns the last line of the mail that has a question mark.
func (c *completion) question() string {
	out := "question"
	for _, m := range c.Messages {
		if m.Role != "user" {
			continue
		}
		for line := range strings.Lines(m.Content) {
			if line = strings.TrimSpace(line); strings.HasSuffix(line, "?") {
				out = line
			}
		}
	}
	return out
}

// passage is a passage of a search result.
type passage struct {
	Source int    `json:"source"`
	Title  string `json:"title"`
	Text   string `json:"text"`
}

// found returns the first passage of the last search, nil if there was none.
func (c *completion) found() *passage {
	var out *passage
	for _, m := range c.Messages {
		if m.Role != "tool" {
			continue
		}
		begin, end := strings.Index(m.Content, "{"), strings.LastIndex(m.Content, "}")
		var result struct {
			Results []passage `json:"results"`
		}
		if begin < 0 || end < begin || json.Unmarshal([]byte(m.Content[begin:end+1]), &result) != nil || len(result.Results) == 0 {
			continue
		}
		out = &result.Results[0]
	}
	return out
}

func (p *passage) answer() string {
	if p == nil {
		return "A colleague will get back to you."
	}
	return fmt.Sprintf("Our page %q says: %s [%d]", p.Title, firstWords(p.Text, 300), p.Source)
}

// firstWords returns the beginning of a text in one line, at most limit bytes.
func firstWords(text string, limit int) string {
	out := ""
	for _, word := range strings.Fields(text) {
		if len(out)+len(word) >= limit {
			return out + " …"
		}
		if out != "" {
			out += " "
		}
		out += word
	}
	return out
}
