package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// ErrNotFound is the error of Open if there is no content at a key.
var ErrNotFound = errors.New("no such blob")

// Store stores blobs by key. Magpie chooses the keys: up to 512 bytes of lower case
// letters, digits, ".", "_", "-", in parts separated by "/" that are neither "."
// nor "..". No key may be a folder of another ("a" and "a/b"): some services cannot
// store both. A Store is safe for concurrent use.
type Store interface {
	// Put stores the content of r and replaces the old content. Concurrent readers
	// of the key get the old or the new content as a whole. If Put fails, the old
	// content stays. size is the length in bytes or -1 if unknown; it is an error
	// if r has another length.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open returns the content or ErrNotFound. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete deletes the content, if there is any.
	Delete(ctx context.Context, key string) error
}

const (
	maxKeyBytes  = 512
	maxPartBytes = 200
)

// keyPattern allows less than any backend: these keys work on file systems that
// ignore case and need no escaping in a URL.
var keyPattern = regexp.MustCompile(`^[a-z0-9._-]+(/[a-z0-9._-]+)*$`)

func checkKey(key string) error {
	if len(key) > maxKeyBytes || !keyPattern.MatchString(key) {
		return fmt.Errorf("invalid blob key %.80q", key)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." || len(part) > maxPartBytes {
			return fmt.Errorf("invalid blob key %.80q", key)
		}
	}
	return nil
}
