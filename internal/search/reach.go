package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"magpie/internal/apierr"
	"magpie/internal/embed"
	"magpie/internal/index"
	"magpie/internal/search/postgres"
	"magpie/internal/search/rank"
	"magpie/internal/search/resident"
	"magpie/internal/viewer"
)

// reach is what one search looks at.
type reach struct {
	engine      *Engine
	workspace   uuid.UUID
	parts       []rank.Part
	states      []index.State      // of the parts
	stored      []*postgres.Source // those of the parts that hold a connection
	how         how
	permits     int64
	lexicalOnly bool
}

// how says how the tiers are to be asked.
type how struct {
	current bool // wait for everything that has been written
	stored  bool // PostgreSQL answers alone
}

// open finds the collections in scope and a tier for each. Without a question
// there are no vectors.
func (e *Engine) open(
	ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query, question *rank.Question, how how,
) (*reach, error) {
	states, err := e.store.States(ctx, scope)
	if err != nil {
		return nil, err
	}
	filter := q.Filters.filter()
	vectors := asked{engine: e}
	if question != nil {
		question.Restrict(filter)
		vectors.text = q.Text
	}
	r := &reach{engine: e, workspace: workspace, how: how}
	var rest []index.State
	var late []rank.Part
	for _, state := range states {
		if how.current {
			state.Required = state.Change
		}
		part := vectors.part(ctx, state.Model)
		var snapshot *resident.Snapshot
		if !how.stored {
			snapshot, err = e.snapshot(ctx, scope, state)
		}
		switch {
		case err != nil:
			return nil, err
		case snapshot == nil:
			rest, late = append(rest, state), append(late, part)
		default:
			part.Source = snapshot.View(filter)
			r.parts, r.states = append(r.parts, part), append(r.states, state)
		}
	}
	r.lexicalOnly = vectors.without
	if err := r.openStored(ctx, workspace, filter, rest, late); err != nil {
		r.close(ctx)
		return nil, err
	}
	return r, nil
}

// snapshot is a collection in memory; nil when it is too large or takes too
// long to be loaded.
func (e *Engine) snapshot(ctx context.Context, scope viewer.Scope, state index.State) (*resident.Snapshot, error) {
	if e.resident == nil {
		return nil, nil //nolint:nilnil // nil is the answer: another tier has it
	}
	snapshot, err := e.resident.Snapshot(ctx, scope, state)
	switch {
	case err == nil:
		return snapshot, nil
	case errors.Is(err, resident.ErrLoading), errors.Is(err, resident.ErrTooLarge):
		return nil, nil //nolint:nilnil // see above
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("load a collection: %w", err)
}

// openStored opens the collections that are not in memory. Each takes a
// connection, so that searches which need several wait until they can have all:
// else two of them could wait for each other for ever.
func (r *reach) openStored(ctx context.Context, workspace uuid.UUID, f *rank.Filter, states []index.State, parts []rank.Part) error {
	if len(states) == 0 {
		return nil
	}
	need := int64(len(states))
	if need > r.engine.most {
		return apierr.Invalid("collection", "too many large collections at once; name one")
	}
	if err := r.engine.permits.Acquire(ctx, need); err != nil {
		return fmt.Errorf("wait for connections: %w", err)
	}
	r.permits = need
	for i, state := range states {
		source, err := r.engine.tier.Open(ctx, workspace, state, f)
		if err != nil {
			return err
		}
		r.stored = append(r.stored, source)
		parts[i].Source = source
		r.parts, r.states = append(r.parts, parts[i]), append(r.states, state)
	}
	return nil
}

// close gives connections back. It may be called again.
func (r *reach) close(ctx context.Context) {
	for _, s := range r.stored {
		s.Close(ctx)
	}
	r.stored = nil
	r.engine.permits.Release(r.permits)
	r.permits = 0
}

// count counts documents by facets: those of the ranked passages, or with nil
// all that the filter leaves.
func (r *reach) count(ctx context.Context, ranked []rank.Ranked) (Facets, error) {
	sum := Facets{
		Section: map[string]int{}, Version: map[string]int{}, Language: map[string]int{},
		DocType: map[string]int{}, Tag: map[string]int{},
	}
	into := [rank.FacetCount]map[string]int{
		rank.FacetSection: sum.Section, rank.FacetVersion: sum.Version, rank.FacetLanguage: sum.Language,
		rank.FacetDocType: sum.DocType, rank.FacetTag: sum.Tag,
	}
	for i, p := range r.parts {
		var own []rank.Candidate
		if ranked != nil {
			own = []rank.Candidate{}
			for j := range ranked {
				if ranked[j].Part == i {
					own = append(own, ranked[j].Candidate)
				}
			}
			if len(own) == 0 {
				continue
			}
		}
		found, err := p.Source.Facets(ctx, own)
		if err != nil {
			return Facets{}, err
		}
		for f, values := range found {
			for value, n := range values {
				into[f][value] += n
			}
		}
	}
	return sum, nil
}

// asked embeds a question, once for each model.
type asked struct {
	engine  *Engine
	text    string // "" for no vectors
	known   map[string]rank.Part
	without bool // a model is not configured or did not answer
}

// part is the question's vector by a model. Words still find most of what is
// asked for where there is none.
func (a *asked) part(ctx context.Context, model string) rank.Part {
	if a.text == "" {
		return rank.Part{}
	}
	if p, ok := a.known[model]; ok {
		return p
	}
	var p rank.Part
	log := a.engine.opt.Log
	if embedder, ok := a.engine.models.Lookup(model); !ok {
		log.WarnContext(ctx, "a collection's embedding model is not configured; searching by words alone", slog.String("model", model))
		a.without = true
	} else if found, err := a.engine.embed(ctx, embedder, a.text); err != nil {
		log.WarnContext(ctx, "the question was not embedded; searching by words alone",
			slog.String("model", model), slog.Any("error", err))
		a.without = true
	} else {
		p = found
	}
	if a.known == nil {
		a.known = make(map[string]rank.Part)
	}
	a.known[model] = p
	return p
}

// embed is a question's vector and what the model takes for chance.
func (e *Engine) embed(ctx context.Context, model embed.Embedder, text string) (rank.Part, error) {
	chance, err := e.chances.of(ctx, model)
	if err != nil {
		return rank.Part{}, err
	}
	vectors, err := model.Embed(ctx, []string{text}, embed.Query)
	if err != nil {
		return rank.Part{}, fmt.Errorf("embed the question: %w", err)
	}
	if len(vectors) != 1 || len(vectors[0]) == 0 {
		return rank.Part{}, fmt.Errorf("embed the question: %d vectors for one text", len(vectors))
	}
	return rank.Part{Vector: vectors[0], Chance: chance, Meaning: model.Model() != embed.BuiltinModel}, nil
}
