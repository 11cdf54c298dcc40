package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"time"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
)

// A sync of a source with a feed reads the changes since a token or walks the
// source. The job keeps which of the two it does, and the token for the next sync,
// which becomes the connector's when the job completes.

var (
	//go:embed sql/mark_gone.sql
	markGoneSQL string
	//go:embed sql/unfinished_items.sql
	unfinishedItemsSQL string
	//go:embed sql/restart_walk.sql
	restartWalkSQL string
)

// BeginFeed makes the job read the changes since a token. settings is the hash of
// the connector's settings.
func (r *Run) BeginFeed(ctx context.Context, token, settings string) error {
	return r.save(ctx, "begin to read changes", func(u *ent.SyncJobUpdate) {
		u.SetFeed(true).SetCursor(token).SetSettingsHash(settings)
	})
}

// BeginWalk makes the job walk the source. present is the token of the time before
// the first page, empty for none.
func (r *Run) BeginWalk(ctx context.Context, present, settings string) error {
	return r.save(ctx, "begin to walk a source", func(u *ent.SyncJobUpdate) {
		u.SetFeed(false).SetCursor("").SetFeedToken(present).SetSettingsHash(settings)
	})
}

// RestartWalk makes a job that read changes walk the source. Its outcomes so far do
// not count as seen.
func (r *Run) RestartWalk(ctx context.Context, present string) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	var held int
	err := r.query(ctx, "begin to walk a source", func(rows *sql.Rows) error { return rows.Scan(&held) },
		restartWalkSQL, r.job, r.attempt, r.workspace, present)
	switch {
	case err != nil:
		return err
	case held == 0:
		return ErrLost
	}
	return r.recount(ctx, r.jobs.client)
}

// SaveFeed saves the token at which the job reads on. With read, all changes were
// read, and the token is that of the next sync.
func (r *Run) SaveFeed(ctx context.Context, token string, read bool) error {
	return r.save(ctx, "save the progress of a sync job", func(u *ent.SyncJobUpdate) {
		u.SetCursor(token).SetWalked(read).SetRetries(0).SetHeartbeatAt(r.jobs.now())
		if read {
			u.SetFeedToken(token)
		}
	})
}

// MarkGone notes that the source says that items are gone, given by source id.
// Unknown ids are ignored. An outcome of an item takes the note back.
func (r *Run) MarkGone(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	archives := make([]string, len(ids))
	for i, id := range ids {
		archives[i] = entryid.ArchiveKey(id)
	}
	var held int
	err := r.query(ctx, "note that items are gone", func(rows *sql.Rows) error { return rows.Scan(&held) },
		markGoneSQL, r.job, r.attempt, r.workspace, ids, archives)
	if err == nil && held == 0 {
		return ErrLost
	}
	return err
}

// UnfinishedItems returns source ids, in order after one, of items that earlier
// jobs left without a searchable newest version although a retry may help.
func (r *Run) UnfinishedItems(ctx context.Context, after string, limit int) ([]string, error) {
	var ids []string
	err := r.query(ctx, "list the items to retry", func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err // query says what failed
		}
		ids = append(ids, id)
		return nil
	}, unfinishedItemsSQL, r.workspace, r.connector, r.job, after, limit)
	return ids, err
}

// A FeedPosition is what the connector knows of the feed of its source after a
// completed sync.
type FeedPosition struct {
	// Token is where the next sync reads on. Empty keeps the stored one.
	Token string
	// Walked says that the whole source was walked, from Began on and with the
	// settings of the hash Settings.
	Walked   bool
	Began    time.Time
	Settings string
}

// SetFeedPosition sets what Complete stores with the connector, in the transaction
// that ends the job.
func (r *Run) SetFeedPosition(p FeedPosition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.feed = &p
}

func (r *Run) storeFeedPosition(u *ent.ConnectorUpdateOne) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.feed == nil {
		return
	}
	if r.feed.Token != "" {
		u.SetFeedToken(r.feed.Token)
	}
	if r.feed.Walked {
		u.SetFeedSettings(r.feed.Settings).SetWalkedAt(r.feed.Began)
	}
}
