package parse

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ocr"
	"github.com/magpie-search/magpie/internal/ingest/parse/pdf"
)

// Options configures a Parser. The zero value is useful.
type Options struct {
	// CacheDir is a folder for machine code that is compiled at the first use. Nobody else may write there. "" keeps the code
	// in memory.
	CacheDir string
	// OCR reads the text in images and in scanned pages of PDF files. nil leaves them unread.
	OCR *ocr.Tesseract
	// Grace is how long a reader may go on after the end of its context before Parse abandons it, 2 seconds by default.
	Grace time.Duration
}

// A Parser reads files of every format. It is safe for concurrent use.
type Parser struct {
	opt     Options
	pdf     *pdf.Reader
	table   []format
	calls   sync.WaitGroup // of Parse
	readers sync.WaitGroup // including abandoned ones
}

// New returns a parser. The caller must close it.
func New(opt Options) *Parser {
	if opt.Grace <= 0 {
		opt.Grace = 2 * time.Second
	}
	pages := pdf.Options{CacheDir: opt.CacheDir}
	if opt.OCR != nil {
		pages.OCR = opt.OCR
	}
	p := &Parser{opt: opt, pdf: pdf.New(pages)}
	p.table = p.formats()
	return p
}

// Close waits for running calls of Parse and frees what readers share. An abandoned reader gets the grace period once more. If
// it still runs then, Close frees nothing and returns an error.
func (p *Parser) Close() error {
	p.calls.Wait()
	idle := make(chan struct{})
	go func() {
		p.readers.Wait()
		close(idle)
	}()
	grace := time.NewTimer(p.opt.Grace)
	defer grace.Stop()
	select {
	case <-idle:
		return p.pdf.Close()
	case <-grace.C:
		return errors.New("close parser: documents whose time was up are still being read")
	}
}

// PanicError reports a panic while a document was read. The fault is in Magpie, not in the document.
type PanicError struct {
	// Value is the value of the panic, Stack the stack trace. They may quote the document: keep them out of logs.
	Value any
	Stack []byte
}

// Error describes a runtime error. It hides other values, since they may quote the document.
func (e *PanicError) Error() string {
	if cause, ok := e.Value.(error); ok {
		var runtime interface{ RuntimeError() }
		if errors.As(cause, &runtime) {
			return "internal fault while the document was processed: " + cause.Error()
		}
	}
	return "internal fault while the document was processed"
}

// guard runs a reader. It turns a panic into an error, and abandons a reader that does not return soon after the context ends,
// so that one file cannot block a worker.
func (p *Parser) guard(ctx context.Context, read func(context.Context) (*document.Document, error)) (*document.Document, error) {
	type result struct {
		document *document.Document
		err      error
	}
	p.calls.Add(1)
	defer p.calls.Done()
	done := make(chan result, 1)
	p.readers.Go(func() {
		var out result
		defer func() {
			if value := recover(); value != nil {
				out = result{err: &PanicError{Value: value, Stack: debug.Stack()}}
			}
			done <- out
		}()
		out.document, out.err = read(ctx)
	})
	select {
	case out := <-done:
		return out.document, contextError(ctx, out.err)
	case <-ctx.Done():
	}
	grace := time.NewTimer(p.opt.Grace)
	defer grace.Stop()
	select {
	case out := <-done:
		return out.document, contextError(ctx, out.err)
	case <-grace.C:
		return nil, fmt.Errorf("parse: %w", ctx.Err())
	}
}

// contextError returns the error of the context if it has ended, since that is why the reader failed.
func contextError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("parse: %w", ctx.Err())
	}
	return err
}
