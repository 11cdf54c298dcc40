package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
)

// ent would write the ledger row by row, but jobs write hundreds of entries at
// once.
var (
	//go:embed sql/look.sql
	lookSQL string
	//go:embed sql/record.sql
	recordSQL string
	//go:embed sql/tally.sql
	tallySQL string
	//go:embed sql/missing_count.sql
	missingCountSQL string
	//go:embed sql/missing.sql
	missingSQL string
	//go:embed sql/unconfirmed.sql
	unconfirmedSQL string
)

// ItemState is what the ledger and the index know about an item.
type ItemState struct {
	Listed          bool // the item has a ledger entry
	Seen            bool // by this job, whose Status, Added and Reason follow
	Status          syncitem.Status
	Added           bool
	Reason          string
	Suppressed      bool   // deleted by hand
	SourceVersion   string // of the last outcome
	PipelineVersion int    // of the code that decided the last outcome

	Document        uuid.UUID // zero for none
	DocumentStatus  document.Status
	DocumentVersion string // source version of the stored content
	Hash            []byte
	ProcessedAt     time.Time // zero for never
	WaitingSince    time.Time // when a change was found that is not searchable yet; zero for none
	Path            string    // of the item, as the ledger has it
	Gone            bool      // the source told this job that the item is gone
	DocumentPath    string
	Bytes           int64 // of the stored content
}

// Decided reports whether this job has an outcome for the item.
func (k ItemState) Decided() bool {
	return k.Seen && !k.Gone && k.Status != syncitem.StatusPending && k.Status != syncitem.StatusDeleted
}

// Live reports whether the item has a searchable document.
func (k ItemState) Live() bool {
	return k.Document != uuid.Nil && k.DocumentStatus == document.StatusIndexed
}

// Failed reports whether the item has a document that was never indexed.
func (k ItemState) Failed() bool {
	return k.Document != uuid.Nil && k.DocumentStatus == document.StatusFailed
}

// A LedgerEntry is what the ledger stores about an item.
type LedgerEntry struct {
	SourceID, Path  string
	Document        uuid.UUID // zero keeps the stored one
	Status          syncitem.Status
	Reason          string // safe to show; at most 2000 bytes
	Retryable       bool
	SourceVersion   string // a pending entry keeps the stored one
	PipelineVersion int
	Container       string // the part of the source that the item belongs to
	// Excluded says that the settings exclude the item, whose document is searchable.
	Excluded bool
}

// LookUp returns the states of items by source id. The ids must differ.
func (r *Run) LookUp(ctx context.Context, sourceIDs []string) (map[string]ItemState, error) {
	states := make(map[string]ItemState, len(sourceIDs))
	err := r.query(ctx, "look items up in the ledger", func(rows *sql.Rows) error {
		var id string
		var k ItemState
		var doc uuid.NullUUID
		var processed, waiting sql.NullTime
		if err := rows.Scan(&id, &k.Listed, &k.Seen, &k.Status, &k.Added, &k.Reason, &k.Suppressed, &k.SourceVersion,
			&k.PipelineVersion, &waiting, &k.Path, &k.Gone, &doc, &k.DocumentStatus, &k.DocumentVersion, &k.Hash, &processed, &k.DocumentPath, &k.Bytes); err != nil {
			return err // wrapped by query
		}
		k.Document, k.ProcessedAt, k.WaitingSince = doc.UUID, processed.Time, waiting.Time
		states[id] = k
		return nil
	}, lookSQL, r.workspace, r.connector, r.job, sourceIDs)
	return states, err
}

// Record writes ledger entries, whose source ids must differ, in one statement. It
// returns ErrLost if the job is not held any more.
func (r *Run) Record(ctx context.Context, entries []LedgerEntry) error {
	n := len(entries)
	if n == 0 {
		return nil
	}
	ids, pipelines, retryable, excluded := make([]uuid.UUID, n), make([]int64, n), make([]bool, n), make([]bool, n)
	var columns [7][]string
	for i := range columns {
		columns[i] = make([]string, n)
	}
	for i, e := range entries {
		ids[i], pipelines[i], retryable[i], excluded[i] = gid.New(gid.SyncItem), int64(e.PipelineVersion), e.Retryable, e.Excluded
		if e.Document != uuid.Nil {
			columns[0][i] = e.Document.String()
		}
		columns[1][i], columns[2][i], columns[3][i] = e.SourceID, e.Path, string(e.Status)
		columns[4][i], columns[5][i], columns[6][i] = storable(e.Reason), e.SourceVersion, e.Container
	}
	var held int
	err := r.query(ctx, "write the ledger", func(rows *sql.Rows) error { return rows.Scan(&held) },
		recordSQL, r.job, r.attempt, r.workspace, r.jobs.now(), ids, columns[0], columns[1], columns[2], columns[3], columns[4],
		retryable, columns[5], pipelines, columns[6], excluded)
	if err == nil && held == 0 {
		return ErrLost
	}
	return err
}

// tally counts the outcomes of the job in the ledger, of all attempts.
func (r *Run) tally(ctx context.Context, client *ent.Client) (Counters, error) {
	if r.start.Mode == entjob.ModePlan {
		return r.tallyPlan(ctx, client)
	}
	var c Counters
	err := eachRow(ctx, client, "count the outcomes of a job", func(rows *sql.Rows) error {
		var status syncitem.Status
		var added bool
		var n int
		if err := rows.Scan(&status, &added, &n); err != nil {
			return err // query says what failed
		}
		c.Outcome(status, added, n)
		if status != syncitem.StatusDeleted {
			c.Collected += n
		}
		return nil
	}, tallySQL, r.workspace, r.connector, r.job)
	return c, err
}

// Outcome counts n items with an outcome. Pending is none.
func (c *Counters) Outcome(status syncitem.Status, added bool, n int) {
	switch status {
	case syncitem.StatusIndexed:
		c.Indexed += n
		if added {
			c.Added += n
		} else {
			c.Modified += n
		}
	case syncitem.StatusUnchanged:
		c.Unchanged += n
	case syncitem.StatusSkipped:
		c.Skipped += n
	case syncitem.StatusFailed:
		c.Failed += n
	case syncitem.StatusDeleted:
		c.Deleted += n
	case syncitem.StatusPending:
	}
}

// An Absence says how a job knows that items are gone.
type Absence struct {
	// Told says that the source told it or confirmed it (MarkGone). Otherwise a
	// complete walk did not list them.
	Told bool
	// Incomplete are containers that the walk could not list completely. Their items
	// are not gone.
	Incomplete []string
}

func (a Absence) containers() []string { return append([]string{}, a.Incomplete...) }

// Losses are numbers of documents of a connector.
type Losses struct {
	Existed  int // before the job
	Missing  int // whose item is gone or excluded
	Excluded int // of these, at the source and excluded by the settings
	Failed   int // whose item is gone and that were never indexed; in no other number
}

// Missing counts the documents of the connector and those that are to be deleted.
// The numbers are meaningful only after all pages.
func (r *Run) Missing(ctx context.Context, a Absence) (l Losses, err error) {
	err = r.query(ctx, "count the documents whose items are gone", func(rows *sql.Rows) error {
		return rows.Scan(&l.Existed, &l.Missing, &l.Failed, &l.Excluded)
	}, missingCountSQL, r.workspace, r.connector, r.job, a.Told, a.containers())
	return l, err
}

// A MissingDocument is a document whose item is gone.
type MissingDocument struct {
	Document       uuid.UUID
	SourceID, Path string
	Failed         bool // it was never indexed
}

// NextMissing returns some of the documents that Missing counts and that are not
// deleted yet; none at the end.
func (r *Run) NextMissing(ctx context.Context, a Absence, limit int) ([]MissingDocument, error) {
	return r.missing(ctx, "list the documents whose items are gone", missingSQL, r.workspace, r.connector, r.job, limit, a.Told, a.containers())
}

// NextUnconfirmed returns some of the documents whose items a complete walk did not
// list and that MarkGone was not called for, in the order of their source ids after
// one.
func (r *Run) NextUnconfirmed(ctx context.Context, a Absence, after string, limit int) ([]MissingDocument, error) {
	return r.missing(ctx, "list the documents whose items may be gone", unconfirmedSQL, r.workspace, r.connector, r.job, limit, a.containers(), after)
}

func (r *Run) missing(ctx context.Context, what, statement string, args ...any) ([]MissingDocument, error) {
	var missing []MissingDocument
	err := r.query(ctx, what, func(rows *sql.Rows) error {
		var g MissingDocument
		if err := rows.Scan(&g.Document, &g.SourceID, &g.Path, &g.Failed); err != nil {
			return err // query says what failed
		}
		missing = append(missing, g)
		return nil
	}, statement, args...)
	return missing, err
}

func (r *Run) query(ctx context.Context, what string, eachRow func(*sql.Rows) error, statement string, args ...any) (err error) {
	rows, err := r.jobs.client.QueryContext(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = rows.Close() }() // Err tells of everything that matters
	for rows.Next() {
		if err := eachRow(rows); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
