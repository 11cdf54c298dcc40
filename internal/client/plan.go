package client

import (
	"time"

	"github.com/google/uuid"
)

// A DocumentRef names a document.
type DocumentRef struct {
	ID    uuid.UUID `json:"id"`
	Path  string    `json:"path"`
	Title string    `json:"title"`
}

// A Plan says what a sync would do. Guard is the check of its deletions.
type Plan struct {
	Job    Job `json:"job"`
	Counts struct {
		Added       int `json:"added"`
		Modified    int `json:"modified"`
		Compared    int `json:"compared"`
		Unchanged   int `json:"unchanged"`
		Skipped     int `json:"skipped"`
		Failed      int `json:"failed"`
		Deleted     int `json:"deleted"`
		Quarantined int `json:"quarantined"`
		Kept        int `json:"kept"`
	} `json:"counts"`
	Guard *struct {
		Blocked   bool `json:"blocked"`
		Missing   int  `json:"missing"`
		Existing  int  `json:"existing"`
		Threshold int  `json:"threshold"`
	} `json:"guard"`
	Items []PlanItem `json:"items"`
}

// A PlanItem is what a sync would do with one item.
type PlanItem struct {
	Path       string     `json:"path"`
	Action     string     `json:"action"`
	Reason     *string    `json:"reason"`
	Size       int64      `json:"size"`
	Version    string     `json:"version"`
	DocumentID *uuid.UUID `json:"documentId"`
}

// PlanItems is a page of the items of a plan.
type PlanItems struct {
	Plan Page[PlanItem] `json:"syncPlan"`
}

// A Quarantine is a deletion that waits for approval.
type Quarantine struct {
	Documents int           `json:"documents"`
	Since     time.Time     `json:"since"`
	Job       uuid.UUID     `json:"jobId"`
	Existing  int           `json:"existing"`
	Threshold int           `json:"threshold"`
	Listed    []DocumentRef `json:"listed"`
}

// Lags are the seconds from a change at the source until it was searchable.
type Lags struct {
	Changes int      `json:"changes"`
	P50     *float64 `json:"p50"`
	P95     *float64 `json:"p95"`
	Max     *float64 `json:"max"`
}

// SyncStats says how fresh a connector is and how its syncs ended.
type SyncStats struct {
	Freshness struct {
		LastDay       Lags       `json:"lastDay"`
		LastWeek      Lags       `json:"lastWeek"`
		OldestWaiting *time.Time `json:"oldestWaiting"`
		Waiting       int        `json:"waiting"`
	} `json:"freshness"`
	History struct {
		Total        int        `json:"total"`
		Completed    int        `json:"completed"`
		Partial      int        `json:"partial"`
		Failed       int        `json:"failed"`
		Canceled     int        `json:"canceled"`
		SuccessRate  *float64   `json:"successRate"`
		MeanDuration *float64   `json:"meanDuration"`
		BytesFetched int64      `json:"bytesFetched"`
		Pages        int        `json:"pages"`
		Retried      int        `json:"retried"`
		Added        int        `json:"added"`
		Modified     int        `json:"modified"`
		Deleted      int        `json:"deleted"`
		LastSuccess  *time.Time `json:"lastSuccess"`
		LastFailure  *time.Time `json:"lastFailure"`
	} `json:"history"`
}
