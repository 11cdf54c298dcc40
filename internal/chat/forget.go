package chat

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// forgetBatchSize is how many conversations one transaction deletes.
	forgetBatchSize = 500
	// maxForgetBatches is how many transactions one call of Forget runs.
	maxForgetBatches = 20
)

// Forget deletes the conversations of all workspaces whose last question is
// older than keep, with their messages, and returns their number. A keep of 0
// keeps all. One call deletes a bounded number and skips conversations that are
// being written to. Concurrent calls are safe.
func (c *Chat) Forget(ctx context.Context, keep time.Duration) (int, error) {
	if keep <= 0 {
		return 0, nil
	}
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	before := c.opt.Now().Add(-keep)
	deleted := 0
	for range maxForgetBatches {
		n, err := c.deleteBatch(ctx, before)
		if deleted += n; err != nil || n < forgetBatchSize {
			return deleted, err
		}
	}
	return deleted, nil
}

func (c *Chat) deleteBatch(ctx context.Context, before time.Time) (deleted int, err error) {
	err = transaction.In(ctx, c.client, func(ctx context.Context, client *ent.Client) error {
		ids, err := client.Conversation.Query().Where(conversation.UpdatedAtLT(before)).
			Order(conversation.ByUpdatedAt()).Limit(forgetBatchSize).ForUpdate(sql.WithLockAction(sql.SkipLocked)).IDs(ctx)
		if err != nil {
			return fmt.Errorf("find old conversations: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		deleted, err = client.Conversation.Delete().Where(conversation.IDIn(ids...), conversation.UpdatedAtLT(before)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("delete old conversations: %w", err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
