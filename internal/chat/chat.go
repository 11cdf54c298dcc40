package chat

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Searcher finds the passages of an answer.
type Searcher interface {
	Search(ctx context.Context, scope viewer.Scope, q search.Query) (*search.Results, error)
}

// Request is one question.
type Request struct {
	// Message is the question. It is not blank and has at most 4,000
	// characters.
	Message string
	// Conversation continues a conversation of the same viewer. The zero value
	// starts a new one.
	Conversation uuid.UUID
	// Collection is the only collection to search. If it is zero, a key
	// searches its default collection, or the oldest that it reaches, and a
	// session searches all that it reaches.
	Collection uuid.UUID
	// Admit is called last, before the question is stored. Its error is
	// returned by Stream. Nil admits every question.
	Admit func(context.Context) error
}

// Options configure a Chat. The zero value is usable.
type Options struct {
	// Log receives errors that visitors do not see, with ids and without text;
	// nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Analyzer is shared with search; nil makes one.
	Analyzer *analysis.Analyzer
	// Passages is the maximum number of passages of an answer; 0 means 8.
	Passages int
	// MinScore is the search score, 0 to 1, that the best passage needs for an
	// answer by a model, and a follow-up question. 0 means
	// 0.25.
	MinScore float64
	// PromptTokens bounds a prompt; 0 means 12,000. Models with a small window
	// get less.
	PromptTokens int
	// AnswerTokens bounds an answer; 0 means 4096. A much longer answer is cut
	// off.
	AnswerTokens int
	// Tokens counts the tokens of prompts. Share the counter of the models; nil
	// makes one.
	Tokens *llm.TokenCounter
	// AnswerTimeout bounds an answer from the question to the last event; 0
	// means two minutes.
	AnswerTimeout time.Duration
	// RewriteTimeout bounds the calls that rewrite a follow-up and summarize
	// the conversation; 0 means ten seconds.
	RewriteTimeout time.Duration
	// StoreTimeout bounds the storing of an answer, which continues after the
	// reader has left; 0 means ten seconds.
	StoreTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Analyzer == nil {
		o.Analyzer = analysis.New()
	}
	if o.Passages <= 0 {
		o.Passages = 8
	}
	if o.MinScore <= 0 {
		o.MinScore = 0.25
	}
	if o.PromptTokens <= 0 {
		o.PromptTokens = 12_000
	}
	if o.AnswerTokens <= 0 {
		o.AnswerTokens = 4096
	}
	if o.Tokens == nil {
		o.Tokens = llm.NewTokenCounter()
	}
	if o.AnswerTimeout <= 0 {
		o.AnswerTimeout = 2 * time.Minute
	}
	if o.RewriteTimeout <= 0 {
		o.RewriteTimeout = 10 * time.Second
	}
	if o.StoreTimeout <= 0 {
		o.StoreTimeout = 10 * time.Second
	}
	return o
}

// Chat answers questions. It owns a goroutine for each answer. Close ends them
// and waits for them.
type Chat struct {
	client *ent.Client
	search Searcher
	models *llm.Models
	opt    Options

	mu         sync.Mutex
	closed     bool
	running    map[*answer]context.CancelCauseFunc
	goroutines sync.WaitGroup
}

// New returns a Chat over a database, a search engine and the configured
// models. Nil models mean none.
func New(client *ent.Client, s Searcher, models *llm.Models, opt Options) *Chat {
	if models == nil {
		models = new(llm.Models)
	}
	return &Chat{
		client: client, search: s, models: models, opt: opt.withDefaults(),
		running: make(map[*answer]context.CancelCauseFunc),
	}
}

// Models returns the names of the configured chat models, the default first.
// Without models, answers are made of quotes.
func (c *Chat) Models() []string { return c.models.Names() }

// Stream answers a question of the viewer in ctx. When Stream returns without
// an error, the conversation and the question are stored, and the channel
// yields the events. The channel is closed after Done or Failed, or without
// either when ctx ends. The text so far is stored in every case. A reader that
// stops reading must end ctx.
//
// A conversation stays in the collection in which it began.
//
// Errors: invalid_request for the message and for a collection other than the
// conversation's; forbidden "Collection access denied" for a collection that
// the key cannot reach; not_found for a collection or conversation that does
// not exist for this viewer; unavailable after Close.
func (c *Chat) Stream(ctx context.Context, req Request) (<-chan Event, error) {
	if err := validate(req.Message); err != nil {
		return nil, err
	}
	v, ok := viewer.From(ctx)
	if !ok {
		return nil, apierr.Wrap("chat", viewer.ErrNoViewer)
	}
	scope, pinned, err := c.resolveScope(ctx, v, req.Collection)
	if err != nil {
		return nil, apierr.Wrap("chat: collections", err)
	}
	state, err := c.loadConversation(ctx, v, req.Conversation)
	if err != nil {
		return nil, apierr.Wrap("chat: conversation", err)
	}
	if bound := state.collection; bound != uuid.Nil && bound != pinned {
		if req.Collection != uuid.Nil {
			return nil, apierr.Invalid("collection", "must be the one that the conversation began in")
		}
		if scope, pinned, err = c.resolveScope(ctx, v, bound); err != nil {
			return nil, apierr.Wrap("chat: collections", err)
		}
	}
	events := make(chan Event)
	a := &answer{chat: c, viewer: v, scope: scope, collection: pinned, question: req.Message, conversation: state, events: events}
	workCtx, cancel := context.WithCancelCause(ctx)
	if !c.register(a, cancel) {
		cancel(nil)
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again in a moment.")
	}
	if req.Admit != nil {
		if err := req.Admit(workCtx); err != nil {
			c.unregister(a)
			return nil, err
		}
	}
	if err := c.storeQuestion(workCtx, v, req.Message, pinned, &a.conversation); err != nil {
		c.unregister(a)
		return nil, apierr.Wrap("chat: conversation", err)
	}
	go func() {
		defer c.unregister(a)
		defer close(events)
		a.run(ctx, workCtx)
	}()
	return events, nil
}

// register adds an answer and reports whether the Chat is still open.
func (c *Chat) register(a *answer, cancel context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running[a] = cancel
	c.goroutines.Add(1)
	return true
}

// unregister removes an answer and releases its context.
func (c *Chat) unregister(a *answer) {
	c.mu.Lock()
	cancel := c.running[a]
	delete(c.running, a)
	c.mu.Unlock()
	cancel(nil)
	c.goroutines.Done()
}

// Close ends the answers in progress, stores their texts and waits for them.
// Stream fails afterwards. Close may be called more than once.
func (c *Chat) Close() {
	c.mu.Lock()
	c.closed = true
	for _, cancel := range c.running {
		cancel(errShuttingDown)
	}
	c.mu.Unlock()
	c.goroutines.Wait()
}
