package sourcefile

import (
	"context"
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

// DefaultMaxBytes is the largest size of a file if Options has no limit: 100 MiB.
const DefaultMaxBytes = 100 << 20

// A DocumentDeleter deletes documents from the index, in the transaction of ctx,
// and returns how many it deleted (index.Store.SoftDeleteIn).
type DocumentDeleter func(ctx context.Context, scope viewer.Scope, documents []uuid.UUID) (int, error)

// Options are settings with useful zero values.
type Options struct {
	MaxBytes int64        // of one file; zero is DefaultMaxBytes
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

// New returns a Files that keeps contents in blobs.
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

// logFailure logs the failure of a clean-up that no caller waits for.
func (f *Files) logFailure(ctx context.Context, err error) {
	if err != nil {
		f.opt.Log.ErrorContext(ctx, "clean-up of uploaded files failed", slog.Any("error", err))
	}
}

// cleanupTimeout bounds a clean-up, which goes on after its request has ended.
const cleanupTimeout = 30 * time.Second

func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
