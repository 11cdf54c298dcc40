package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

// soak is one run of the command.
type soak struct {
	options   *benchSoakCommand
	stack     *benchStack
	filler    *filler
	server    *benchServer
	caller    *api
	questions []string
	slots     []*slot // each has one writer
	syncs     *syncs
	truth     bench.Truth

	mutex  sync.Mutex
	result *soakResult
	taken  []time.Duration // since the last report
	failed int             // since the last report
	writes int             // since the last report
}

const (
	// mostErrors is after how many failures a soak gives up.
	mostErrors = 20
	// checkedOne of so many writes is checked at once by searching for its word.
	checkedOne = 10
	// deletedOne of so many documents is deleted at most at a time.
	deletedOne = 10
	// readEvery is how often the memory is read.
	readEvery = time.Second
)

var errTooMany = errors.New("the soak is given up: too many failures")

// problem counts what went wrong.
func (s *soak) problem(err error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if errors.Is(err, bench.ErrWrong) {
		s.result.Wrong++
	} else {
		s.result.Errors++
		s.failed++
	}
	if len(s.result.Problems) < mostErrors {
		s.result.Problems = append(s.result.Problems, err.Error())
	}
	if s.result.Wrong+s.result.Errors >= mostErrors {
		return errTooMany
	}
	return nil
}

// search asks question after question and judges every answer.
func (s *soak) search(ctx context.Context, client int) error {
	filters := bench.Filters()
	for turn := client; ctx.Err() == nil; turn += s.options.Clients {
		filter := bench.Filter{}
		if turn%3 == 0 {
			filter = filters[2]
		}
		sent := time.Now()
		answer, err := s.caller.search(ctx, searchBody(s.questions[turn%len(s.questions)], benchMinScore, filter))
		taken := time.Since(sent)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = s.judge(answer, sent)
		}
		if err != nil {
			if err := s.problem(err); err != nil {
				return err
			}
			continue
		}
		s.mutex.Lock()
		s.result.Searches++
		s.taken = append(s.taken, taken)
		s.mutex.Unlock()
	}
	return nil
}

// judge checks the versions in an answer.
func (s *soak) judge(answer publicSearch, sent time.Time) error {
	versions := make([]int, 0, len(answer.Results))
	for _, hit := range answer.Results {
		if hit.Version == nil {
			return fmt.Errorf("%w: a passage without a version", bench.ErrWrong)
		}
		version, err := strconv.Atoi(*hit.Version)
		if err != nil {
			return fmt.Errorf("%w: a passage of version %q", bench.ErrWrong, *hit.Version)
		}
		versions = append(versions, version)
	}
	return s.truth.Check(versions, sent)
}

// write changes, deletes and brings back the documents of one writer.
func (s *soak) write(ctx context.Context, writer int) error {
	var mine []*slot
	for i := writer; i < len(s.slots); i += s.options.Writers {
		mine = append(mine, s.slots[i])
	}
	if len(mine) == 0 {
		return nil
	}
	stream := 100 + uint64(writer)                   //nolint:gosec // a small number
	dice := rand.New(rand.NewPCG(benchSeed, stream)) //nolint:gosec // repeatable on purpose
	source := bench.NewGenerator(s.result.Text.pages, stream)
	pause := time.Duration(float64(s.options.Writers) / s.options.Writes * float64(time.Second))
	ticker := time.NewTicker(max(pause, time.Millisecond))
	defer ticker.Stop()
	gone := 0
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		at := mine[dice.IntN(len(mine))]
		before := at.version
		remove := before != 0 && gone < len(mine)/deletedOne && dice.IntN(5) == 0
		// A write is never cut short: nobody would know whether it was done.
		whole := context.WithoutCancel(ctx)
		var err error
		if remove {
			err = s.remove(whole, at)
			gone++
		} else {
			_, err = s.put(whole, at, source)
			if before == 0 {
				gone--
			}
		}
		if err != nil {
			return err
		}
		s.wrote(before, at.version)
		if turn%checkedOne == 0 {
			if err := s.check(ctx, at, before); err != nil {
				return err
			}
		}
	}
}

func (s *soak) wrote(before, now int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.writes++
	switch {
	case now == 0:
		s.result.Deleted++
	case before == 0:
		s.result.Added++
	default:
		s.result.Changed++
	}
}

// check searches for what a write that has returned made and ended.
func (s *soak) check(ctx context.Context, at *slot, before int) error {
	err := s.verify(ctx, at, before)
	if ctx.Err() != nil {
		return nil
	}
	s.mutex.Lock()
	s.result.Checked++
	s.mutex.Unlock()
	if err != nil {
		return s.problem(err)
	}
	return nil
}

// verify searches for the words of a document's versions, the one before the
// last write and the one after it.
func (s *soak) verify(ctx context.Context, at *slot, before int) error {
	for _, version := range []int{before, at.version} {
		if version == 0 {
			continue
		}
		sent := time.Now()
		answer, err := s.caller.search(ctx, searchBody(bench.Marker(version), 0, bench.Filter{}))
		if err != nil {
			return err
		}
		if err := s.judge(answer, sent); err != nil {
			return err
		}
		found := false
		for _, hit := range answer.Results {
			found = found || hit.Version != nil && *hit.Version == strconv.Itoa(version)
		}
		if !found && version == at.version {
			return fmt.Errorf("%w: version %d of document %d is not found by its word although its write has returned", bench.ErrWrong, version, at.number)
		}
	}
	return nil
}

// watch reads the memory and reports.
func (s *soak) watch(ctx context.Context, c *console.Console, began time.Time) error {
	read, report := time.NewTicker(readEvery), time.NewTicker(s.options.Report)
	defer read.Stop()
	defer report.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-read.C:
			reading, err := s.read(ctx, began)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			s.result.Readings = append(s.result.Readings, reading)
		case <-report.C:
			s.report(c)
		}
	}
}

func (s *soak) read(ctx context.Context, began time.Time) (bench.Reading, error) {
	metrics, err := bench.ReadMetrics(ctx, s.server.client, s.server.url)
	if err != nil {
		return bench.Reading{}, err
	}
	resident, _, _ := metrics.Resident()
	return bench.Reading{After: time.Since(began), Heap: metrics.LiveHeap(), RSS: metrics.RSS(), Resident: resident}, nil
}

// report sums up what there was since the last report.
func (s *soak) report(c *console.Console) {
	s.mutex.Lock()
	window := soakWindow{Latencies: bench.Summarise(s.taken), Writes: s.writes}
	window.Clients, window.Errors = s.options.Clients, s.failed
	s.taken, s.failed, s.writes = nil, 0, 0
	wrong := s.result.Wrong
	s.mutex.Unlock()
	window.PerSecond = float64(window.Calls) / s.options.Report.Seconds()
	if n := len(s.result.Readings); n > 0 {
		window.Reading = s.result.Readings[n-1]
	}
	s.result.Windows = append(s.result.Windows, window)
	c.Note("%6s  %6d searches (%.0f/s), %d errors, %d wrong, %d writes, p50 %s, p99 %s, heap %.1f MiB, RSS %.1f MiB, resident index %s",
		window.After.Round(time.Second), window.Calls, window.PerSecond, window.Errors, wrong, window.Writes, fine(window.P50), fine(window.P99),
		window.Heap/(1<<20), window.RSS/(1<<20), residentOf(window.Reading))
}

func residentOf(r bench.Reading) string {
	if r.Resident == 0 {
		return "not told"
	}
	return fmt.Sprintf("%.1f MiB", r.Resident/(1<<20))
}

// settle checks every document once all is quiet: those that are there are found
// by their words, those that are deleted are not.
func (s *soak) settle(ctx context.Context) error {
	for _, at := range slices.Concat(s.slots, s.syncs.slots) {
		if err := s.verify(ctx, at, 0); err != nil {
			if s.problem(err) != nil {
				break
			}
		}
	}
	return ctx.Err()
}

func (r *soakResult) print(c *console.Console) {
	describeMachine(c, r.Machine, r.Text)
	c.Printf("%s in %s, %s\n", console.Count(r.Passages, "passage"), console.Count(r.Documents, "document"), r.Model)
	c.Pairs(
		[2]string{"time", console.Duration(r.Took)},
		[2]string{"searches", fmt.Sprintf("%d, %d failed, %d wrong", r.Searches, r.Errors, r.Wrong)},
		[2]string{"writes", fmt.Sprintf("%d changed, %d added, %d deleted, in %d syncs and one by one; %d checked at once", r.Changed, r.Added, r.Deleted, r.Syncs, r.Checked)},
	)
	rows := make([][]string, 0, len(r.Growth))
	for _, g := range r.Growth {
		rows = append(rows, []string{g.What, fmt.Sprintf("%.1f MiB", g.Middle/(1<<20)), fmt.Sprintf("%.1f MiB", g.Last/(1<<20)),
			map[bool]string{true: "flat", false: "GROWS"}[g.Flat]})
	}
	c.Table([]string{"MEMORY", "MIDDLE THIRD", "LAST THIRD", ""}, rows, "Memory was not read often enough.")
}
