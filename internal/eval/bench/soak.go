package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/index"
)

// SoakOptions configures Soak.
type SoakOptions struct {
	Duration  time.Duration // without the time to fill the collection
	Passages  int           // in the collection, approximately
	Clients   int           // that search at a time
	Writers   int           // that change documents at a time
	Writes    float64       // the most writes per second
	Interval  time.Duration // between two reports
	MaxGrowth float64       // of the memory from the middle third to the last, as a share
	Faults    time.Duration // between the beginnings of two faults, at least MinFaultInterval; 0 for none
}

// SoakResult is the result of Soak.
type SoakResult struct {
	Machine   Machine       `json:"machine"`
	Text      Text          `json:"text"`
	Model     string        `json:"model"`
	Documents int           `json:"documents"`
	Passages  int           `json:"passages"`
	Elapsed   time.Duration `json:"tookNanoseconds"`
	Searches  int           `json:"searches"`
	Errors    int           `json:"errors"`
	Excused   int           `json:"excused"` // searches that failed while PostgreSQL was away, or at most 10 s later
	Wrong     int           `json:"wrong"`
	Problems  []string      `json:"problems"` // the first ones
	Changed   int           `json:"changed"`
	Added     int           `json:"added"`
	Deleted   int           `json:"deleted"`
	Syncs     int           `json:"syncs"`
	Verified  int           `json:"checkedWrites"`
	Faults    []SoakFault   `json:"faults"`
	Windows   []SoakWindow  `json:"windows"`
	Readings  []Reading     `json:"readings"`
	Growth    []Growth      `json:"growth"`
}

// A SoakWindow is the interval between two reports.
type SoakWindow struct {
	Latencies
	Reading

	Writes int `json:"writes"`
}

// Failure returns an error if an answer was wrong or missing or the memory grew.
func (r *SoakResult) Failure() error {
	var failures []error
	switch {
	case r.Errors+r.Wrong > 0:
		failures = append(failures, fmt.Errorf("%d searches failed, %d answers were wrong, the first: %s", r.Errors, r.Wrong, r.Problems[0]))
	case len(r.Growth) == 0:
		failures = append(failures, errors.New("memory was not read often enough to say whether it grows; give more --minutes"))
	}
	for _, g := range r.Growth {
		if !g.Flat {
			failures = append(failures, fmt.Errorf("memory is not flat: %s was %.1f MiB in the middle third and %.1f MiB in the last",
				g.What, g.Middle/(1<<20), g.Last/(1<<20)))
		}
	}
	return errors.Join(failures...)
}

const (
	// maxProblems is the number of failures after which a soak stops.
	maxProblems = 20
	// A writer verifies every verifyEvery-th write with a search for its word.
	verifyEvery = 10
	// At most one document in maxDeletedShare is deleted at a time.
	maxDeletedShare = 10
	// readInterval is the time between two readings of the memory.
	readInterval = time.Second
)

// A soak is a run of Soak.
type soak struct {
	options   SoakOptions
	stack     *Stack
	text      Text
	filler    *filler
	server    *server
	rest      *client.REST
	faults    *soakFaults  // nil without faults
	second    *client.REST // of the server that is killed
	target    target
	questions []string
	slots     []*slot // each has one writer
	syncer    *soakSyncer
	truth     Truth

	mutex  sync.Mutex
	result *SoakResult
	// Since the last report.
	durations []time.Duration
	failed    int
	writes    int
}

// A slot is the place of one document, which is changed, deleted and restored.
type slot struct {
	number  int
	name    string
	id      uuid.UUID
	version int // of the Truth; 0 while the document is deleted
}

// Soak writes and searches for a while, and checks that every answer is right and
// that the memory does not grow. SoakResult.Failure returns what was wrong.
func Soak(ctx context.Context, s *Stack, text Text, o SoakOptions) (result *SoakResult, err error) {
	t, err := s.createTarget(ctx, collectionName)
	if err != nil {
		return nil, err
	}
	k := &soak{
		options: o, stack: s, text: text, filler: newFiller(s, t, text), target: t, questions: synth.Questions(text.pages, 600, seed),
		result: &SoakResult{Text: text, Model: s.Embedder.Model()},
	}
	if err := k.fill(ctx); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	end, err := k.start(ctx)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return nil, err
	}
	if k.syncer, err = k.newSyncer(ctx); err != nil {
		return nil, err
	}
	switch err := k.run(ctx); {
	case errors.Is(err, errTooManyProblems):
		return k.result, nil // Failure returns the problems
	case err != nil:
		return nil, err
	}
	return k.result, k.verifyAll(ctx)
}

// start starts a server and a worker, and with faults another server. The caller calls end
// in any case.
func (s *soak) start(ctx context.Context) (end func() error, err error) {
	var ends []func() error
	end = func() error {
		var all []error
		for _, end := range slices.Backward(ends) {
			all = append(all, end())
		}
		return errors.Join(all...)
	}
	if s.options.Faults > 0 {
		if s.faults, err = openFaults(ctx, s.stack); err != nil {
			return end, err
		}
		ends = append(ends, s.faults.close)
	}
	if s.server, err = s.stack.startServer(ctx); err != nil {
		return end, err
	}
	ends = append(ends, s.server.stop)
	s.rest = s.server.rest(s.target.key)
	if s.faults == nil {
		worker, err := s.stack.startWorker(ctx)
		if err == nil {
			ends = append(ends, worker.stop)
		}
		return end, err
	}
	if err := s.faults.startServer(ctx); err != nil {
		return end, err
	}
	ends = append(ends, func() error { return s.faults.killed.stop() })
	s.second = s.faults.killed.rest(s.target.key)
	if err := s.faults.startWorker(ctx); err != nil {
		return end, err
	}
	ends = append(ends, func() error { return s.faults.worker.stop() })
	return end, nil
}

// fill stores the first version of every document.
func (s *soak) fill(ctx context.Context) error {
	progress := s.stack.Display.Progress("passages")
	for s.result.Passages < s.options.Passages {
		at := &slot{number: len(s.slots), name: fmt.Sprintf("document-%05d.md", len(s.slots))}
		passages, err := s.put(ctx, at, s.filler.source)
		if err != nil {
			return err
		}
		s.result.Passages += passages
		s.slots = append(s.slots, at)
		progress.Show(s.result.Passages, s.options.Passages, "")
	}
	s.result.Documents = len(s.slots)
	progress.Done("%s in %s stored", humanize.Count(s.result.Passages, "passage"), humanize.Count(len(s.slots), "document"))
	random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // repeatable on purpose
	random.Shuffle(len(s.slots), func(i, j int) { s.slots[i], s.slots[j] = s.slots[j], s.slots[i] })
	return nil
}

// put writes the next version of a slot's document, with a new text.
func (s *soak) put(ctx context.Context, at *slot, source *synth.Generator) (passages int, err error) {
	version := s.truth.Begin(at.number, time.Now())
	for {
		d := source.Next()
		d.Name, d.Version = at.name, strconv.Itoa(version)
		result, id, err := s.filler.store(ctx, d, "This version is "+Marker(version)+".")
		if errors.Is(err, errNoText) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("write a document: %w", err)
		}
		at.id = id
		s.end(at, version)
		return len(result.Passages), nil
	}
}

// remove deletes a slot's document.
func (s *soak) remove(ctx context.Context, at *slot) error {
	if _, err := s.stack.Index.SoftDelete(ctx, s.stack.Scope, index.Fence{}, []uuid.UUID{at.id}); err != nil {
		return fmt.Errorf("delete a document: %w", err)
	}
	s.end(at, 0)
	return nil
}

// end records that a write has returned, after which version is current.
func (s *soak) end(at *slot, version int) {
	if at.version != 0 {
		s.truth.End(at.version, time.Now())
	}
	at.version = version
}

// run searches and writes for the duration of the soak.
func (s *soak) run(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.options.Duration)
	defer cancel()
	start := time.Now()
	group, groupCtx := errgroup.WithContext(limited)
	for i := range s.options.Clients {
		group.Go(func() error { return s.search(groupCtx, i) })
	}
	for i := range s.options.Writers {
		group.Go(func() error { return s.write(groupCtx, i) })
	}
	group.Go(func() error { return s.sync(groupCtx) })
	group.Go(func() error { return s.monitor(groupCtx, start) })
	if s.faults != nil {
		group.Go(func() error { return s.disturb(groupCtx) })
	}
	err := group.Wait()
	if s.faults != nil {
		s.result.Faults = s.faults.counts
	}
	s.result.Elapsed = time.Since(start)
	if ctx.Err() == nil && limited.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // the end of the soak cut a call short
	}
	if err == nil {
		err = ctx.Err()
	}
	s.result.Growth = JudgeGrowth(s.result.Readings, s.options.MaxGrowth)
	return err
}

var errTooManyProblems = errors.New("the soak stopped after too many failures")

// addProblem counts the failure of a search that was sent at a time. It returns
// errTooManyProblems after maxProblems.
func (s *soak) addProblem(err error, sent time.Time) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !errors.Is(err, ErrWrong) && s.faults != nil && s.faults.excuses(sent) {
		s.result.Excused++
		return nil
	}
	if errors.Is(err, ErrWrong) {
		s.result.Wrong++
	} else {
		s.result.Errors++
		s.failed++
	}
	if len(s.result.Problems) < maxProblems {
		s.result.Problems = append(s.result.Problems, err.Error())
	}
	if s.result.Wrong+s.result.Errors >= maxProblems {
		return errTooManyProblems
	}
	return nil
}

// search asks one question after the other and checks every answer.
func (s *soak) search(ctx context.Context, client int) error {
	filters := synth.Filters()
	for turn := client; ctx.Err() == nil; turn += s.options.Clients {
		filter := synth.Filter{}
		if turn%3 == 0 {
			filter = filters[2]
		}
		sent := time.Now()
		answer, err := s.ask(ctx, turn, searchBody(s.questions[turn%len(s.questions)], SearchMinScore, filter))
		elapsed := time.Since(sent)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = s.check(answer, sent)
		}
		if err != nil {
			if err := s.addProblem(err, sent); err != nil {
				return err
			}
			continue
		}
		s.mutex.Lock()
		s.result.Searches++
		s.durations = append(s.durations, elapsed)
		s.mutex.Unlock()
	}
	return nil
}

// check checks the versions in the answer to a search that was sent at a time.
func (s *soak) check(answer client.PublicResults, sent time.Time) error {
	versions := make([]int, 0, len(answer.Results))
	for _, hit := range answer.Results {
		if hit.Version == nil {
			return fmt.Errorf("%w: a passage without a version", ErrWrong)
		}
		version, err := strconv.Atoi(*hit.Version)
		if err != nil {
			return fmt.Errorf("%w: a passage of version %q", ErrWrong, *hit.Version)
		}
		versions = append(versions, version)
	}
	return s.truth.Check(versions, sent)
}

// write changes, deletes and restores the documents of one writer.
func (s *soak) write(ctx context.Context, writer int) error {
	var own []*slot
	for i := writer; i < len(s.slots); i += s.options.Writers {
		own = append(own, s.slots[i])
	}
	if len(own) == 0 {
		return nil
	}
	stream := 100 + uint64(writer)                //nolint:gosec // a small number
	random := rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // repeatable on purpose
	source := synth.NewGenerator(s.text.pages, stream)
	pause := time.Duration(float64(s.options.Writers) / s.options.Writes * float64(time.Second))
	ticker := time.NewTicker(max(pause, time.Millisecond))
	defer ticker.Stop()
	deleted := 0
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		at := own[random.IntN(len(own))]
		before := at.version
		remove := before != 0 && deleted < len(own)/maxDeletedShare && random.IntN(5) == 0
		// The outcome of an interrupted write would be unknown.
		whole := context.WithoutCancel(ctx)
		var err error
		if remove {
			err = s.remove(whole, at)
			deleted++
		} else {
			_, err = s.put(whole, at, source)
			if before == 0 {
				deleted--
			}
		}
		if err != nil {
			return err
		}
		s.countWrite(before, at.version)
		if turn%verifyEvery == 0 {
			if err := s.verify(ctx, at, before); err != nil {
				return err
			}
		}
	}
}

// countWrite counts a write by the versions before and after it.
func (s *soak) countWrite(before, after int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.writes++
	switch {
	case after == 0:
		s.result.Deleted++
	case before == 0:
		s.result.Added++
	default:
		s.result.Changed++
	}
}

// verify searches for the versions before and after a write that has returned, and
// counts a failure as a problem.
func (s *soak) verify(ctx context.Context, at *slot, before int) error {
	sent := time.Now()
	err := s.findVersions(ctx, at, before)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return s.addProblem(err, sent)
	}
	s.mutex.Lock()
	s.result.Verified++
	s.mutex.Unlock()
	return nil
}

// findVersions searches for the words of the current version of a document and of
// the version before. It must find the current one and no other version of it.
func (s *soak) findVersions(ctx context.Context, at *slot, before int) error {
	for _, version := range []int{before, at.version} {
		if version == 0 {
			continue
		}
		sent := time.Now()
		answer, err := s.ask(ctx, at.number, searchBody(Marker(version), 0, synth.Filter{}))
		if err != nil {
			return err
		}
		if err := s.check(answer, sent); err != nil {
			return err
		}
		found := slices.ContainsFunc(answer.Results, func(hit client.PublicHit) bool {
			return hit.Version != nil && *hit.Version == strconv.Itoa(version)
		})
		if !found && version == at.version {
			return fmt.Errorf("%w: version %d of document %d is not found by its word although its write has returned", ErrWrong, version, at.number)
		}
	}
	return nil
}

// verifyAll checks, once all is quiet, that every document is found by its word, and that
// there are no others.
func (s *soak) verifyAll(ctx context.Context) error {
	current := 0
	for _, at := range slices.Concat(s.slots, s.syncer.slots) {
		if at.version != 0 {
			current++
		}
		sent := time.Now()
		if err := s.findVersions(ctx, at, 0); err != nil {
			if s.addProblem(err, sent) != nil {
				break
			}
		}
	}
	var stored int
	if err := s.stack.asOwner(ctx, func(owner *pgx.Conn) error {
		return owner.QueryRow(ctx, "select count(*) from documents where collection_id = $1 and deleted_at is null", s.target.collection).Scan(&stored)
	}); err != nil {
		return fmt.Errorf("count the documents: %w", err)
	}
	if stored != current {
		_ = s.addProblem(fmt.Errorf("%w: %d documents are stored, %d were written", ErrWrong, stored, current), time.Now()) // the soak is over
	}
	return ctx.Err()
}
