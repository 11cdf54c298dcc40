package blob

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/tracing"
)

// Traced returns a view of a store that adds a span for each operation in a trace: that
// of Open ends when the content begins. Spans have no keys. Closing the view closes the
// store.
func Traced(s Store) Store { return traced{s} }

type traced struct{ store Store }

// Put implements [Store].
func (t traced) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if tracing.From(ctx) == nil {
		return t.store.Put(ctx, key, r, size)
	}
	start := time.Now()
	err := t.store.Put(ctx, key, r, size)
	if size < 0 {
		end(ctx, "blob put", start, err)
	} else {
		end(ctx, "blob put", start, err, slog.Int64("magpie.blob.bytes", size))
	}
	return err
}

// Open implements [Store].
func (t traced) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if tracing.From(ctx) == nil {
		return t.store.Open(ctx, key)
	}
	start := time.Now()
	content, err := t.store.Open(ctx, key)
	end(ctx, "blob open", start, err)
	return content, err
}

// Delete implements [Store].
func (t traced) Delete(ctx context.Context, key string) error {
	if tracing.From(ctx) == nil {
		return t.store.Delete(ctx, key)
	}
	start := time.Now()
	err := t.store.Delete(ctx, key)
	end(ctx, "blob delete", start, err)
	return err
}

// List implements [Store].
func (t traced) List(ctx context.Context, folder string, visit func(Entry) error) error {
	if tracing.From(ctx) == nil {
		return t.store.List(ctx, folder, visit)
	}
	start, entries := time.Now(), 0
	err := t.store.List(ctx, folder, func(e Entry) error { entries++; return visit(e) })
	end(ctx, "blob list", start, err, slog.Int("magpie.blob.entries", entries))
	return err
}

// Close closes the store, if it can be closed.
func (t traced) Close() error {
	if closer, ok := t.store.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

func end(ctx context.Context, name string, start time.Time, err error, attributes ...slog.Attr) {
	if errors.Is(err, ErrNotFound) {
		err = nil
		attributes = append(attributes, slog.Bool("magpie.blob.missing", true))
	}
	tracing.After(ctx, tracing.Client, name, start, err, attributes...)
}
