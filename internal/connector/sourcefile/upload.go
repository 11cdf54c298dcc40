package sourcefile

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entfile "github.com/magpie-search/magpie/ent/sourcefile"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

const maxMediaType = 200

// Upload stores what r gives until its end as the file at a path of a connector
// that the viewer may change, in place of the one that is there. size is its
// length in bytes, or -1 when unknown. No sync is started. A document that was
// deleted by hand may be synced from the path again: who uploads it wants it.
//
// The errors are apierr: not_found for the connector, invalid_request for a bad
// path or an upload that was cut off, too_large.
func (f *Files) Upload(ctx context.Context, connectorID uuid.UUID, path, mediaType string, r io.Reader, size int64) (*ent.SourceFile, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if size > f.opt.MaxBytes {
		return nil, f.tooLarge(path)
	}
	connector, err := f.connector(ctx, connectorID)
	if err != nil {
		return nil, err
	}
	if len(mediaType) > maxMediaType || !utf8.ValidString(mediaType) || strings.ContainsRune(mediaType, 0) {
		mediaType = "" // it is a hint; a senseless one is none
	}
	g, err := f.gather(path, r, size)
	if err != nil {
		return nil, err
	}
	defer g.close()

	key := "files/" + connector.ID.String() + "/" + strings.ToLower(rand.Text())
	if err := f.blobs.Put(ctx, key, g.file, g.size); err != nil {
		return nil, apierr.Wrap("store an uploaded file", err)
	}
	var row *ent.SourceFile
	var old string
	err = f.inTransaction(ctx, step{
		do: func(ctx context.Context, client *ent.Client) (err error) {
			row, old, err = record(ctx, client, connector, path, entry{mediaType: mediaType, key: key, gathered: g})
			if err != nil {
				return err
			}
			return unsuppress(ctx, client, connector.ID, path)
		},
		after: func(ctx context.Context) error {
			if old == "" {
				return nil
			}
			return f.DeleteBlobs(ctx, []string{old})
		},
		undo: func(ctx context.Context) error { return f.discard(ctx, connector, key) },
	})
	if err != nil {
		return nil, err
	}
	return row, nil
}

// gathered is an upload that has arrived whole.
type gathered struct {
	file *os.File
	size int64
	hash string
}

func (g *gathered) close() {
	_ = g.file.Close() // it was only read from since
	_ = os.Remove(g.file.Name())
}

// gather reads r into a temporary file, so that its size and hash are known and
// its limit holds before the blob store sees any of it.
func (f *Files) gather(path string, r io.Reader, size int64) (_ *gathered, err error) {
	file, err := os.CreateTemp(f.opt.TempDir, "magpie-upload-*")
	if err != nil {
		return nil, apierr.Wrap("make a temporary file for an upload", err)
	}
	g := &gathered{file: file}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	hash := sha256.New()
	g.size, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(r, f.opt.MaxBytes+1))
	switch {
	case err != nil:
		return nil, apierr.Wrap("receive an upload", err)
	case g.size > f.opt.MaxBytes:
		return nil, f.tooLarge(path)
	case size >= 0 && g.size != size:
		return nil, apierr.Invalid("files", fmt.Sprintf("%q: %d of %d bytes arrived; upload it again", path, g.size, size))
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, apierr.Wrap("read an upload again", err)
	}
	g.hash = hex.EncodeToString(hash.Sum(nil))
	return g, nil
}

func (f *Files) tooLarge(path string) error {
	return apierr.New(apierr.TooLarge, fmt.Sprintf("%q is larger than %d MiB, the most a file may have.", path, f.opt.MaxBytes>>20))
}

type entry struct {
	mediaType, key string
	*gathered
}

const recordTries = 5

// record writes the row and returns the key of the blob that it replaces. The
// row's lock makes two uploads of one path replace each other in turn, so that
// each old blob has exactly one who deletes it.
func record(ctx context.Context, client *ent.Client, connector *ent.Connector, path string, e entry) (*ent.SourceFile, string, error) {
	for range recordTries {
		present, err := client.SourceFile.Query().
			Where(entfile.ConnectorID(connector.ID), entfile.Path(path)).
			ForUpdate().All(ctx)
		if err != nil {
			return nil, "", apierr.Wrap("look for the file to replace", err)
		}
		if len(present) == 1 {
			row, err := present[0].Update().
				SetMediaType(e.mediaType).SetBytes(e.size).SetSha256(e.hash).SetBlobKey(e.key).
				Save(ctx)
			if err != nil {
				return nil, "", apierr.Wrap("replace a file", err)
			}
			return row, present[0].BlobKey, nil
		}
		create := client.SourceFile.Create().
			SetWorkspaceID(connector.WorkspaceID).SetConnectorID(connector.ID).SetPath(path).
			SetMediaType(e.mediaType).SetBytes(e.size).SetSha256(e.hash).SetBlobKey(e.key)
		create.OnConflict(entsql.DoNothing())
		row, err := create.Save(ctx)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue // somebody else uploaded to the path at the same moment
		case err != nil:
			return nil, "", apierr.Wrap("record a file", err)
		}
		return row, "", nil
	}
	return nil, "", apierr.New(apierr.Conflict, "The file is being uploaded and deleted by others at the moment; try again.")
}

func unsuppress(ctx context.Context, client *ent.Client, connectorID uuid.UUID, path string) error {
	err := client.SyncItem.Update().
		Where(syncitem.ConnectorID(connectorID), syncitem.SourceID(path), syncitem.Suppressed(true)).
		SetSuppressed(false).ClearReason().
		Exec(ctx)
	if err != nil {
		return apierr.Wrap("let a file be synced again", err)
	}
	return nil
}

// discard deletes the blob of an upload that was not recorded, unless the
// commit that seemed to fail went through after all.
func (f *Files) discard(ctx context.Context, connector *ent.Connector, key string) error {
	ctx, cancel := cleanupContext(viewer.With(ctx, viewer.System(connector.WorkspaceID)))
	defer cancel()
	used, err := f.client.SourceFile.Query().Where(entfile.ConnectorID(connector.ID), entfile.BlobKey(key)).Exist(ctx)
	if err != nil || used {
		return err // joined to the error it followed
	}
	if err := f.blobs.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete the blob of a failed upload: %w", err)
	}
	return nil
}
