package bench

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Latencies sum up how long many calls of one kind took.
type Latencies struct {
	Clients int `json:"clients"`
	Calls   int `json:"calls"`
	Errors  int `json:"errors"`
	// Error is the first of the errors.
	Error string `json:"error,omitempty"`
	// Found is how many results a call had on average.
	Found     float64       `json:"found"`
	PerSecond float64       `json:"perSecond"`
	P50       time.Duration `json:"p50Nanoseconds"`
	P95       time.Duration `json:"p95Nanoseconds"`
	P99       time.Duration `json:"p99Nanoseconds"`
	Longest   time.Duration `json:"longestNanoseconds"`
}

// errorsOfClient is after how many errors a client gives up.
const errorsOfClient = 5

// Ask makes one call and returns how many results it had. turn counts the calls
// of all clients from 0, so that together they ask every question as often.
type Ask func(ctx context.Context, turn int) (found int, err error)

// Load lets so many clients call for so long, each its next call as soon as the
// last one has ended, and at least once. Calls that run when the time is over
// are waited for and counted. Errors are counted; a call with one counts in no
// other figure. A client stops after five, and all of them with ctx, whose end is
// no error of a call.
func Load(ctx context.Context, clients int, length time.Duration, ask Ask) Latencies {
	type share struct {
		taken  []time.Duration
		found  int
		errors []error
	}
	shares := make([]share, clients)
	began := time.Now()
	var running sync.WaitGroup
	for i := range shares {
		running.Go(func() {
			mine := &shares[i]
			for turn := i; len(mine.errors) < errorsOfClient; turn += clients {
				start := time.Now()
				found, err := ask(ctx, turn)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					mine.errors = append(mine.errors, err)
				default:
					mine.taken = append(mine.taken, time.Since(start))
					mine.found += found
				}
				if time.Since(began) >= length {
					return
				}
			}
		})
	}
	running.Wait()
	elapsed := time.Since(began)
	var taken []time.Duration
	var failures []error
	found := 0
	for i := range shares {
		taken = append(taken, shares[i].taken...)
		failures = append(failures, shares[i].errors...)
		found += shares[i].found
	}
	l := Summarise(taken)
	l.Clients, l.Errors = clients, len(failures)
	if len(failures) > 0 {
		l.Error = failures[0].Error()
	}
	if l.Calls > 0 {
		l.Found = float64(found) / float64(l.Calls)
		l.PerSecond = float64(l.Calls) / elapsed.Seconds()
	}
	return l
}

// Summarise gives the quantiles of times, which it orders.
func Summarise(taken []time.Duration) Latencies {
	slices.Sort(taken)
	return Latencies{
		Calls: len(taken), P50: Quantile(taken, .5), P95: Quantile(taken, .95), P99: Quantile(taken, .99), Longest: Quantile(taken, 1),
	}
}

// Quantile is the smallest of the ordered values that at least a share of them
// does not exceed (the nearest rank); zero of none.
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
