package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/ent/privacy"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// fixture is a database with two workspaces.
type fixture struct {
	client      *ent.Client
	mine, other uuid.UUID
	docs, wiki  uuid.UUID // collections of mine, the older first
	foreign     uuid.UUID // a collection of other
	log         *logBuffer
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	w := &fixture{client: db.Ent, log: new(logBuffer)}
	all := privacy.DecisionContext(t.Context(), privacy.Allow) // workspaces belong to no workspace
	w.mine = db.Ent.Workspace.Create().SetName("Mine").SaveX(all).ID
	w.other = db.Ent.Workspace.Create().SetName("Other").SaveX(all).ID
	w.docs = w.collection(t, w.mine, "Docs")
	w.wiki = w.collection(t, w.mine, "Wiki")
	w.foreign = w.collection(t, w.other, "Docs")
	return w
}

func (w *fixture) collection(t testing.TB, workspace uuid.UUID, name string) uuid.UUID {
	t.Helper()
	ctx := viewer.With(t.Context(), viewer.System(workspace))
	return w.client.Collection.Create().SetName(name).SetEmbeddingModel("builtin").SaveX(ctx).ID
}

// key returns a new API key of mine with access to the collections; none means
// all.
func (w *fixture) key(collections ...uuid.UUID) viewer.Viewer {
	return viewer.Viewer{
		Workspace: w.mine, Subject: gid.New(gid.APIKey), Kind: viewer.KindKey, Surface: viewer.SurfacePublic,
		AllCollections: len(collections) == 0, Collections: collections,
	}
}

func (w *fixture) session() viewer.Viewer {
	return viewer.Viewer{
		Workspace: w.mine, Subject: gid.New(gid.User), Kind: viewer.KindSession, Surface: viewer.SurfaceDashboard,
		Role: viewer.RoleViewer, AllCollections: true,
	}
}

// chat returns a Chat that is closed at the end of the test.
func (w *fixture) chat(t testing.TB, s chat.Searcher, models *llm.Models, opt chat.Options) *chat.Chat {
	t.Helper()
	opt.Log = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := chat.New(w.client, s, models, opt)
	t.Cleanup(c.Close)
	return c
}

// messages reads the stored messages of a conversation.
func (w *fixture) messages(t *testing.T, conversation uuid.UUID) []*ent.Message {
	t.Helper()
	return w.client.Message.Query().Where(message.ConversationID(conversation)).
		Order(ent.Asc(message.FieldCreatedAt, message.FieldID)).
		AllX(viewer.With(t.Context(), viewer.System(w.mine)))
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// fakeSearcher is a search engine that always finds the same passages.
type fakeSearcher struct {
	hits []search.Hit
	err  error
	// unanswered are subjects that find nothing as follow-ups; other follow-ups
	// find the hits with score 0.9.
	unanswered []string

	mu      sync.Mutex
	queries []search.Query
	scopes  [][]uuid.UUID // nil: everything
}

func (l *fakeSearcher) Search(ctx context.Context, scope viewer.Scope, q search.Query) (*search.Results, error) {
	if _, err := scope.Workspace(); err != nil {
		return nil, err
	}
	ids, all := scope.Collections()
	if !all && ids == nil {
		ids = []uuid.UUID{}
	}
	l.mu.Lock()
	l.queries = append(l.queries, q)
	l.scopes = append(l.scopes, ids)
	l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	results := new(search.Results)
	for _, hit := range l.hits {
		if q.MinScore == followUpScore {
			hit.Score = 0.9
		}
		if slices.Contains(l.unanswered, q.Text) {
			hit.Score = 0.1
		}
		if hit.Score >= q.MinScore && len(results.Hits) < q.Limit {
			results.Hits = append(results.Hits, hit)
		}
	}
	return results, ctx.Err()
}

// followUpScore is the minimum score that only searches for follow-ups use.
const followUpScore = 0.25

// answerQueries returns the texts of searches for answers, without those for
// follow-ups.
func (l *fakeSearcher) answerQueries() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var texts []string
	for _, q := range l.queries {
		if q.MinScore != followUpScore {
			texts = append(texts, q.Text)
		}
	}
	return texts
}

// passage returns a passage of the document with a title. Equal titles mean the
// same document.
func passage(title, heading, text string, score float64) search.Hit {
	return search.Hit{
		Passage: gid.New(gid.Passage), Document: uuid.NewSHA1(uuid.Nil, []byte(title)), Title: title,
		URL:  "https://docs.example/" + strings.ToLower(strings.ReplaceAll(title, " ", "-")),
		Text: text, Headings: []string{title, heading}, Language: "en", Score: score,
	}
}

func retryPassages() []search.Hit {
	return []search.Hit{
		passage("Retries", "The retry policy", "Tidewater tries a failed job eight times. The pause grows with each attempt.", 0.82),
		passage("Retries", "Dead letters", "A job that failed for good becomes a dead letter. Dead letters stay for thirty days.", 0.64),
		passage("Queues", "Create a queue", "Every queue has a policy of its own. Attempts are counted for each job.", 0.55),
		passage("Limits", "Payload size", "A payload may have one mebibyte.", 0.31),
	}
}

// completionRequest is a request as the provider receives it.
type completionRequest struct {
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens int    `json:"max_tokens"`
	Messages  []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
}

func (c completionRequest) last() string { return c.Messages[len(c.Messages)-1].Content }

// scriptedProvider is an HTTP server with the streaming chat completions
// protocol. Each request gets the next reply of the script.
type scriptedProvider struct {
	server   *httptest.Server
	mu       sync.Mutex
	script   []reply
	received []completionRequest
}

type reply func(p *replyWriter)

// replyWriter writes one streamed completion.
type replyWriter struct {
	w       http.ResponseWriter
	r       *http.Request
	request completionRequest
}

func newProvider(t *testing.T, scenes ...reply) *scriptedProvider {
	t.Helper()
	p := &scriptedProvider{script: scenes}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c completionRequest
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") || !c.Stream {
			http.Error(w, "not a streamed chat completion", http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		p.received = append(p.received, c)
		var play reply
		if len(p.script) > 0 {
			play, p.script = p.script[0], p.script[1:]
		}
		p.mu.Unlock()
		if play == nil {
			http.Error(w, "the script is at its end", http.StatusBadRequest)
			return
		}
		play(&replyWriter{w: w, r: r, request: c})
	}))
	t.Cleanup(p.server.Close)
	return p
}

func (p *scriptedProvider) requests() []completionRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]completionRequest(nil), p.received...)
}

func (p *replyWriter) event(data string) {
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = fmt.Fprintf(p.w, "data: %s\n\n", data)
	_ = http.NewResponseController(p.w).Flush()
}

func (p *replyWriter) text(pieces ...string) {
	for _, piece := range pieces {
		quoted, _ := json.Marshal(piece)
		p.event(`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":` + string(quoted) + `},"finish_reason":null}]}`)
	}
}

func (p *replyWriter) end(prompt, written int) {
	p.event(`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	p.event(fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, prompt, written, prompt+written))
	p.event("[DONE]")
}

// textReply is a reply of the given pieces.
func textReply(pieces ...string) reply {
	return func(p *replyWriter) {
		p.text(pieces...)
		p.end(100, len(pieces))
	}
}

// transcript is a finished stream.
type transcript struct {
	conversation uuid.UUID
	text         string
	pieces       int
	sources      []chat.Source
	questions    []string
	done         *chat.Done
	failed       *chat.Failed
	order        string // s, c, S, f, d or ! for each event, repeated c once
}

func (l *transcript) add(event chat.Event) {
	mark := ""
	switch e := event.(type) {
	case chat.Start:
		mark, l.conversation = "s", e.Conversation
	case chat.Content:
		mark = "c"
		l.text += e.Delta
		l.pieces++
	case chat.Sources:
		mark, l.sources = "S", e.Sources
	case chat.FollowUp:
		mark, l.questions = "f", e.Questions
	case chat.Done:
		mark, l.done = "d", &e
	case chat.Failed:
		mark, l.failed = "!", &e
	}
	if mark != "c" || !strings.HasSuffix(l.order, "c") {
		l.order += mark
	}
}

// ask reads one answer to its end.
func ask(t *testing.T, c *chat.Chat, v viewer.Viewer, req chat.Request) *transcript {
	t.Helper()
	l, err := stream(t.Context(), c, v, req)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stream is ask for goroutines, which must not end the test.
func stream(ctx context.Context, c *chat.Chat, v viewer.Viewer, req chat.Request) (*transcript, error) {
	ctx, cancel := context.WithTimeout(viewer.With(ctx, v), time.Minute)
	defer cancel()
	events, err := c.Stream(ctx, req)
	if err != nil {
		return nil, err
	}
	l := new(transcript)
	for event := range events {
		l.add(event)
	}
	return l, ctx.Err()
}
