package syncer

import (
	"context"
	"fmt"
	"strconv"

	"entgo.io/ent/dialect/sql"

	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
)

// maxUnseen is the share of the items, in percent, that a walk may miss without a
// warning. The platforms' totals are estimates.
const maxUnseen = 1

// checkTotal compares the items that a walk listed with the number that the source
// says it has.
func (s *slice) checkTotal(ctx context.Context) error {
	total := s.run.Announced()
	if total == 0 || s.job.Feed {
		return nil
	}
	seen, err := s.listed(ctx)
	if err != nil {
		return err
	}
	if 100*(total-seen) > maxUnseen*total {
		s.run.Warn(fmt.Sprintf("%s of about %s items were seen: the source did not list %s of those that it counts. "+
			"The credentials may not reach all of them.", grouped(seen), grouped(total), grouped(total-seen)))
	}
	return nil
}

// listed returns the number of items that the job has seen, without files of
// archives.
func (s *slice) listed(ctx context.Context) (n int, err error) {
	outside := func(q *sql.Selector) {
		inner := sql.Select().From(sql.Table(syncitem.Table))
		entryid.InAnyArchive(inner)
		q.Where(sql.Not(inner.P()))
	}
	if s.isPlan {
		n, err = s.engine.client.PlanItem.Query().
			Where(planitem.JobID(s.job.ID), planitem.ActionNotIn(planitem.ActionDelete, planitem.ActionQuarantine, planitem.ActionKeep), outside).Count(ctx)
	} else {
		n, err = s.engine.client.SyncItem.Query().
			Where(syncitem.ConnectorID(s.connector.ID), syncitem.JobID(s.job.ID), syncitem.StatusNEQ(syncitem.StatusDeleted), outside).Count(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("count the items that were seen: %w", err)
	}
	return n, nil
}

// grouped formats a number with commas: 5,012.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
