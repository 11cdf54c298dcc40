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

// HistoryDays is the period of the sums in a [History].
const HistoryDays = 30

// History summarizes the syncs of a connector. Jobs of other modes do not count.
type History struct {
	Completed, Partial, Failed, Canceled int
	Open                                 int
	// TotalDuration of the syncs that succeeded.
	TotalDuration            time.Duration
	Pages, Retried           int
	Bytes                    int64
	Added, Modified, Deleted int
	LastSuccess, LastFailure time.Time // zero for never
}

// Total returns the number of syncs.
func (h History) Total() int { return h.Completed + h.Partial + h.Failed + h.Canceled + h.Open }

// SuccessRate returns the share of syncs that succeeded, without those that are
// open or canceled. It is false if there are none.
func (h History) SuccessRate() (float64, bool) {
	through := h.Completed + h.Partial
	if through+h.Failed == 0 {
		return 0, false
	}
	return float64(through) / float64(through+h.Failed), true
}

// MeanDuration returns the mean duration of the syncs that succeeded. It is false
// if there are none.
func (h History) MeanDuration() (time.Duration, bool) {
	through := h.Completed + h.Partial
	if through == 0 {
		return 0, false
	}
	return h.TotalDuration / time.Duration(through), true
}

// History returns the history of connectors whose rows the viewer has read.
func (j *Jobs) History(ctx context.Context, connectors []uuid.UUID) (map[uuid.UUID]History, error) {
	found := make(map[uuid.UUID]History, len(connectors))
	if len(connectors) == 0 {
		return found, nil
	}
	workspace, err := j.askedWorkspace(ctx, connectors)
	if err != nil {
		return nil, err
	}
	err = eachRow(ctx, transaction.Client(ctx, j.client), "sum the syncs of connectors up", func(rows *sql.Rows) error {
		var id uuid.UUID
		var h History
		var seconds float64
		var success, failure sql.NullTime
		if err := rows.Scan(&id, &h.Completed, &h.Partial, &h.Failed, &h.Canceled, &h.Open, &seconds, &h.Pages, &h.Retried, &h.Bytes,
			&h.Added, &h.Modified, &h.Deleted, &success, &failure); err != nil {
			return err
		}
		h.TotalDuration, h.LastSuccess, h.LastFailure = time.Duration(seconds*float64(time.Second)), success.Time, failure.Time
		found[id] = h
		return nil
	}, historySQL, connectors, workspace, j.now().AddDate(0, 0, -HistoryDays))
	return found, err
}

// eachRow calls scan with each row of a statement.
func eachRow(ctx context.Context, client *ent.Client, what string, scan func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := client.QueryContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }() // Err reports every failure
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
