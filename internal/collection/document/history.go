package document

import (
	"cmp"
	"context"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/auditentry"
	entdocument "github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// EventKind is what happened to a document.
type EventKind string

// The kinds of events.
const (
	Added        EventKind = "ADDED"
	Changed      EventKind = "CHANGED"
	Indexed      EventKind = "INDEXED"
	Failed       EventKind = "FAILED"
	Deleted      EventKind = "DELETED"
	Quarantined  EventKind = "QUARANTINED"
	Restored     EventKind = "RESTORED"
	Allowed      EventKind = "ALLOWED"
	Restricted   EventKind = "RESTRICTED"
	Unrestricted EventKind = "UNRESTRICTED"
)

// An Event is something that happened to a document.
type Event struct {
	At     time.Time
	Kind   EventKind
	Job    uuid.UUID // the sync that did it; zero for none
	Actor  string    // the person who did it; "" for none
	Reason string
}

// maxEntries is the number of entries of the audit log that are read for documents.
const maxEntries = 1000

// History returns what is known to have happened to documents, the newest first, at
// most first events of each: what the document and its ledger entry say of the last
// sync, and for administrators what people did. Documents that the viewer may not
// read are missing.
func (d *Documents) History(ctx context.Context, ids []uuid.UUID, first int) (map[uuid.UUID][]Event, error) {
	client := d.client(ctx)
	rows, err := client.Document.Query().Where(entdocument.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, err
	}
	items, err := d.itemsOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	people, err := d.peopleEvents(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID][]Event, len(rows))
	for _, row := range rows {
		events := slices.Concat(people[row.ID], syncEvents(row, items[row.ID], people[row.ID]))
		slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Kind, a.Kind)) })
		out[row.ID] = events[:min(len(events), first)]
	}
	return out, nil
}

// itemsOf returns the ledger entries of documents. The ids of jobs that are not kept
// any more are zero.
func (d *Documents) itemsOf(ctx context.Context, rows []*ent.Document) (map[uuid.UUID]*ent.SyncItem, error) {
	if v, ok := viewer.From(ctx); !ok || v.Kind == viewer.KindKey || len(rows) == 0 {
		return nil, nil //nolint:nilnil // keys do not read ledgers
	}
	client := d.client(ctx)
	// By the source's id, for which there is an index.
	connectors, sources := make([]uuid.UUID, len(rows)), make([]string, len(rows))
	document := map[uuid.UUID]map[string]uuid.UUID{}
	for i, row := range rows {
		connectors[i], sources[i] = row.ConnectorID, row.SourceID
		if document[row.ConnectorID] == nil {
			document[row.ConnectorID] = map[string]uuid.UUID{}
		}
		document[row.ConnectorID][row.SourceID] = row.ID
	}
	items, err := client.SyncItem.Query().Where(syncitem.ConnectorIDIn(connectors...), syncitem.SourceIDIn(sources...)).All(ctx)
	if err != nil {
		return nil, err
	}
	jobs := make([]uuid.UUID, len(items))
	for i, item := range items {
		jobs[i] = item.JobID
	}
	kept, err := client.SyncJob.Query().Where(syncjob.IDIn(jobs...)).IDs(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]*ent.SyncItem, len(items))
	for _, item := range items {
		id, known := document[item.ConnectorID][item.SourceID]
		if !known {
			continue
		}
		if !slices.Contains(kept, item.JobID) {
			item.JobID = uuid.Nil
		}
		out[id] = item
	}
	return out, nil
}

// peopleEvents returns what people did to documents, for administrators.
func (d *Documents) peopleEvents(ctx context.Context, rows []*ent.Document) (map[uuid.UUID][]Event, error) {
	v, _ := viewer.From(ctx)
	if len(rows) == 0 || v.Kind != viewer.KindSession || !v.Role.AtLeast(viewer.RoleAdmin) {
		return nil, nil //nolint:nilnil // others do not read the log
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	entries, err := d.client(ctx).AuditEntry.Query().
		Where(auditentry.TargetIDIn(ids...), auditentry.ActionIn("document.delete", "document.restore", "document.allow", "document.restrict", "document.unrestrict")).
		Order(auditentry.ByCreatedAt(sql.OrderDesc())).Limit(maxEntries).All(ctx)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID][]Event{}
	for _, e := range entries {
		event := Event{At: e.CreatedAt, Actor: e.ActorName}
		switch e.Action {
		case "document.delete":
			event.Kind = Deleted
		case "document.restore":
			event.Kind = Restored
		case "document.allow":
			event.Kind = Allowed
		case "document.restrict":
			event.Kind = Restricted
		default:
			event.Kind = Unrestricted
		}
		out[*e.TargetID] = append(out[*e.TargetID], event)
	}
	return out, nil
}

// syncEvents returns what a document and its ledger entry, which may be nil, say. What
// people say of themselves, by their own events, is left out.
func syncEvents(row *ent.Document, item *ent.SyncItem, people []Event) []Event {
	has := func(kind EventKind) bool {
		return slices.ContainsFunc(people, func(e Event) bool { return e.Kind == kind })
	}
	// job returns the last job that saw the item, if it left it in this state.
	job := func(status syncitem.Status) uuid.UUID {
		if item == nil || item.Status != status || item.Suppressed {
			return uuid.Nil
		}
		return item.JobID
	}
	events := []Event{{At: row.CreatedAt, Kind: Added}}
	if item != nil && item.Added {
		events[0].Job = job(syncitem.StatusIndexed)
	}
	if row.SourceUpdatedAt != nil {
		events = append(events, Event{At: *row.SourceUpdatedAt, Kind: Changed})
	}
	if row.IndexedAt != nil {
		events = append(events, Event{At: *row.IndexedAt, Kind: Indexed, Job: job(syncitem.StatusIndexed)})
	}
	if row.Failure != nil && row.ProcessedAt != nil {
		events = append(events, Event{At: *row.ProcessedAt, Kind: Failed, Reason: *row.Failure, Job: job(syncitem.StatusFailed)})
	}
	byHand := item != nil && item.Suppressed
	if row.DeletedAt != nil && (!byHand || !has(Deleted)) {
		event := Event{At: *row.DeletedAt, Kind: Deleted, Job: job(syncitem.StatusDeleted)}
		if byHand {
			event.Reason = "deleted by hand"
		}
		events = append(events, event)
	}
	if item == nil || item.Hold == nil {
		return events
	}
	reason := ""
	if item.Reason != nil {
		reason = *item.Reason
	}
	switch *item.Hold {
	case syncitem.HoldQuarantined:
		events = append(events, Event{At: item.UpdatedAt, Kind: Quarantined, Reason: reason, Job: item.JobID})
	case syncitem.HoldRestored:
		if !has(Restored) {
			events = append(events, Event{At: item.UpdatedAt, Kind: Restored, Reason: reason})
		}
	}
	return events
}
