package sourcefile

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entfile "github.com/magpie-search/magpie/ent/sourcefile"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const maxMediaType = 200

// An Upload is a file to store.
type Upload struct {
	Path      string
	MediaType string // a hint; dropped if it is not storable
	Content   io.Reader
	Size      int64 // bytes of Content; -1 if unknown
}

// Upload stores a file of a connector that the viewer may change. It replaces a
// file at the same path. It starts no sync. If the document of the path was
// deleted by hand, the next sync may index it again.
//
// Errors are apierr: not_found for the connector, invalid_request for a bad path
// or an upload that was cut off, too_large.
func (f *Files) Upload(ctx context.Context, connectorID uuid.UUID, u Upload) (*ent.SourceFile, error) {
	if err := CheckPath(u.Path); err != nil {
		return nil, err
	}
	if u.Size > f.opt.MaxBytes {
		return nil, f.tooLarge(u.Path)
	}
	connector, err := f.connector(ctx, connectorID)
	if err != nil {
		return nil, err
	}
	if len(u.MediaType) > maxMediaType || !utf8.ValidString(u.MediaType) || strings.ContainsRune(u.MediaType, 0) {
		u.MediaType = ""
	}
	stored, err := f.storeBlob(ctx, connector, u)
	if err != nil {
		return nil, err
	}
	discard := func(ctx context.Context) { f.logFailure(ctx, f.discard(ctx, connector, stored.key)) }
	begun := false
	var row *ent.SourceFile
	err = transaction.In(ctx, f.client, func(ctx context.Context, client *ent.Client) error {
		begun = true
		transaction.AfterRollback(ctx, discard)
		var replaced string
		if row, replaced, err = record(ctx, client, connector, u, stored); err != nil {
			return err
		}
		if replaced != "" {
			transaction.AfterCommit(ctx, func(ctx context.Context) { f.logFailure(ctx, f.DeleteBlobs(ctx, []string{replaced})) })
		}
		return unsuppress(ctx, client, connector.ID, u.Path)
	})
	if err != nil {
		if !begun {
			discard(ctx)
		}
		return nil, apierr.Wrap("record a file", err)
	}
	return row, nil
}

// blobContent is the content of a file in the blob store.
type blobContent struct {
	key, sha256 string
	size        int64
}

// storeBlob copies an upload to a new key of the blob store.
func (f *Files) storeBlob(ctx context.Context, connector *ent.Connector, u Upload) (blobContent, error) {
	key := "files/" + connector.ID.String() + "/" + strings.ToLower(rand.Text())
	content := &contentReader{from: u.Content, limit: f.opt.MaxBytes, hash: sha256.New()}
	err := f.blobs.Put(ctx, key, content, u.Size)
	switch {
	case content.size > f.opt.MaxBytes:
		return blobContent{}, f.tooLarge(u.Path)
	case u.Size >= 0 && (content.size > u.Size || content.ended && content.size < u.Size):
		return blobContent{}, apierr.Invalid("files", fmt.Sprintf("%q: %d of %d bytes arrived; upload it again", u.Path, content.size, u.Size))
	case err != nil:
		return blobContent{}, apierr.Wrap("store an uploaded file", err)
	}
	return blobContent{key: key, sha256: hex.EncodeToString(content.hash.Sum(nil)), size: content.size}, nil
}

// contentReader hashes and counts the bytes that are read through it. It fails
// after limit bytes.
type contentReader struct {
	from  io.Reader
	limit int64
	hash  hash.Hash
	size  int64
	ended bool
}

func (c *contentReader) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.size += int64(n)
	c.hash.Write(b[:n])
	c.ended = errors.Is(err, io.EOF)
	if c.size > c.limit {
		return 0, errors.New("the content is larger than the limit")
	}
	return n, err
}

func (f *Files) tooLarge(path string) error {
	return apierr.New(apierr.TooLarge, fmt.Sprintf("%q is larger than %d MiB, the most a file may have.", path, f.opt.MaxBytes>>20))
}

// record writes the row of a file, in a transaction. It returns the key of the
// blob that the file replaces, if any. Uploads to one path wait for each other, so
// that each replaced blob is deleted exactly once.
func record(ctx context.Context, client *ent.Client, connector *ent.Connector, u Upload, b blobContent) (row *ent.SourceFile, replaced string, err error) {
	_, err = client.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "upload "+connector.ID.String()+" "+u.Path)
	if err != nil {
		return nil, "", apierr.Wrap("lock the path of a file", err)
	}
	present, err := client.SourceFile.Query().
		Where(entfile.ConnectorID(connector.ID), entfile.Path(u.Path)).
		ForUpdate().All(ctx)
	if err != nil {
		return nil, "", apierr.Wrap("look for the file to replace", err)
	}
	if len(present) == 1 {
		row, err = present[0].Update().
			SetMediaType(u.MediaType).SetBytes(b.size).SetSha256(b.sha256).SetBlobKey(b.key).
			Save(ctx)
		if err != nil {
			return nil, "", apierr.Wrap("replace a file", err)
		}
		return row, present[0].BlobKey, nil
	}
	row, err = client.SourceFile.Create().
		SetWorkspaceID(connector.WorkspaceID).SetConnectorID(connector.ID).SetPath(u.Path).
		SetMediaType(u.MediaType).SetBytes(b.size).SetSha256(b.sha256).SetBlobKey(b.key).
		Save(ctx)
	if ent.IsConstraintError(err) {
		return nil, "", apierr.New(apierr.Conflict, fmt.Sprintf("The path %q is taken by a file that you may not see; choose another.", u.Path))
	}
	if err != nil {
		return nil, "", apierr.Wrap("record a file", err)
	}
	return row, "", nil
}

// unsuppress lets the next sync index a document that was deleted by hand.
func unsuppress(ctx context.Context, client *ent.Client, connectorID uuid.UUID, path string) error {
	err := client.SyncItem.Update().
		Where(syncitem.ConnectorID(connectorID), syncitem.SourceID(path), syncitem.Suppressed(true)).
		SetSuppressed(false).ClearReason().
		Exec(ctx)
	return apierr.Wrap("let a file be synced again", err)
}

// discard deletes a blob whose row was not stored. It keeps the blob if the row is
// there, because a commit may succeed although it reports an error.
func (f *Files) discard(ctx context.Context, connector *ent.Connector, key string) error {
	ctx, cancel := cleanupContext(viewer.With(ctx, viewer.System(connector.WorkspaceID)))
	defer cancel()
	used, err := f.client.SourceFile.Query().Where(entfile.ConnectorID(connector.ID), entfile.BlobKey(key)).Exist(ctx)
	if err != nil || used {
		return err
	}
	return f.blobs.Delete(ctx, key)
}
