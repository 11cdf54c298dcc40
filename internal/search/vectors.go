package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/request/fair"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// queryVectors embed a query, once for each model.
type queryVectors struct {
	engine  *Engine
	text    string // "" for no vectors
	parts   map[string]rank.Part
	missing bool // a model is not configured or did not answer
}

// part returns a part with the query's vector by a model. The part has no vector if the
// model is not available: words still find most passages.
func (v *queryVectors) part(ctx context.Context, model string) rank.Part {
	if v.text == "" {
		return rank.Part{}
	}
	if p, ok := v.parts[model]; ok {
		return p
	}
	var p rank.Part
	log := v.engine.opt.Log
	if embedder, ok := v.engine.models.Lookup(model); !ok {
		log.WarnContext(ctx, "embedding model not configured, searching by words alone", slog.String("model", model))
		v.missing = true
	} else if embedded, err := v.engine.embed(ctx, embedder, v.text); err != nil {
		if !errors.Is(err, embed.ErrCircuitOpen) && ctx.Err() == nil {
			log.WarnContext(ctx, "query not embedded, searching by words alone", slog.String("model", model), slog.Any("error", err))
		}
		v.missing = true
	} else {
		p = embedded
	}
	if v.parts == nil {
		v.parts = make(map[string]rank.Part)
	}
	v.parts[model] = p
	return p
}

// embed returns a part with the query's vector and the model's background.
func (e *Engine) embed(ctx context.Context, model embed.Embedder, text string) (rank.Part, error) {
	questions := e.embedders[model.Model()]
	var vector []float32
	if questions != nil {
		err := fair.Outside(ctx, func() (err error) {
			vector, err = questions.Embed(ctx, text)
			return err
		})
		if err != nil {
			return rank.Part{}, err
		}
	} else {
		vectors, err := model.Embed(ctx, []string{text}, embed.Query)
		if err != nil {
			return rank.Part{}, fmt.Errorf("embed the query: %w", err)
		}
		if len(vectors) != 1 || len(vectors[0]) == 0 {
			return rank.Part{}, fmt.Errorf("embed the query: %d vectors for one text", len(vectors))
		}
		vector = vectors[0]
	}
	background, err := e.backgrounds.get(ctx, model, questions)
	if err != nil {
		return rank.Part{}, err
	}
	p := rank.Part{Vector: vector, Background: background, Semantic: model.Model() != embed.BuiltinModel}
	if v, ok := model.(embed.Vocabulary); ok {
		p.Knows = v.Knows
	}
	return p, nil
}
