package syncjob

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
)

// Counters are numbers of items.
type Counters struct {
	// Collected items were seen at the source, parsed items were read, indexed
	// items were stored.
	Collected int `json:"collected"`
	Parsed    int `json:"parsed"`
	Indexed   int `json:"indexed"`

	Added     int `json:"added"`     // became documents
	Modified  int `json:"modified"`  // replaced the content of documents
	Deleted   int `json:"deleted"`   // documents whose item is missing
	Unchanged int `json:"unchanged"` // have no new content
	Skipped   int `json:"skipped"`   // are not supposed to be documents; the ledger says why
	Failed    int `json:"failed"`    // the ledger says why
}

// A Snapshot is the state of a job at a moment.
type Snapshot struct {
	Job       uuid.UUID     `json:"job"`
	Connector uuid.UUID     `json:"connector"`
	Status    entjob.Status `json:"status"`
	Counters
	Announced  int       `json:"announced"`        // items that the source says it has; 0 if it does not tell
	Warnings   []string  `json:"warnings"`         // never nil
	Error      string    `json:"error"`            // why the whole job failed
	StartedAt  time.Time `json:"started_at"`       // of the first claim; zero for none
	CreatedAt  time.Time `json:"created_at"`       // when it was queued
	FinishedAt time.Time `json:"finished_at"`      // zero while the job is open
	Attempt    int       `json:"attempt"`          // with Revision, orders the snapshots of a job
	Revision   int       `json:"revision"`         // increases within an attempt
	Canceling  bool      `json:"cancel_requested"` // it was asked to stop and has not stopped yet
	// Pausing tells the worker that holds the job to suspend it. It is not part of
	// the state.
	Pausing bool `json:"pausing,omitempty"`
}

// SnapshotOf returns the snapshot of a row.
func SnapshotOf(row *ent.SyncJob) Snapshot {
	s := Snapshot{
		Job: row.ID, Connector: row.ConnectorID, Status: row.Status,
		Counters: CountersOf(row), Announced: row.Announced, Warnings: slices.Clone(row.Warnings),
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

// CountersOf returns the counters of a row.
func CountersOf(row *ent.SyncJob) Counters {
	return Counters{
		Collected: row.Collected, Parsed: row.Parsed, Indexed: row.Indexed,
		Added: row.Added, Modified: row.Modified, Deleted: row.Deleted,
		Unchanged: row.Unchanged, Skipped: row.Skipped, Failed: row.Failed,
	}
}

// Open reports whether a job in state s has not ended.
func Open(s entjob.Status) bool { return s == entjob.StatusQueued || s == entjob.StatusRunning }

// openStatuses are the states of open jobs. The database allows a connector one
// open job.
func openStatuses() []entjob.Status {
	return []entjob.Status{entjob.StatusQueued, entjob.StatusRunning}
}

// rank orders the states of a job.
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

// newer reports whether s is later than t, a snapshot of the same job.
func (s Snapshot) newer(t Snapshot) bool { return s.version().newer(t.version()) }
