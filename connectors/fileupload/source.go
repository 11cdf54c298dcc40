package fileupload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// Kind returns the kind. Its sources walk in the order of paths. The cursor is
// the last path.
func Kind(files Files) connectors.Kind {
	return connectors.Kind{
		Name:         "file_upload",
		Aliases:      []string{"file", "upload"},
		Title:        "File upload",
		Description:  "Files uploaded to Magpie by hand or through the API.",
		Category:     connectors.CategoryFiles,
		Enumerates:   true,
		AcceptsFiles: true,
		Options:      options(),
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			pages, err := newAddresses(s)
			return &source{files: files, connectorID: s.ConnectorID, pages: pages}, err
		},
	}
}

type source struct {
	files       Files
	connectorID string
	pages       addresses
}

func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	if len(cursor) > connectors.MaxIDBytes || !isStorable(cursor) {
		return connectors.Page{}, connectors.Fatal(errors.New("list the uploaded files: the cursor is not one of this connector"))
	}
	files, err := s.files.List(ctx, s.connectorID, cursor, connectors.MaxPageItems)
	if err != nil {
		return connectors.Page{}, fmt.Errorf("list the uploaded files: %w", err)
	}
	page := connectors.Page{Items: make([]connectors.Item, 0, len(files)), Next: cursor, Done: len(files) < connectors.MaxPageItems}
	for _, file := range files {
		// A listing out of order would skip files or loop.
		if file.Path <= page.Next {
			return connectors.Page{}, connectors.Fatal(fmt.Errorf("list the uploaded files: %q comes after %q", file.Path, page.Next))
		}
		page.Next = file.Path
		page.Items = append(page.Items, s.item(file))
	}
	return page, nil
}

func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := s.existing(ctx, []string{item.ID})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("open the uploaded file %q: %w", item.ID, connectors.ErrNotFound)
	}
	if item.Version != "" && files[0].Version != contentVersion(item.Version) {
		return nil, connectors.Retryable(fmt.Errorf("open the uploaded file %q: it was replaced since it was listed", item.ID), 0)
	}
	content, err := s.files.Open(ctx, s.connectorID, files[0])
	if err != nil {
		return nil, fmt.Errorf("open the uploaded file %q: %w", item.ID, err)
	}
	return content, nil
}

// Resolve implements [connectors.Resolver].
func (s *source) Resolve(ctx context.Context, paths []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	for batch := range slices.Chunk(paths, connectors.MaxPageItems) {
		names := make([]string, 0, len(batch))
		for _, name := range batch {
			names = append(names, strings.TrimLeft(name, "/"))
		}
		files, err := s.existing(ctx, names)
		if err != nil {
			return nil, nil, err
		}
		existing := make(map[string]bool, len(files))
		for _, file := range files {
			existing[file.Path] = true
			found = append(found, s.item(file))
		}
		for at, name := range names {
			if !existing[name] {
				missing = append(missing, batch[at])
			}
		}
	}
	slices.SortFunc(found, func(a, b connectors.Item) int { return strings.Compare(a.ID, b.ID) })
	found = slices.CompactFunc(found, func(a, b connectors.Item) bool { return a.ID == b.ID })
	return found, missing, nil
}

// Check implements [connectors.Source]. It lists files if the connector exists.
func (s *source) Check(ctx context.Context) error {
	if s.connectorID == "" {
		return ctx.Err()
	}
	if _, err := s.files.List(ctx, s.connectorID, "", 1); err != nil {
		return fmt.Errorf("list the uploaded files: %w", err)
	}
	return nil
}

func (s *source) Close() error { return nil }

// existing returns the files at paths. Paths that cannot exist are not queried.
func (s *source) existing(ctx context.Context, paths []string) ([]File, error) {
	possible := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return path == "" || len(path) > connectors.MaxIDBytes || !isStorable(path)
	})
	if len(possible) == 0 {
		return nil, nil
	}
	files, err := s.files.Stat(ctx, s.connectorID, possible)
	if err != nil {
		return nil, fmt.Errorf("look up uploaded files: %w", err)
	}
	return files, nil
}

// isStorable reports whether the database can store a text.
func isStorable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

func (s *source) item(file File) connectors.Item {
	address := s.pages.of(file.Path)
	return connectors.Item{
		ID: file.Path, Path: file.Path, Version: version(file.Version, address), URL: address, MediaType: file.MediaType, Size: file.Size,
		CreatedAt: file.CreatedAt.UTC(), ModifiedAt: file.ModifiedAt.UTC(),
	}
}
