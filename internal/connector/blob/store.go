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
	// List calls visit for each blob whose key begins with a folder, in no certain
	// order; "" lists all. It stops at the first error of visit and returns it.
	List(ctx context.Context, folder string, visit func(Entry) error) error
}

// An Entry is a blob of a list.
type Entry struct {
	Key   string
	Bytes int64
}

const (
	maxKeyBytes  = 512
	maxPartBytes = 200
)

// keyPattern allows less than any backend: these keys work on file systems that
// ignore case and need no escaping in a URL.
var keyPattern = regexp.MustCompile(`^[a-z0-9._-]+(/[a-z0-9._-]+)*$`)

// checkFolder accepts "" and what may stand before the last part of a key.
func checkFolder(folder string) error {
	if folder == "" {
		return nil
	}
	return checkKey(folder)
}

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
