package migrations

import (
	"context"
	"database/sql"
	"io/fs"
)

// UpWith is Up with other steps.
func UpWith(ctx context.Context, db *sql.DB, files fs.FS) error { return up(ctx, db, files) }

// CheckWith is Check with other steps.
func CheckWith(ctx context.Context, q Querier, files fs.FS) error { return check(ctx, q, files) }

// StepsAlone applies the steps without mending.
func StepsAlone(ctx context.Context, db *sql.DB) error {
	p, err := provider(db, Files)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}
