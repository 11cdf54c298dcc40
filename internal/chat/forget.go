package chat

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// forgetSlice is how many conversations one transaction deletes.
	forgetSlice = 500
	// forgetSlices is how many transactions one call makes; the next goes on.
	forgetSlices = 20
)

// Forget deletes the conversations of all workspaces whose last question is
// longer ago than they are kept, with their messages; 0 keeps all. It works in
// bounded slices, leaves out what somebody is writing to, and may run several
// times at once. It returns how many it deleted.
func (c *Chat) Forget(ctx context.Context, keep time.Duration) (int, error) {
	if keep <= 0 {
		return 0, nil
	}
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	before := c.opt.Now().Add(-keep)
	deleted := 0
	for range forgetSlices {
		n, err := c.forget(ctx, before)
		if deleted += n; err != nil || n < forgetSlice {
			return deleted, err
		}
	}
	return deleted, nil
}

func (c *Chat) forget(ctx context.Context, before time.Time) (int, error) {
	tx, err := c.client.Tx(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget conversations: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	ids, err := tx.Conversation.Query().Where(conversation.UpdatedAtLT(before)).
		Order(conversation.ByUpdatedAt()).Limit(forgetSlice).ForUpdate(sql.WithLockAction(sql.SkipLocked)).IDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, wrap("find old conversations", err)
	}
	n, err := tx.Conversation.Delete().Where(conversation.IDIn(ids...), conversation.UpdatedAtLT(before)).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget conversations: %w", err)
	}
	return n, wrap("forget conversations", tx.Commit())
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
