package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/stack"
)

type benchCommand struct {
	Service       benchServiceCommand       `cmd:"" default:"withargs" help:"The whole service: sync, search, answers."`
	Search        benchSearchCommand        `cmd:"" help:"Search at several sizes, filters and numbers of clients, beside plain pgvector with ts_rank_cd."`
	Load          benchLoadCommand          `cmd:"" help:"Many clients at once for a minute: searches a second, latencies, errors."`
	Soak          benchSoakCommand          `cmd:"" help:"Write and search for minutes: every answer must be right and memory stay flat."`
	Subscriptions benchSubscriptionsCommand `cmd:"" help:"Thousands of open subscriptions: memory, idle time, how fast events come to all."`
	Chat          benchChatCommand          `cmd:"" help:"Many answers at once, with a model that takes its time: first text, errors, memory."`
	Parse         benchParseCommand         `cmd:"" help:"How fast files of each format are read, and what memory large ones take."`
	Sync          benchSyncCommand          `cmd:"" help:"A bucket of many objects that is synced, and synced again when nothing is new."`
	Dashboard     benchDashboardCommand     `cmd:"" help:"Ten queries of the dashboard on a large workspace: requests a second, latencies, SQL statements."`
}

type benchServiceCommand struct {
	Passages int    `default:"5000" help:"Passages to search, about; made from the demo documents."`
	Queries  int    `default:"500" help:"Searches to time."`
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// timing is how long something took, many times over.
type timing struct {
	What string        `json:"what"`
	P50  time.Duration `json:"p50Nanoseconds"`
	P99  time.Duration `json:"p99Nanoseconds"`
}

// rate is how much of something was done a second.
type rate struct {
	What      string  `json:"what"`
	PerSecond float64 `json:"perSecond"`
	Unit      string  `json:"unit"`
}

// benchResult is what was measured.
type benchResult struct {
	Files    int           `json:"files"`
	Passages int           `json:"passages"`
	Start    time.Duration `json:"startNanoseconds"`
	Rates    []rate        `json:"rates"`
	Timings  []timing      `json:"timings"`
}

// Run measures with a Magpie of its own, whose data it deletes at the end.
func (c benchServiceCommand) Run(r *runtime) error {
	if c.Passages < 1 || c.Queries < 1 {
		return errors.New("--passages and --queries must be 1 or more")
	}
	docs, err := demoFolder(c.DemoDocs)
	if err != nil {
		return err
	}
	parent, err := r.folder()
	if err != nil {
		return err
	}
	folder, err := local.Make(filepath.Join(parent.Path(), "bench"))
	if err != nil {
		return err
	}
	result, err := c.measure(r, folder, docs)
	// The data is of no use to anybody, whether it was measured or not.
	err = errors.Join(err, removeAll(context.WithoutCancel(r), folder))
	if err != nil {
		return err
	}
	return r.console.Result(result, func() { result.print(r.console) })
}

func (c benchServiceCommand) measure(r *runtime, folder *local.Folder, docs string) (*benchResult, error) {
	corpus := filepath.Join(folder.Path(), "corpus")
	if err := r.console.Step("documents are written", func() error { return writeCorpus(docs, corpus, c.Passages) }); err != nil {
		return nil, err
	}
	d, err := r.startDev(folder, "127.0.0.1:0", false)
	if err != nil {
		return nil, err
	}
	result, err := c.measureIn(r, d, corpus)
	if err := errors.Join(err, d.Stop(context.WithoutCancel(r))); err != nil {
		return nil, err
	}
	return result, nil
}

func (c benchServiceCommand) measureIn(r *runtime, d *stack.Dev, corpus string) (*benchResult, error) {
	s := newSession(d.App, d.Workspace)
	rep, err := syncFolder(r, r.console, s, corpus, "Bench", variables{"syncMode": "full"})
	if err != nil {
		return nil, err
	}
	result := &benchResult{Files: rep.Job.Progress.Collected, Passages: rep.Passages, Start: d.Opening}
	seconds := rep.SyncTime.Seconds()
	result.Rates = append(result.Rates,
		rate{"first sync", float64(result.Files) / seconds, "files"},
		rate{"first sync", float64(result.Passages) / seconds, "passages"})
	again, err := c.again(r, s, rep.Connector)
	if err != nil {
		return nil, err
	}
	result.Rates = append(result.Rates, rate{"sync of nothing new", float64(result.Files) / again.Seconds(), "files"})
	created, err := createKey(r, s, variables{
		"name": "Bench", "allowedHosts": []string{"*"}, "allowedCollections": []uuid.UUID{rep.Collection},
		"defaultCollection": rep.Collection, "rateLimitPerMinute": 0,
	})
	if err != nil {
		return nil, err
	}
	result.Timings, err = c.time(r, &api{baseURL: d.BaseURL, key: created.SecretKey})
	return result, err
}

// again syncs what is synced and says how long it took.
func (c benchServiceCommand) again(r *runtime, s *session, connector uuid.UUID) (time.Duration, error) {
	began := time.Now()
	job, err := startSync(r, s, connector, variables{"syncMode": "auto"})
	if err != nil {
		return 0, err
	}
	if job, err = watch(r, r.console, s, job.ID); err != nil {
		return 0, err
	}
	if job.Status != "COMPLETED" {
		return 0, fmt.Errorf("the second sync ended as %s", lower(job.Status))
	}
	return time.Since(began), nil
}

// time times searches and answers over HTTP, one after the other.
func (c benchServiceCommand) time(r *runtime, caller *api) ([]timing, error) {
	var timings []timing
	for _, kind := range []struct {
		what    string
		filters map[string]any
	}{
		{"search over HTTP", nil},
		{"search over HTTP, filtered to one version", map[string]any{"version": "v2.0"}},
	} {
		taken, err := repeat(c.Queries, func(i int) error {
			query := map[string]any{"query": benchQueries[i%len(benchQueries)], "limit": 10}
			if kind.filters != nil {
				query["filters"] = kind.filters
			}
			_, err := caller.search(r, query)
			return err
		})
		if err != nil {
			return nil, err
		}
		timings = append(timings, quantiles(kind.what, taken))
	}
	first, err := repeat(max(c.Queries/20, 10), func(i int) error {
		err := caller.chat(r, benchQueries[i%len(benchQueries)]+"?", func(string, []byte) error { return errEnough })
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(timings, quantiles("first byte of an answer without a model", first)), nil
}

var errEnough = errors.New("the first event is there")

// benchQueries are asked in turn.
var benchQueries = []string{
	"rotate the signing key", "retry a failed job", "schedule a job every hour", "backup and restore", "warm standby",
	"error code for a full queue", "configure the log level", "authentication header", "install on Debian", "dead letter queue",
	"upgrade from 1.0 to 2.0", "worker concurrency", "cron expression time zone", "job attachments size limit", "health endpoint",
}

// repeat times each call after some that are not counted.
func repeat(times int, call func(i int) error) ([]time.Duration, error) {
	warm := min(times, len(benchQueries))
	taken := make([]time.Duration, 0, times)
	for i := range times + warm {
		began := time.Now()
		if err := call(i); err != nil {
			return nil, err
		}
		if i >= warm {
			taken = append(taken, time.Since(began))
		}
	}
	return taken, nil
}

func quantiles(what string, taken []time.Duration) timing {
	slices.Sort(taken)
	at := func(share float64) time.Duration { return taken[min(int(share*float64(len(taken))), len(taken)-1)] }
	return timing{What: what, P50: at(.5), P99: at(.99)}
}

func (b *benchResult) print(c *console.Console) {
	c.Printf("%s, %s\n", console.Count(b.Files, "file"), console.Count(b.Passages, "passage"))
	rows := [][]string{{"connecting the parts", console.Duration(b.Start), ""}}
	for _, r := range b.Rates {
		rows = append(rows, []string{r.What, fmt.Sprintf("%.0f %s/s", r.PerSecond, r.Unit), ""})
	}
	for _, t := range b.Timings {
		rows = append(rows, []string{t.What, "p50 " + fine(t.P50), "p99 " + fine(t.P99)})
	}
	c.Table([]string{"WHAT", "", ""}, rows, "")
}

func fine(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func removeAll(ctx context.Context, folder *local.Folder) error {
	if err := purge(ctx, folder, servicesOf(folder)); err != nil {
		return err
	}
	if err := os.RemoveAll(folder.Path()); err != nil {
		return fmt.Errorf("delete the bench's data: %w", err)
	}
	return nil
}
