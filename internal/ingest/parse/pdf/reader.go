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

// formatName is what errors call the format.
const formatName = "PDF"

// Recogniser reads the text in a picture.
type Recogniser interface {
	// Text returns the text in an image (PNG), paragraphs parted by empty lines, "" where there is none. Languages are
	// ISO 639-1 codes and may be empty: then the recogniser chooses.
	Text(ctx context.Context, image []byte, languages []string) (string, error)
}

// Options sets a reader up. The zero value is useful.
type Options struct {
	// CacheDir is a folder, made when missing, where the machine code is kept that compiling pdfium gives: then a start
	// takes 0.1 s instead of 5 s. Nobody else may write there. With "" it is kept in memory only.
	CacheDir string
	// Instances is how many documents are read at the same time, the number of processors by default.
	Instances int
	// MaxMemory is how much memory, in bytes, one document may take in pdfium; 512 MiB by default. A document that takes more
	// is refused.
	MaxMemory int
	// PageTime is the longest that one page may take, whatever time the document has; 30 seconds by default. A page that
	// takes longer is left out.
	PageTime time.Duration
	// OCR reads pages without text; nil when there is none.
	OCR Recogniser
}

// Reader reads PDF files. It is safe for concurrent use.
type Reader struct {
	opt   Options
	slots chan struct{} // holds one value for each instance at work

	mu       sync.Mutex
	starting *start // under way or done; nil before the first use and after a failure
	closed   bool
	work     sync.WaitGroup // documents that are read, and the start
}

// start is one attempt at starting pdfium.
type start struct {
	done   chan struct{} // closed when engine and err are set
	engine *engine
	err    error
}

// New makes a reader. It starts nothing: pdfium is started at the first use. Close it when it is no longer used.
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

// Close waits for the documents that are still being read and gives back what pdfium takes. Reading after it fails.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.work.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.starting == nil {
		return nil
	}
	engine := r.starting.engine
	r.starting = nil
	return engine.close()
}

// Read reads one file. The error is *document.EncryptedError for a file that needs a password, *document.DamagedError for
// a file of which nothing can be read, *document.LimitError for too many pages, too much text or a file that takes too
// much memory, *document.UnsupportedError for a file of pictures when there is no recogniser, and wraps the context's
// error when its time is up. Pages that cannot be read are left out and named in Extra["damaged"].
func (r *Reader) Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	r.mu.Lock()
	if r.closed {
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
	if err := r.recognise(ctx, in, read); err != nil {
		return nil, err
	}
	return assemble(ctx, in, read)
}

// started returns pdfium ready for use. Whoever comes while it is started waits for the same start.
func (r *Reader) started(ctx context.Context) (*engine, error) {
	r.mu.Lock()
	attempt := r.starting
	if attempt == nil {
		attempt = &start{done: make(chan struct{})}
		r.starting = attempt
		r.work.Go(func() {
			attempt.engine, attempt.err = newEngine(context.WithoutCancel(ctx), r.opt)
			if attempt.err != nil {
				r.mu.Lock()
				r.starting = nil
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

// acquire waits for the right to run an instance. The function returned gives it back.
func (r *Reader) acquire(ctx context.Context) (func(), error) {
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("read PDF: %w", ctx.Err())
	}
}
