package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements

	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
)

var (
	//go:embed sql/keep_entries.sql
	keepEntriesSQL string
	//go:embed sql/unfinished_entries.sql
	unfinishedEntriesSQL string
	//go:embed sql/missing_entries.sql
	missingEntriesSQL string
	//go:embed sql/forget_entries.sql
	forgetEntriesSQL string
)

// KeepArchiveEntries marks the entries of archives, given by source id, as seen by
// the job with the outcome that they have, and returns their numbers by outcome. It
// skips entries that the job has seen already. If the job is not held any more, it
// changes nothing, and the next write reports that.
func (r *Run) KeepArchiveEntries(ctx context.Context, archives []string) (map[syncitem.Status]int, error) {
	kept := make(map[syncitem.Status]int)
	if len(archives) == 0 {
		return kept, nil
	}
	keys := make([]string, len(archives))
	for i, id := range archives {
		keys[i] = entryid.ArchiveKey(id)
	}
	err := r.query(ctx, "keep the entries of archives", func(rows *sql.Rows) error {
		var status syncitem.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return err // query says what failed
		}
		kept[status] = n
		return nil
	}, keepEntriesSQL, r.job, r.attempt, r.workspace, r.jobs.now(), keys)
	return kept, err
}

// HasUnfinishedArchiveEntries reports whether an archive has entries that failed or
// are incomplete.
func (r *Run) HasUnfinishedArchiveEntries(ctx context.Context, archive string) (unfinished bool, err error) {
	err = r.query(ctx, "look for unfinished entries of an archive", func(rows *sql.Rows) error { return rows.Scan(&unfinished) },
		unfinishedEntriesSQL, r.workspace, r.connector, entryid.ArchiveKey(archive))
	return unfinished, err
}

// MissingArchiveEntries returns some documents of entries of an archive that the
// job did not see.
func (r *Run) MissingArchiveEntries(ctx context.Context, archive string, limit int) ([]MissingDocument, error) {
	var gone []MissingDocument
	err := r.query(ctx, "list the documents of missing archive entries", func(rows *sql.Rows) error {
		var g MissingDocument
		if err := rows.Scan(&g.Document, &g.SourceID, &g.Path, &g.Failed); err != nil {
			return err // query says what failed
		}
		gone = append(gone, g)
		return nil
	}, missingEntriesSQL, r.workspace, r.connector, r.job, entryid.ArchiveKey(archive), limit)
	return gone, err
}

// ForgetArchiveEntries deletes the ledger entries of entries of an archive that the
// job did not see and that have no document.
func (r *Run) ForgetArchiveEntries(ctx context.Context, archive string) error {
	return r.query(ctx, "delete the ledger entries of an archive", func(*sql.Rows) error { return nil },
		forgetEntriesSQL, r.job, r.attempt, r.workspace, entryid.ArchiveKey(archive))
}
