package connector

import (
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// A Schedule says when syncs of a connector start. Nil fields keep their value.
type Schedule struct {
	Strategy *entconnector.SyncStrategy
	Interval *string // one of syncjob.Intervals
}

// Schedules are the two names of one setting: connectors with documents call it
// doc_sync, connectors that attach a database schema_sync. Both may be nil.
type Schedules struct {
	Documents, Schema *Schedule
}

// choose returns the schedule that suits kind; nil if none is given.
func (s Schedules) choose(kind connectors.Kind) (*Schedule, error) {
	switch {
	case s.Schema == nil:
		return s.Documents, nil
	case !kind.AttachesDatabase():
		return nil, apierr.Invalid("schemaSync", "is for connectors that attach a database; others have a schedule of documents")
	case s.Documents != nil:
		return nil, apierr.Invalid("schemaSync", "cannot be given together with a schedule of documents")
	default:
		return s.Schema, nil
	}
}

// setSchedule checks s and writes it to m. row is the connector that m changes,
// nil if m creates one. The next scheduled sync is due one interval from now.
func (c *Connectors) setSchedule(m *ent.ConnectorMutation, row *ent.Connector, kind connectors.Kind, s Schedules) error {
	given, err := s.choose(kind)
	if err != nil || given == nil {
		return err
	}
	strategy, interval := entconnector.DefaultSyncStrategy, entconnector.DefaultScheduleInterval
	if row != nil {
		strategy, interval = row.SyncStrategy, row.ScheduleInterval
	}
	if given.Strategy != nil {
		strategy = *given.Strategy
	}
	if given.Interval != nil {
		interval = *given.Interval
	}
	period, err := syncjob.ParseInterval(interval)
	if err != nil {
		return err
	}
	m.SetSyncStrategy(strategy)
	m.SetScheduleInterval(interval)
	if strategy == entconnector.SyncStrategyScheduled {
		m.SetNextSyncAt(c.o.Now().Add(period))
	} else if row != nil {
		m.ClearNextSyncAt()
	}
	return nil
}
