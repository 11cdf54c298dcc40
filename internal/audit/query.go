package audit

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/internal/apierr"
)

// maxFilterText is the longest text of a filter, in bytes.
const maxFilterText = 400

// Filter selects entries. Its zero value selects all.
type Filter struct {
	Actor      string // id, or name, ignoring case
	Action     string // whole, or a prefix followed by *
	TargetKind string
	TargetID   *uuid.UUID
	From, To   *time.Time // From is included, To is not
	Text       string     // part of the action or of a name, ignoring case
}

// Query returns a query for the entries that f selects. The viewer's policy
// applies.
func Query(client *ent.Client, f Filter) (*ent.AuditEntryQuery, error) {
	for name, text := range map[string]string{"actor": f.Actor, "action": f.Action, "targetKind": f.TargetKind, "matching": f.Text} {
		if len(text) > maxFilterText {
			return nil, apierr.Invalid(name, "is too long")
		}
	}
	query := client.AuditEntry.Query()
	if f.Actor != "" {
		if id, err := uuid.Parse(f.Actor); err == nil {
			query.Where(auditentry.Or(auditentry.ActorID(id), auditentry.TokenID(id)))
		} else {
			query.Where(auditentry.ActorNameEqualFold(f.Actor))
		}
	}
	if f.Action != "" {
		if prefix, ok := strings.CutSuffix(f.Action, "*"); ok {
			query.Where(auditentry.ActionHasPrefix(prefix))
		} else {
			query.Where(auditentry.Action(f.Action))
		}
	}
	if f.TargetKind != "" {
		query.Where(auditentry.TargetKind(f.TargetKind))
	}
	if f.TargetID != nil {
		query.Where(auditentry.TargetID(*f.TargetID))
	}
	if f.From != nil {
		query.Where(auditentry.CreatedAtGTE(*f.From))
	}
	if f.To != nil {
		query.Where(auditentry.CreatedAtLT(*f.To))
	}
	if f.Text != "" {
		query.Where(auditentry.Or(auditentry.ActionContainsFold(f.Text),
			auditentry.ActorNameContainsFold(f.Text), auditentry.TargetNameContainsFold(f.Text)))
	}
	return query, nil
}

// ChangesOf returns the changes of an entry.
func ChangesOf(row *ent.AuditEntry) ([]*Change, error) {
	content, err := json.Marshal(row.Changes)
	if err != nil {
		return nil, apierr.Wrap("read an audit entry", err)
	}
	changes := []*Change{}
	return changes, apierr.Wrap("read an audit entry", json.Unmarshal(content, &changes))
}
