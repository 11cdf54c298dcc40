package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/index"
)

type benchSoakCommand struct {
	corpusFlags

	Minutes  float64       `default:"10" help:"How long it takes, filling the collection not included."`
	Passages int           `default:"5000" help:"Passages in the collection, about, all the time."`
	Clients  int           `default:"4" help:"How many clients search at once, without a pause."`
	Writers  int           `default:"2" help:"How many writers change documents at once."`
	Writes   float64       `default:"40" help:"Documents that are changed, added and deleted a second, at most."`
	Report   time.Duration `default:"30s" help:"How often it says how it is going."`
	Growth   float64       `default:"0.1" help:"By what share the memory may be larger in the last third than in the middle third."`
	Keep     bool          `help:"Keep the data, in bench-soak of the data folder."`
}

func (c *benchSoakCommand) check() error {
	switch {
	case !(c.Minutes > 0):
		return errors.New("--minutes must be more than 0")
	case c.Passages < 1 || c.Clients < 1 || c.Writers < 1:
		return errors.New("--passages, --clients and --writers must be 1 or more")
	case !(c.Writes > 0):
		return errors.New("--writes must be more than 0")
	case c.Report <= 0:
		return errors.New("--report must be more than 0")
	case !(c.Growth >= 0):
		return errors.New("--growth must be 0 or more")
	}
	return nil
}

// soakResult is what a soak saw.
type soakResult struct {
	Machine   bench.Machine   `json:"machine"`
	Text      benchText       `json:"text"`
	Model     string          `json:"model"`
	Documents int             `json:"documents"`
	Passages  int             `json:"passages"`
	Took      time.Duration   `json:"tookNanoseconds"`
	Searches  int             `json:"searches"`
	Errors    int             `json:"errors"`
	Wrong     int             `json:"wrong"`
	Problems  []string        `json:"problems"` // the first of them
	Changed   int             `json:"changed"`
	Added     int             `json:"added"`
	Deleted   int             `json:"deleted"`
	Syncs     int             `json:"syncs"`
	Checked   int             `json:"checkedWrites"`
	Windows   []soakWindow    `json:"windows"`
	Readings  []bench.Reading `json:"readings"`
	Growth    []bench.Growth  `json:"growth"`
}

// soakWindow is one interval between two reports.
type soakWindow struct {
	bench.Latencies
	bench.Reading

	Writes int `json:"writes"`
}

// failure is why a soak did not go well; nil when it did.
func (r *soakResult) failure() error {
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

// Run soaks a Magpie of its own, whose data it deletes at the end.
func (c benchSoakCommand) Run(r *runtime) error {
	if err := c.check(); err != nil {
		return err
	}
	machine := bench.ThisMachine() // before it is busy with this
	text, err := c.read(r)
	if err != nil {
		return err
	}
	b, err := openBenchStack(r, "bench-soak")
	var result *soakResult
	if err == nil {
		result, err = c.soak(r, b, text)
	}
	if err := errors.Join(err, b.close(r, c.Keep)); err != nil {
		return err
	}
	result.Machine = machine
	if err := r.console.Result(result, func() { result.print(r.console) }); err != nil {
		return err
	}
	return result.failure()
}

func (c *benchSoakCommand) soak(r *runtime, b *benchStack, text benchText) (result *soakResult, err error) {
	target, err := b.target(r)
	if err != nil {
		return nil, err
	}
	s := &soak{
		options: c, stack: b, filler: newFiller(b, target, text.pages), questions: bench.Questions(text.pages, 600, benchSeed),
		result: &soakResult{Text: text},
	}
	s.result.Model = s.filler.embedder.Model()
	if err := s.fill(r, r.console); err != nil {
		return nil, err
	}
	if err := b.tidy(r); err != nil {
		return nil, err
	}
	if s.server, err = b.serve(r); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.server.stop()) }()
	worker, err := b.work(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	if s.syncs, err = s.newSyncs(r); err != nil {
		return nil, err
	}
	s.caller = newCaller(s.server, target.key)
	switch err := s.run(r, r.console); {
	case errors.Is(err, errTooMany):
		return s.result, nil // which says what
	case err != nil:
		return nil, err
	}
	return s.result, s.settle(r)
}

// slot is the place of one document, which changes, goes and comes back.
type slot struct {
	number  int
	name    string
	id      uuid.UUID
	version int // of Truth; 0 while it is deleted
}

// fill stores the first version of every document.
func (s *soak) fill(ctx context.Context, c *console.Console) error {
	progress := c.Progress("passages")
	dice := rand.New(rand.NewPCG(benchSeed, 3)) //nolint:gosec // repeatable on purpose
	for s.result.Passages < s.options.Passages {
		slot := &slot{number: len(s.slots), name: fmt.Sprintf("document-%05d.md", len(s.slots))}
		passages, err := s.put(ctx, slot, s.filler.source)
		if err != nil {
			return err
		}
		s.result.Passages += passages
		s.slots = append(s.slots, slot)
		progress.Show(s.result.Passages, s.options.Passages, "")
	}
	s.result.Documents = len(s.slots)
	progress.Done("%s in %s stored", console.Count(s.result.Passages, "passage"), console.Count(len(s.slots), "document"))
	dice.Shuffle(len(s.slots), func(i, j int) { s.slots[i], s.slots[j] = s.slots[j], s.slots[i] })
	return nil
}

// put writes the next version of a slot's document, of a text that it never had.
func (s *soak) put(ctx context.Context, at *slot, source *bench.Generator) (passages int, err error) {
	version := s.truth.Begin(at.number, time.Now())
	for passages == 0 { // a page may have no text of its own
		d := source.Next()
		d.Name, d.Version = at.name, strconv.Itoa(version)
		result, id, err := s.filler.store(ctx, d, "This version is "+bench.Marker(version)+".")
		if err != nil {
			return 0, fmt.Errorf("write a document: %w", err)
		}
		if result != nil {
			passages, at.id = len(result.Passages), id
		}
	}
	s.ended(at, version)
	return passages, nil
}

// remove deletes a slot's document.
func (s *soak) remove(ctx context.Context, at *slot) error {
	if _, err := s.stack.app.Index.SoftDelete(ctx, s.stack.scope, index.Fence{}, []uuid.UUID{at.id}); err != nil {
		return fmt.Errorf("delete a document: %w", err)
	}
	s.ended(at, 0)
	return nil
}

// ended notes that a write has returned.
func (s *soak) ended(at *slot, version int) {
	if at.version != 0 {
		s.truth.End(at.version, time.Now())
	}
	at.version = version
}

// run searches and writes for as long as was asked for.
func (s *soak) run(ctx context.Context, c *console.Console) error {
	length := time.Duration(s.options.Minutes * float64(time.Minute))
	within, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	began := time.Now()
	group, limited := errgroup.WithContext(within)
	for i := range s.options.Clients {
		group.Go(func() error { return s.search(limited, i) })
	}
	for i := range s.options.Writers {
		group.Go(func() error { return s.write(limited, i) })
	}
	group.Go(func() error { return s.keepSyncing(limited) })
	group.Go(func() error { return s.watch(limited, c, began) })
	err := group.Wait()
	s.result.Took = time.Since(began)
	if ctx.Err() == nil && within.Err() != nil {
		// The time is over, which may have cut a call short.
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	s.result.Growth = bench.Grown(s.result.Readings, s.options.Growth)
	return err
}
