package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// ErrNotFound is returned (wrapped) by Open when there is nothing at a key.
var ErrNotFound = errors.New("no such blob")

// Store keeps blobs by key. A key is chosen by Magpie, never by a user: up to
// 512 bytes of lower case letters, digits, ".", "_", "-", in parts separated by
// "/" that are neither "." nor "..". No key may be a folder of another ("a" and
// "a/b"), since some services cannot hold both. All methods may be called
// concurrently.
type Store interface {
	// Put stores what r gives until its end, in place of what was there. A
	// reader of the key sees the old or the new content, whole. When Put fails
	// the old content stays. size is the length in bytes, or -1 when unknown; a
	// reader that gives more or less is an error.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// Open returns the content, or ErrNotFound. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes the content. A missing key is no error.
	Delete(ctx context.Context, key string) error
}

const (
	maxKeyBytes  = 512
	maxPartBytes = 200
)

// properKey is deliberately narrower than any backend: such keys are the same
// on file systems that ignore letter case and need no escaping in a URL.
var properKey = regexp.MustCompile(`^[a-z0-9._-]+(/[a-z0-9._-]+)*$`)

func checkKey(key string) error {
	if len(key) > maxKeyBytes || !properKey.MatchString(key) {
		return fmt.Errorf("improper blob key %.80q", key)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." || len(part) > maxPartBytes {
			return fmt.Errorf("improper blob key %.80q", key)
		}
	}
	return nil
}
