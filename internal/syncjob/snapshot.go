package syncjob

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
)

// Counters are what a job has done so far, in items.
type Counters struct {
	// Collected items were seen at the source, parsed ones were read and taken
	// apart, indexed ones were stored.
	Collected int `json:"collected"`
	Parsed    int `json:"parsed"`
	Indexed   int `json:"indexed"`

	Added     int `json:"added"`     // became documents
	Modified  int `json:"modified"`  // replaced the content of documents
	Deleted   int `json:"deleted"`   // documents whose item is gone
	Unchanged int `json:"unchanged"` // were left as they are
	Skipped   int `json:"skipped"`   // are not meant to be documents; the ledger says why
	Failed    int `json:"failed"`    // broke; the ledger says why
}

// Snapshot is a job at one moment.
type Snapshot struct {
	Job       uuid.UUID     `json:"job"`
	Connector uuid.UUID     `json:"connector"`
	Status    entjob.Status `json:"status"`
	Counters
	Warnings   []string  `json:"warnings"`         // never nil
	Error      string    `json:"error"`            // why the whole job failed
	StartedAt  time.Time `json:"started_at"`       // when a worker took it first; zero when none has
	CreatedAt  time.Time `json:"created_at"`       // when it was queued
	FinishedAt time.Time `json:"finished_at"`      // zero while the job is open
	Attempt    int       `json:"attempt"`          // with Revision the order of a job's snapshots
	Revision   int       `json:"revision"`         // grows within an attempt
	Canceling  bool      `json:"cancel_requested"` // it was asked to stop and has not stopped yet
	// Pausing tells the worker that holds the job to let it rest; it is no part of
	// what is known of a job.
	Pausing bool `json:"pausing,omitempty"`
}

// SnapshotOf reads a row.
func SnapshotOf(row *ent.SyncJob) Snapshot {
	s := Snapshot{
		Job: row.ID, Connector: row.ConnectorID, Status: row.Status,
		Counters: CountersOf(row), Warnings: slices.Clone(row.Warnings),
		CreatedAt: row.CreatedAt, Attempt: row.Attempt, Revision: row.Revision,
		Canceling: row.CancelRequested && Open(row.Status),
	}
	if s.Warnings == nil {
		s.Warnings = []string{}
	}
	if row.Error != nil {
		s.Error = *row.Error
	}
	if row.StartedAt != nil {
		s.StartedAt = *row.StartedAt
	}
	if row.FinishedAt != nil {
		s.FinishedAt = *row.FinishedAt
	}
	return s
}

// CountersOf reads the counters of a row.
func CountersOf(row *ent.SyncJob) Counters {
	return Counters{
		Collected: row.Collected, Parsed: row.Parsed, Indexed: row.Indexed,
		Added: row.Added, Modified: row.Modified, Deleted: row.Deleted,
		Unchanged: row.Unchanged, Skipped: row.Skipped, Failed: row.Failed,
	}
}

// Open reports whether a job in this state is still to be worked on.
func Open(s entjob.Status) bool { return s == entjob.StatusQueued || s == entjob.StatusRunning }

// openStatuses are the states the database allows one job of a connector to be in.
func openStatuses() []entjob.Status {
	return []entjob.Status{entjob.StatusQueued, entjob.StatusRunning}
}

// rank orders the states a job goes through.
func rank(s entjob.Status) int {
	switch s {
	case entjob.StatusQueued:
		return 0
	case entjob.StatusRunning:
		return 1
	default:
		return 2
	}
}

// newer reports whether s is a later moment of the same job than t.
func (s Snapshot) newer(t Snapshot) bool { return s.version().newer(t.version()) }
