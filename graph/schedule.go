package graph

import (
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// schedule is the checked form of doc_sync.
type schedule struct {
	strategy connector.SyncStrategy
	interval string
	next     *time.Time // with strategy scheduled
}

// schedule checks in and fills what it leaves out from the present values.
// Nothing given is nothing to change.
func (r *Resolver) schedule(in *model.DocSyncInput, strategy connector.SyncStrategy, interval string) (*schedule, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // no doc_sync in the request is no error
	}
	s := schedule{strategy: connector.DefaultSyncStrategy, interval: connector.DefaultScheduleInterval}
	if strategy != "" {
		s.strategy, s.interval = strategy, interval
	}
	if in.SyncStrategy != nil {
		s.strategy = connector.SyncStrategy(strings.ToUpper(*in.SyncStrategy))
		if connector.SyncStrategyValidator(s.strategy) != nil || *in.SyncStrategy != strings.ToLower(*in.SyncStrategy) {
			return nil, apierr.Invalid("doc_sync.sync_strategy", "must be manual or scheduled")
		}
	}
	if in.ScheduleInterval != nil {
		s.interval = *in.ScheduleInterval
	}
	every, err := syncjob.ParseInterval(s.interval)
	if err != nil {
		return nil, err
	}
	if s.strategy == connector.SyncStrategyScheduled {
		next := r.Now().Add(every)
		s.next = &next
	}
	return &s, nil
}

// wantedSchedule is the one that a request gives: doc_sync, or schema_sync where
// the connector attaches a database.
func wantedSchedule(kind connectors.Kind, documents, schema *model.DocSyncInput) (*model.DocSyncInput, error) {
	switch {
	case schema == nil:
		return documents, nil
	case !kind.AttachesDatabase():
		return nil, apierr.Invalid("schema_sync", "is for connectors that attach a database; this one has doc_sync")
	case documents != nil:
		return nil, apierr.Invalid("schema_sync", "cannot be given together with doc_sync")
	default:
		return schema, nil
	}
}

// schemaSync is the schedule of a connector that attaches a database; nil for
// every other one.
func (r *Resolver) schemaSync(row *ent.Connector) *model.DocSync {
	if kind, ok := r.Kinds.Lookup(row.Type); !ok || !kind.AttachesDatabase() {
		return nil
	}
	return &model.DocSync{SyncStrategy: strings.ToLower(string(row.SyncStrategy)), ScheduleInterval: row.ScheduleInterval}
}
