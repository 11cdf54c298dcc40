package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/config"
)

func embeddingFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "embedding.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return "EMBEDDING_CONFIG=" + path
}

func embeddingNames(c *config.Config) string {
	list := []string{}
	for _, m := range c.EmbeddingModels {
		list = append(list, m.Name)
	}
	return strings.Join(list, " ")
}

const embeddings = `[
	{"name": "multilingual", "provider": "voyage", "api_key_env": "VOYAGE_KEY", "model": "voyage-3.5", "dimensions": 512, "batch": 32,
	 "timeouts": {"connect": "2s", "request": "20s", "max_retry_wait": "3s"}},
	{"name": "local", "provider": "ollama", "model": "nomic-embed-text", "dimensions": 768, "send_dimensions": false,
	 "query_prefix": "search_query: ", "passage_prefix": "search_document: "},
	{"name": "large", "provider": "azure", "base_url": "https://res.example.com", "api_key": "hunter2", "model": "text-embedding-3-large", "dimensions": 1024}
]`

func TestEmbeddingModelsComeFromAllSettings(t *testing.T) {
	t.Parallel()
	c, err := load("EMBEDDING_BASE_URL=http://127.0.0.1:1/v1", "EMBEDDING_API_KEY=k1", "EMBEDDING_MODEL=small", "EMBEDDING_DIMENSIONS=384",
		"EMBEDDING_QUERY_PREFIX=query: ", "VOYAGE_KEY=k2", embeddingFile(t, embeddings))
	if err != nil {
		t.Fatal(err)
	}
	if got := embeddingNames(c); got != "small multilingual local large" {
		t.Fatalf("models %s", got)
	}
	small, voyage, local, large := c.EmbeddingModels[0], c.EmbeddingModels[1], c.EmbeddingModels[2], c.EmbeddingModels[3]
	if small.Provider != config.ProviderOpenAI || small.Key.Reveal() != "k1" || small.Model != "small" || small.Dimensions != 384 || small.QueryPrefix != "query: " {
		t.Errorf("%+v", small)
	}
	if voyage.Key.Reveal() != "k2" || voyage.Model != "voyage-3.5" || voyage.Dimensions != 512 || voyage.Batch != 32 || voyage.SendDimensions != nil ||
		voyage.ConnectTimeout != 2*time.Second || voyage.Timeout != 20*time.Second || voyage.MaxRetryWait != 3*time.Second {
		t.Errorf("%+v", voyage)
	}
	if local.SendDimensions == nil || *local.SendDimensions || local.QueryPrefix != "search_query: " || local.PassagePrefix != "search_document: " {
		t.Errorf("%+v", local)
	}
	if large.Deployment != "text-embedding-3-large" || large.APIVersion == "" {
		t.Errorf("%+v", large)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, *c, c.EmbeddingModels); strings.Contains(text, "hunter2") {
		t.Error("a key was printed")
	}
}

func TestEmbeddingModelNamesTheDefault(t *testing.T) {
	t.Parallel()
	if c, err := load("EMBEDDING_MODEL=local", "VOYAGE_KEY=k", embeddingFile(t, embeddings)); err != nil || embeddingNames(c) != "local multilingual large" {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := load("EMBEDDING_MODEL="+config.BuiltinEmbeddingModel, "VOYAGE_KEY=k", embeddingFile(t, embeddings)); err != nil || embeddingNames(c) != "multilingual local large" {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := load("EMBEDDING_MODEL=" + config.BuiltinEmbeddingModel); err != nil || embeddingNames(c) != "" {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := load("VOYAGE_KEY=k", embeddingFile(t, embeddings)); err != nil || embeddingNames(c) != "multilingual local large" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestWrongEmbeddingModelsAreNamed(t *testing.T) {
	t.Parallel()
	entry := func(fields string) []string {
		return []string{embeddingFile(t, `[{"name":"good","provider":"ollama","dimensions":3},{"name":"m",`+fields+`}]`)}
	}
	ollama := func(fields string) []string { return entry(`"provider":"ollama","dimensions":3,` + fields) }
	for want, environment := range map[string][]string{
		`EMBEDDING_CONFIG: read the file: open`:                           {"EMBEDDING_CONFIG=/nowhere/at/all"},
		`EMBEDDING_CONFIG: line 2: the file is not JSON`:                  {embeddingFile(t, "[\nhunter2]")},
		`EMBEDDING_CONFIG: entry 1: name: is not set`:                     {embeddingFile(t, `[{}]`)},
		`EMBEDDING_CONFIG: model "m": provider: is not set`:               entry(`"dimensions":3`),
		`EMBEDDING_CONFIG: model "m": provider: must be azure`:            entry(`"provider":"anthropic"`),
		`EMBEDDING_CONFIG: model "m": base_url: is not set`:               entry(`"provider":"openai","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": base_url: must be an address`:       entry(`"provider":"openai","base_url":"https://u:hunter2@x","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": api_key: or api_key_env must`:       entry(`"provider":"voyage","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": deployment: ollama has no such`:     ollama(`"deployment":"x"`),
		`EMBEDDING_CONFIG: model "m": region: is not set`:                 entry(`"provider":"bedrock","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": region: must be a name`:             entry(`"provider":"bedrock","region":"x.example.com/","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": location: is not set`:               entry(`"provider":"vertex","project":"p","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": api_key: bedrock has no such`:       entry(`"provider":"bedrock","region":"eu-central-1","api_key":"hunter2","dimensions":3`),
		`EMBEDDING_CONFIG: model "m": there is no field "context_window"`: ollama(`"context_window":5`),
		`EMBEDDING_CONFIG: model "m": dimensions: must be 1`:              entry(`"provider":"ollama"`),
		`EMBEDDING_CONFIG: model "m": dimensions: must be a whole`:        entry(`"provider":"ollama","dimensions":"3"`),
		`EMBEDDING_CONFIG: model "m": send_dimensions: must be true`:      ollama(`"send_dimensions":"yes"`),
		`EMBEDDING_CONFIG: model "m": batch: must be 1`:                   ollama(`"batch":-1`),
		`EMBEDDING_CONFIG: model "m": timeouts: request: must be a`:       ollama(`"timeouts":{"request":"soon"}`),
		`EMBEDDING_CONFIG: model "m": timeouts: there is no field "idle"`: ollama(`"timeouts":{"idle":"1s"}`),
		`EMBEDDING_CONFIG: model "good": name: there are two models`:      ollama(`"name":"good"`),
		`EMBEDDING_MODEL: there is no model "other"`:                      append(ollama(`"batch":1`), "EMBEDDING_MODEL=other"),
		`EMBEDDING_MODEL: there is no model "alone"`:                      {"EMBEDDING_MODEL=alone"},
	} {
		_, err := load(environment...)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want %q", err, want)
		}
	}
}

func FuzzEmbeddingModelFile(f *testing.F) {
	f.Add(embeddings)
	f.Add(`[{"name":null,"send_dimensions":null,"timeouts":{"request":null}}]`)
	path := filepath.Join(f.TempDir(), "models.json")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load("EMBEDDING_CONFIG=" + path)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message has lines: %v", err)
			}
			return
		}
		for _, m := range c.EmbeddingModels {
			if m.Name == "" || m.Provider == "" || m.Model == "" || m.Dimensions < 1 {
				t.Errorf("%+v", m)
			}
		}
	})
}
