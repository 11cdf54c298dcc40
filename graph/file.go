package graph

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entfile "github.com/magpie-search/magpie/ent/sourcefile"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
)

// maxFiles is how many files one upload may bring.
const maxFiles = 1000

// fileConnector is a connector that takes files.
func (r *Resolver) fileConnector(ctx context.Context, id uuid.UUID) (*ent.Connector, error) {
	row, err := r.client(ctx).Connector.Get(ctx, id)
	if _, err := found("Connector", row, err); err != nil {
		return nil, err
	}
	if k, ok := r.Kinds.Lookup(row.Type); !ok || !k.AcceptsFiles {
		return nil, apierr.New(apierr.InvalidRequest, "Connectors of the type "+row.Type+" take no files")
	}
	return row, nil
}

// uploadFiles stores the files in their order; the first that cannot be stored
// ends the upload, and those before it stay.
func (r *Resolver) uploadFiles(ctx context.Context, connectorID uuid.UUID, files []*graphql.Upload, paths []string) ([]*ent.SourceFile, error) {
	if _, err := r.fileConnector(ctx, connectorID); err != nil {
		return nil, err
	}
	switch {
	case len(files) == 0:
		return nil, apierr.Invalid("files", "must have at least one file")
	case len(files) > maxFiles:
		return nil, apierr.Invalid("files", fmt.Sprintf("at most %d at once", maxFiles))
	case len(paths) > 0 && len(paths) != len(files):
		return nil, apierr.Invalid("paths", "must name a path for each file, or be left out")
	}
	// Nothing is stored before it is clear where all of it goes.
	names := make([]string, len(files))
	seen := make(map[string]bool, len(files))
	for i, f := range files {
		names[i] = f.Filename
		if len(paths) > 0 && paths[i] != "" {
			names[i] = paths[i]
		}
		if err := sourcefile.CheckPath(names[i]); err != nil {
			return nil, err
		}
		if seen[names[i]] {
			return nil, apierr.Invalid("files", fmt.Sprintf("%q comes twice; give each a path of its own", names[i]))
		}
		seen[names[i]] = true
	}
	stored := make([]*ent.SourceFile, len(files))
	for i, f := range files {
		row, err := r.Files.Upload(ctx, connectorID, names[i], f.ContentType, f.File, f.Size)
		if err != nil {
			return nil, err
		}
		stored[i] = row
	}
	return stored, nil
}

// sourceFiles are the files of a connector whose path has some text in it.
func (r *Resolver) sourceFiles(ctx context.Context, connectorID uuid.UUID, matching *string) (*ent.SourceFileQuery, error) {
	query := r.client(ctx).SourceFile.Query().Where(entfile.ConnectorID(connectorID))
	if text := sought(matching); text != "" {
		query.Where(entfile.PathContainsFold(text))
	}
	return query, r.connectorExists(ctx, connectorID)
}
