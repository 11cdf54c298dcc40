package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements

	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/ingest/member"
)

var (
	//go:embed sql/keep_members.sql
	keepMembersSQL string
	//go:embed sql/unfinished_members.sql
	unfinishedMembersSQL string
	//go:embed sql/missing_members.sql
	missingMembersSQL string
	//go:embed sql/forget_members.sql
	forgetMembersSQL string
)

// KeepMembers notes the members of archives (by their source ids) as seen by the job with the outcome they have, and
// returns how many there are of each. Members that the job has seen already are left out. When the job is not held any
// more nothing is kept; the next write tells.
func (r *Run) KeepMembers(ctx context.Context, archives []string) (map[syncitem.Status]int, error) {
	kept := make(map[syncitem.Status]int)
	if len(archives) == 0 {
		return kept, nil
	}
	keys := make([]string, len(archives))
	for i, id := range archives {
		keys[i] = member.Key(id)
	}
	err := r.query(ctx, "keep the members of archives", func(rows *sql.Rows) error {
		var status syncitem.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return err // query says what failed
		}
		kept[status] = n
		return nil
	}, keepMembersSQL, r.job, r.attempt, r.workspace, r.jobs.now(), keys)
	return kept, err
}

// UnfinishedMembers reports whether an archive has members that failed or were left half done.
func (r *Run) UnfinishedMembers(ctx context.Context, archive string) (unfinished bool, err error) {
	err = r.query(ctx, "look at the members of an archive", func(rows *sql.Rows) error { return rows.Scan(&unfinished) },
		unfinishedMembersSQL, r.workspace, r.connector, member.Key(archive))
	return unfinished, err
}

// MissingMembers returns some documents of members of an archive that the job did not see.
func (r *Run) MissingMembers(ctx context.Context, archive string, limit int) ([]Gone, error) {
	var gone []Gone
	err := r.query(ctx, "list the documents of members that are gone", func(rows *sql.Rows) error {
		var g Gone
		if err := rows.Scan(&g.Document, &g.SourceID, &g.Path, &g.Failed); err != nil {
			return err // query says what failed
		}
		gone = append(gone, g)
		return nil
	}, missingMembersSQL, r.workspace, r.connector, r.job, member.Key(archive), limit)
	return gone, err
}

// ForgetMembers drops the lines of members of an archive that the job did not see and that have no document.
func (r *Run) ForgetMembers(ctx context.Context, archive string) error {
	return r.query(ctx, "forget the members of an archive", func(*sql.Rows) error { return nil },
		forgetMembersSQL, r.job, r.attempt, r.workspace, member.Key(archive))
}
