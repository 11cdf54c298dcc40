package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"fmt"
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

// Lags are kept as counts in classes, four to each doubling of a second, so that
// a quantile is at most a fifth away from what it was.
const (
	classesADoubling = 4
	classes          = 128
)

// lags are the changes that became searchable, by class.
type lags map[int]lagCount

type lagCount struct {
	changes int
	longest float64 // seconds
}

func classOf(seconds float64) int {
	if seconds <= 1 {
		return 0
	}
	return min(int(math.Ceil(classesADoubling*math.Log2(seconds))), classes-1)
}

// bounds are the seconds between which the lags of a class are.
func bounds(class int) (low, high float64) {
	if class == 0 {
		return 0, 1
	}
	return math.Exp2(float64(class-1) / classesADoubling), math.Exp2(float64(class) / classesADoubling)
}

// Searchable notes how long a change took from the source into search.
func (r *Run) Searchable(lag time.Duration) {
	seconds := max(0, lag.Seconds())
	class := classOf(seconds)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.lags[class]
	c.changes++
	c.longest = max(c.longest, seconds)
	r.lags[class] = c
}

// saveLags stores what was noted since it was last stored. Its failure is only
// logged: these are statistics.
func (r *Run) saveLags(ctx context.Context) {
	r.mu.Lock()
	taken := r.lags
	r.lags = make(lags)
	r.mu.Unlock()
	if len(taken) == 0 {
		return
	}
	var class, changes []int64
	var longest []float64
	for at, c := range taken {
		class, changes, longest = append(class, int64(at)), append(changes, int64(c.changes)), append(longest, c.longest)
	}
	err := r.query(ctx, "note the freshness of a connector", func(*sql.Rows) error { return nil },
		saveLagsSQL, r.workspace, r.connector, r.jobs.now(), class, changes, longest)
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for class, c := range taken { // the next save takes them along
		sum := r.lags[class]
		r.lags[class] = lagCount{sum.changes + c.changes, max(sum.longest, c.longest)}
	}
	if ctx.Err() == nil {
		r.jobs.log.WarnContext(ctx, "the freshness of a connector could not be noted yet", "connector", r.connector, "error", err)
	}
}

// Freshness is how long changes of a connector took from the source into search.
type Freshness struct {
	Day, Week FreshnessWindow
	// OldestWaiting is since when the oldest change that is known waits to be
	// searchable; zero for none. Waiting is how many there are.
	OldestWaiting time.Time
	Waiting       int
}

// FreshnessWindow are the lags of some time, in seconds; zero without changes.
type FreshnessWindow struct {
	Changes       int
	P50, P95, Max float64
}

// Freshness returns that of connectors that the viewer may see: the caller has
// read their rows. With none named it is that of all connectors of the
// installation together, under the nil id, which only the system may ask for.
func (j *Jobs) Freshness(ctx context.Context, connectors []uuid.UUID) (map[uuid.UUID]Freshness, error) {
	v, err := j.asking(ctx, connectors)
	if err != nil {
		return nil, err
	}
	client, now := transaction.Client(ctx, j.client), j.now()
	connectors = append([]uuid.UUID{}, connectors...) // no null
	day, week := make(map[uuid.UUID]lags), make(map[uuid.UUID]lags)
	err = each(ctx, client, "read the freshness of connectors", func(rows *sql.Rows) error {
		var id uuid.UUID
		var recent bool
		var class int
		var c lagCount
		if err := rows.Scan(&id, &recent, &class, &c.changes, &c.longest); err != nil {
			return err
		}
		add(week, id, class, c)
		if recent {
			add(day, id, class, c)
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
	err = each(ctx, client, "read what waits to be searchable", func(rows *sql.Rows) error {
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

// asking is the workspace that is asked about, null for all of them.
func (j *Jobs) asking(ctx context.Context, connectors []uuid.UUID) (*uuid.UUID, error) {
	v, ok := viewer.From(ctx)
	switch {
	case !ok, len(connectors) == 0 && (v.Kind != viewer.KindSystem || v.Workspace != uuid.Nil):
		return nil, fmt.Errorf("read statistics of connectors: %w", viewer.ErrOutOfReach)
	case v.Workspace == uuid.Nil:
		return nil, nil //nolint:nilnil // the system asks about all
	default:
		return &v.Workspace, nil
	}
}

func add(to map[uuid.UUID]lags, id uuid.UUID, class int, c lagCount) {
	if to[id] == nil {
		to[id] = make(lags)
	}
	sum := to[id][class]
	to[id][class] = lagCount{sum.changes + c.changes, max(sum.longest, c.longest)}
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

// quantile is the lag that a share of the changes did not exceed, as far as
// their classes tell.
func (l lags) quantile(share float64, w FreshnessWindow) float64 {
	left := share * float64(w.Changes)
	for class := range classes {
		c := l[class]
		if c.changes == 0 {
			continue
		}
		if n := float64(c.changes); left > n {
			left -= n
			continue
		}
		low, high := bounds(class)
		high = min(high, c.longest)
		return min(low, high) + max(0, high-low)*left/float64(c.changes)
	}
	return w.Max
}
