package pdf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// formatName is the name of the format in errors.
const formatName = "PDF"

// A Recognizer recognizes text in images.
type Recognizer interface {
	// Text returns the text in an image (PNG): paragraphs separated by empty lines, "" if there is none. Languages are
	// ISO 639-1 codes. Without any, the recognizer chooses them.
	Text(ctx context.Context, image []byte, languages []string) (string, error)
}

// Options configures a reader. The zero value is useful.
type Options struct {
	// CacheDir is a folder for compiled pdfium. It is created if it is missing. With it, a start takes 0.1 s instead of
	// 5 s. No one else may have write access. With "", the code is only in memory.
	CacheDir string
	// Instances is how many documents are read at the same time. The default is the number of processors.
	Instances int
	// MaxMemory is how much memory, in bytes, a document may use in pdfium. The default is 512 MiB. A document that
	// needs more is refused.
	MaxMemory int
	// PageTime is how long a page may take. The default is 30 seconds. A page that takes longer is left out.
	PageTime time.Duration
	// OCR reads pages without text. It may be nil.
	OCR Recognizer
}

// A Reader reads PDF files. It is safe for concurrent use.
type Reader struct {
	opt   Options
	slots chan struct{} // one value for each running instance

	mu       sync.Mutex
	start    *start // running or done; nil before the first use and after a failure
	isClosed bool
	work     sync.WaitGroup // open documents and the start
}

// start is an attempt to start pdfium.
type start struct {
	done   chan struct{} // closed when engine and err are set
	engine *engine
	err    error
}

// New returns a reader. It starts pdfium at its first use. The caller must close it.
func New(opt Options) *Reader {
	if opt.Instances <= 0 {
		opt.Instances = runtime.NumCPU()
	}
	if opt.MaxMemory <= 0 {
		opt.MaxMemory = 512 << 20
	}
	if opt.PageTime <= 0 {
		opt.PageTime = 30 * time.Second
	}
	return &Reader{opt: opt, slots: make(chan struct{}, opt.Instances)}
}

var errClosed = errors.New("read PDF: the reader is closed")

// Close waits for open documents and frees pdfium. Read then fails.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.isClosed = true
	r.mu.Unlock()
	r.work.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.start == nil {
		return nil
	}
	engine := r.start.engine
	r.start = nil
	return engine.close()
}

// Read reads a file. The error is a *document.EncryptedError for a file that needs a password, a *document.DamagedError
// for one without a readable page, a *document.LimitError for too many pages, too much text or too much memory, a
// *document.UnsupportedError for images without a recognizer, or that of the context. Extra["damaged"] names unreadable
// pages.
func (r *Reader) Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	r.mu.Lock()
	if r.isClosed {
		r.mu.Unlock()
		return nil, errClosed
	}
	r.work.Add(1)
	r.mu.Unlock()
	defer r.work.Done()
	in.Limits = in.Limits.WithDefaults()
	read, err := r.readPages(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := r.recognize(ctx, in, read); err != nil {
		return nil, err
	}
	return assemble(ctx, in, read)
}

// started returns pdfium. Concurrent calls wait for the same start.
func (r *Reader) started(ctx context.Context) (*engine, error) {
	r.mu.Lock()
	attempt := r.start
	if attempt == nil {
		attempt = &start{done: make(chan struct{})}
		r.start = attempt
		r.work.Go(func() {
			attempt.engine, attempt.err = newEngine(context.WithoutCancel(ctx), r.opt)
			if attempt.err != nil {
				r.mu.Lock()
				r.start = nil
				r.mu.Unlock()
			}
			close(attempt.done)
		})
	}
	r.mu.Unlock()
	select {
	case <-attempt.done:
		return attempt.engine, attempt.err
	case <-ctx.Done():
		return nil, fmt.Errorf("start pdfium: %w", ctx.Err())
	}
}

// acquire waits for a slot to run an instance. The returned function releases it.
func (r *Reader) acquire(ctx context.Context) (func(), error) {
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("read PDF: %w", ctx.Err())
	}
}
