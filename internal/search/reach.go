package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// reach is what one search looks at.
type reach struct {
	engine      *Engine
	workspace   uuid.UUID
	parts       []rank.Part
	states      []index.State      // of the parts
	members     []member           // of the parts, and after them those that only facets look at
	stored      []*postgres.Source // those of the parts that hold a connection
	how         how
	readers     readers
	permits     int64
	lexicalOnly bool
}

// member is a collection with the tier that has it.
type member struct {
	state    index.State
	part     rank.Part
	snapshot *resident.Snapshot
	stored   *postgres.Source
	readers  readers
}

// through is the collection as a part that is seen through a filter.
func (m *member) through(ctx context.Context, f *rank.Filter) (rank.Part, error) {
	part := m.part
	f = m.readers.within(f, &m.state, m.snapshot == nil)
	if m.snapshot != nil {
		part.Source = m.snapshot.View(f)
		return part, nil
	}
	source, err := m.stored.With(ctx, f)
	if err != nil {
		return rank.Part{}, fmt.Errorf("look at a collection again: %w", err)
	}
	part.Source = source
	return part, nil
}

// how says how the tiers are to be asked.
type how struct {
	current bool   // wait for everything that has been written
	stored  bool   // PostgreSQL answers alone
	loaded  bool   // only what is in memory is opened, in whatever state it is
	wide    bool   // collections that the filters leave out are members, too
	ahead   *ahead // nil for nothing
}

// open finds the collections in scope and a tier for each. Without a question
// there are no vectors.
func (e *Engine) open(
	ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query, question *rank.Question, how how,
) (*reach, error) {
	readers, err := readersOf(ctx)
	if err != nil {
		return nil, err
	}
	if how.ahead == nil {
		if how.ahead, err = e.look(ctx, scope, nil); err != nil {
			return nil, err
		}
	}
	states, vectors := how.ahead.states, &how.ahead.vectors
	filter := q.Filters.filter()
	if question != nil {
		question.Restrict(filter)
		vectors.text = q.Text
	}
	r := &reach{engine: e, workspace: workspace, how: how, readers: readers}
	var rest []index.State
	var late []member
	missing := false
	for _, state := range q.Filters.chosen(states, how.wide) {
		if how.current {
			state.Required = state.Change
		}
		part := vectors.part(ctx, state.Model)
		var snapshot *resident.Snapshot
		var err error
		switch {
		case how.loaded:
			snapshot = e.loaded(scope, state)
		case !how.stored:
			snapshot, err = e.snapshot(ctx, scope, state)
		}
		switch {
		case how.loaded && snapshot == nil:
			missing = true // the question is embedded all the same
		case err != nil:
			return nil, err
		case snapshot == nil:
			rest, late = append(rest, state), append(late, member{state: state, part: part, readers: readers})
		default:
			part.Source = snapshot.View(readers.within(filter, &state, false))
			r.members = append(r.members, member{state: state, part: part, snapshot: snapshot, readers: readers})
		}
	}
	if missing {
		return nil, errNotLoaded
	}
	r.lexicalOnly = vectors.without
	if err := r.openStored(ctx, workspace, filter, rest, late); err != nil {
		r.close(ctx)
		return nil, err
	}
	// Stable, so that parts are the first members, in the order of theirs.
	slices.SortStableFunc(r.members, func(a, b member) int {
		x, y := q.Filters.includes(a.state.Collection), q.Filters.includes(b.state.Collection)
		switch {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	})
	for i := range r.members {
		if q.Filters.includes(r.members[i].state.Collection) {
			r.parts, r.states = append(r.parts, r.members[i].part), append(r.states, r.members[i].state)
		}
	}
	return r, nil
}

// includes reports whether the filters leave a collection in.
func (f *Filters) includes(collection uuid.UUID) bool {
	return len(f.Collections) == 0 || slices.Contains(f.Collections, collection)
}

// chosen are the states of collections that the filters leave in; of all, when
// wide.
func (f *Filters) chosen(states []index.State, wide bool) []index.State {
	if wide || len(f.Collections) == 0 {
		return states
	}
	return slices.DeleteFunc(states, func(s index.State) bool { return !f.includes(s.Collection) })
}

// count counts the documents of what each pass finds. ranked is what the search
// itself found. Passes look at collections in memory at the same time; those in
// PostgreSQL share a connection.
func (r *reach) count(ctx context.Context, q *Query, question *rank.Question, ranked []rank.Ranked, passes []*pass) ([]Facet, error) {
	work, ctx := errgroup.WithContext(ctx)
	if work.SetLimit(runtime.GOMAXPROCS(0)); len(r.stored) > 0 {
		work.SetLimit(1)
	}
	for _, p := range passes {
		work.Go(func() error { return r.countPass(ctx, q, question, ranked, p) })
	}
	if err := work.Wait(); err != nil {
		return nil, fmt.Errorf("count facets: %w", err)
	}
	return q.facets(passes), nil
}

func (r *reach) countPass(ctx context.Context, q *Query, question *rank.Question, ranked []rank.Ranked, p *pass) error {
	parts, found := r.parts, ranked
	if p.filter != nil {
		members := r.members
		if !p.wide {
			members = members[:len(r.parts)]
		}
		parts = make([]rank.Part, len(members))
		for i := range members {
			var err error
			if parts[i], err = members[i].through(ctx, p.filter); err != nil {
				return err
			}
		}
		again, err := r.engine.ranker.Search(ctx, parts, question, rank.Options{Least: q.MinScore, Now: start(q)})
		if err != nil {
			return fmt.Errorf("search again: %w", err)
		}
		found = again.Ranked
	}
	own := make([][]rank.Candidate, len(parts))
	seen := make(map[uuid.UUID]bool, len(found))
	for i := range found {
		if at := found[i].Part; !seen[found[i].Document] { // one passage is enough
			seen[found[i].Document] = true
			own[at] = append(own[at], found[i].Candidate)
		}
	}
	for i := range parts {
		if len(own[i]) == 0 {
			continue
		}
		p.request.Passages = own[i]
		counts, err := parts[i].Source.Facets(ctx, &p.request)
		if err != nil {
			return fmt.Errorf("count a collection: %w", err)
		}
		p.add(r.members[i].state.Collection, counts)
	}
	return nil
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

// loaded is a collection in memory as it is there; nil when it is not.
func (e *Engine) loaded(scope viewer.Scope, state index.State) *resident.Snapshot {
	if e.resident == nil {
		return nil
	}
	return e.resident.Loaded(scope, state.Collection)
}

// openStored opens the collections that are not in memory. Each takes a
// connection, so that searches which need several wait until they can have all:
// else two of them could wait for each other for ever.
func (r *reach) openStored(ctx context.Context, workspace uuid.UUID, f *rank.Filter, states []index.State, late []member) error {
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
		source, err := r.engine.tier.Open(ctx, workspace, state, r.readers.within(f, &state, true))
		if err != nil {
			return err
		}
		r.stored = append(r.stored, source)
		late[i].stored, late[i].part.Source = source, source
		r.members = append(r.members, late[i])
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
		if !errors.Is(err, embed.ErrPassedOver) && ctx.Err() == nil {
			log.WarnContext(ctx, "the question was not embedded; searching by words alone",
				slog.String("model", model), slog.Any("error", err))
		}
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
	asked := e.question[model.Model()]
	var vector []float32
	if asked != nil {
		var err error
		if vector, err = asked.Embed(ctx, text); err != nil {
			return rank.Part{}, err
		}
	} else {
		vectors, err := model.Embed(ctx, []string{text}, embed.Query)
		if err != nil {
			return rank.Part{}, fmt.Errorf("embed the question: %w", err)
		}
		if len(vectors) != 1 || len(vectors[0]) == 0 {
			return rank.Part{}, fmt.Errorf("embed the question: %d vectors for one text", len(vectors))
		}
		vector = vectors[0]
	}
	chance, err := e.chances.of(ctx, model, asked)
	if err != nil {
		return rank.Part{}, err
	}
	return rank.Part{Vector: vector, Chance: chance, Meaning: model.Model() != embed.BuiltinModel}, nil
}
