package chat_test

import (
	"testing"

	"magpie/internal/llm"
)

// models makes a model of each name, all behind one provider, the first the default.
func models(t *testing.T, p *provider, names ...string) *llm.Models {
	t.Helper()
	list := make([]llm.ChatModel, len(names))
	for i, name := range names {
		model, err := llm.NewOpenAI(llm.Config{Name: name, BaseURL: p.server.URL + "/v1", Key: "key", Model: name})
		if err != nil {
			t.Fatal(err)
		}
		list[i] = model
	}
	all, err := llm.NewModels(list...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
