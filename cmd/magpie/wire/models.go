package wire

import (
	"fmt"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/rerank"
)

// Embedders connects to the configured embedding models, the default first. The
// builtin one is always there. close ends the connections.
func Embedders(c *config.Config) (models *embed.Registry, closeAll func(), err error) {
	embedders := []embed.Embedder{}
	closeAll = func() {}
	if c.EmbeddingBaseURL != "" {
		remote, err := embed.NewOpenAI(embed.OpenAIConfig{
			BaseURL: c.EmbeddingBaseURL, Key: c.EmbeddingAPIKey.Reveal(), Model: c.EmbeddingModel, Dimensions: c.EmbeddingDimensions,
			QueryPrefix: c.EmbeddingQueryPrefix, PassagePrefix: c.EmbeddingPassagePrefix,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("EMBEDDING_MODEL: %w", err)
		}
		closeAll = remote.Close
		embedders = append(embedders, remote)
	}
	if models, err = embed.NewRegistry(append(embedders, embed.NewBuiltin())...); err != nil {
		closeAll()
		return nil, nil, fmt.Errorf("EMBEDDING_MODEL: %w", err)
	}
	return models, closeAll, nil
}

// models connects to the configured models: those that embed, which become
// a.Models, and those that chat.
func (a *App) models() (*llm.Models, error) {
	embedders, closeAll, err := Embedders(a.Config)
	if err != nil {
		return nil, err
	}
	a.Models = embedders
	a.closers = append(a.closers, func() error { closeAll(); return nil })
	return a.chatModels()
}

// chatModels connects to the chat models, guards each and puts those that stand
// in for it behind it.
func (a *App) chatModels() (*llm.Models, error) {
	tokens := llm.NewTokenCounter()
	guarded := map[string]llm.ChatModel{}
	for _, described := range a.Config.ChatModels {
		model, closeIdle, err := chatModel(described, tokens)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", described.Name, err)
		}
		a.closers = append(a.closers, func() error { closeIdle(); return nil })
		guarded[described.Name] = llm.NewGuard(model, llm.GuardOptions{Log: a.Log})
	}
	chains := []llm.ChatModel{}
	for _, described := range a.Config.ChatModels {
		standIns := []llm.ChatModel{}
		for _, name := range described.Fallback {
			standIns = append(standIns, guarded[name])
		}
		chains = append(chains, llm.NewChain(a.Log, guarded[described.Name], standIns...))
	}
	models, err := llm.NewModels(chains...)
	if err != nil {
		return nil, fmt.Errorf("LLM_CONFIG: %w", err)
	}
	return models, nil
}

func chatModel(c config.ChatModel, tokens *llm.TokenCounter) (model llm.ChatModel, closeIdle func(), err error) {
	settings := llm.Config{
		Name: c.Name, BaseURL: c.BaseURL, Key: c.Key.Reveal(), Model: c.Model, Tokens: tokens,
		Limits:         llm.Limits{ContextWindow: c.ContextWindow, MaxOutputTokens: c.MaxOutputTokens},
		ConnectTimeout: c.ConnectTimeout, FirstByteTimeout: c.FirstByteTimeout, IdleTimeout: c.IdleTimeout, MaxRetryWait: c.MaxRetryWait,
	}
	if c.Provider == config.ProviderAnthropic {
		m, err := llm.NewAnthropic(settings)
		if err != nil {
			return nil, nil, err
		}
		return m, m.Close, nil
	}
	m, err := llm.NewOpenAI(settings)
	if err != nil {
		return nil, nil, err
	}
	return m, m.Close, nil
}

// reranker connects to the configured reranking service; without one it
// returns nil, an interface without a value.
func (a *App) reranker() (rerank.Reranker, error) {
	c := a.Config
	if c.RerankBaseURL == "" {
		return nil, nil //nolint:nilnil // reranking is an option, and off by default
	}
	client, err := rerank.New(rerank.Config{BaseURL: c.RerankBaseURL, Key: c.RerankAPIKey.Reveal(), Model: c.RerankModel, Timeout: c.RerankTimeout})
	if err != nil {
		return nil, fmt.Errorf("RERANK_BASE_URL: %w", err)
	}
	a.closers = append(a.closers, func() error { client.Close(); return nil })
	return rerank.NewGuard(client, rerank.GuardOptions{Log: a.Log}), nil
}
