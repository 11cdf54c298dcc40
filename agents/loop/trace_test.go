package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/testkit/collector"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Steps, calls of tools and calls of the model are traced, with tokens and without texts.
func TestARunIsTracedWithoutTexts(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, callReply(call("c1", "say", `{"text":"hush"}`), call("c2", "break", `{"text":"hush"}`), call("c3", "hush", `{}`)), textReply("hush"))
	model := llm.NewGuard(newModel(t, "openai", server), llm.GuardOptions{})
	broken := echo("break")
	broken.Call = func(context.Context, json.RawMessage) (loop.Result, error) { return loop.Result{}, errors.New("hush") }
	tracer, spans := collector.Record(t)
	ctx, first := tracer.Begin(t.Context(), "request", tracing.Root{})
	task := loop.Task{ID: "r", System: "hush", Message: "hush", Tools: []loop.Tool{echo("say"), broken}, Model: model}
	if _, err := newLoop(t, nil).Run(ctx, task, new(recorder).emit); err != nil {
		t.Fatal(err)
	}
	first.End(nil)
	all := spans()
	request, step, chat := collector.Find(t, all, "request"), collector.Find(t, all, "agent step"), collector.Find(t, all, "chat test")
	if step.Parent != request.ID || chat.Parent != step.ID || chat.Kind != "client" {
		t.Errorf("step below %s, chat a %s below %s", step.Parent, chat.Kind, chat.Parent)
	}
	for name, want := range map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "test", "gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(10)} {
		if chat.Attributes[name] != want {
			t.Errorf("%s is %v, want %v", name, chat.Attributes[name], want)
		}
	}
	if said, failed := collector.Find(t, all, "execute_tool say"), collector.Find(t, all, "execute_tool break"); said.Failed || !failed.Failed || said.Attributes["gen_ai.tool.name"] != "say" {
		t.Errorf("%+v %+v", said, failed)
	}
	if post := collector.Find(t, all, "POST"); post.Parent != chat.ID || post.Attributes["server.address"] == nil {
		t.Errorf("the request to the model: %+v", post)
	}
	if text := fmt.Sprintf("%+v", all); strings.Contains(text, "hush") || strings.Contains(text, "sk-test") {
		t.Errorf("a text is traced: %s", text)
	}
}

func TestTheFailureOfAModelIsTracedByKind(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Status: 401}, llmtest.Reply{Status: 401})
	model := llm.NewGuard(newModel(t, "openai", server), llm.GuardOptions{})
	tracer, spans := collector.Record(t)
	ctx, first := tracer.Begin(t.Context(), "request", tracing.Root{})
	if _, err := newLoop(t, nil).Run(ctx, loop.Task{ID: "r", Message: "hush", Model: model}, new(recorder).emit); err == nil {
		t.Fatal("no error")
	}
	first.End(nil)
	if chat := collector.Find(t, spans(), "chat test"); !chat.Failed || chat.Attributes["error.type"] == nil || strings.HasPrefix(fmt.Sprint(chat.Attributes["error.type"]), "*") {
		t.Errorf("%+v", chat)
	}
}
