package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// Embedders returns the configured embedding models, the default first, and the
// builtin model. calls tells who observes the calls of a model and may be nil. The
// caller must call closeAll.
func Embedders(c *config.Config, calls func(kind, model string) provider.Observe) (models *embed.Registry, closeAll func(), err error) {
	embedders := []embed.Embedder{}
	var closers []func()
	closeAll = func() {
		for _, closeIdle := range closers {
			closeIdle()
		}
	}
	for _, settings := range c.EmbeddingModels {
		remote, err := embedder(settings)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("EMBEDDING_CONFIG: model %q: %w", settings.Name, err)
		}
		closers = append(closers, remote.Close)
		var observe provider.Observe
		if calls != nil {
			observe = calls("embedding", remote.Model())
		}
		embedders = append(embedders, embed.Watch(remote, time.Now, observe))
	}
	builtin, at := embed.NewBuiltin(), len(embedders)
	if c.EmbeddingBaseURL == "" && c.EmbeddingModel == config.BuiltinEmbeddingModel {
		at = 0
	}
	if models, err = embed.NewRegistry(slices.Insert(embedders, at, embed.Embedder(builtin))...); err != nil {
		closeAll()
		return nil, nil, fmt.Errorf("EMBEDDING_CONFIG: %w", err)
	}
	return models, closeAll, nil
}

// embedder returns the client of a model.
func embedder(c config.EmbeddingModel) (*embed.Remote, error) {
	settings := embed.Config{
		Name: c.Name, BaseURL: c.BaseURL, Key: c.Key.Reveal(), Model: c.Model, Dimensions: c.Dimensions, SendDimensions: c.SendDimensions,
		QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix, Batch: c.Batch,
		ConnectTimeout: c.ConnectTimeout, Timeout: c.Timeout, MaxRetryWait: c.MaxRetryWait,
	}
	switch c.Provider {
	case config.ProviderAzure:
		return embed.NewAzure(settings, c.Deployment, c.APIVersion)
	case config.ProviderOllama:
		return embed.NewOllama(settings)
	case config.ProviderVoyage:
		return embed.NewVoyage(settings)
	case config.ProviderCohere:
		return embed.NewCohere(settings)
	case config.ProviderTEI:
		return embed.NewTEI(settings)
	case config.ProviderBedrock:
		return embed.NewBedrock(settings, c.Region)
	case config.ProviderVertex:
		return embed.NewVertex(settings, c.Project, c.Location)
	}
	return embed.NewOpenAI(settings)
}
