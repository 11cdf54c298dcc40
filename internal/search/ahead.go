package search

import (
	"context"

	"github.com/google/uuid"

	"magpie/internal/embed"
	"magpie/internal/index"
	"magpie/internal/search/rank"
	"magpie/internal/viewer"
)

// ahead is what is known before collections are opened.
type ahead struct {
	states  []index.State
	oldest  uuid.UUID // of Query.OldestAmong
	vectors asked
}

// look asks for the states of the collections in scope, and for the oldest one
// among others where that is wanted.
func (e *Engine) look(ctx context.Context, scope viewer.Scope, among *viewer.Scope) (*ahead, error) {
	var states []index.State
	var oldest uuid.UUID
	var err error
	if among == nil {
		states, err = e.store.States(ctx, scope)
	} else {
		states, oldest, err = e.store.StatesAndOldest(ctx, scope, *among)
	}
	if err != nil {
		return nil, err
	}
	if len(states) > 0 {
		if last := e.model.Load(); last == nil || *last != states[0].Model {
			model := states[0].Model
			e.model.Store(&model)
		}
	}
	return &ahead{states: states, oldest: oldest, vectors: asked{engine: e}}, nil
}

// prepare analyzes a question while the database looks for the states of the
// collections in scope, which is time that nobody needs, and embeds it too by
// the built-in model, which costs nothing, where that was wanted the last time.
func (e *Engine) prepare(ctx context.Context, scope viewer.Scope, q *Query) (*rank.Question, *ahead, error) {
	var question *rank.Question
	vectors := asked{engine: e, text: q.Text}
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		question = rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), q.AsYouType)
		if model := e.model.Load(); model != nil && *model == embed.BuiltinModel {
			if _, ok := e.models.Lookup(*model); ok {
				vectors.part(ctx, *model)
			}
		}
	}()
	found, err := e.look(ctx, scope, q.OldestAmong)
	if p := <-done; p != nil {
		panic(p)
	}
	if err != nil {
		return nil, nil, err
	}
	found.vectors = vectors
	return question, found, nil
}
