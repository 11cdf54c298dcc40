package sourcefile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"magpie/connectors/fileupload"
	"magpie/ent"
	"magpie/internal/apierr"
	"magpie/internal/blob"
	"magpie/internal/viewer"
)

// DefaultMaxBytes is the largest file an upload may bring when the options name
// no limit: 100 MiB.
const DefaultMaxBytes = 100 << 20

// DocumentDeleter takes documents out of the index and says how many it was
// (SoftDelete of internal/index without a fence).
type DocumentDeleter func(ctx context.Context, scope viewer.Scope, documents []uuid.UUID) (int, error)

// Options are settings with useful zero values.
type Options struct {
	MaxBytes int64        // of one file; zero is DefaultMaxBytes
	TempDir  string       // where uploads are gathered first; empty is the system's
	Log      *slog.Logger // nil logs nothing
}

// Files stores uploaded files. It is safe for concurrent use.
type Files struct {
	client    *ent.Client
	blobs     blob.Store
	documents DocumentDeleter
	opt       Options
}

var _ fileupload.Files = (*Files)(nil)

// New makes the files of an installation.
func New(client *ent.Client, blobs blob.Store, documents DocumentDeleter, o Options) *Files {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Files{client: client, blobs: blobs, documents: documents, opt: o}
}

// connector returns a connector that the viewer may see.
func (f *Files) connector(ctx context.Context, id uuid.UUID) (*ent.Connector, error) {
	client := f.client
	if tx := ent.TxFromContext(ctx); tx != nil {
		client = tx.Client()
	}
	row, err := client.Connector.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Connector")
	case err != nil:
		return nil, apierr.Wrap("read the connector", err)
	}
	return row, nil
}

// inTransaction runs do in the transaction that ctx carries, or in one of its
// own, and after once that has been committed. A failure of after is logged.
func (f *Files) inTransaction(ctx context.Context, do func(ctx context.Context, client *ent.Client) error, after func(ctx context.Context) error) error {
	log := func(ctx context.Context, err error) {
		if err != nil {
			f.opt.Log.ErrorContext(ctx, "clean up after files were changed", "error", err)
		}
	}
	if tx := ent.TxFromContext(ctx); tx != nil {
		if err := do(ctx, tx.Client()); err != nil {
			return err
		}
		tx.OnCommit(func(next ent.Committer) ent.Committer {
			return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
				if err := next.Commit(ctx, tx); err != nil {
					return err //nolint:wrapcheck // the committer's own
				}
				log(ctx, after(ctx))
				return nil
			})
		})
		return nil
	}
	tx, err := f.client.Tx(ctx)
	if err != nil {
		return apierr.Wrap("open a transaction", err)
	}
	if err := do(ent.NewTxContext(ctx, tx), tx.Client()); err != nil {
		if undo := tx.Rollback(); undo != nil {
			return errors.Join(err, fmt.Errorf("roll back: %w", undo))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return apierr.Wrap("commit", err)
	}
	log(ctx, after(ctx))
	return nil
}

// cleanupTime bounds what is tidied up after a request, whose context may have
// ended by then.
const cleanupTime = 30 * time.Second

func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
