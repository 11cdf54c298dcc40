package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

// protocols are the two wire protocols of chat models.
var protocols = []string{"openai", "anthropic"}

// newModel returns a model that talks to server by a protocol.
func newModel(t *testing.T, protocol string, server *llmtest.Server) llm.ChatModel {
	t.Helper()
	cfg := llm.Config{Name: "test", BaseURL: server.URL, Key: "sk-test", Model: "m-1", Sleep: func(context.Context, time.Duration) error { return nil }}
	if protocol == "anthropic" {
		model, err := llm.NewAnthropic(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		return model
	}
	model, err := llm.NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

// forEachProtocol runs a test with each protocol.
func forEachProtocol(t *testing.T, replies []llmtest.Reply, run func(t *testing.T, model llm.ChatModel, server *llmtest.Server)) {
	t.Helper()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, replies...)
			run(t, newModel(t, protocol, server), server)
		})
	}
}

func callReply(calls ...llm.ToolCall) llmtest.Reply {
	return llmtest.Reply{Calls: calls, Usage: &[2]int{100, 10}}
}

func call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func textReply(text ...string) llmtest.Reply {
	return llmtest.Reply{Parts: text, Usage: &[2]int{120, 20}}
}

// echo returns a tool that returns its argument.
func echo(name string) loop.Tool {
	return loop.Tool{Name: name, Description: "gives back", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		Call: func(_ context.Context, arguments json.RawMessage) (loop.Result, error) {
			var in struct{ Text string }
			err := json.Unmarshal(arguments, &in)
			return loop.Result{Text: in.Text, Summary: "said " + in.Text}, err
		}}
}

// recorder collects the events of a run.
type recorder struct {
	mu     sync.Mutex
	events []loop.Event
}

func (l *recorder) emit(e loop.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	return nil
}

// text returns one line an event, with the pieces of the answer joined.
func (l *recorder) text() string {
	var out []string
	content := ""
	flush := func() {
		if content != "" {
			out = append(out, "content "+content)
		}
		content = ""
	}
	for _, e := range l.events {
		if c, ok := e.(loop.Content); ok {
			content += c.Text
			continue
		}
		flush()
		switch e := e.(type) {
		case loop.Iteration:
			out = append(out, fmt.Sprintf("%d %s", e.Number, e.Status))
		case loop.ToolCall:
			params, _ := json.Marshal(e.Params)
			out = append(out, "call "+e.CallID+" "+e.Tool+" "+string(params))
		case loop.ToolResult:
			mark := "ok"
			if !e.Success {
				mark = "failed"
			}
			out = append(out, "result "+e.CallID+" "+e.Tool+" "+mark+": "+e.Message)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

func newLoop(t *testing.T, change func(*loop.Limits)) *loop.Loop {
	t.Helper()
	limits := loop.Standard()
	if change != nil {
		change(&limits)
	}
	l, err := loop.New(loop.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// contents returns the body of a request as JSON text.
func contents(request llmtest.Request) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(request.Body)
	return b.String()
}
