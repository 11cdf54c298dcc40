package loop_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/search"
)

// plannerTools are the three tools of the planner. Their results name their argument.
func plannerTools() []loop.Tool {
	tool := func(name, key string, hits ...search.Hit) loop.Tool {
		return loop.Tool{Name: name, Schema: json.RawMessage(`{}`), Call: func(_ context.Context, arguments json.RawMessage) (loop.Result, error) {
			var in map[string]any
			err := json.Unmarshal(arguments, &in)
			value, _ := in[key].(string)
			return loop.Result{Summary: name + " of " + value, Hits: hits}, err
		}}
	}
	return []loop.Tool{
		tool(loop.SearchTool, "query", search.Hit{Passage: uuid.New(), Document: uuid.New(), Title: "Guide", Text: "The answer is 42."}),
		tool(loop.CalculateTool, "expression"), tool(loop.ClockTool, "timezone"),
	}
}

func TestWithoutAModelTheToolsAnswer(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][]string{
		"How are backups restored?":                                 {`search_documents {"limit":8,"query":"How are backups restored?"}`},
		"What is 17% of 2340?":                                      {`calculate {"expression":"17% of 2340"}`},
		"calculate (1,250 - 3) * 2^3":                               {`calculate {"expression":"(1,250 - 3) * 2^3"}`},
		"What is 10/4?":                                             {`calculate {"expression":"10/4"}`},
		"What time is it?":                                          {`get_current_datetime {}`},
		"What time is it in Tokyo?":                                 {`get_current_datetime {"timezone":"Asia/Tokyo"}`},
		"what time is it in New York and in Europe/Berlin":          {`get_current_datetime {"timezone":"America/New_York"}`, `get_current_datetime {"timezone":"Europe/Berlin"}`},
		"Wie spät ist es?":                                          {`get_current_datetime {}`},
		"What is 2+2 and how are backups restored?":                 {`calculate {"expression":"2+2"}`, `search_documents {"limit":8,"query":"What is and how are backups restored?"}`},
		"What time is it, what is sqrt(16)*2, and what is a queue?": {`calculate {"expression":"sqrt(16)*2"}`, `get_current_datetime {}`, `search_documents {`},
		"What changed on 2024-01-05 in version 1.2.3?":              {`search_documents {"limit":8,"query":"What changed on 2024-01-05 in version 1.2.3?"}`},
		"Is support 24/7?":                                          {`search_documents {`},
		"a 1/0 error":                                               {`search_documents {`},
	} {
		var l recorder
		outcome, err := newLoop(t, nil).Run(t.Context(), loop.Task{Message: message, Tools: plannerTools(), FindQuotes: func(_ string, hits []search.Hit) []loop.Quote {
			return []loop.Quote{{Text: hits[0].Text}}
		}}, l.emit)
		text := l.text()
		if err != nil || !strings.HasPrefix(outcome.Answer, "No chat model is configured") || outcome.Iterations != 1 || outcome.Usage.TotalTokens() != 0 {
			t.Errorf("%s: %+v, %v", message, outcome, err)
		}
		if n := strings.Count(text, "\ncall "); n != len(want) {
			t.Errorf("%s: %d calls\n%s", message, n, text)
		}
		for _, call := range want {
			if !strings.Contains(text, call) {
				t.Errorf("%s: no %s in\n%s", message, call, text)
			}
		}
		if strings.Contains(text, "call call_1 search_documents") != strings.Contains(outcome.Answer, "42") && len(want) == 1 {
			t.Errorf("%s: %s", message, outcome.Answer)
		}
		if !strings.HasPrefix(text, "1 planning\n1 acting\ncall ") || !strings.Contains(text, "\n1 answering\ncontent ") {
			t.Errorf("%s:\n%s", message, text)
		}
	}
}

func TestAnAgentWithoutModelAndToolsSaysSo(t *testing.T) {
	t.Parallel()
	outcome, err := newLoop(t, nil).Run(t.Context(), loop.Task{Message: "Hello"}, (&recorder{}).emit)
	if err != nil || !strings.Contains(outcome.Answer, "None of the agent's tools fits") {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func FuzzPlan(f *testing.F) {
	for _, seed := range []string{"What is 2+2?", "time in Tokyo", "((((", "1/0 5! 9^9^9", "in Local what time is it", "\xff"} {
		f.Add(seed)
	}
	l, err := loop.New(loop.Options{Limits: loop.Standard()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, message string) {
		var events recorder
		if _, err := l.Run(t.Context(), loop.Task{Message: message, Tools: plannerTools()}, events.emit); err != nil {
			t.Fatal(err)
		}
	})
}
