package bench_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/model/llm"
)

func TestTheModelTellsItsTimeAndEndsWithItsClient(t *testing.T) {
	t.Parallel()
	service, model := startModel(t, bench.ModelOptions{Think: 5 * time.Millisecond, Tokens: 40})
	request := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "Hello?"}}}
	text, usage := "", llm.Usage{}
	for event, err := range model.Stream(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
		text += event.Text
		if event.Usage != nil {
			usage = *event.Usage
		}
	}
	first, _, _ := strings.Cut(text, " ")
	if took, err := strconv.ParseInt(first, 10, 64); err != nil || time.Duration(took) < 5*time.Millisecond {
		t.Errorf("the answer begins with %q", first)
	}
	if !strings.Contains(text, "[1].") || usage != (llm.Usage{PromptTokens: 2000, CompletionTokens: 40}) {
		t.Errorf("text %q, usage %+v", text, usage)
	}
	if err := service.Stop(); err != nil || service.Completed() != 1 || service.Peak() != 1 || service.Abandoned() != 0 {
		t.Errorf("%d complete, %d at once, %v", service.Completed(), service.Peak(), err)
	}
	service, model = startModel(t, bench.ModelOptions{Tokens: 40, Gap: time.Hour})
	for range model.Stream(t.Context(), request) {
		break
	}
	if err := service.Stop(); err != nil || service.Completed() != 0 {
		t.Errorf("%d complete, %v", service.Completed(), err)
	}
}

func startModel(t *testing.T, opt bench.ModelOptions) (*bench.Model, llm.ChatModel) {
	t.Helper()
	service, err := bench.StartModel(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	model, err := llm.NewOpenAI(llm.Config{BaseURL: service.URL, Model: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return service, model
}
