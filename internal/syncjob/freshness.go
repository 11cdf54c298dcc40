package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

var (
	//go:embed sql/save_lags.sql
	saveLagsSQL string
	//go:embed sql/lags.sql
	lagsSQL string
	//go:embed sql/waiting.sql
	waitingSQL string
)

// Lags are counted in buckets, four for each doubling of a second, so that a
// quantile is at most a fifth off.
const (
	bucketsPerDoubling = 4
	bucketCount        = 128
)

// lags are counts of changes by the bucket of their lag.
type lags map[int]lagCount

type lagCount struct {
	changes int
	longest float64 // seconds
}

func bucketOf(seconds float64) int {
	if seconds <= 1 {
		return 0
	}
	return min(int(math.Ceil(bucketsPerDoubling*math.Log2(seconds))), bucketCount-1)
}

// bucketBounds returns the limits of a bucket in seconds.
func bucketBounds(bucket int) (low, high float64) {
	if bucket == 0 {
		return 0, 1
	}
	return math.Exp2(float64(bucket-1) / bucketsPerDoubling), math.Exp2(float64(bucket) / bucketsPerDoubling)
}

// RecordLag records how long a change took from the source into the index.
func (r *Run) RecordLag(lag time.Duration) {
	seconds := max(0, lag.Seconds())
	bucket := bucketOf(seconds)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.lags[bucket]
	c.changes++
	c.longest = max(c.longest, seconds)
	r.lags[bucket] = c
}

// saveLags saves the lags that were recorded since the last save. A failure is only
// logged.
func (r *Run) saveLags(ctx context.Context) {
	r.mu.Lock()
	taken := r.lags
	r.lags = make(lags)
	r.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	var bucket, changes []int64
	var longest []float64
	for at, c := range taken {
		bucket, changes, longest = append(bucket, int64(at)), append(changes, int64(c.changes)), append(longest, c.longest)
	}
	err := r.query(ctx, "save the freshness of a connector", func(*sql.Rows) error { return nil },
		saveLagsSQL, r.workspace, r.connector, r.jobs.now(), bucket, changes, longest)
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for bucket, c := range taken { // keep them for the next save
		sum := r.lags[bucket]
		r.lags[bucket] = lagCount{sum.changes + c.changes, max(sum.longest, c.longest)}
	}
	if ctx.Err() == nil {
		r.jobs.log.WarnContext(ctx, "connector freshness not saved, will retry", slog.Any("connector", r.connector), slog.Any("error", err))
	}
}

// Freshness describes how long changes of a connector take from the source into the
// index.
type Freshness struct {
	Day, Week FreshnessWindow
	// OldestWaiting is when the oldest known change was found that is not
	// searchable yet; zero for none. Waiting is the number of such changes.
	OldestWaiting time.Time
	Waiting       int
}

// FreshnessWindow describes the lags of a period, in seconds.
type FreshnessWindow struct {
	Changes       int
	P50, P95, Max float64
}

// Freshness returns the freshness of connectors whose rows the viewer has read.
// Without connectors, it returns the freshness of all connectors of the
// installation together, under the nil id; only the system viewer may ask for that.
func (j *Jobs) Freshness(ctx context.Context, connectors []uuid.UUID) (map[uuid.UUID]Freshness, error) {
	v, err := j.askedWorkspace(ctx, connectors)
	if err != nil {
		return nil, err
	}
	client, now := transaction.Client(ctx, j.client), j.now()
	connectors = append([]uuid.UUID{}, connectors...) // never nil, which is null
	day, week := make(map[uuid.UUID]lags), make(map[uuid.UUID]lags)
	err = eachRow(ctx, client, "read the freshness of connectors", func(rows *sql.Rows) error {
		var id uuid.UUID
		var recent bool
		var bucket int
		var c lagCount
		if err := rows.Scan(&id, &recent, &bucket, &c.changes, &c.longest); err != nil {
			return err
		}
		add(week, id, bucket, c)
		if recent {
			add(day, id, bucket, c)
		}
		return nil
	}, lagsSQL, connectors, v, now.Add(-24*time.Hour), now.Add(-7*24*time.Hour))
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]Freshness, len(connectors))
	for id, l := range week {
		found[id] = Freshness{Day: day[id].window(), Week: l.window()}
	}
	err = eachRow(ctx, client, "read what waits to be searchable", func(rows *sql.Rows) error {
		var id uuid.UUID
		var since time.Time
		var n int
		if err := rows.Scan(&id, &since, &n); err != nil {
			return err
		}
		f := found[id]
		f.OldestWaiting, f.Waiting = since, n
		found[id] = f
		return nil
	}, waitingSQL, connectors, v)
	return found, err
}

// askedWorkspace returns the workspace of the statistics that are asked for; nil
// for all.
func (j *Jobs) askedWorkspace(ctx context.Context, connectors []uuid.UUID) (workspace *uuid.UUID, err error) {
	v, ok := viewer.From(ctx)
	switch {
	case !ok, len(connectors) == 0 && (v.Kind != viewer.KindSystem || v.Workspace != uuid.Nil):
		return nil, fmt.Errorf("read statistics of connectors: %w", viewer.ErrOutOfScope)
	case v.Workspace == uuid.Nil:
		return workspace, nil
	default:
		return &v.Workspace, nil
	}
}

func add(to map[uuid.UUID]lags, id uuid.UUID, bucket int, c lagCount) {
	if to[id] == nil {
		to[id] = make(lags)
	}
	sum := to[id][bucket]
	to[id][bucket] = lagCount{sum.changes + c.changes, max(sum.longest, c.longest)}
}

func (l lags) window() FreshnessWindow {
	var w FreshnessWindow
	for _, c := range l {
		w.Changes += c.changes
		w.Max = max(w.Max, c.longest)
	}
	w.P50, w.P95 = l.quantile(0.5, w), l.quantile(0.95, w)
	return w
}

// quantile returns the lag that a share of the changes does not exceed,
// interpolated within its bucket.
func (l lags) quantile(share float64, w FreshnessWindow) float64 {
	left := share * float64(w.Changes)
	for bucket := range bucketCount {
		c := l[bucket]
		if c.changes == 0 {
			continue
		}
		if n := float64(c.changes); left > n {
			left -= n
			continue
		}
		low, high := bucketBounds(bucket)
		high = min(high, c.longest)
		return min(low, high) + max(0, high-low)*left/float64(c.changes)
	}
	return w.Max
}
