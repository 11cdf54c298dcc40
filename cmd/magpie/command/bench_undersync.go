package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

// underSyncBench is what searches take while their collection is synced whole,
// beside what they take when nothing else happens.
type underSyncBench struct {
	Machine  bench.Machine    `json:"machine"`
	Text     benchText        `json:"text"`
	Model    string           `json:"model"`
	Asked    int              `json:"questions"`
	Files    int              `json:"files"`
	Passages int              `json:"passages"`
	Clients  []underSyncLoad  `json:"clients"`
	Budgets  []budget         `json:"budgets"`
	Rounds   []underSyncRound `json:"rounds"`
}

// underSyncRound is one pair of measurements, one right after the other.
type underSyncRound struct {
	Clients int             `json:"clients"`
	Quiet   bench.Latencies `json:"quiet"`
	Busy    bench.Latencies `json:"underSync"`
	// Written is how many documents a second the sync stored meanwhile.
	Written float64 `json:"documentsWrittenPerSecond"`
}

// underSyncLoad has, for one number of clients, the medians over its rounds of
// how many times as long searches take under a sync.
type underSyncLoad struct {
	Clients   int     `json:"clients"`
	P50       float64 `json:"p50Ratio"`
	P95       float64 `json:"p95Ratio"`
	P99       float64 `json:"p99Ratio"`
	PerSecond float64 `json:"perSecondRatio"`
}

// Budgets of searches under a sync, as multiples of the quiet figures.
const (
	budgetBusyP50 = 1.5
	budgetBusyP95 = 3
)

// underSync measures with a collection that a worker syncs from uploaded files,
// the worker and the server being processes of their own.
func (c *benchSearchCommand) underSync(r *runtime, text benchText) (result *underSyncBench, err error) {
	b, err := openBenchStack(r, "bench-search")
	defer func() { err = errors.Join(err, b.close(r, c.Keep)) }()
	if err != nil {
		return nil, err
	}
	worker, err := b.work(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	folder := filepath.Join(b.folder.Path(), "files")
	if err := writeGenerated(bench.NewGenerator(text.pages, benchSeed), folder, c.Passages[0]); err != nil {
		return nil, err
	}
	rep, err := syncFolder(r, r.console, b.session, folder, benchCollection, variables{"syncMode": "full"})
	if err != nil {
		return nil, err
	}
	created, err := createKey(r, b.session, variables{
		"name": "Bench", "allowedHosts": []string{"*"}, "allowedCollections": []uuid.UUID{rep.Collection},
		"defaultCollection": rep.Collection, "rateLimitPerMinute": 0,
	})
	if err != nil {
		return nil, err
	}
	if err := b.tidy(r); err != nil {
		return nil, err
	}
	run := &searchRun{
		benchSearchCommand: c, runtime: r, stack: b, text: text, questions: bench.Questions(text.pages, c.Questions, benchSeed),
		target: benchTarget{collection: rep.Collection, connector: rep.Connector, key: created.SecretKey},
	}
	if len(run.questions) == 0 {
		return nil, errors.New("no question can be made of the text")
	}
	result = &underSyncBench{
		Text: text, Model: b.app.Models.Default().Model(), Asked: len(run.questions), Files: rep.Job.Progress.Collected, Passages: rep.Passages,
	}
	if err := run.rounds(result, folder); err != nil {
		return nil, err
	}
	result.judge()
	return result, nil
}

// writeGenerated writes generated documents into a folder, enough for about so many passages.
func writeGenerated(source *bench.Generator, folder string, passages int) error {
	const passageBytes = 800 // about what one is of them
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make a folder of documents: %w", err)
	}
	for i, written := 0, 0; written < passages*passageBytes; i++ {
		content := source.Next().Content()
		written += len(content)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("document-%06d.md", i)), content, 0o600); err != nil {
			return fmt.Errorf("write a document: %w", err)
		}
	}
	return nil
}

// rounds measures each number of clients in pairs, so that both figures of a
// pair have the same machine.
func (s *searchRun) rounds(result *underSyncBench, folder string) (err error) {
	server, err := s.stack.serve(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	ask, err := s.ask(server, bench.Filter{})
	if err != nil {
		return err
	}
	if warm := bench.Load(s, 2, s.length(1), ask); warm.Errors > 0 {
		return fmt.Errorf("warm up: %s", warm.Error)
	}
	for _, clients := range s.Clients {
		for range s.Rounds {
			round := underSyncRound{Clients: clients}
			// What the last sync stored after the measurement is taken over first.
			if warm := bench.Load(s, 2, s.length(.2), ask); warm.Errors > 0 {
				return fmt.Errorf("warm up: %s", warm.Error)
			}
			round.Quiet = bench.Load(s, clients, s.length(1), ask)
			if err := s.busy(&round, folder, len(result.Rounds)+1, ask); err != nil {
				return err
			}
			if err := s.Err(); err != nil {
				return err
			}
			for _, l := range []*bench.Latencies{&round.Quiet, &round.Busy} {
				if l.Errors > 0 {
					return fmt.Errorf("%s: %s, the first: %s", console.Count(clients, "client"), console.Count(l.Errors, "error"), l.Error)
				}
			}
			s.console.Note("%s: quiet %.0f searches/s, p50 %s, p95 %s; under a sync of %.0f documents/s %.0f searches/s, p50 %s, p95 %s",
				console.Count(clients, "client"), round.Quiet.PerSecond, fine(round.Quiet.P50), fine(round.Quiet.P95),
				round.Written, round.Busy.PerSecond, fine(round.Busy.P50), fine(round.Busy.P95))
			result.Rounds = append(result.Rounds, round)
		}
	}
	return nil
}

// busy changes every document, and measures while a sync stores what has changed,
// for as long as that takes at most. It returns when the sync has ended.
func (s *searchRun) busy(round *underSyncRound, folder string, revision int, ask bench.Ask) error {
	if err := revise(folder, revision); err != nil {
		return err
	}
	silent := console.New(console.Options{Out: io.Discard, Err: io.Discard})
	if _, err := mirror(s, silent, s.stack.session, s.target.connector, folder); err != nil {
		return err
	}
	before, err := s.changes()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- s.resync(s, silent)
	}()
	if err = s.written(ctx, before); err == nil {
		if before, err = s.changes(); err == nil {
			began := time.Now()
			round.Busy = bench.Load(ctx, round.Clients, s.length(1), ask)
			taken := time.Since(began)
			var after int64
			if after, err = s.changes(); err == nil {
				round.Written = float64(after-before) / taken.Seconds()
			}
		}
	}
	return errors.Join(<-ended, err)
}

// revise changes every document of a folder.
func revise(folder string, revision int) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the folder of documents: %w", err)
	}
	for _, entry := range entries {
		file, err := os.OpenFile(filepath.Join(folder, entry.Name()), os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // files that the bench wrote
		if err != nil {
			return fmt.Errorf("change a document: %w", err)
		}
		_, err = fmt.Fprintf(file, "\n\nThis is revision %d.\n", revision)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("change a document: %w", err)
		}
	}
	return nil
}

// resync syncs everything once.
func (s *searchRun) resync(ctx context.Context, silent *console.Console) error {
	job, err := startSync(ctx, s.stack.session, s.target.connector, variables{"syncMode": "full"})
	if err != nil {
		return err
	}
	if job, err = watch(ctx, silent, s.stack.session, job.ID); err != nil {
		return err
	}
	if job.Status != "COMPLETED" {
		return fmt.Errorf("a sync ended as %s: %s", lower(job.Status), text(job.Error))
	}
	return nil
}

// changes is the collection's change number.
func (s *searchRun) changes() (int64, error) {
	states, err := s.stack.app.Index.States(s, s.stack.scope)
	if err != nil {
		return 0, fmt.Errorf("read how far the collection is: %w", err)
	}
	for _, state := range states {
		if state.Collection == s.target.collection {
			return state.Change, nil
		}
	}
	return 0, errors.New("the collection of the bench is gone")
}

// written waits until something has been stored.
func (s *searchRun) written(ctx context.Context, since int64) error {
	ticker := time.NewTicker(residentPoll)
	defer ticker.Stop()
	for {
		at, err := s.changes()
		if err != nil || at > since {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil // the sync that failed says why
		}
	}
}

// judge sums the rounds up.
func (b *underSyncBench) judge() {
	for _, clients := range b.loads() {
		load := underSyncLoad{Clients: clients}
		median := func(of func(*underSyncRound) float64) float64 {
			var values []float64
			for i := range b.Rounds {
				if b.Rounds[i].Clients == clients {
					values = append(values, of(&b.Rounds[i]))
				}
			}
			slices.Sort(values)
			return bench.Quantile(values, .5)
		}
		times := func(of func(*bench.Latencies) time.Duration) float64 {
			return median(func(r *underSyncRound) float64 { return float64(of(&r.Busy)) / float64(max(of(&r.Quiet), 1)) })
		}
		load.P50 = times(func(l *bench.Latencies) time.Duration { return l.P50 })
		load.P95 = times(func(l *bench.Latencies) time.Duration { return l.P95 })
		load.P99 = times(func(l *bench.Latencies) time.Duration { return l.P99 })
		load.PerSecond = median(func(r *underSyncRound) float64 { return r.Busy.PerSecond / max(r.Quiet.PerSecond, 1) })
		b.Clients = append(b.Clients, load)
		at := "search under a sync, " + console.Count(clients, "client")
		b.Budgets = append(b.Budgets,
			budget{What: at + ", p50", Budget: fmt.Sprintf("%.1f times the quiet one", budgetBusyP50), Measured: fmt.Sprintf("%.2f times", load.P50), Verdict: verdict(load.P50 <= budgetBusyP50)},
			budget{What: at + ", p95", Budget: fmt.Sprintf("%.1f times the quiet one", float64(budgetBusyP95)), Measured: fmt.Sprintf("%.2f times", load.P95), Verdict: verdict(load.P95 <= budgetBusyP95)})
	}
}

// loads are the numbers of clients, each once and in order.
func (b *underSyncBench) loads() []int {
	var out []int
	for i := range b.Rounds {
		if !slices.Contains(out, b.Rounds[i].Clients) {
			out = append(out, b.Rounds[i].Clients)
		}
	}
	return out
}

func (b *underSyncBench) print(c *console.Console) {
	describeMachine(c, b.Machine, b.Text)
	c.Printf("%s in %s, %s, %s\n", console.Count(b.Passages, "passage"), console.Count(b.Files, "file"), console.Count(b.Asked, "question"), b.Model)
	c.Printf("Under sync, a worker takes all files, each of which has changed. The clients, the server, the worker and PostgreSQL share the machine.\n")
	rows := make([][]string, 0, 2*len(b.Rounds))
	for i := range b.Rounds {
		r := &b.Rounds[i]
		rows = append(rows,
			append([]string{fmt.Sprint(r.Clients), "quiet", ""}, cells(r.Quiet)...),
			append([]string{fmt.Sprint(r.Clients), "under sync", fmt.Sprintf("%.0f", r.Written)}, cells(r.Busy)...))
	}
	c.Table([]string{"CLIENTS", "", "DOCUMENTS/S", "SEARCHES/S", "P50 ms", "P95 ms", "P99 ms", "FOUND"}, rows, "")
	rows = rows[:0]
	for _, line := range b.Budgets {
		rows = append(rows, []string{line.What, line.Budget, line.Measured, line.Verdict})
	}
	c.Printf("\nmedians of the pairs\n")
	c.Table([]string{"WHAT", "BUDGET", "MEASURED", ""}, rows, "")
}
