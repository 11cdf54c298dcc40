package wire

import (
	"log/slog"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/rerank"
)

// ChatModels returns the chat models of the settings. The caller must call closeAll.
func ChatModels(c *config.Config) (models *llm.Models, closeAll func() error, err error) {
	a := newApp(c)
	models, err = a.chatModels()
	return models, a.Close, err
}

// Reranker returns the client of the reranking service of the settings. The caller must
// call closeAll.
func Reranker(c *config.Config) (r rerank.Reranker, closeAll func() error, err error) {
	a := newApp(c)
	r, err = a.newReranker()
	return r, a.Close, err
}

func newApp(c *config.Config) *App {
	return &App{Config: c, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New("test")}
}
