package fileupload

import (
	"context"
	"io"
	"time"
)

// File is one uploaded file.
type File struct {
	// Path is the file's name with its folders, slash separated; it is unique
	// within a connector. At most connectors.MaxIDBytes bytes.
	Path string
	// Version is the SHA-256 of the content in hex.
	Version string
	// MediaType is what the upload said, "" when it said nothing.
	MediaType string
	// BlobKey is where the content is kept.
	BlobKey string
	// Size is the length of the content in bytes.
	Size int64
	// CreatedAt is the first upload to this path, ModifiedAt the last one.
	CreatedAt, ModifiedAt time.Time
}

// Files gives access to what was uploaded to connectors.
type Files interface {
	// List returns at most limit files of a connector whose path is greater
	// than after in the order of bytes, sorted so. Fewer than limit are the last.
	List(ctx context.Context, connectorID, after string, limit int) ([]File, error)
	// Stat returns the files at these paths; those that do not exist are left
	// out. The order is free.
	Stat(ctx context.Context, connectorID string, paths []string) ([]File, error)
	// Open returns the content of a file, or an error that wraps
	// connectors.ErrNotFound when it is gone.
	Open(ctx context.Context, connectorID string, f File) (io.ReadCloser, error)
}
