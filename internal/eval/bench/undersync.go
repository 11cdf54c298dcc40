package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
)

// UnderSyncResult is the result of SearchUnderSync.
type UnderSyncResult struct {
	Machine   Machine          `json:"machine"`
	Text      Text             `json:"text"`
	Model     string           `json:"model"`
	Questions int              `json:"questions"`
	Files     int              `json:"files"`
	Passages  int              `json:"passages"`
	Clients   []UnderSyncRatio `json:"clients"`
	Budgets   []Budget         `json:"budgets"`
	Rounds    []UnderSyncRound `json:"rounds"`
}

// An UnderSyncRound is a pair of measurements, one right after the other.
type UnderSyncRound struct {
	Clients int       `json:"clients"`
	Quiet   Latencies `json:"quiet"`
	Busy    Latencies `json:"underSync"`
	// Written is the number of documents that the sync stored per second during Busy.
	Written float64 `json:"documentsWrittenPerSecond"`
}

// An UnderSyncRatio has, for a number of clients, the medians over its rounds of
// the ratios between Busy and Quiet.
type UnderSyncRatio struct {
	Clients   int     `json:"clients"`
	P50       float64 `json:"p50Ratio"`
	P95       float64 `json:"p95Ratio"`
	P99       float64 `json:"p99Ratio"`
	PerSecond float64 `json:"perSecondRatio"`
}

// The budgets of searches under a sync, as ratios.
const (
	budgetBusyP50 = 1.5
	budgetBusyP95 = 3
)

// SearchUnderSync measures searches while nothing else happens and while a worker
// syncs all documents of the collection, at the smallest size.
func SearchUnderSync(ctx context.Context, s *Stack, text Text, o SearchOptions) (result *UnderSyncResult, err error) {
	worker, err := s.startWorker(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	folder := filepath.Join(s.Dir, "files")
	if err := writeDocuments(synth.NewGenerator(text.pages, seed), folder, o.Passages[0]); err != nil {
		return nil, err
	}
	synced, err := s.Client.SyncFolder(ctx, folder, collectionName, "full", nil, s.Display)
	if err != nil {
		return nil, err
	}
	key, err := createKey(ctx, s.Client, synced.Collection)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
	run := &searchRun{
		SearchOptions: o, stack: s, text: text, questions: questions,
		target: target{collection: synced.Collection, connector: synced.Connector, key: key},
	}
	result = &UnderSyncResult{
		Text: text, Model: s.Embedder.Model(), Questions: len(questions), Files: synced.Job.Progress.Collected, Passages: synced.Passages,
	}
	if err := run.measureRounds(ctx, result, folder); err != nil {
		return nil, err
	}
	result.summarize()
	return result, nil
}

// writeDocuments writes generated documents into a folder, enough for about so
// many passages.
func writeDocuments(source *synth.Generator, folder string, passages int) error {
	const passageBytes = 800 // approximately
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create a folder of documents: %w", err)
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

// measureRounds measures each number of clients in pairs, so that both figures of
// a pair see the same load of the machine.
func (r *searchRun) measureRounds(ctx context.Context, result *UnderSyncResult, folder string) (err error) {
	srv, err := r.stack.startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	ask, err := searches(srv.rest(r.target.key), r.questions, synth.Filter{})
	if err != nil {
		return err
	}
	if err := warmUp(ctx, r.Duration, ask); err != nil {
		return err
	}
	for _, clients := range r.Clients {
		for range r.Rounds {
			round := UnderSyncRound{Clients: clients}
			// The server first loads what the last sync stored.
			if err := warmUp(ctx, r.Duration/5, ask); err != nil {
				return err
			}
			round.Quiet = Load(ctx, clients, r.Duration, ask)
			if err := r.measureBusy(ctx, &round, folder, len(result.Rounds)+1, ask); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			for _, l := range []*Latencies{&round.Quiet, &round.Busy} {
				if l.Errors > 0 {
					return fmt.Errorf("%s: %w", humanize.Count(clients, "client"), l.failure())
				}
			}
			r.stack.Display.Note("%s: quiet %.0f searches/s, p50 %s, p95 %s; under a sync of %.0f documents/s %.0f searches/s, p50 %s, p95 %s",
				humanize.Count(clients, "client"), round.Quiet.PerSecond, humanize.Milliseconds(round.Quiet.P50), humanize.Milliseconds(round.Quiet.P95),
				round.Written, round.Busy.PerSecond, humanize.Milliseconds(round.Busy.P50), humanize.Milliseconds(round.Busy.P95))
			result.Rounds = append(result.Rounds, round)
		}
	}
	return nil
}

// measureBusy changes every document and measures while a sync stores the changes,
// at most until it ends. It returns when the sync has ended.
func (r *searchRun) measureBusy(ctx context.Context, round *UnderSyncRound, folder string, revision int, ask Ask) error {
	if err := revise(folder, revision); err != nil {
		return err
	}
	if _, err := r.stack.Client.Mirror(ctx, r.target.connector, folder, client.Silent{}); err != nil {
		return err
	}
	before, err := r.changeNumber(ctx)
	if err != nil {
		return err
	}
	syncing, cancel := context.WithCancel(ctx)
	defer cancel()
	synced := make(chan error, 1)
	go func() {
		defer cancel()
		_, err := r.stack.Client.Sync(ctx, r.target.connector, "full", client.Silent{})
		synced <- err
	}()
	err = r.waitChange(syncing, before)
	if err == nil {
		err = r.measureWhile(ctx, syncing, round, ask)
	}
	return errors.Join(<-synced, err)
}

// measureWhile measures searches and the documents written meanwhile until syncing
// ends.
func (r *searchRun) measureWhile(ctx, syncing context.Context, round *UnderSyncRound, ask Ask) error {
	before, err := r.changeNumber(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	round.Busy = Load(syncing, round.Clients, r.Duration, ask)
	elapsed := time.Since(start)
	after, err := r.changeNumber(ctx)
	round.Written = float64(after-before) / elapsed.Seconds()
	return err
}

// revise changes every document of a folder.
func revise(folder string, revision int) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the folder of documents: %w", err)
	}
	for _, entry := range entries {
		file, err := os.OpenFile(filepath.Join(folder, entry.Name()), os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a file of writeDocuments
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

// changeNumber returns the change number of the collection.
func (r *searchRun) changeNumber(ctx context.Context) (int64, error) {
	states, err := r.stack.Index.States(ctx, r.stack.Scope)
	if err != nil {
		return 0, fmt.Errorf("read the change number: %w", err)
	}
	for _, state := range states {
		if state.Collection == r.target.collection {
			return state.Change, nil
		}
	}
	return 0, errors.New("the collection of the benchmark is gone")
}

// waitChange waits until the change number exceeds one, or until ctx ends.
func (r *searchRun) waitChange(ctx context.Context, number int64) error {
	ticker := time.NewTicker(residentInterval)
	defer ticker.Stop()
	for {
		now, err := r.changeNumber(context.WithoutCancel(ctx))
		if err != nil || now > number {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil // a failed sync returns its own error
		}
	}
}

// summarize computes the ratios and compares them with the budgets.
func (b *UnderSyncResult) summarize() {
	for _, clients := range b.clientCounts() {
		load := UnderSyncRatio{Clients: clients}
		median := func(ratio func(*UnderSyncRound) float64) float64 {
			var values []float64
			for i := range b.Rounds {
				if b.Rounds[i].Clients == clients {
					values = append(values, ratio(&b.Rounds[i]))
				}
			}
			slices.Sort(values)
			return Quantile(values, .5)
		}
		slowdown := func(quantile func(*Latencies) time.Duration) float64 {
			return median(func(r *UnderSyncRound) float64 {
				return float64(quantile(&r.Busy)) / float64(max(quantile(&r.Quiet), 1))
			})
		}
		load.P50 = slowdown(func(l *Latencies) time.Duration { return l.P50 })
		load.P95 = slowdown(func(l *Latencies) time.Duration { return l.P95 })
		load.P99 = slowdown(func(l *Latencies) time.Duration { return l.P99 })
		load.PerSecond = median(func(r *UnderSyncRound) float64 { return r.Busy.PerSecond / max(r.Quiet.PerSecond, 1) })
		b.Clients = append(b.Clients, load)
		what := "search under a sync, " + humanize.Count(clients, "client")
		b.Budgets = append(b.Budgets,
			Budget{What: what + ", p50", Budget: fmt.Sprintf("%.1f times the quiet one", budgetBusyP50), Measured: fmt.Sprintf("%.2f times", load.P50), Verdict: verdict(load.P50 <= budgetBusyP50)},
			Budget{What: what + ", p95", Budget: fmt.Sprintf("%.1f times the quiet one", float64(budgetBusyP95)), Measured: fmt.Sprintf("%.2f times", load.P95), Verdict: verdict(load.P95 <= budgetBusyP95)})
	}
}

// clientCounts returns the different numbers of clients in the order of the rounds.
func (b *UnderSyncResult) clientCounts() []int {
	var counts []int
	for i := range b.Rounds {
		if !slices.Contains(counts, b.Rounds[i].Clients) {
			counts = append(counts, b.Rounds[i].Clients)
		}
	}
	return counts
}
