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

// Searcher finds the passages that an answer is made from.
type Searcher interface {
	Search(ctx context.Context, scope viewer.Scope, q search.Query) (*search.Results, error)
}

// Request is one question.
type Request struct {
	// Message is the question: not blank, at most 4,000 characters.
	Message string
	// Conversation continues an earlier conversation of the same viewer; zero starts a new one.
	Conversation uuid.UUID
	// Collection is the only one to search; zero: a key's default collection, with none set the oldest it reaches, and
	// everything a session reaches.
	Collection uuid.UUID
	// Admit is asked last, before the question is stored; its error is Stream's. Nil admits.
	Admit func(context.Context) error
}

// Options are the settings of a Chat; the zero value is useful.
type Options struct {
	// Log receives what visitors are not told, with ids and without text; nil discards it.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Analyzer is shared with search; nil makes one.
	Analyzer *analysis.Analyzer
	// Passages is how many passages an answer is made from at most; 0 means 8.
	Passages int
	// MinScore is the search score from 0 to 1 that the best passage must reach to be a ground for an answer; those that
	// accompany it need half. 0 means 0.25.
	MinScore float64
	// PromptTokens bounds a prompt; 0 means 12,000. A model with a smaller window gets less.
	PromptTokens int
	// AnswerTokens bounds what a model may write; 0 means 4096. An answer that goes on far beyond is broken off.
	AnswerTokens int
	// Tokens counts what goes into prompts. Share the one of the models; nil makes one.
	Tokens *llm.TokenCounter
	// AnswerTimeout bounds one answer from question to last event; 0 means two minutes.
	AnswerTimeout time.Duration
	// RewriteTimeout bounds the calls that make a follow-up stand on its own and summarise what was said before; 0 means
	// ten seconds.
	RewriteTimeout time.Duration
	// StoreTimeout bounds the storing of an answer, which goes on when the reader has left; 0 means ten seconds.
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

// Chat answers questions. It owns a goroutine for each answer under way; Close ends and awaits them.
type Chat struct {
	client *ent.Client
	search Searcher
	models *llm.Models
	opt    Options

	mu      sync.Mutex
	closed  bool
	running map[*answer]context.CancelCauseFunc
	ended   sync.WaitGroup
}

// New makes a Chat over the application's database, a search engine and the configured models, which may be none.
func New(client *ent.Client, s Searcher, models *llm.Models, opt Options) *Chat {
	if models == nil {
		models = new(llm.Models)
	}
	return &Chat{
		client: client, search: s, models: models, opt: opt.withDefaults(),
		running: make(map[*answer]context.CancelCauseFunc),
	}
}

// Models are the names of the configured chat models, the default first; none when answers are made without a model.
func (c *Chat) Models() []string { return c.models.Names() }

// Stream answers a question of the viewer in ctx. When it returns without an error, the conversation stands, the question
// is stored, and the channel yields the events; it is closed after Done or Failed, and without a last event when ctx ends.
// What was said until then is stored in every case. A reader that stops reading must end ctx.
//
// A conversation stays in the collection that it began in.
//
// Errors: invalid_request for the message and for a collection that is not the conversation's, forbidden "Collection access denied" for a collection out of a key's reach,
// not_found for a collection or conversation that does not exist for this viewer, unavailable once closed.
func (c *Chat) Stream(ctx context.Context, req Request) (<-chan Event, error) {
	if err := validate(req.Message); err != nil {
		return nil, err
	}
	v, ok := viewer.From(ctx)
	if !ok {
		return nil, apierr.Wrap("chat", viewer.ErrNoViewer)
	}
	scope, pinned, err := c.reach(ctx, v, req.Collection)
	if err != nil {
		return nil, apierr.Wrap("chat: collections", err)
	}
	before, err := c.recall(ctx, v, req.Conversation)
	if err != nil {
		return nil, apierr.Wrap("chat: conversation", err)
	}
	if stays := before.collection; stays != uuid.Nil && stays != pinned {
		if req.Collection != uuid.Nil {
			return nil, apierr.Invalid("collection", "must be the one that the conversation began in")
		}
		if scope, pinned, err = c.reach(ctx, v, stays); err != nil {
			return nil, apierr.Wrap("chat: collections", err)
		}
	}
	events := make(chan Event)
	a := &answer{chat: c, viewer: v, scope: scope, question: req.Message, talk: before, events: events}
	work, cancel := context.WithCancelCause(ctx)
	if !c.begin(a, cancel) {
		cancel(nil)
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again in a moment.")
	}
	if req.Admit != nil {
		if err := req.Admit(work); err != nil {
			c.end(a)
			return nil, err
		}
	}
	if err := c.open(work, v, req.Message, pinned, &a.talk); err != nil {
		c.end(a)
		return nil, apierr.Wrap("chat: conversation", err)
	}
	go func() {
		defer c.end(a)
		defer close(events)
		a.run(ctx, work)
	}()
	return events, nil
}

// begin counts an answer in, unless the Chat is closed.
func (c *Chat) begin(a *answer, cancel context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running[a] = cancel
	c.ended.Add(1)
	return true
}

// end counts an answer out and releases its context.
func (c *Chat) end(a *answer) {
	c.mu.Lock()
	cancel := c.running[a]
	delete(c.running, a)
	c.mu.Unlock()
	cancel(nil)
	c.ended.Done()
}

// Close breaks off the answers under way, stores what they said and returns when all have ended. Questions asked
// afterwards are refused. It may be called more than once.
func (c *Chat) Close() {
	c.mu.Lock()
	c.closed = true
	for _, cancel := range c.running {
		cancel(errClosing)
	}
	c.mu.Unlock()
	c.ended.Wait()
}
