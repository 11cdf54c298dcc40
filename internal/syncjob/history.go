package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statement
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

//go:embed sql/history.sql
var historySQL string

// HistoryDays is how far back the sums of a [History] reach.
const HistoryDays = 30

// History sums up the syncs of a connector; plans, refreshes and other jobs are none.
type History struct {
	Completed, Partial, Failed, Canceled int
	Open                                 int
	// Went is the time that those which went through took together.
	Went                     time.Duration
	Pages, Retried           int
	Bytes                    int64
	Added, Modified, Deleted int
	LastSuccess, LastFailure time.Time // whenever that was; zero for never
}

// Total is the number of syncs.
func (h History) Total() int { return h.Completed + h.Partial + h.Failed + h.Canceled + h.Open }

// SuccessRate is the share of those that ended and were not canceled which went
// through; false when there are none.
func (h History) SuccessRate() (float64, bool) {
	through := h.Completed + h.Partial
	if through+h.Failed == 0 {
		return 0, false
	}
	return float64(through) / float64(through+h.Failed), true
}

// MeanDuration is that of those that went through; false when there are none.
func (h History) MeanDuration() (time.Duration, bool) {
	through := h.Completed + h.Partial
	if through == 0 {
		return 0, false
	}
	return h.Went / time.Duration(through), true
}

// History returns that of connectors that the viewer may see: the caller has
// read their rows.
func (j *Jobs) History(ctx context.Context, connectors []uuid.UUID) (map[uuid.UUID]History, error) {
	found := make(map[uuid.UUID]History, len(connectors))
	if len(connectors) == 0 {
		return found, nil
	}
	workspace, err := j.asking(ctx, connectors)
	if err != nil {
		return nil, err
	}
	err = each(ctx, transaction.Client(ctx, j.client), "sum the syncs of connectors up", func(rows *sql.Rows) error {
		var id uuid.UUID
		var h History
		var seconds float64
		var success, failure sql.NullTime
		if err := rows.Scan(&id, &h.Completed, &h.Partial, &h.Failed, &h.Canceled, &h.Open, &seconds, &h.Pages, &h.Retried, &h.Bytes,
			&h.Added, &h.Modified, &h.Deleted, &success, &failure); err != nil {
			return err
		}
		h.Went, h.LastSuccess, h.LastFailure = time.Duration(seconds*float64(time.Second)), success.Time, failure.Time
		found[id] = h
		return nil
	}, historySQL, connectors, workspace, j.now().AddDate(0, 0, -HistoryDays))
	return found, err
}

// each reads the rows of a statement one by one.
func each(ctx context.Context, client *ent.Client, what string, take func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := client.QueryContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }() // Err tells of everything that matters
	for rows.Next() {
		if err := take(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
