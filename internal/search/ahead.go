package search

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ahead is what of a search is done while the database says which state the
// collections in scope have. They hardly ever have another one than the last time:
// so the question is embedded and what is in memory is searched as if that were
// known. Nothing of it counts before the answer is there and says the same.
type ahead struct {
	states  []index.State // the true ones
	oldest  uuid.UUID     // of Query.OldestAmong
	vectors asked
	guess   *reach       // what was searched; nil for nothing
	found   *rank.Result // in guess
}

// result is what was found in the reach, nil if something else was searched.
func (a *ahead) result(r *reach) *rank.Result {
	same := a.guess != nil && a.guess.readers.same(r.readers) && slices.EqualFunc(a.guess.members, r.members, func(x, y member) bool {
		return x.snapshot != nil && x.snapshot == y.snapshot && x.state.Collection == y.state.Collection &&
			x.state.Model == y.state.Model && (x.state.Open == nil) == (y.state.Open == nil) && slices.Equal(x.state.Open, y.state.Open)
	})
	if !same {
		return nil
	}
	return a.found
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
	e.states.set(scope, states)
	return &ahead{states: states, oldest: oldest, vectors: asked{engine: e}}, nil
}

// prepare analyzes a question and searches ahead, while the database looks for
// the states of the collections in scope.
func (e *Engine) prepare(ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query) (*rank.Question, *ahead, error) {
	var found *ahead
	var err error
	done := make(chan any, 1)
	jobs := make(chan *job, 1)
	defer close(jobs)
	go func() {
		func() {
			defer func() { done <- recover() }()
			found, err = e.look(ctx, scope, q.OldestAmong)
		}()
		for j := range jobs { // it is awake, and has nothing else to do
			j.run()
		}
	}()
	wait := sync.OnceValue(func() any { return <-done })
	defer wait()
	question := rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), q.AsYouType)
	var guessed ahead
	if states := e.states.get(scope); states != nil {
		guessed = e.searchAhead(ctx, scope, workspace, q, question, states, func(work func()) func() { return aside(jobs, work) })
	}
	if p := wait(); p != nil {
		panic(p)
	}
	if err != nil {
		return nil, nil, err
	}
	found.vectors.text = q.Text
	if slices.EqualFunc(guessed.states, found.states, func(a, b index.State) bool { return a.Model == b.Model }) {
		found.vectors = guessed.vectors
	}
	found.guess, found.found = guessed.guess, guessed.found
	return question, found, nil
}

// searchAhead searches collections in the states of the last time, where all of
// them are in memory; else it only embeds the question. What fails is for the
// search itself to find out.
func (e *Engine) searchAhead(ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query, question *rank.Question, states []index.State, aside rank.Aside) ahead {
	a := ahead{states: states, vectors: asked{engine: e, text: q.Text}}
	own := ahead{states: slices.Clone(states), vectors: a.vectors}
	guess, err := e.open(ctx, scope, workspace, q, question, how{loaded: true, wide: wide(q.passes(question)), ahead: &own})
	a.vectors = own.vectors
	if err != nil {
		return a
	}
	if found, err := e.rank(ctx, guess, q, question, aside); err == nil {
		a.guess, a.found = guess, found
	}
	return a
}

// job is work that somebody else may do.
type job struct {
	work func()
	done chan any // what it panicked with, nil for nothing
}

func (j *job) run() {
	defer func() { j.done <- recover() }()
	j.work()
}

// aside offers work to who reads jobs, which has room for one. Who waits for it
// does it, if nobody has begun.
func aside(jobs chan *job, work func()) (wait func()) {
	j := &job{work, make(chan any, 1)}
	select {
	case jobs <- j:
	default:
		j.run()
	}
	return func() {
		select {
		case left := <-jobs:
			left.run()
		default:
		}
		if p := <-j.done; p != nil {
			panic(p)
		}
	}
}

// errNotLoaded ends a look at what is in memory.
var errNotLoaded = errors.New("a collection is not in memory")

// states are those that the collections of scopes had the last time.
type states struct {
	mutex sync.Mutex
	known map[string][]index.State
}

const (
	// mostScopes is of how many scopes states are remembered; then all are forgotten.
	mostScopes = 4096
	// mostGuessed is the most collections of a scope that are remembered.
	mostGuessed = 64
)

func (s *states) get(scope viewer.Scope) []index.State {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.known[scopeKey(scope)]
}

// set remembers states, which are not changed any more.
func (s *states) set(scope viewer.Scope, list []index.State) {
	key := scopeKey(scope)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(list) == 0 || len(list) > mostGuessed {
		delete(s.known, key)
		return
	}
	if s.known == nil || len(s.known) >= mostScopes {
		s.known = make(map[string][]index.State)
	}
	s.known[key] = slices.Clone(list)
}

// scopeKey is different for different scopes.
func scopeKey(scope viewer.Scope) string {
	workspace, _ := scope.Workspace()
	ids, all := scope.Collections()
	key := append(make([]byte, 0, 16*(len(ids)+1)), workspace[:]...)
	if all {
		return string(append(key, '*'))
	}
	for _, id := range ids {
		key = append(key, id[:]...)
	}
	return string(key)
}
