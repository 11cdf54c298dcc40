package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// StartSync starts a sync of a connector. The input holds the fields of
// StartSyncInput.
func (c *Client) StartSync(ctx context.Context, connector uuid.UUID, input Variables) (Job, error) {
	var data struct {
		Job Job `json:"job"`
	}
	err := c.Do(ctx, "StartSync", Variables{"connector": connector, "input": input}, &data)
	return data.Job, err
}

// queuedGrace is how long a job may stay queued before Watch warns about it.
const queuedGrace = 5 * time.Second

// Watch follows a job until it ends, reports its progress and returns its last
// state. A connection that is cut off is made again: each event has the whole state, so
// nothing is missed.
func (c *Client) Watch(ctx context.Context, job uuid.UUID, r Reporter) (Job, error) {
	progress := r.Progress("sync")
	defer progress.Done("")
	queued := time.AfterFunc(queuedGrace, func() {
		r.Warn("The job is still queued: does a worker run? (magpie worker, or magpie up)")
	})
	defer queued.Stop()
	var last Job
	again := func() (string, Variables) { return "WatchSync", Variables{"job": job} }
	operation, variables := again()
	err := c.follow(ctx, operation, variables, again, func(data json.RawMessage) error {
		var answer struct {
			Event Job `json:"event"`
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return fmt.Errorf("read the progress: %w", err)
		}
		last = answer.Event
		if last.Status != "QUEUED" {
			queued.Stop()
		}
		progress.Show(last.Stats.Finished(), last.Progress.Collected, last.Stats.problems())
		return nil
	})
	if err == nil && !last.Ended() {
		err = errors.New("the progress ended before the job did; see `magpie sync status`")
	}
	return last, err
}

// problems names the numbers of skipped and failed items.
func (s JobStats) problems() string {
	var parts []string
	if s.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", s.Skipped))
	}
	if s.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.Errors))
	}
	return strings.Join(parts, ", ")
}

// Sync runs one sync of a connector to its end. A job that does not complete is
// an error.
func (c *Client) Sync(ctx context.Context, connector uuid.UUID, mode string, r Reporter) (Job, error) {
	job, err := c.StartSync(ctx, connector, Variables{"syncMode": mode})
	if err != nil {
		return job, err
	}
	if job, err = c.Watch(ctx, job.ID, r); err != nil {
		return job, err
	}
	if job.Status != "COMPLETED" {
		return job, fmt.Errorf("a sync ended as %s: %s", strings.ToLower(job.Status), job.Failure())
	}
	return job, nil
}

// Items lists ledger entries of a connector by path: at most limit, or all for
// 0. It lists those that a job saw last unless job is uuid.Nil, and those with one
// of the statuses, ignoring case, unless there are none.
func (c *Client) Items(ctx context.Context, connector, job uuid.UUID, statuses []string, limit int) ([]Item, error) {
	v := Variables{"connector": connector}
	if job != uuid.Nil {
		v["job"] = job
	}
	if len(statuses) > 0 {
		upper := make([]string, 0, len(statuses))
		for _, status := range statuses {
			upper = append(upper, strings.ToUpper(status))
		}
		v["status"] = upper
	}
	return List[Item](ctx, c, "ListSyncItems", v, limit)
}
