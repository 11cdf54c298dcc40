package chat_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// models makes a model of each name, all behind one provider, the first the default.
func models(t *testing.T, p *scriptedProvider, names ...string) *llm.Models {
	t.Helper()
	list := make([]llm.ChatModel, len(names))
	for i, name := range names {
		list[i] = model(t, p, name, llm.Limits{})
	}
	return modelsOf(t, list...)
}

func model(t *testing.T, p *scriptedProvider, name string, limits llm.Limits) llm.ChatModel {
	t.Helper()
	m, err := llm.NewOpenAI(llm.Config{Name: name, BaseURL: p.server.URL + "/v1", Key: "key", Model: name, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func modelsOf(t *testing.T, list ...llm.ChatModel) *llm.Models {
	t.Helper()
	all, err := llm.NewModels(list...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
