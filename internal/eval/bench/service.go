package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/client"
)

// ServiceOptions configures Service.
type ServiceOptions struct {
	Client  *client.Client
	BaseURL string        // of the server
	Startup time.Duration // of the server; only reported
	Folder  string        // the documents to sync
	Queries int           // searches to time
	Display Display
}

// ServiceResult is the result of Service.
type ServiceResult struct {
	Files    int           `json:"files"`
	Passages int           `json:"passages"`
	Startup  time.Duration `json:"startNanoseconds"`
	Rates    []Rate        `json:"rates"`
	Timings  []Timing      `json:"timings"`
}

// A Rate is a number of units per second.
type Rate struct {
	What      string  `json:"what"`
	PerSecond float64 `json:"perSecond"`
	Unit      string  `json:"unit"`
}

// Service measures a whole Magpie: a first sync of a folder, a sync that finds
// nothing new, searches and answers.
func Service(ctx context.Context, o ServiceOptions) (*ServiceResult, error) {
	synced, err := o.Client.SyncFolder(ctx, o.Folder, collectionName, "full", nil, o.Display)
	if err != nil {
		return nil, err
	}
	result := &ServiceResult{Files: synced.Job.Progress.Collected, Passages: synced.Passages, Startup: o.Startup}
	seconds := synced.SyncTime.Seconds()
	result.Rates = append(result.Rates,
		Rate{"first sync", float64(result.Files) / seconds, "files"},
		Rate{"first sync", float64(result.Passages) / seconds, "passages"})
	start := time.Now()
	job, err := o.Client.StartSync(ctx, synced.Connector, client.Variables{"syncMode": "auto"})
	if err != nil {
		return nil, err
	}
	if job, err = o.Client.Watch(ctx, job.ID, o.Display); err != nil {
		return nil, err
	}
	if job.Status != "COMPLETED" {
		return nil, fmt.Errorf("the second sync ended as %s", strings.ToLower(job.Status))
	}
	result.Rates = append(result.Rates, Rate{"sync of nothing new", float64(result.Files) / time.Since(start).Seconds(), "files"})
	key, err := createKey(ctx, o.Client, synced.Collection)
	if err != nil {
		return nil, err
	}
	result.Timings, err = timeRequests(ctx, &client.REST{BaseURL: o.BaseURL, Key: key}, o.Queries)
	return result, err
}

// timeRequests times searches and answers over HTTP, one after the other.
func timeRequests(ctx context.Context, rest *client.REST, queries int) ([]Timing, error) {
	var timings []Timing
	for _, kind := range []struct {
		what    string
		filters map[string]any
	}{
		{"search over HTTP", nil},
		{"search over HTTP, filtered to one version", map[string]any{"version": "v2.0"}},
	} {
		durations, err := repeat(queries, func(i int) error {
			query := map[string]any{"query": serviceQueries[i%len(serviceQueries)], "limit": 10}
			if kind.filters != nil {
				query["filters"] = kind.filters
			}
			_, err := rest.Search(ctx, query)
			return err
		})
		if err != nil {
			return nil, err
		}
		timings = append(timings, timingOf(kind.what, durations))
	}
	durations, err := repeat(max(queries/20, 10), func(i int) error {
		err := rest.Chat(ctx, serviceQueries[i%len(serviceQueries)]+"?", func(string, []byte) error { return errFirstEvent })
		if errors.Is(err, errFirstEvent) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(timings, timingOf("first byte of an answer without a model", durations)), nil
}

// errFirstEvent stops an answer at its first event.
var errFirstEvent = errors.New("the first event has arrived")

// serviceQueries are the searches of Service, which fit the demo documents.
var serviceQueries = []string{
	"rotate the signing key", "retry a failed job", "schedule a job every hour", "backup and restore", "warm standby",
	"error code for a full queue", "configure the log level", "authentication header", "install on Debian", "dead letter queue",
	"upgrade from 1.0 to 2.0", "worker concurrency", "cron expression time zone", "job attachments size limit", "health endpoint",
}

// repeat returns the durations of n calls. It makes some calls before as a
// warm-up.
func repeat(n int, call func(i int) error) ([]time.Duration, error) {
	warmup := min(n, len(serviceQueries))
	durations := make([]time.Duration, 0, n)
	for i := range n + warmup {
		start := time.Now()
		if err := call(i); err != nil {
			return nil, err
		}
		if i >= warmup {
			durations = append(durations, time.Since(start))
		}
	}
	return durations, nil
}
