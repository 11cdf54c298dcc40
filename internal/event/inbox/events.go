package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/inboundevent"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Events returns the query of the events that the viewer may see, of one integration or
// with one of some statuses if they are given.
func (b *Inbox) Events(ctx context.Context, integration *uuid.UUID, status []inboundevent.Status) (*ent.InboundEventQuery, error) {
	client := b.client(ctx)
	q := client.InboundEvent.Query()
	if integration != nil {
		if err := lookup.Exists(ctx, "Integration", client.InboundIntegration.Query().Where(inboundintegration.ID(*integration))); err != nil {
			return nil, err
		}
		q.Where(inboundevent.IntegrationID(*integration))
	}
	if len(status) > 0 {
		q.Where(inboundevent.StatusIn(status...))
	}
	return q, nil
}

// Event returns an event.
func (b *Inbox) Event(ctx context.Context, id uuid.UUID) (*ent.InboundEvent, error) {
	row, err := b.client(ctx).InboundEvent.Get(ctx, id)
	return row, lookup.Error("Event", err)
}

// Resend processes an event again, as if it had just arrived.
func (b *Inbox) Resend(ctx context.Context, id uuid.UUID) (*ent.InboundEvent, error) {
	client := b.client(ctx)
	row, err := client.InboundEvent.Query().Where(inboundevent.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return nil, lookup.Error("Event", err)
	}
	switch {
	case row.Status == inboundevent.StatusReceived:
		return row, nil // it is on its way
	case row.Payload == nil:
		return nil, apierr.New(apierr.Conflict, fmt.Sprintf("The payload of the event was deleted %.0f days after it arrived", b.opt.Retention.Hours()/24))
	}
	row, err = client.InboundEvent.UpdateOne(row).SetStatus(inboundevent.StatusReceived).ClearReason().ClearProcessedAt().ClearDocumentID().
		SetAutomationIds([]uuid.UUID{}).SetDueAt(b.opt.Now().Add(sweepAfter)).Save(ctx)
	if err != nil {
		return nil, err
	}
	task := queue.Event{Workspace: row.WorkspaceID, Event: row.ID, Attempt: row.Attempts}
	transaction.AfterCommit(ctx, func(ctx context.Context) {
		if b.opt.Queue != nil {
			_ = b.opt.Queue.Enqueue(ctx, task) // the sweep enqueues it otherwise
		}
	})
	return row, nil
}

// A Swept is the number of rows that Sweep changed.
type Swept struct{ Payloads, Events, Secrets int64 }

// Sweep deletes payloads, rows and old secrets whose retention has passed.
func (b *Inbox) Sweep(ctx context.Context) (Swept, error) {
	now := b.opt.Now()
	run := func(sql string, args ...any) (int64, error) {
		tag, err := b.opt.Pool.Exec(ctx, sql, args...)
		return tag.RowsAffected(), err //nolint:wrapcheck // wrapped below
	}
	var s Swept
	var failed [3]error
	s.Payloads, failed[0] = run(`update integration_events set payload = null where id in
		(select id from integration_events where payload is not null and received_at < $1 limit 5000)`, now.Add(-b.opt.Retention))
	s.Events, failed[1] = run(`delete from integration_events where id in
		(select id from integration_events where received_at < $1 limit 5000)`, now.Add(-b.opt.RowRetention))
	s.Secrets, failed[2] = run(`update inbound_integrations set previous_credentials = null, previous_until = null where previous_until < $1`, now)
	if err := errors.Join(failed[:]...); err != nil {
		return s, fmt.Errorf("delete expired events: %w", err)
	}
	return s, nil
}
