package sourcefile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/fileupload"
	"github.com/magpie-search/magpie/ent"
	entfile "github.com/magpie-search/magpie/ent/sourcefile"
	"github.com/magpie-search/magpie/internal/connector/blob"
)

// List implements [fileupload.Files] for the viewer in ctx. The database compares
// paths by bytes.
func (f *Files) List(ctx context.Context, connectorID, after string, limit int) ([]fileupload.File, error) {
	id, err := uuid.Parse(connectorID)
	if err != nil {
		return nil, fmt.Errorf("connector id: %w", err)
	}
	rows, err := f.client.SourceFile.Query().
		Where(entfile.ConnectorID(id), entfile.PathGT(after)).
		Order(ent.Asc(entfile.FieldPath)).
		Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return filesOf(rows), nil
}

// Stat implements [fileupload.Files] for the viewer in ctx.
func (f *Files) Stat(ctx context.Context, connectorID string, paths []string) ([]fileupload.File, error) {
	id, err := uuid.Parse(connectorID)
	if err != nil {
		return nil, fmt.Errorf("connector id: %w", err)
	}
	rows, err := f.client.SourceFile.Query().Where(entfile.ConnectorID(id), entfile.PathIn(paths...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("look up files: %w", err)
	}
	return filesOf(rows), nil
}

// Open implements [fileupload.Files]. It trusts file.BlobKey, which List or Stat
// returned to the same viewer.
func (f *Files) Open(ctx context.Context, _ string, file fileupload.File) (io.ReadCloser, error) {
	content, err := f.blobs.Open(ctx, file.BlobKey)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, fmt.Errorf("%w: its content is missing from the blob store; upload it again", connectors.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("open the content of a file: %w", err)
	}
	return content, nil
}

func filesOf(rows []*ent.SourceFile) []fileupload.File {
	files := make([]fileupload.File, len(rows))
	for i, row := range rows {
		files[i] = fileupload.File{
			Path: row.Path, Version: row.Sha256, MediaType: row.MediaType, BlobKey: row.BlobKey, Size: row.Bytes,
			CreatedAt: row.CreatedAt, ModifiedAt: row.UpdatedAt,
		}
	}
	return files
}
