package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/config"
)

func names(c *config.Config) string {
	list := []string{}
	for _, m := range c.ChatModels {
		list = append(list, m.Name)
	}
	return strings.Join(list, " ")
}

func modelFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "LLM_CONFIG=" + path
}

const further = `[
	{"name": "claude", "provider": "anthropic", "api_key_env": "CLAUDE_KEY", "model": "claude-sonnet-4-5",
	 "context_window": 150000, "max_output_tokens": 2000, "fallback": ["local", "small"],
	 "timeouts": {"connect": "2s", "first_byte": "20s", "idle": "15s", "max_retry_wait": "3s"}},
	{"name": "local", "provider": "openai", "base_url": "http://127.0.0.1:11434/v1", "fallback": []},
	{"name": "keyed", "provider": "openai", "base_url": "https://models.example.com/v1", "api_key": "hunter2", "model": "m-7"}
]`

func TestChatModelsComeFromAllSettings(t *testing.T) {
	t.Parallel()
	c, err := load("LLM_BASE_URL=http://127.0.0.1:1/v1", "LLM_API_KEY=k1", "LLM_MODEL=small", "LLM_MODELS=large, small",
		"ANTHROPIC_API_KEY=k2", "ANTHROPIC_MODELS=claude-haiku-4-5", "LLM_FALLBACK=small,local", "CLAUDE_KEY=k3", modelFile(t, further))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(c); got != "small large claude-haiku-4-5 claude local keyed" {
		t.Errorf("models %s", got)
	}
	small, haiku, claude, local, keyed := c.ChatModels[0], c.ChatModels[2], c.ChatModels[3], c.ChatModels[4], c.ChatModels[5]
	if small.Provider != config.ProviderOpenAI || small.Key.Reveal() != "k1" || small.Model != "small" || !slices.Equal(small.Fallback, []string{"local"}) {
		t.Errorf("%+v", small)
	}
	if haiku.Provider != config.ProviderAnthropic || haiku.Key.Reveal() != "k2" || haiku.BaseURL != "https://api.anthropic.com" || !slices.Equal(haiku.Fallback, []string{"small", "local"}) {
		t.Errorf("%+v", haiku)
	}
	if claude.Key.Reveal() != "k3" || claude.Model != "claude-sonnet-4-5" || claude.ContextWindow != 150000 || claude.MaxOutputTokens != 2000 ||
		claude.BaseURL != "https://api.anthropic.com" || !slices.Equal(claude.Fallback, []string{"local", "small"}) || claude.ConnectTimeout != 2*time.Second ||
		claude.FirstByteTimeout != 20*time.Second || claude.IdleTimeout != 15*time.Second || claude.MaxRetryWait != 3*time.Second {
		t.Errorf("%+v", claude)
	}
	if local.Model != "local" || local.Key != "" || len(local.Fallback) != 0 {
		t.Errorf("%+v", local)
	}
	if keyed.Key.Reveal() != "hunter2" || keyed.Model != "m-7" {
		t.Errorf("%+v", keyed)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, *c, c.ChatModels); strings.Contains(text, "hunter2") {
		t.Error("a key was printed")
	}
}

func TestLLMModelNamesTheDefault(t *testing.T) {
	t.Parallel()
	c, err := load("LLM_MODEL=local", "CLAUDE_KEY=k", modelFile(t, strings.ReplaceAll(further, `, "small"`, "")))
	if err != nil || names(c) != "local claude keyed" {
		t.Errorf("%v, %v", c, err)
	}
	if c, err = load("ANTHROPIC_API_KEY=k"); err != nil || len(c.ChatModels) != 0 {
		t.Errorf("a key alone made models: %v", err)
	}
}

func TestWrongChatModelsAreNamed(t *testing.T) {
	t.Parallel()
	file := func(content string) []string { return []string{modelFile(t, content)} }
	entry := func(fields string) []string {
		return file(`[{"name":"good","provider":"openai","base_url":"http://x/v1"},{"name":"m","provider":"openai","base_url":"http://x/v1",` + fields + `}]`)
	}
	for want, environment := range map[string][]string{
		`LLM_MODELS: must be set together`:                                     {"LLM_MODELS=a"},
		`ANTHROPIC_MODELS: must be set together`:                               {"ANTHROPIC_MODELS=a"},
		`ANTHROPIC_BASE_URL: `:                                                 {"ANTHROPIC_BASE_URL=https://user:hunter2@x"},
		`LLM_MODEL: there is no model "other"`:                                 {"LLM_MODEL=other"},
		`LLM_FALLBACK: there is no model "other"`:                              {"LLM_FALLBACK=other"},
		`LLM_CONFIG: read the file: open`:                                      {"LLM_CONFIG=/nowhere/at/all"},
		`LLM_CONFIG: line 3: the file is not JSON`:                             file("[\n{\"api_key\": \"hunter2\"},\nhunter2]"),
		`LLM_CONFIG: the file must hold a list`:                                file(`{"name": "hunter2"}`),
		`LLM_CONFIG: entry 1: name: is not set`:                                file(`[{}]`),
		`LLM_CONFIG: entry 1: name: must be a text`:                            file(`[{"name": 7}]`),
		`LLM_CONFIG: model "m": provider: is not set`:                          file(`[{"name":"m"}]`),
		`LLM_CONFIG: model "m": provider: must be anthropic`:                   file(`[{"name":"m","provider":"x"}]`),
		`LLM_CONFIG: model "m": base_url: is not set`:                          file(`[{"name":"m","provider":"openai"}]`),
		`LLM_CONFIG: model "m": base_url: must be an address`:                  file(`[{"name":"m","provider":"openai","base_url":"https://u:hunter2@x"}]`),
		`LLM_CONFIG: model "m": api_key: or api_key_env must be`:               file(`[{"name":"m","provider":"anthropic"}]`),
		`LLM_CONFIG: model "m": api_key: or api_key_env must be set for azure`: file(`[{"name":"m","provider":"azure","base_url":"https://x"}]`),
		`LLM_CONFIG: model "m": region: is not set`:                            file(`[{"name":"m","provider":"bedrock"}]`),
		`LLM_CONFIG: model "m": location: must be a name`:                      file(`[{"name":"m","provider":"vertex","project":"p","location":"x/y"}]`),
		`LLM_CONFIG: model "m": provider: must be anthropic or azure`:          file(`[{"name":"m","provider":"voyage"}]`),
		`LLM_CONFIG: model "m": deployment: openai has no such field`:          entry(`"deployment":"d"`),
		`RERANK_PROVIDER: must be bedrock`:                                     {"RERANK_PROVIDER=x"},
		`RERANK_PROVIDER: cohere needs RERANK_API_KEY`:                         {"RERANK_PROVIDER=cohere", "RERANK_MODEL=m"},
		`RERANK_PROVIDER: bedrock needs RERANK_REGION`:                         {"RERANK_PROVIDER=bedrock", "RERANK_MODEL=m"},
		`RERANK_PROVIDER: vertex needs RERANK_PROJECT`:                         {"RERANK_PROVIDER=vertex", "RERANK_MODEL=m"},
		`RERANK_PROVIDER: tei needs RERANK_BASE_URL`:                           {"RERANK_PROVIDER=tei"},
		`RERANK_REGION: must be a name`:                                        {"RERANK_REGION=x/y"},
		`LLM_CONFIG: model "m": there is no field "apikey"`:                    entry(`"apikey":"hunter2"`),
		`LLM_CONFIG: model "m": api_key: must be a text`:                       entry(`"api_key":["hunter2"]`),
		`LLM_CONFIG: model "m": api_key: must not be set`:                      entry(`"api_key":"hunter2","api_key_env":"HOME"`),
		`LLM_CONFIG: model "m": api_key_env: the environment`:                  entry(`"api_key_env":"NOT_SET"`),
		`LLM_CONFIG: model "m": context_window: must be 2048`:                  entry(`"context_window":100`),
		`LLM_CONFIG: model "m": context_window: must be a whole`:               entry(`"context_window":"16k"`),
		`LLM_CONFIG: model "m": max_output_tokens: must be 1`:                  entry(`"max_output_tokens":-5`),
		`LLM_CONFIG: model "m": timeouts: idle: must be a time`:                entry(`"timeouts":{"idle":"soon"}`),
		`LLM_CONFIG: model "m": timeouts: there is no field "x"`:               entry(`"timeouts":{"x":"1s"}`),
		`LLM_CONFIG: model "m": timeouts: must be an object`:                   entry(`"timeouts":5`),
		`LLM_CONFIG: model "m": fallback: must be a list`:                      entry(`"fallback":"good"`),
		`LLM_CONFIG: model "m": fallback: there is no model "x"`:               entry(`"fallback":["good","x"]`),
		`LLM_CONFIG: model "m": fallback: a model cannot stand`:                entry(`"fallback":["m"]`),
		`LLM_CONFIG: model "good": name: there are two models`:                 entry(`"name":"good"`),
	} {
		_, err := load(environment...)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func TestChatModelsOfProvidersWithDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(modelFile(t, `[{"name":"a","provider":"azure","base_url":"https://res.example.com","api_key":"k","model":"gpt-4o"},
		{"name":"b","provider":"bedrock","region":"eu-central-1","model":"eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{"name":"v","provider":"vertex","project":"p","location":"europe-west4","model":"google/gemini-2.5-flash"},
		{"name":"o","provider":"ollama","model":"llama3.1:8b"}, {"name":"command-a-03-2025","provider":"cohere","api_key":"k"}]`))
	if err != nil || names(c) != "a b v o command-a-03-2025" {
		t.Fatalf("%v, %v", c, err)
	}
	if a, b, v := c.ChatModels[0], c.ChatModels[1], c.ChatModels[2]; a.Deployment != "gpt-4o" || a.APIVersion != "2024-10-21" || b.Region != "eu-central-1" || v.Project != "p" || v.Location != "europe-west4" {
		t.Errorf("%+v", c.ChatModels)
	}
}

func FuzzChatModelFile(f *testing.F) {
	f.Add(further)
	f.Add(`[{"name":null,"timeouts":{"idle":null}}]`)
	path := filepath.Join(f.TempDir(), "models.json")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load("LLM_CONFIG=" + path)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message has lines: %v", err)
			}
			return
		}
		for _, m := range c.ChatModels {
			if m.Name == "" || m.Provider == "" || m.Model == "" {
				t.Errorf("%+v", m)
			}
		}
	})
}
