package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/humanize"
)

// Latencies summarizes the durations of many calls.
type Latencies struct {
	Clients int `json:"clients"`
	Calls   int `json:"calls"`
	Errors  int `json:"errors"`
	// Error is the first error.
	Error string `json:"error,omitempty"`
	// Found is the average number of results of a call.
	Found     float64       `json:"found"`
	PerSecond float64       `json:"perSecond"`
	P50       time.Duration `json:"p50Nanoseconds"`
	P95       time.Duration `json:"p95Nanoseconds"`
	P99       time.Duration `json:"p99Nanoseconds"`
	Longest   time.Duration `json:"longestNanoseconds"`
}

// maxClientErrors is the number of errors after which a client stops.
const maxClientErrors = 5

// An Ask makes one call and returns the number of its results. turn numbers the
// calls of all clients from 0, so that the clients share the questions evenly.
type Ask func(ctx context.Context, turn int) (found int, err error)

// Load lets clients make calls one after the other for a duration, and at least
// once. It waits for the calls that run when the time is over and counts them. A
// failed call counts as an error and in no other figure. A client stops after five
// errors. All clients stop when ctx ends, which is not an error.
func Load(ctx context.Context, clients int, duration time.Duration, ask Ask) Latencies {
	type share struct {
		durations []time.Duration
		found     int
		errors    []error
	}
	shares := make([]share, clients)
	start := time.Now()
	var running sync.WaitGroup
	for i := range shares {
		running.Go(func() {
			share := &shares[i]
			for turn := i; len(share.errors) < maxClientErrors; turn += clients {
				called := time.Now()
				found, err := ask(ctx, turn)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					share.errors = append(share.errors, err)
				default:
					share.durations = append(share.durations, time.Since(called))
					share.found += found
				}
				if time.Since(start) >= duration {
					return
				}
			}
		})
	}
	running.Wait()
	elapsed := time.Since(start)
	var durations []time.Duration
	var failures []error
	found := 0
	for i := range shares {
		durations = append(durations, shares[i].durations...)
		failures = append(failures, shares[i].errors...)
		found += shares[i].found
	}
	l := summarizeCalls(durations, failures, found, elapsed)
	l.Clients = clients
	return l
}

// summarizeCalls returns the figures of calls: the durations of those that succeeded, which it
// sorts, the errors of the others, the number of all results, and the time of all together.
func summarizeCalls(durations []time.Duration, failures []error, found int, elapsed time.Duration) Latencies {
	l := Summarize(durations)
	if l.Errors = len(failures); l.Errors > 0 {
		l.Error = failures[0].Error()
	}
	if l.Calls > 0 {
		l.Found = float64(found) / float64(l.Calls)
		l.PerSecond = float64(l.Calls) / elapsed.Seconds()
	}
	return l
}

// Summarize returns the quantiles of durations, which it sorts.
func Summarize(durations []time.Duration) Latencies {
	slices.Sort(durations)
	return Latencies{
		Calls: len(durations), P50: Quantile(durations, .5), P95: Quantile(durations, .95), P99: Quantile(durations, .99), Longest: Quantile(durations, 1),
	}
}

// A Timing is a summary of durations with a name.
type Timing struct {
	What string        `json:"what"`
	P50  time.Duration `json:"p50Nanoseconds"`
	P99  time.Duration `json:"p99Nanoseconds"`
}

// timingOf returns the quantiles of durations, which it sorts.
func timingOf(what string, durations []time.Duration) Timing {
	slices.Sort(durations)
	return Timing{What: what, P50: Quantile(durations, .5), P99: Quantile(durations, .99)}
}

// Quantile returns a quantile of sorted values by the nearest-rank method: the
// smallest value that at least a share of the values does not exceed. It returns
// the zero value when there are no values.
func Quantile[T any](ordered []T, share float64) T {
	if len(ordered) == 0 {
		var none T
		return none
	}
	rank := int(share * float64(len(ordered)))
	if float64(rank) < share*float64(len(ordered)) {
		rank++
	}
	return ordered[min(max(rank, 1), len(ordered))-1]
}

// failure returns the number of errors and the first one as an error.
func (l *Latencies) failure() error {
	return fmt.Errorf("%s, the first: %s", humanize.Count(l.Errors, "error"), l.Error)
}
