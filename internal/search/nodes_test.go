package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/engineserver"
	"github.com/magpie-search/magpie/worker/project"
)

// nodes is a collection that is projected into real nodes, and searched there.
type nodes struct {
	*fixture
	cluster   *engineserver.Cluster
	tier      *engine.Tier
	search    *search.Engine
	projector *project.Projector
	id        tenant
}

// newNodes sends batches of so many documents at most.
func newNodes(t *testing.T, c *engineserver.Cluster, documents int) *nodes {
	t.Helper()
	n := &nodes{fixture: newFixture(t), cluster: c}
	n.id = n.tenant()
	n.exec("update collections set search_tier = 'ENGINE' where id = $1", n.id.collection)
	backend, err := weaviate.Open(t.Context(), c.URLs(), weaviate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	n.projector = project.New(n.index, backend, project.Options{
		Dimensions: func(string) int { return 256 }, Documents: documents, Passages: 6 * documents, BatchBytes: documents << 10, CheckEvery: time.Second, SweepEvery: time.Second,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
	n.tier = engine.New(backend, engine.Options{Projections: n.projections, Feed: n.index, Timeout: 5 * time.Second})
	t.Cleanup(n.tier.Close)
	n.search = newEngine(t, n.db, analysis.New(), n.models, search.Options{Memory: -1, Distributed: n.tier})
	return n
}

// projections is what a process that searches makes of the rows of the projector.
func (n *nodes) projections(ctx context.Context, _ uuid.UUID) (map[uuid.UUID]engine.Projection, error) {
	rows, err := n.index.Projections(ctx, n.id.scope)
	out := map[uuid.UUID]engine.Projection{}
	for i := range rows {
		if p := &rows[i]; p.State == index.ProjectionReady {
			out[p.Collection] = engine.Projection{
				Class: p.Class, Model: p.Model, Position: index.Position{Generation: p.IndexGeneration, Change: p.Confirmed.Change}, Refused: p.Refused,
			}
		}
	}
	return out, err
}

// row returns the projection.
func (n *nodes) row() index.Projection {
	n.Helper()
	rows, err := n.index.Projections(n.Context(), n.id.scope)
	if err != nil || len(rows) > 1 {
		n.Fatal(rows, err)
	}
	if len(rows) == 0 {
		return index.Projection{}
	}
	return rows[0]
}

// tick works as a worker does each second.
func (n *nodes) tick() {
	n.Helper()
	if err := n.projector.Tick(n.Context()); err != nil {
		n.Fatal(err)
	}
}

// settle works until every replica is known to have everything.
func (n *nodes) settle() {
	n.Helper()
	began := time.Now()
	testkit.WaitWithin(n, 5*time.Minute, "every change to be confirmed", func() bool {
		_ = testkit.Delay(n.Context(), 100*time.Millisecond) // between the turns of a worker
		n.tick()
		row := n.row()
		return row.State == index.ProjectionReady && row.Confirmed == (index.Covered{Change: n.state(n.id).Change}) && row.Failures == 0
	})
	n.Logf("everything is confirmed after %s", time.Since(began).Round(time.Millisecond))
	// The tier reads how far the projection is once a second.
	<-time.NewTimer(1100 * time.Millisecond).C
}

// current reads the passages of the live documents of a collection.
type current struct{ documents map[uuid.UUID]uuid.UUID } // by passage

func (c *current) Begin(index.Position, string, bool) error {
	c.documents = map[uuid.UUID]uuid.UUID{}
	return nil
}

func (c *current) Entry(e *index.Entry) error {
	for i := range e.Passages {
		c.documents[e.Passages[i].ID] = e.Document
	}
	return nil
}

// ledger fails unless two replicas of each shard have the live passages, none older than its
// document, and nothing else.
func (n *nodes) ledger() {
	n.Helper()
	var live current
	if err := n.index.Changes(n.Context(), n.id.scope, index.State{Collection: n.id.collection}, index.Position{}, &live); err != nil {
		n.Fatal(err)
	}
	newest := map[uuid.UUID]int64{}
	for after := (index.FeedPosition{}); ; {
		changes, err := n.index.DocumentChanges(n.Context(), n.id.scope, n.id.collection, after, 1000)
		if err != nil {
			n.Fatal(err)
		}
		if len(changes) == 0 {
			break
		}
		for _, c := range changes {
			newest[c.Document], after = c.At.Number, c.At
		}
	}
	objects := map[string]int64{}
	for passage, document := range live.documents {
		objects[passage.String()] = newest[document]
	}
	n.cluster.Holds(n, n.row().Class, 2, objects)
}

// answered returns how many searches the engine has answered.
func (n *nodes) answered() int64 {
	s := n.tier.Stats()
	return s.Searches - s.Fallbacks
}

// answers repeats searches until the engine has answered one of them.
func (n *nodes) answers(when string, search func()) {
	n.Helper()
	before, tries := n.answered(), 0
	testkit.WaitFor(n, "the engine to answer "+when, func() bool {
		tries++
		search()
		return n.answered() > before+1 // another search may be on its way
	})
	n.Logf("the engine answers %s: %d searches in %d rounds", when, n.answered()-before, tries)
}

// ownWord returns a word that one part of one text has, of letters alone.
func ownWord(of string, i, part int) string {
	return fmt.Sprintf("%s%c%c%c", of, 'a'+i/26, 'a'+i%26, "kmq"[part])
}

// ownWords is a text of three parts.
func ownWords(of string, i int) string {
	var b strings.Builder
	for part := range 3 {
		fmt.Fprintf(&b, "# Part %d\n\nThe %s sleeps by day, and looks for food at night.\n\n", part, ownWord(of, i, part))
	}
	return b.String()
}

// finds fails unless a question finds the document at a path first, or nothing if the path
// is empty.
func (n *nodes) finds(ctx context.Context, question, path string) {
	n.Helper()
	r, err := n.search.Search(ctx, n.id.scope, search.Query{Text: question, Limit: 10, MinScore: 0.3})
	if err != nil {
		if ctx.Err() == nil {
			n.Errorf("%q: %v", question, err)
		}
		return
	}
	got := ""
	if len(r.Hits) > 0 {
		got, _, _ = strings.Cut(strings.TrimPrefix(r.Hits[0].URL, "https://docs.example/"), "#")
	}
	if got != path {
		n.Errorf("%q finds %q, want %q", question, got, path)
	}
}

func TestRealEngineAsATier(t *testing.T) {
	c := engineserver.Start(t, 3)
	t.Run("FindsWhatPostgreSQLFinds", func(t *testing.T) { nodesAgree(t, c) })
	t.Run("FindsWhatPostgreSQLFindsOfManyPassages", func(t *testing.T) { nodesAgreeOnMany(t, c) })
	t.Run("NodesDieWhileDocumentsChange", func(t *testing.T) { nodesDie(t, c) })
	t.Run("AStoppedNodeDoesNotAnswerWithWhatItHad", func(t *testing.T) { nodeIsStale(t, c) })
	t.Run("AnEngineThatLostEverythingGetsItAgain", func(t *testing.T) { nodesAreLost(t, c) }) // the last one
}

func nodesAgree(t *testing.T, c *engineserver.Cluster) {
	n := newNodes(t, c, 16)
	n.addFolder(n.id, demo, "docs")
	n.settle()
	n.ledger()
	agree(t, n.id, newEngine(t, n.db, analysis.New(), n.models, search.Options{Memory: -1}), n.search)
	// Only a filter that selects nothing makes PostgreSQL look.
	if s := n.tier.Stats(); s.Searches == 0 || s.Failures > 0 || s.Fallbacks != s.Doubts || s.Doubts > s.Searches/3 {
		t.Errorf("Stats = %+v", s)
	}
}

// nodesDie kills one node after another while documents change and go, and searches run.
// Whoever answers, a search finds what it must; the engine answers before, without a node, and
// in the end.
func nodesDie(t *testing.T, c *engineserver.Cluster) {
	n := newNodes(t, c, 16)
	const fixed, changing, leaving = 30, 30, 10
	for i := range fixed {
		n.add(n.id, fmt.Sprintf("fixed%d.md", i), ownWords("badger", i), nil)
	}
	n.settle()
	for victim := range 3 {
		var gone []uuid.UUID
		vole := fmt.Sprintf("vole%c", 'a'+victim)
		for i := range leaving {
			gone = append(gone, n.add(n.id, fmt.Sprintf("leaving%d.md", i), ownWords(vole, i), nil))
		}
		n.settle()
		n.answers("before a node dies", func() {
			for i := range leaving {
				n.finds(t.Context(), ownWord(vole, i, 1), fmt.Sprintf("leaving%d.md", i))
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		searches := 0
		running.Go(func() {
			for ; testkit.Delay(ctx, 10*time.Millisecond) == nil; searches++ {
				i := searches % fixed
				n.finds(ctx, ownWord("badger", i, searches%3), fmt.Sprintf("fixed%d.md", i))
			}
		})
		otter := func(round int) string { return fmt.Sprintf("otter%c%c", 'a'+victim, 'a'+round) }
		change := func(round int) {
			for i := range changing {
				n.add(n.id, fmt.Sprintf("changing%d.md", i), ownWords(otter(round), i), nil)
			}
		}
		change(0)
		// The node dies while objects are on their way.
		sent := n.projector.Objects()
		working := make(chan struct{})
		go func() {
			defer close(working)
			_ = n.projector.Tick(t.Context())
		}()
		testkit.WaitFor(t, "objects to be sent", func() bool { return n.projector.Objects() > sent })
		c.Kill(victim)
		<-working
		change(1)
		if _, err := n.index.SoftDelete(t.Context(), n.id.scope, index.Fence{}, gone); err != nil {
			t.Fatal(err)
		}
		n.tick()
		n.answers("without a node", func() {
			for i := range leaving {
				n.finds(t.Context(), ownWord(vole, i, 1), "")
				n.finds(t.Context(), ownWord(otter(1), i, 1), fmt.Sprintf("changing%d.md", i))
			}
		})
		c.Restart(victim)
		change(2)
		n.settle()
		stop()
		running.Wait()
		n.ledger()
		n.answers("when the node has everything again", func() {
			for i := range changing {
				for range 6 { // nodes take turns
					n.finds(t.Context(), ownWord(otter(2), i, 1), fmt.Sprintf("changing%d.md", i))
				}
			}
			for i := range leaving {
				n.finds(t.Context(), ownWord(vole, i, 1), "")
			}
		})
		t.Logf("node%d died under %d searches: %+v", victim+1, searches, n.tier.Stats())
	}
}

// nodeIsStale lets documents change while a node is away, so that it comes back with what
// they were.
func nodeIsStale(t *testing.T, c *engineserver.Cluster) {
	n := newNodes(t, c, 16)
	const documents = 30
	for i := range documents {
		n.add(n.id, fmt.Sprintf("document%d.md", i), ownWords("falcon", i), nil)
	}
	n.settle()
	ann, ben := viewerWith(t, []string{"user:ann"}), viewerWith(t, []string{"user:ben"})
	for victim := range 3 {
		c.Kill(victim)
		of := fmt.Sprintf("eagle%c", 'a'+victim)
		for i := range documents {
			n.add(n.id, fmt.Sprintf("document%d.md", i), ownWords(of, i), func(r *index.Record) { r.Readers = []string{"user:ann"} })
		}
		n.tick()
		c.Restart(victim)
		search := func() {
			for i := range documents {
				n.finds(ann, ownWord(of, i, 1), fmt.Sprintf("document%d.md", i))
				n.finds(ben, ownWord(of, i, 1), "")
				n.finds(ben, ownWord("falcon", i, 1), "")
			}
		}
		n.answers("when the node is back with what it had", search)
		n.settle()
		n.ledger()
		n.answers("when the node has everything", search)
	}
}

func nodesAreLost(t *testing.T, c *engineserver.Cluster) {
	n := newNodes(t, c, 16)
	const documents = 20
	for i := range documents {
		n.add(n.id, fmt.Sprintf("document%d.md", i), ownWords("heron", i), nil)
	}
	n.settle()
	before := n.row().Class
	search := func() {
		t.Helper()
		for i := range documents {
			n.finds(t.Context(), ownWord("heron", i, 2), fmt.Sprintf("document%d.md", i))
		}
	}
	c.Lose()
	answered := n.answered()
	search()
	if n.answered() > answered {
		t.Error("an engine without the class answers")
	}
	// A try may meet the engine before it works: that is stored, and no failure of the worker.
	testkit.WaitWithin(t, 5*time.Minute, "another class", func() bool {
		if err := n.projector.Tick(t.Context()); err != nil && !errors.Is(err, engine.ErrNoClass) {
			t.Fatal(err)
		}
		return n.row().Class != before
	})
	n.settle()
	n.ledger()
	testkit.WaitFor(t, "searches in the engine again", func() bool {
		before := n.answered()
		search()
		return n.answered()-before >= documents
	})
}
