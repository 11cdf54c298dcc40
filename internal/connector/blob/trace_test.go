package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/blob/blobtest"
	"github.com/magpie-search/magpie/internal/tracing"
)

func TestTracedIsAStore(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store {
		store, err := blob.NewDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return blob.Traced(store)
	})
}

func TestOperationsHaveSpansWithoutKeys(t *testing.T) {
	t.Parallel()
	dir, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := blob.Traced(dir)
	spans := tracetest.NewInMemoryExporter()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), tracing.Options{})
	ctx, span := tracer.Begin(t.Context(), "request", tracing.Root{})
	const key = "secret/report"
	if err := errors.Join(store.Put(ctx, key, strings.NewReader("four"), 4), store.Put(ctx, key, strings.NewReader("some"), -1)); err != nil {
		t.Fatal(err)
	}
	content, err := store.Open(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := content.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, key+"2"); !errors.Is(err, blob.ErrNotFound) {
		t.Error(err)
	}
	if err := errors.Join(store.List(ctx, "secret", func(blob.Entry) error { return nil }), store.Delete(ctx, key)); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(ctx, key, strings.NewReader("short"), 6); err == nil {
		t.Error("a short content was stored")
	}
	if err := store.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
	span.End(nil)
	var said []string
	for _, s := range spans.GetSpans() {
		text := s.Name
		for _, a := range s.Attributes {
			text += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		said = append(said, text)
	}
	all := strings.Join(said, "\n")
	want := "blob put magpie.blob.bytes=4\nblob put\nblob open\nblob open magpie.blob.missing=true\nblob list magpie.blob.entries=1\nblob delete\nblob put magpie.blob.bytes=6 error.type="
	if !strings.HasPrefix(all, want) || strings.Contains(all, "secret") {
		t.Errorf("the spans are\n%s", all)
	}
}

type nothing struct{}

func (nothing) Put(context.Context, string, io.Reader, int64) error        { return nil }
func (nothing) Open(context.Context, string) (io.ReadCloser, error)        { return nil, blob.ErrNotFound }
func (nothing) Delete(context.Context, string) error                       { return nil }
func (nothing) List(context.Context, string, func(blob.Entry) error) error { return nil }

// Not parallel, for testing.AllocsPerRun.
//
//nolint:paralleltest // see above
func TestTracesOfBlobsCostNothingWithoutATrace(t *testing.T) {
	ctx := context.Background()
	store, content, visit := blob.Traced(nothing{}), strings.NewReader(""), func(blob.Entry) error { return nil }
	n := testing.AllocsPerRun(1000, func() {
		_, err := store.Open(ctx, "a")
		_ = errors.Is(err, blob.ErrNotFound)
		if store.Put(ctx, "a", content, 0) != nil || store.Delete(ctx, "a") != nil || store.List(ctx, "a", visit) != nil {
			t.Error("it failed")
		}
	})
	if n != 0 {
		t.Errorf("%.1f allocations", n)
	}
}
