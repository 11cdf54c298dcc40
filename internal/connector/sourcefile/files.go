package sourcefile

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors/fileupload"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// DefaultMaxBytes is the largest file an upload may bring when the options name
// no limit: 100 MiB.
const DefaultMaxBytes = 100 << 20

// DocumentDeleter takes documents out of the index in the transaction that ctx
// carries (ent.TxFromContext), and says how many it was (SoftDeleteIn of
// internal/index).
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
	client := transaction.Client(ctx, f.client)
	row, err := client.Connector.Get(ctx, id)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Connector")
	case err != nil:
		return nil, apierr.Wrap("read the connector", err)
	}
	return row, nil
}

// step is one change of the database with what goes with it.
type step struct {
	do    func(ctx context.Context, client *ent.Client) error
	after func(ctx context.Context) error // once it is committed; a failure is logged
	undo  func(ctx context.Context) error // when it is not; may be nil
}

// inTransaction takes the step in the transaction that ctx carries, or in one
// of its own.
func (f *Files) inTransaction(ctx context.Context, s step) error {
	if tx := ent.TxFromContext(ctx); tx != nil {
		return f.join(ctx, tx, s)
	}
	tx, err := f.client.Tx(ctx)
	if err != nil {
		return errors.Join(apierr.Wrap("open a transaction", err), s.undone(ctx))
	}
	if err := s.do(ent.NewTxContext(ctx, tx), tx.Client()); err != nil {
		return errors.Join(err, tx.Rollback(), s.undone(ctx))
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(apierr.Wrap("commit", err), s.undone(ctx))
	}
	f.logged(ctx, s.after(ctx))
	return nil
}

// join takes the step inside somebody else's transaction.
func (f *Files) join(ctx context.Context, tx *ent.Tx, s step) error {
	tx.OnCommit(func(next ent.Committer) ent.Committer {
		return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
			err := next.Commit(ctx, tx)
			if err != nil {
				f.logged(ctx, s.undone(ctx))
			} else {
				f.logged(ctx, s.after(ctx))
			}
			return err // the committer's own
		})
	})
	tx.OnRollback(func(next ent.Rollbacker) ent.Rollbacker {
		return ent.RollbackFunc(func(ctx context.Context, tx *ent.Tx) error {
			err := next.Rollback(ctx, tx)
			f.logged(ctx, s.undone(ctx))
			return err // the rollbacker's own
		})
	})
	return s.do(ctx, tx.Client())
}

func (s step) undone(ctx context.Context) error {
	if s.undo == nil {
		return nil
	}
	return s.undo(ctx)
}

func (f *Files) logged(ctx context.Context, err error) {
	if err != nil {
		f.opt.Log.ErrorContext(ctx, "clean up after files were changed", "error", err)
	}
}

// cleanupTime bounds what is tidied up after a request, whose context may have
// ended by then.
const cleanupTime = 30 * time.Second

func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
