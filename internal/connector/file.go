package connector

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entfile "github.com/magpie-search/magpie/ent/sourcefile"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
)

// maxUploads is the largest number of files in one upload.
const maxUploads = 1000

// FilesQuery returns a query for the files of a connector whose path contains
// text, ignoring case.
func (c *Connectors) FilesQuery(ctx context.Context, id uuid.UUID, text string) (*ent.SourceFileQuery, error) {
	query := c.client(ctx).SourceFile.Query().Where(entfile.ConnectorID(id))
	if text = strings.TrimSpace(text); text != "" {
		query.Where(entfile.PathContainsFold(text))
	}
	return query, c.Exists(ctx, id)
}

// UploadFiles stores files in their order. The first file that cannot be stored
// ends the upload; the files before it stay.
func (c *Connectors) UploadFiles(ctx context.Context, id uuid.UUID, uploads []sourcefile.Upload) ([]*ent.SourceFile, error) {
	if err := c.checkAcceptsFiles(ctx, id); err != nil {
		return nil, err
	}
	switch {
	case len(uploads) == 0:
		return nil, apierr.Invalid("files", "must have at least one file")
	case len(uploads) > maxUploads:
		return nil, apierr.Invalid("files", fmt.Sprintf("at most %d at once", maxUploads))
	}
	seen := make(map[string]bool, len(uploads))
	for _, u := range uploads {
		if err := sourcefile.CheckPath(u.Path); err != nil {
			return nil, err
		}
		if seen[u.Path] {
			return nil, apierr.Invalid("files", fmt.Sprintf("%q comes twice; give each a path of its own", u.Path))
		}
		seen[u.Path] = true
	}
	stored := make([]*ent.SourceFile, len(uploads))
	for i, u := range uploads {
		row, err := c.o.Files.Upload(ctx, id, u)
		if err != nil {
			return nil, err
		}
		stored[i] = row
	}
	return stored, nil
}

// DeleteFiles deletes the files of a connector at paths, with their documents. It
// returns the paths that had a file.
func (c *Connectors) DeleteFiles(ctx context.Context, id uuid.UUID, paths []string) ([]string, error) {
	if err := c.checkAcceptsFiles(ctx, id); err != nil {
		return nil, err
	}
	return c.o.Files.Delete(ctx, id, paths)
}

func (c *Connectors) checkAcceptsFiles(ctx context.Context, id uuid.UUID) error {
	row, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if kind, ok := c.o.Kinds.Lookup(row.Type); !ok || !kind.AcceptsFiles {
		return apierr.New(apierr.InvalidRequest, "Connectors of the type "+row.Type+" take no files")
	}
	return nil
}
