package fileupload

import (
	"context"
	"io"
	"time"
)

// A File is an uploaded file.
type File struct {
	// Path is the file's name with its folders, slash-separated. It is unique
	// within a connector and has at most connectors.MaxIDBytes bytes.
	Path string
	// Version is the SHA-256 of the content in hexadecimal.
	Version string
	// MediaType is that of the upload, "" if unknown.
	MediaType string
	// BlobKey is the key of the content in the blob store.
	BlobKey string
	// Size is the length of the content in bytes.
	Size int64
	// CreatedAt is the time of the first upload to this path, ModifiedAt that
	// of the last one.
	CreatedAt, ModifiedAt time.Time
}

// Files are the uploaded files of connectors.
type Files interface {
	// List returns at most limit files of a connector with a path after a path,
	// sorted by bytes. If there are fewer than limit, they are the last.
	List(ctx context.Context, connectorID, after string, limit int) ([]File, error)
	// Stat returns the existing files at paths, in any order.
	Stat(ctx context.Context, connectorID string, paths []string) ([]File, error)
	// Open returns the content of a file. The error wraps
	// connectors.ErrNotFound if the file is gone.
	Open(ctx context.Context, connectorID string, f File) (io.ReadCloser, error)
}
