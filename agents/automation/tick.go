package automation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// maxFired is the number of schedules that one tick starts.
	maxFired = 100
	// watchEvery is the time between two looks at the documents of an automation.
	watchEvery = 5 * time.Second
	// watchBatch is the number of changed documents of a collection that one look reads.
	watchBatch = 200
	// addedSlack is how long before a look a document that the look did not see may have
	// been stored: the transaction that stored it was still open.
	addedSlack = 30 * time.Second
)

// fireSchedules starts runs of the automations whose time has come. A worker that finds
// the time long past, after an outage, starts one run, not one for each missed time.
func (e *Engine) fireSchedules(ctx context.Context) error {
	for range maxFired {
		fired, err := e.fireNext(ctx)
		if err != nil || !fired {
			return err
		}
	}
	return nil
}

func (e *Engine) fireNext(ctx context.Context) (fired bool, err error) {
	err = transaction.In(ctx, e.Store.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		now := e.now()
		a, err := client.Automation.Query().Where(automation.NextRunAtLTE(now), automation.Enabled(true), automation.KindEQ(automation.KindSchedule)).
			Order(automation.ByNextRunAt()).Limit(1).ForUpdate(sql.WithLockAction(sql.SkipLocked)).First(ctx)
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for due schedules: %w", err)
		}
		fired = true
		due := *a.NextRunAt
		settings, err := SettingsOf(a)
		if err != nil {
			e.log.WarnContext(ctx, "automation settings unusable", slog.Any("automation", a.ID), slog.Any("error", err))
			return a.Update().ClearNextRunAt().Exec(ctx) //nolint:wrapcheck // the transaction wraps
		}
		update := a.Update()
		if next := settings.Trigger.next(a.Kind, now); next != nil {
			update.SetNextRunAt(*next)
		} else {
			update.ClearNextRunAt()
		}
		if err := update.Exec(ctx); err != nil {
			return fmt.Errorf("move a schedule: %w", err)
		}
		inside := viewer.With(ctx, viewer.System(a.WorkspaceID))
		_, err = e.Store.admit(inside, a.ID, start{Occurrence: scheduled(due, settings.Trigger), key: keyOf("schedule", due.UTC().Format(time.RFC3339))})
		return err
	})
	return fired, err
}

func scheduled(due time.Time, t Trigger) Occurrence {
	zone, err := time.LoadLocation(t.Timezone)
	if err != nil {
		zone = time.UTC
	}
	local := due.In(zone)
	return Occurrence{
		Title: "Scheduled for " + local.Format("2006-01-02 15:04 MST"),
		Data:  map[string]any{"time": local.Format(time.RFC3339), "date": local.Format(time.DateOnly), "timezone": zone.String()},
	}
}

// watchDocuments starts runs for documents that were added or changed.
func (e *Engine) watchDocuments(ctx context.Context) error {
	now := e.now()
	rows, err := e.Store.opt.Ent.Automation.Query().
		Where(automation.Enabled(true), automation.KindEQ(automation.KindDocument),
			automation.Or(automation.CheckedAtIsNil(), automation.CheckedAtLTE(now.Add(-watchEvery)))).
		Order(automation.ByCheckedAt(sql.OrderNullsFirst())).Limit(maxFired).All(ctx)
	if err != nil {
		return fmt.Errorf("look for document triggers: %w", err)
	}
	for _, a := range rows {
		if err := e.watch(ctx, a.ID); err != nil && ctx.Err() == nil {
			e.log.WarnContext(ctx, "documents of an automation not read, will try again", slog.Any("automation", a.ID), slog.Any("error", err))
		}
	}
	return ctx.Err()
}

// watch looks for the changed documents of one automation. Its row is locked, so that
// one worker does.
func (e *Engine) watch(ctx context.Context, id uuid.UUID) error {
	return transaction.In(ctx, e.Store.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		a, err := client.Automation.Query().Where(automation.ID(id), automation.Enabled(true)).ForUpdate(sql.WithLockAction(sql.SkipLocked)).Only(ctx)
		if ent.IsNotFound(err) {
			return nil // another worker looks
		}
		if err != nil {
			return fmt.Errorf("lock an automation: %w", err)
		}
		now := e.now()
		if a.CheckedAt != nil && a.CheckedAt.After(now.Add(-watchEvery)) {
			return nil
		}
		settings, err := SettingsOf(a)
		if err != nil {
			return err
		}
		v, err := e.subject(ctx, a)
		if err != nil {
			return err
		}
		cursors := map[string]int64{}
		for _, c := range settings.Trigger.Collections {
			after, known := a.Cursors[c.String()]
			if !known {
				continue // the collection was deleted when the automation was stored
			}
			if cursors[c.String()], err = e.watchCollection(ctx, a, settings.Trigger, v, c, after); err != nil {
				return err
			}
		}
		return a.Update().SetCursors(cursors).SetCheckedAt(now).Exec(ctx) //nolint:wrapcheck // the transaction wraps
	})
}

func (e *Engine) watchCollection(ctx context.Context, a *ent.Automation, t Trigger, v viewer.Viewer, collection uuid.UUID, after int64) (int64, error) {
	scope, err := viewer.System(a.WorkspaceID).Scope()
	if err != nil {
		return after, fmt.Errorf("read changed documents: %w", err)
	}
	changes, err := e.Changes.DocumentChanges(ctx, scope, collection, index.FeedEnd(after), watchBatch)
	if err != nil || len(changes) == 0 {
		return after, err
	}
	last := changes[len(changes)-1].At.Number
	if len(changes) == watchBatch && changes[0].At.Number < last {
		// The last number may have more documents than were read.
		changes = slices.DeleteFunc(changes, func(c index.DocumentChange) bool { return c.At.Number == last })
		last = changes[len(changes)-1].At.Number
	}
	var ids []uuid.UUID
	numbers := map[uuid.UUID]int64{}
	for _, c := range changes {
		if c.Status == string(document.StatusIndexed) && c.Failure == "" {
			ids = append(ids, c.Document)
			numbers[c.Document] = c.At.Number
		}
	}
	client := transaction.Client(ctx, e.Store.opt.Ent)
	// Documents that the automation may not read start nothing.
	found, err := client.Document.Query().Where(document.IDIn(ids...)).All(e.as(ctx, v))
	if err != nil {
		return after, fmt.Errorf("read changed documents: %w", err)
	}
	for _, d := range found {
		if d.DocType != nil && *d.DocType == DocType {
			continue // what automations store starts no automation
		}
		if err := e.startFor(ctx, client, a, t, d, numbers[d.ID]); err != nil {
			return after, err
		}
	}
	return last, nil
}

func (e *Engine) startFor(ctx context.Context, client *ent.Client, a *ent.Automation, t Trigger, d *ent.Document, number int64) error {
	inside := viewer.With(ctx, viewer.System(a.WorkspaceID))
	seen := a.CreatedAt
	if a.CheckedAt != nil {
		seen = *a.CheckedAt
	}
	both := t.Added == t.Changed
	change, key := "changed", keyOf("document", fmt.Sprintf("%s:%d", d.ID, number))
	if d.CreatedAt.After(seen.Add(-addedSlack)) {
		first := keyOf("added", d.ID.String())
		_, found, err := find(inside, client, a.ID, first)
		if err != nil {
			return err
		}
		if !found {
			change, key = "added", first
		}
	}
	if !both && (change == "added") != t.Added {
		return nil
	}
	url, author := "", ""
	if d.URL != nil {
		url = *d.URL
	}
	if d.Author != nil {
		author = *d.Author
	}
	o := Occurrence{
		Title: "Document " + change + ": " + d.Title, Document: d.ID,
		Data: map[string]any{
			"id": d.ID.String(), "title": d.Title, "path": d.Path, "url": url, "collectionId": d.CollectionID.String(), "change": change, "author": author,
		},
	}
	values, err := plain(o.Data)
	if err != nil {
		return err
	}
	settings, err := SettingsOf(a)
	if err != nil {
		return err
	}
	for _, rule := range settings.Conditions {
		if !rule.Holds(values) {
			return nil
		}
	}
	_, err = e.Store.admit(inside, a.ID, start{Occurrence: o, key: key})
	return err
}
