package wire

import (
	"fmt"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/fingerprint"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/system"
)

// system returns the report of the installation.
func (a *App) system() *system.System {
	models := a.guarded
	for _, name := range a.Models.Names() {
		configured := system.ConfiguredModel{Kind: "embedding", Name: name}
		embedder, _ := a.Models.Lookup(name)
		if watched, ok := embedder.(*embed.Watched); ok { // the built-in model does not fail
			configured.IsFailing, configured.LastFailure = watched.IsFailing, lastFailure(watched.LastFailure)
		}
		models = append(models, configured)
	}
	return system.New(system.Options{
		Pool: a.DB.Pool, Redis: a.Redis, Queue: a.Queue, Loaded: a.Search.Loaded, Models: models, Now: a.now,
		HasEngine: len(a.Config.EngineURLs()) > 0, IsOpen: a.Config.SignUp == "open",
	})
}

// lastFailure converts the last failure of a model for the report.
func lastFailure(last func() *provider.Failure) func() (system.Failure, bool) {
	return func() (system.Failure, bool) {
		failure := last()
		if failure == nil {
			return system.Failure{}, false
		}
		return system.Failure(*failure), true
	}
}

// models sets a.Models to the configured embedding models and returns the chat models.
func (a *App) models() (*llm.Models, error) {
	embedders, closeAll, err := Embedders(a.Config, a.Metrics.Calls)
	if err != nil {
		return nil, err
	}
	a.Models = embedders
	a.Fingerprints = fingerprint.New(a.DB.Pool, embedders, fingerprint.Options{Log: a.Log})
	a.closers = append(a.closers, func() error { closeAll(); return nil })
	return a.chatModels()
}

// chatModels returns the chat models, each with a guard and its fallbacks.
func (a *App) chatModels() (*llm.Models, error) {
	tokens := llm.NewTokenCounter()
	guarded := map[string]llm.ChatModel{}
	for _, settings := range a.Config.ChatModels {
		model, err := chatModel(settings, tokens)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", settings.Name, err)
		}
		a.closers = append(a.closers, func() error { model.Close(); return nil })
		guard := llm.NewGuard(model, llm.GuardOptions{Log: a.Log, Observe: a.Metrics.Calls("chat", settings.Name)})
		guarded[settings.Name] = guard
		a.guarded = append(a.guarded, system.ConfiguredModel{Kind: "chat", Name: settings.Name, IsFailing: guard.IsOpen, LastFailure: lastFailure(guard.LastFailure)})
	}
	chains := []llm.ChatModel{}
	for _, settings := range a.Config.ChatModels {
		fallbacks := []llm.ChatModel{}
		for _, name := range settings.Fallback {
			fallbacks = append(fallbacks, guarded[name])
		}
		chains = append(chains, llm.NewChain(a.Log, guarded[settings.Name], fallbacks...))
	}
	models, err := llm.NewModels(chains...)
	if err != nil {
		return nil, fmt.Errorf("LLM_CONFIG: %w", err)
	}
	return models, nil
}

// A closable is a chat model with connections.
type closable interface {
	llm.ChatModel
	Close()
}

// chatModel returns the client of a chat model.
func chatModel(c config.ChatModel, tokens *llm.TokenCounter) (model closable, err error) {
	settings := llm.Config{
		Name: c.Name, BaseURL: c.BaseURL, Key: c.Key.Reveal(), Model: c.Model, Tokens: tokens,
		Limits:         llm.Limits{ContextWindow: c.ContextWindow, MaxOutputTokens: c.MaxOutputTokens},
		ConnectTimeout: c.ConnectTimeout, FirstByteTimeout: c.FirstByteTimeout, IdleTimeout: c.IdleTimeout, MaxRetryWait: c.MaxRetryWait,
	}
	switch c.Provider {
	case config.ProviderAnthropic:
		return llm.NewAnthropic(settings)
	case config.ProviderAzure:
		return llm.NewAzure(settings, c.Deployment, c.APIVersion)
	case config.ProviderOllama:
		return llm.NewOllama(settings)
	case config.ProviderCohere:
		return llm.NewCohere(settings)
	case config.ProviderBedrock:
		return llm.NewBedrock(settings, c.Region)
	case config.ProviderVertex:
		return llm.NewVertex(settings, c.Project, c.Location)
	}
	return llm.NewOpenAI(settings)
}

// newReranker returns a client of the configured reranking service.
func (a *App) newReranker() (rerank.Reranker, error) {
	c := a.Config
	settings := rerank.Config{
		BaseURL: c.RerankBaseURL, Key: c.RerankAPIKey.Reveal(), Model: c.RerankModel, Timeout: c.RerankTimeout, Region: c.RerankRegion, Project: c.RerankProject,
		Form: map[string]rerank.Form{
			config.ProviderBedrock: rerank.FormBedrock, config.ProviderCohere: rerank.FormCohere, config.ProviderJina: rerank.FormDocuments, config.ProviderTEI: rerank.FormTexts,
			config.ProviderVertex: rerank.FormVertex, config.ProviderVLLM: rerank.FormDocuments, config.ProviderVoyage: rerank.FormVoyage,
		}[c.RerankProvider],
	}
	if c.RerankProvider == config.ProviderJina && settings.BaseURL == "" {
		settings.BaseURL = rerank.JinaURL
	}
	client, err := rerank.New(settings)
	if err != nil {
		return nil, fmt.Errorf("RERANK_PROVIDER: %w", err)
	}
	a.closers = append(a.closers, func() error { client.Close(); return nil })
	guard := rerank.NewGuard(client, rerank.GuardOptions{Log: a.Log, Observe: a.Metrics.Calls("reranker", c.RerankModel)})
	a.guarded = append(a.guarded, system.ConfiguredModel{Kind: "reranker", Name: c.RerankModel, IsFailing: guard.IsOpen, LastFailure: lastFailure(guard.LastFailure)})
	return guard, nil
}
