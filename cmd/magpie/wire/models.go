package wire

import (
	"fmt"

	"magpie/internal/config"
	"magpie/internal/embed"
	"magpie/internal/llm"
	"magpie/internal/rerank"
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
	c := a.Config
	embedders, closeAll, err := Embedders(c)
	if err != nil {
		return nil, err
	}
	a.Models = embedders
	a.closers = append(a.closers, func() error { closeAll(); return nil })
	chats := []llm.ChatModel{}
	if c.LLMBaseURL != "" {
		tokens := llm.NewTokenCounter()
		for _, name := range c.Models() {
			model, err := llm.NewOpenAI(llm.OpenAIConfig{BaseURL: c.LLMBaseURL, Key: c.LLMAPIKey.Reveal(), Model: name, Tokens: tokens})
			if err != nil {
				return nil, fmt.Errorf("LLM_MODEL: %w", err)
			}
			a.closers = append(a.closers, func() error { model.Close(); return nil })
			chats = append(chats, model)
		}
	}
	models, err := llm.NewModels(chats...)
	if err != nil {
		return nil, fmt.Errorf("LLM_MODELS: %w", err)
	}
	return models, nil
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
	return client, nil
}
