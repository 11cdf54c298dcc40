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

// Options sets a parser up. The zero value is useful.
type Options struct {
	// CacheDir is where machine code that is made at the first use is kept, so that it is made once; nobody else may write
	// there. "" keeps it in memory.
	CacheDir string
	// OCR reads text in images, and in pages of PDF files that are images; nil leaves them unread.
	OCR *ocr.Tesseract
	// Grace is how long after the end of its context a reader may go on before it is left behind, 2 seconds by default.
	Grace time.Duration
}

// Parser reads files of every format. It is safe for concurrent use.
type Parser struct {
	opt     Options
	pdf     *pdf.Reader
	calls   sync.WaitGroup // of Parse
	readers sync.WaitGroup // those that were left behind included
}

// New makes a parser. Close it when it is no longer used.
func New(opt Options) *Parser {
	if opt.Grace <= 0 {
		opt.Grace = 2 * time.Second
	}
	pages := pdf.Options{CacheDir: opt.CacheDir}
	if opt.OCR != nil {
		pages.OCR = opt.OCR
	}
	return &Parser{opt: opt, pdf: pdf.New(pages)}
}

// Close waits for the calls of Parse that have not returned, and gives back what readers share. A reader that was left
// behind gets as long as after the end of its context; one that is at work even then keeps what it has, and Close says so.
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
		return p.pdf.Close() // says what it was doing
	case <-grace.C:
		return errors.New("close parser: documents whose time was up are still being read")
	}
}

// PanicError says that a fault in Magpie was met while a document was read; the document is not to blame.
type PanicError struct {
	// Value is what was panicked with, Stack where. They may quote the document: keep them out of logs.
	Value any
	Stack []byte
}

// Error says no more than the kind of the fault, since the value may quote the document.
func (e *PanicError) Error() string {
	if cause, ok := e.Value.(error); ok {
		var runtime interface{ RuntimeError() }
		if errors.As(cause, &runtime) {
			return "internal fault while the document was processed: " + cause.Error()
		}
	}
	return "internal fault while the document was processed"
}

// watched runs a reader. Its panic is an error, and a reader that does not end soon after the context is left behind, so
// that one file cannot hold a worker.
func (p *Parser) watched(ctx context.Context, read func(context.Context) (*document.Document, error)) (*document.Document, error) {
	type outcome struct {
		document *document.Document
		err      error
	}
	p.calls.Add(1)
	defer p.calls.Done()
	done := make(chan outcome, 1)
	p.readers.Go(func() {
		var out outcome
		defer func() {
			if value := recover(); value != nil {
				out = outcome{err: &PanicError{Value: value, Stack: debug.Stack()}}
			}
			done <- out
		}()
		out.document, out.err = read(ctx)
	})
	select {
	case out := <-done:
		return out.document, ended(ctx, out.err)
	case <-ctx.Done():
	}
	grace := time.NewTimer(p.opt.Grace)
	defer grace.Stop()
	select {
	case out := <-done:
		return out.document, ended(ctx, out.err)
	case <-grace.C:
		return nil, fmt.Errorf("parse: %w", ctx.Err())
	}
}

// ended gives a reader's error the context's as a cause where that is why it ended.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("parse: %w", ctx.Err())
	}
	return err
}
