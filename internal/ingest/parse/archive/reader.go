package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// A watchedReader fails when its context ends, and counts the bytes read.
type watchedReader struct {
	ctx    context.Context
	reader io.Reader
	read   int64
}

func (r *watchedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read archive: %w", err)
	}
	n, err := r.reader.Read(p)
	r.read += int64(n)
	return n, err // io.EOF among others
}

// A counter counts decompressed bytes.
type counter struct {
	reader     io.Reader
	budget     *document.Budget
	compressed int64
	expanded   int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.expanded += int64(n)
	if limit := c.budget.Spend(int64(n)); limit != nil {
		return n, limit
	}
	if limit := c.budget.CheckRatio(c.expanded, c.compressed); limit != nil {
		return n, limit
	}
	return n, err // io.EOF among others
}
