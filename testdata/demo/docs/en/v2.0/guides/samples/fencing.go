// Package fencing shows how a worker protects a database row from a late run.
//
// Two workers may hold the same job for a moment: the first lost its lease while
// it was cut off from the network, the second was given the job afterwards. The
// fencing number of the second is larger, so the write of the first is refused.
package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrStale says that a newer run of the same job has already written the row.
var ErrStale = errors.New("a newer run has written this invoice")

// SaveInvoice stores the name of a rendered invoice unless a newer run did so
// before. It returns ErrStale in that case, and nothing was changed.
func SaveInvoice(ctx context.Context, db *sql.DB, invoiceID string, fence int64, pdf string) error {
	result, err := db.ExecContext(ctx,
		`UPDATE invoice SET pdf = $1, fence = $2 WHERE id = $3 AND fence < $2`,
		pdf, fence, invoiceID)
	if err != nil {
		return fmt.Errorf("save invoice %s: %w", invoiceID, err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("save invoice %s: %w", invoiceID, err)
	}
	if changed == 0 {
		return ErrStale
	}
	return nil
}
