package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// SearchOptions configures Search and SearchUnderSync.
type SearchOptions struct {
	Passages  []int         // sizes of the collection in ascending order
	Clients   []int         // numbers of clients that ask at a time
	Duration  time.Duration // of each measurement
	Questions int           // the most different questions
	Baseline  bool          // also measure a Baseline
	Rounds    int           // pairs of measurements of SearchUnderSync
	Tiers     []Tier        // where the collection is searched, one after the other
}

// Every search of the benchmarks has these parameters.
const (
	SearchLimit    = 10
	SearchMinScore = 0.5 // the default of the server
)

// searchRun is a run of Search or SearchUnderSync.
type searchRun struct {
	SearchOptions

	stack     *Stack
	text      Text
	target    target
	filler    *filler
	questions []string
	baseline  *Baseline // nil without one
	markers   int       // words that documents of catch-ups got
}

// Search measures searches at several sizes of a collection, with several filters
// and numbers of clients.
func Search(ctx context.Context, s *Stack, text Text, o SearchOptions) (*SearchResult, error) {
	t, err := s.createTarget(ctx, collectionName)
	if err != nil {
		return nil, err
	}
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
	run := &searchRun{SearchOptions: o, stack: s, text: text, target: t, filler: newFiller(s, t, text), questions: questions}
	result := &SearchResult{Text: text, Model: s.Embedder.Model(), Questions: len(questions)}
	if o.Baseline {
		result.Baseline = BaselineSettings
		if run.baseline, err = OpenBaseline(ctx, s.OwnerURL, slices.Max(o.Clients), s.Embedder.Dimensions()); err != nil {
			return nil, err
		}
		defer run.baseline.Close()
	}
	for _, passages := range o.Passages {
		sizes, err := run.measureSize(ctx, passages)
		if err != nil {
			return nil, fmt.Errorf("%d passages: %w", passages, err)
		}
		result.Sizes = append(result.Sizes, sizes...)
	}
	result.Budgets = result.budgets()
	return result, nil
}

// measureSize grows the collection and measures each tier. The servers and the baseline
// are not busy at the same time.
func (r *searchRun) measureSize(ctx context.Context, passages int) (sizes []*SearchSize, err error) {
	size := &SearchSize{}
	_, before := r.filler.stored()
	elapsed, err := r.filler.grow(ctx, passages)
	if err != nil {
		return nil, err
	}
	size.Documents, size.Passages = r.filler.stored()
	size.LeftOut = len(r.filler.rejected)
	size.Documents -= size.LeftOut
	size.Duplicates, size.Added = r.filler.duplicates, size.Passages-before
	if size.Added > 0 {
		size.Ingest = float64(size.Added) / elapsed.Seconds()
	}
	start := time.Now()
	if err := r.stack.settle(ctx); err != nil {
		return nil, err
	}
	size.Settling = time.Since(start)
	for _, tier := range r.Tiers {
		measured := *size
		if err := r.measureTier(ctx, tier, &measured); err != nil {
			return nil, fmt.Errorf("tier %s: %w", tier, err)
		}
		sizes = append(sizes, &measured)
	}
	if r.baseline == nil {
		return sizes, nil
	}
	return sizes, r.measureBaseline(ctx, sizes)
}

// measureServer measures a server that it starts.
func (r *searchRun) measureServer(ctx context.Context, size *SearchSize) (err error) {
	srv, err := r.stack.startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if err := r.measureColdStart(ctx, srv, size); err != nil {
		return err
	}
	initialRSS := size.Memory.RSS
	asks := make(map[string]Ask)
	for _, filter := range synth.Filters() {
		ask, err := searches(srv.rest(r.target.key), r.questions, filter)
		if err != nil {
			return err
		}
		asks[filter.Name] = ask
		if err := warmUp(ctx, r.Duration, ask); err != nil {
			return err
		}
	}
	for _, filter := range synth.Filters() {
		for _, clients := range r.Clients {
			before, err := srv.metrics(ctx)
			if err != nil {
				return err
			}
			l := Load(ctx, clients, r.Duration, asks[filter.Name])
			if l.Errors > 0 {
				return fmt.Errorf("filter %s, %s: %w", filter.Name, humanize.Count(clients, "client"), l.failure())
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			after, err := srv.metrics(ctx)
			if err != nil {
				return err
			}
			size.Searches = append(size.Searches, SearchComparison{
				Filter: filter.Name, Share: float64(r.filler.selected[filter.Name]) / float64(size.Passages), Clients: clients, Magpie: l,
				Fallbacks: int(after.Fallbacks() - before.Fallbacks()),
			})
			r.stack.Display.Note("%d passages, %s, filter %s, %s: %.0f searches/s, p50 %s, p99 %s", size.Passages, size.Tier, filter.Name,
				humanize.Count(clients, "client"), l.PerSecond, humanize.Milliseconds(l.P50), humanize.Milliseconds(l.P99))
		}
	}
	metrics, err := srv.metrics(ctx)
	if err != nil {
		return err
	}
	size.Memory = memoryOf(metrics, initialRSS, size.Passages)
	return r.measureCatchUp(ctx, srv, size)
}

// warmUp makes calls that are not counted.
func warmUp(ctx context.Context, duration time.Duration, ask Ask) error {
	if l := Load(ctx, 2, duration, ask); l.Errors > 0 {
		return fmt.Errorf("warm up: %s", l.Error)
	}
	return nil
}

func memoryOf(metrics Metrics, initialRSS float64, passages int) SearchMemory {
	m := SearchMemory{RSS: metrics.RSS()}
	if m.RSS > 0 {
		m.Growth = m.RSS - initialRSS
		m.GrowthPerPassage = m.Growth / float64(passages)
	}
	m.Resident, m.ResidentPassages, _ = metrics.Resident()
	if m.ResidentPassages > 0 {
		m.ResidentPerPassage = m.Resident / m.ResidentPassages
	}
	return m
}

const (
	residentInterval = 5 * time.Millisecond
	// A server has residentTimeout, and residentTimeoutPerPassage for each passage,
	// to load a collection. Its metrics show a collection when it is complete.
	residentTimeout           = 5 * time.Second
	residentTimeoutPerPassage = 100 * time.Microsecond
	// residentShare is the share of the passages that a complete collection has at
	// least: documents that the catch-up of a smaller size changed may have fewer.
	residentShare = 0.99
)

// measureColdStart asks a new server its first question and waits until the server
// has loaded the collection.
func (r *searchRun) measureColdStart(ctx context.Context, srv *server, size *SearchSize) error {
	metrics, err := srv.metrics(ctx)
	if err != nil {
		return err
	}
	size.Memory.RSS = metrics.RSS()
	size.ColdStart.Ready = srv.startupTime
	ask, err := searches(srv.rest(r.target.key), r.questions, synth.Filter{})
	if err != nil {
		return err
	}
	start := time.Now()
	if _, err := ask(ctx, 0); err != nil {
		return fmt.Errorf("the first query: %w", err)
	}
	size.ColdStart.FirstQuery = time.Since(start)
	ticker := time.NewTicker(residentInterval)
	defer ticker.Stop()
	timeout := residentTimeout + time.Duration(size.Passages)*residentTimeoutPerPassage
	for {
		metrics, err := srv.metrics(ctx)
		if err != nil {
			return err
		}
		_, passages, ok := metrics.Resident()
		switch {
		case ok && passages >= residentShare*float64(size.Passages):
			elapsed := time.Since(start)
			size.ColdStart.Resident = &elapsed
			return nil
		case !ok, time.Since(start) > timeout:
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// searches returns an Ask that searches over HTTP, as a customer's program does,
// and reads the whole answer.
func searches(rest *client.REST, questions []string, filter synth.Filter) (Ask, error) {
	bodies := make([][]byte, len(questions))
	for i, question := range questions {
		body, err := json.Marshal(searchBody(question, SearchMinScore, filter))
		if err != nil {
			return nil, fmt.Errorf("encode the question: %w", err)
		}
		bodies[i] = body
	}
	return func(ctx context.Context, turn int) (int, error) {
		content, err := rest.SearchJSON(ctx, bodies[turn%len(bodies)])
		return bytes.Count(content, []byte(`"document_id":`)), err
	}, nil
}

func searchBody(question string, minScore float64, filter synth.Filter) map[string]any {
	body := map[string]any{"query": question, "limit": SearchLimit, "min_score": minScore, "highlight": true}
	if filters := filter.JSON(); filters != nil {
		body["filters"] = filters
	}
	return body
}

const (
	catchUpDocuments = 1000
	catchUpTimeout   = time.Minute
)

// measureCatchUp changes many documents while nobody searches. Then it searches
// until it finds the last document by its new word, and checks the others.
func (r *searchRun) measureCatchUp(ctx context.Context, srv *server, size *SearchSize) error {
	source := synth.NewGenerator(r.text.pages, seed)
	rest := srv.rest(r.target.key)
	result := &size.CatchUp
	var changed []uuid.UUID
	var words []string
	start := time.Now()
	for i := 0; i < size.Documents+size.LeftOut && len(changed) < catchUpDocuments; i++ {
		d := source.Next()
		if r.filler.rejected[d.Name] {
			continue
		}
		r.markers++
		word := Marker(r.markers)
		stored, id, err := r.filler.store(ctx, d, "It says "+word+" now.")
		if errors.Is(err, errNoText) {
			continue
		}
		if err != nil {
			return fmt.Errorf("change a document: %w", err)
		}
		changed, words = append(changed, id), append(words, word)
		result.Passages += len(stored.Passages)
	}
	committed := time.Now()
	result.Documents, result.Writing = len(changed), committed.Sub(start)
	last := len(changed) - 1
	for {
		found, err := finds(ctx, rest, words[last], changed[last])
		if err != nil {
			return err
		}
		if found {
			break
		}
		if time.Since(committed) > catchUpTimeout {
			return fmt.Errorf("a document that was changed %s ago is not found by its new word", catchUpTimeout)
		}
	}
	result.Seen = time.Since(committed)
	for i := range changed {
		found, err := finds(ctx, rest, words[i], changed[i])
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("document %d of %d that were changed is not found by its new word", i+1, len(changed))
		}
	}
	return nil
}

// finds reports whether a search for a word returns a document.
func finds(ctx context.Context, rest *client.REST, word string, id uuid.UUID) (bool, error) {
	answer, err := rest.Search(ctx, searchBody(word, 0, synth.Filter{}))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(answer.Results, func(hit client.PublicHit) bool { return hit.DocumentID == id }), nil
}

// measureBaseline fills the baseline with the same passages and measures it over
// the protocol of the database, from this process.
func (r *searchRun) measureBaseline(ctx context.Context, sizes []*SearchSize) error {
	size := sizes[0]
	if err := r.baseline.Reset(ctx); err != nil {
		return err
	}
	start := time.Now()
	if _, err := r.baseline.Copy(ctx, r.filler.replay(ctx, r.text)); err != nil {
		return err
	}
	size.BaselineCopy = time.Since(start)
	var err error
	if size.BaselineIndex, err = r.baseline.Index(ctx, baselineMemory(size.Passages, r.stack.Embedder.Dimensions())); err != nil {
		return err
	}
	r.stack.Display.Note("%d passages: the baseline is filled (%s) and indexed (%s)", size.Passages,
		humanize.Duration(size.BaselineCopy), humanize.Duration(size.BaselineIndex))
	filters := make(map[string]synth.Filter)
	for _, filter := range synth.Filters() {
		filters[filter.Name] = filter
		if l := Load(ctx, 2, r.Duration, r.askBaseline(filter)); l.Errors > 0 {
			return errors.New(l.Error)
		}
	}
	for i := range size.Searches {
		search := &size.Searches[i]
		l := Load(ctx, search.Clients, r.Duration, r.askBaseline(filters[search.Filter]))
		if l.Errors > 0 {
			return errors.New(l.Error)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		search.Baseline = &l
	}
	for _, other := range sizes[1:] {
		other.BaselineCopy, other.BaselineIndex = size.BaselineCopy, size.BaselineIndex
		for i := range other.Searches {
			other.Searches[i].Baseline = size.Searches[i].Baseline
		}
	}
	return nil
}

// askBaseline returns an Ask that embeds the question, as the server does, and asks
// the baseline.
func (r *searchRun) askBaseline(filter synth.Filter) Ask {
	return func(ctx context.Context, turn int) (int, error) {
		question := r.questions[turn%len(r.questions)]
		vectors, err := r.stack.Embedder.Embed(ctx, []string{question}, embed.Query)
		if err != nil {
			return 0, err
		}
		return r.baseline.Search(ctx, question, vectors[0], filter)
	}
}

// baselineMemory returns a maintenance_work_mem in which PostgreSQL can build the
// vector index of so many passages without spilling.
func baselineMemory(passages, dimensions int) string {
	const nodeBytes = 400 // neighbours and overhead at m = 16
	megabytes := passages * (4*dimensions + nodeBytes) * 3 / 2 >> 20
	return fmt.Sprintf("%dMB", min(max(megabytes, 64), 2000))
}
