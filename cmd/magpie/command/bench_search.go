package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/model/embed"
)

type benchSearchCommand struct {
	corpusFlags

	Passages   []int   `default:"10000,100000,500000" help:"Sizes of the collection, in passages, in ascending order."`
	Clients    []int   `default:"1,8,32" help:"How many clients ask at once."`
	Seconds    float64 `default:"5" help:"How long each measurement takes."`
	Questions  int     `default:"600" help:"How many different questions are asked, at most."`
	NoBaseline bool    `help:"Leave pgvector with ts_rank_cd out."`
	UnderSync  bool    `help:"Measure the smallest size only, without a baseline: quiet, and while a worker takes all documents anew."`
	Rounds     int     `default:"5" help:"Pairs of measurements with --under-sync, of which the medians count."`
	Keep       bool    `help:"Keep the data, in bench-search of the data folder."`
}

// What every search of the bench asks for.
const (
	benchLimit    = 10
	benchMinScore = 0.5 // the server's default
)

// searchBench is what was measured.
type searchBench struct {
	Machine  bench.Machine `json:"machine"`
	Text     benchText     `json:"text"`
	Model    string        `json:"model"`
	Asked    int           `json:"questions"`
	Baseline string        `json:"baseline,omitempty"`
	Sizes    []*sizeBench  `json:"sizes"`
	Budgets  []budget      `json:"budgets"`
}

// sizeBench is what was measured at one size of the collection.
type sizeBench struct {
	Passages  int `json:"passages"`
	Documents int `json:"documents"`
	// LeftOut are generated documents that could not be read, which are not among Documents.
	LeftOut    int `json:"documentsLeftOut"`
	Duplicates int `json:"duplicatePassages"`
	// Ingest is passages a second, from text to searchable; of those that this size added.
	Added    int           `json:"addedPassages"`
	Ingest   float64       `json:"ingestPassagesPerSecond"`
	Tidy     time.Duration `json:"vacuumAndIndexesNanoseconds"`
	Cold     coldStart     `json:"cold"`
	Memory   searchMemory  `json:"memory"`
	CatchUp  catchUp       `json:"catchUp"`
	Searches []comparison  `json:"searches"`
	// BaselineCopy and BaselineIndex are how long the baseline's table took to fill and to index.
	BaselineCopy  time.Duration `json:"baselineCopyNanoseconds,omitempty"`
	BaselineIndex time.Duration `json:"baselineIndexNanoseconds,omitempty"`
}

// coldStart is the way of a new server process to its first answers. The caches
// of PostgreSQL and the system are warm.
type coldStart struct {
	Ready      time.Duration `json:"readyNanoseconds"`
	FirstQuery time.Duration `json:"firstQueryNanoseconds"`
	// Resident is from the first query until the whole collection is in memory;
	// nil when the server does not tell or does not keep it there.
	Resident *time.Duration `json:"residentNanoseconds"`
}

// searchMemory is what the collection costs the server, in bytes.
type searchMemory struct {
	// Resident is what the index says it holds; 0 when it does not tell.
	Resident           float64 `json:"residentBytes"`
	ResidentPassages   float64 `json:"residentPassages"`
	ResidentPerPassage float64 `json:"residentBytesPerPassage"`
	// RSS is the process's memory after all measurements, Grown by how much more
	// that is than before the first query: garbage and buffers are in it.
	RSS             float64 `json:"rssBytes"`
	Grown           float64 `json:"rssGrownBytes"`
	GrownPerPassage float64 `json:"rssGrownBytesPerPassage"`
}

// catchUp is how long changed documents take to be found.
type catchUp struct {
	Documents int           `json:"documents"`
	Passages  int           `json:"passages"`
	Writing   time.Duration `json:"writingNanoseconds"`
	// Seen is from the last commit until a search has found the last document.
	Seen time.Duration `json:"seenNanoseconds"`
}

// comparison is one filter and number of clients.
type comparison struct {
	Filter string `json:"filter"`
	// Share is the share of the passages that the filter selects.
	Share    float64          `json:"share"`
	Clients  int              `json:"clients"`
	Magpie   bench.Latencies  `json:"magpie"`
	Baseline *bench.Latencies `json:"baseline,omitempty"`
}

func (c *benchSearchCommand) check() error {
	switch {
	case len(c.Passages) == 0 || slices.Min(c.Passages) < 1:
		return errors.New("--passages must be 1 or more")
	case !slices.IsSorted(c.Passages):
		return errors.New("--passages must be in ascending order: the collection grows from one to the next")
	case len(c.Clients) == 0 || slices.Min(c.Clients) < 1:
		return errors.New("--clients must be 1 or more")
	case !(c.Seconds > 0):
		return errors.New("--seconds must be more than 0")
	case c.Questions < 1:
		return errors.New("--questions must be 1 or more")
	case c.Rounds < 1:
		return errors.New("--rounds must be 1 or more")
	}
	return nil
}

// Run measures with a Magpie of its own, whose data it deletes at the end.
func (c benchSearchCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before it is busy with this
	text, err := c.read(r)
	if err != nil {
		return err
	}
	for _, folder := range text.Folders {
		r.console.Note("text from %s", folder)
	}
	if c.UnderSync {
		result, err := c.underSync(r, text)
		if err != nil {
			return err
		}
		result.Machine = machine
		return r.console.Result(result, func() { result.print(r.console) })
	}
	b, err := openBenchStack(r, "bench-search")
	var result *searchBench
	if err == nil {
		result, err = c.measure(r, b, text)
	}
	if err := errors.Join(err, b.close(r, c.Keep)); err != nil {
		return err
	}
	result.Machine = machine
	return r.console.Result(result, func() { result.print(r.console) })
}

// searchRun is one run of the command.
type searchRun struct {
	*benchSearchCommand
	*runtime

	stack     *benchStack
	target    benchTarget
	filler    *filler
	text      benchText
	questions []string
	baseline  *bench.Baseline
}

func (c *benchSearchCommand) measure(r *runtime, b *benchStack, text benchText) (*searchBench, error) {
	target, err := b.target(r)
	if err != nil {
		return nil, err
	}
	run := &searchRun{
		benchSearchCommand: c, runtime: r, stack: b, target: target, filler: newFiller(b, target, text.pages), text: text,
		questions: bench.Questions(text.pages, c.Questions, benchSeed),
	}
	if len(run.questions) == 0 {
		return nil, errors.New("no question can be made of the text")
	}
	result := &searchBench{Text: text, Model: run.filler.embedder.Model(), Asked: len(run.questions)}
	if !c.NoBaseline {
		result.Baseline = bench.BaselineSettings
		if run.baseline, err = bench.OpenBaseline(r, b.services.OwnerURL, slices.Max(c.Clients), run.filler.embedder.Dimensions()); err != nil {
			return nil, err
		}
		defer run.baseline.Close()
	}
	for _, passages := range c.Passages {
		size, err := run.size(passages)
		if err != nil {
			return nil, fmt.Errorf("%d passages: %w", passages, err)
		}
		result.Sizes = append(result.Sizes, size)
	}
	result.Budgets = result.judge()
	return result, nil
}

// size grows the collection and measures. The server and the baseline are never
// busy at the same time.
func (s *searchRun) size(passages int) (size *sizeBench, err error) {
	size = &sizeBench{}
	_, before := s.filler.stored()
	taken, err := s.filler.until(s, s.console, passages)
	if err != nil {
		return nil, err
	}
	size.Documents, size.Passages = s.filler.stored()
	size.LeftOut = len(s.filler.leftOut)
	size.Documents -= size.LeftOut
	size.Duplicates, size.Added = s.filler.duplicates, size.Passages-before
	if size.Added > 0 {
		size.Ingest = float64(size.Added) / taken.Seconds()
	}
	began := time.Now()
	if err := s.stack.tidy(s); err != nil {
		return nil, err
	}
	size.Tidy = time.Since(began)
	if err := s.ofMagpie(size); err != nil {
		return nil, err
	}
	if s.baseline == nil {
		return size, nil
	}
	return size, s.ofBaseline(size)
}

// ofMagpie measures a server that is started for it.
func (s *searchRun) ofMagpie(size *sizeBench) (err error) {
	server, err := s.stack.serve(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if err := s.cold(server, size); err != nil {
		return err
	}
	fresh := size.Memory.RSS
	asks := make(map[string]bench.Ask)
	for _, filter := range bench.Filters() {
		ask, err := s.ask(server, filter)
		if err != nil {
			return err
		}
		asks[filter.Name] = ask
		if warm := bench.Load(s, 2, s.length(1), ask); warm.Errors > 0 {
			return fmt.Errorf("warm up: %s", warm.Error)
		}
	}
	for _, filter := range bench.Filters() {
		for _, clients := range s.Clients {
			taken := bench.Load(s, clients, s.length(1), asks[filter.Name])
			if taken.Errors > 0 {
				return fmt.Errorf("filter %s, %s: %s, the first: %s", filter.Name, console.Count(clients, "client"), console.Count(taken.Errors, "error"), taken.Error)
			}
			if err := s.Err(); err != nil {
				return err
			}
			size.Searches = append(size.Searches, comparison{
				Filter: filter.Name, Share: float64(s.filler.selected[filter.Name]) / float64(size.Passages), Clients: clients, Magpie: taken,
			})
			s.console.Note("%d passages, filter %s, %s: %.0f searches/s, p50 %s, p99 %s", size.Passages, filter.Name,
				console.Count(clients, "client"), taken.PerSecond, fine(taken.P50), fine(taken.P99))
		}
	}
	metrics, err := bench.ReadMetrics(s, server.client, server.url)
	if err != nil {
		return err
	}
	size.Memory = memoryOf(metrics, fresh, size.Passages)
	return s.catchUp(server, size)
}

func memoryOf(metrics bench.Metrics, fresh float64, passages int) searchMemory {
	m := searchMemory{RSS: metrics.RSS()}
	if m.RSS > 0 {
		m.Grown = m.RSS - fresh
		m.GrownPerPassage = m.Grown / float64(passages)
	}
	m.Resident, m.ResidentPassages, _ = metrics.Resident()
	if m.ResidentPassages > 0 {
		m.ResidentPerPassage = m.Resident / m.ResidentPassages
	}
	return m
}

// length is a share of the time of a measurement.
func (s *searchRun) length(share float64) time.Duration {
	return time.Duration(share * s.Seconds * float64(time.Second))
}

const (
	residentPoll = 5 * time.Millisecond
	// residentPatience and as much for each passage is how long a server may take
	// to load a collection: it tells of it when all of it is there.
	residentPatience   = 5 * time.Second
	patiencePerPassage = 100 * time.Microsecond
	// loaded is the share of the passages from which on all are there: documents
	// that were changed for the catch-up of a smaller size may have fewer than they had.
	loaded = 0.99
)

// cold asks a fresh server its first question and waits until it has loaded the collection.
func (s *searchRun) cold(server *benchServer, size *sizeBench) error {
	metrics, err := bench.ReadMetrics(s, server.client, server.url)
	if err != nil {
		return err
	}
	size.Memory.RSS = metrics.RSS()
	size.Cold.Ready = server.ready
	ask, err := s.ask(server, bench.Filter{})
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := ask(s, 0); err != nil {
		return fmt.Errorf("the first query: %w", err)
	}
	size.Cold.FirstQuery = time.Since(began)
	ticker := time.NewTicker(residentPoll)
	defer ticker.Stop()
	patience := residentPatience + time.Duration(size.Passages)*patiencePerPassage
	for {
		metrics, err := bench.ReadMetrics(s, server.client, server.url)
		if err != nil {
			return err
		}
		_, passages, told := metrics.Resident()
		switch {
		case told && passages >= loaded*float64(size.Passages):
			taken := time.Since(began)
			size.Cold.Resident = &taken
			return nil
		case !told, time.Since(began) > patience:
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.Done():
			return context.Cause(s)
		}
	}
}

// ask searches over HTTP, as a customer's program does, and reads the answer whole.
func (s *searchRun) ask(server *benchServer, filter bench.Filter) (bench.Ask, error) {
	bodies := make([][]byte, len(s.questions))
	for i, question := range s.questions {
		body, err := json.Marshal(searchBody(question, benchMinScore, filter))
		if err != nil {
			return nil, fmt.Errorf("write the question: %w", err)
		}
		bodies[i] = body
	}
	caller := newCaller(server, s.target.key)
	return func(ctx context.Context, turn int) (int, error) {
		content, err := caller.raw(ctx, bodies[turn%len(bodies)])
		return bytes.Count(content, []byte(`"document_id":`)), err
	}, nil
}

func searchBody(question string, minScore float64, filter bench.Filter) map[string]any {
	body := map[string]any{"query": question, "limit": benchLimit, "min_score": minScore, "highlight": true}
	if filters := filter.JSON(); filters != nil {
		body["filters"] = filters
	}
	return body
}

// newCaller makes a client of the server's public API, over the connections of its client.
func newCaller(server *benchServer, key string) *api {
	return &api{baseURL: server.url, key: key, client: *server.client}
}

// raw searches with a body that is JSON already and returns the answer's bytes.
func (a *api) raw(ctx context.Context, body []byte) ([]byte, error) {
	response, err := a.post(ctx, "/v1/docs/search", json.RawMessage(body), "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // was read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the search's answer: %w", err)
	}
	return content, nil
}

const (
	catchUpDocuments = 1000
	catchUpPatience  = time.Minute
)

// catchUp changes many documents while nobody searches, then searches until the
// last one's new word is found, and checks that the others' are.
func (s *searchRun) catchUp(server *benchServer, size *sizeBench) error {
	source := bench.NewGenerator(s.text.pages, benchSeed)
	caller := newCaller(server, s.target.key)
	caught := &size.CatchUp
	var changed []uuid.UUID
	var words []string
	began := time.Now()
	for i := 0; i < size.Documents+size.LeftOut && len(changed) < catchUpDocuments; i++ {
		d := source.Next()
		if s.filler.leftOut[d.Name] {
			continue
		}
		word := bench.Marker(size.Passages + i)
		result, id, err := s.filler.store(s, d, "It says "+word+" now.")
		if err != nil {
			return fmt.Errorf("change a document: %w", err)
		}
		if result != nil {
			changed, words = append(changed, id), append(words, word)
			caught.Passages += len(result.Passages)
		}
	}
	committed := time.Now()
	caught.Documents, caught.Writing = len(changed), committed.Sub(began)
	last := len(changed) - 1
	for found := false; !found; {
		var err error
		if found, err = finds(s, caller, words[last], changed[last]); err != nil {
			return err
		}
		if !found && time.Since(committed) > catchUpPatience {
			return fmt.Errorf("a document that was changed %s ago is not found by its new word", catchUpPatience)
		}
	}
	caught.Seen = time.Since(committed)
	for i := range changed {
		found, err := finds(s, caller, words[i], changed[i])
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
func finds(ctx context.Context, caller *api, word string, id uuid.UUID) (bool, error) {
	answer, err := caller.search(ctx, searchBody(word, 0, bench.Filter{}))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(answer.Results, func(hit publicHit) bool { return hit.DocumentID == id }), nil
}

// ofBaseline fills the baseline with the same passages and measures it. It is
// asked over the database's own protocol, from this process.
func (s *searchRun) ofBaseline(size *sizeBench) error {
	if err := s.baseline.Reset(s); err != nil {
		return err
	}
	began := time.Now()
	if _, err := s.baseline.Copy(s, s.filler.again(s, s.text.pages)); err != nil {
		return err
	}
	size.BaselineCopy = time.Since(began)
	var err error
	if size.BaselineIndex, err = s.baseline.Index(s, baselineMemory(size.Passages, s.filler.embedder.Dimensions())); err != nil {
		return err
	}
	s.console.Note("%d passages: the baseline is filled (%s) and indexed (%s)", size.Passages,
		console.Duration(size.BaselineCopy), console.Duration(size.BaselineIndex))
	for _, filter := range bench.Filters() {
		if warm := bench.Load(s, 2, s.length(1), s.askBaseline(filter)); warm.Errors > 0 {
			return errors.New(warm.Error)
		}
	}
	for i := range size.Searches {
		measured := &size.Searches[i]
		filter := bench.Filters()[slices.IndexFunc(bench.Filters(), func(f bench.Filter) bool { return f.Name == measured.Filter })]
		taken := bench.Load(s, measured.Clients, s.length(1), s.askBaseline(filter))
		if taken.Errors > 0 {
			return errors.New(taken.Error)
		}
		if err := s.Err(); err != nil {
			return err
		}
		measured.Baseline = &taken
	}
	return nil
}

// askBaseline embeds the question, as the server does, and asks the baseline.
func (s *searchRun) askBaseline(filter bench.Filter) bench.Ask {
	return func(ctx context.Context, turn int) (int, error) {
		question := s.questions[turn%len(s.questions)]
		vectors, err := s.filler.embedder.Embed(ctx, []string{question}, embed.Query)
		if err != nil {
			return 0, err
		}
		return s.baseline.Search(ctx, question, vectors[0], filter)
	}
}

// baselineMemory is a maintenance_work_mem in which the vector index of so many
// passages can be built without spilling.
func baselineMemory(passages, dimensions int) string {
	const perNode = 400 // neighbours and their bookkeeping, at m = 16
	megabytes := passages * (4*dimensions + perNode) * 3 / 2 >> 20
	return fmt.Sprintf("%dMB", min(max(megabytes, 64), 2000))
}
