package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxRestarts is how often a document is opened again after pdfium failed at a page.
	maxRestarts = 3
	// maxLines is how many lines of text a document may have.
	maxLines = 500_000
)

// content is the content of a file.
type content struct {
	info        info
	outline     []bookmark
	pages       []page // all, in order; a damaged page is empty
	opened      []byte // the file as it was opened
	isTruncated bool   // the end of the file is missing
	isListLost  bool   // the list of its objects is missing or damaged

	recognized  int    // number of pages read by text recognition
	withoutText string // why pages have no text
}

// A file is a document that is open in an instance.
type file struct {
	*instance
	document uint64
	count    int // number of pages, at least 1
	pageTime time.Duration
	// isDamaged says that the end of the file or the list of its objects is missing, so that fonts may be missing.
	isDamaged bool
}

// readPages reads a file without text recognition. It occupies a slot.
func (r *Reader) readPages(ctx context.Context, in document.Source) (*content, error) {
	engine, err := r.started(ctx)
	if err != nil {
		return nil, err
	}
	release, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	f, opened, err := r.openOrRepair(ctx, engine, in.Content)
	if err != nil {
		return nil, err
	}
	defer func() { f.discard() }()
	count := f.count
	if count > in.Limits.MaxPages {
		return nil, &document.LimitError{Detail: fmt.Sprintf("the PDF has %d pages, the limit is %d", count, in.Limits.MaxPages)}
	}
	isListLost := len(opened) != len(in.Content)
	read := &content{info: f.info(ctx), outline: f.outline(ctx, count)}
	read.opened, read.isListLost = opened, isListLost
	read.isTruncated = !hasEnd(in.Content) && (isListLost || f.number(ctx, "FPDF_DocumentHasValidCrossReferenceTable", f.document) == 0)
	if err := f.failure(ctx); err != nil && !isDamaged(err) {
		return nil, err
	}
	f.isDamaged = read.isTruncated || isListLost
	read.pages = make([]page, count)
	restarts, text, lines := 0, 0, 0
	for number := 1; number <= count; number++ {
		p := &read.pages[number-1]
		p.number = number
		if f.err != nil {
			if restarts++; restarts > maxRestarts {
				p.isDamaged = true
				continue
			}
			f.discard()
			reopened, err := r.open(ctx, engine, opened)
			if err != nil {
				return nil, err
			}
			reopened.isDamaged = f.isDamaged
			f = reopened
		}
		if err := f.page(ctx, p); err != nil {
			if !isDamaged(err) {
				return nil, err
			}
			*p = page{number: number, isDamaged: true}
		}
		for k := range p.lines {
			text += p.lines[k].length()
		}
		if lines += len(p.lines); lines > maxLines {
			return nil, &document.LimitError{Detail: fmt.Sprintf("the PDF has more than %d lines", maxLines)}
		}
		if text > in.Limits.MaxText {
			return nil, &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", in.Limits.MaxText)}
		}
	}
	return read, nil
}

// isDamaged reports whether an error only concerns the file or a page, and does not end the reading.
func isDamaged(err error) bool {
	var damaged *document.DamagedError
	return errors.As(err, &damaged)
}

// hasEnd reports whether the file has its end mark.
func hasEnd(content []byte) bool {
	return bytes.Contains(content[max(0, len(content)-2048):], []byte("%%EOF"))
}

// openOrRepair opens a file, with a new list of its pages if its own is unusable. It returns the bytes that it opened.
func (r *Reader) openOrRepair(ctx context.Context, engine *engine, content []byte) (*file, []byte, error) {
	f, err := r.open(ctx, engine, content)
	if !isDamaged(err) {
		return f, content, err
	}
	mended := repaired(content)
	if mended == nil {
		return nil, nil, err
	}
	if f, again := r.open(ctx, engine, mended); again == nil {
		return f, mended, nil
	} else if !isDamaged(again) {
		return nil, nil, again
	}
	return nil, nil, err
}

// open opens a file in a new instance.
func (r *Reader) open(ctx context.Context, engine *engine, content []byte) (*file, error) {
	i, err := engine.instance(ctx)
	if err != nil {
		return nil, err
	}
	f := &file{instance: i, pageTime: r.opt.PageTime}
	address := i.put(ctx, content)
	if address != 0 {
		f.document = i.call(ctx, "FPDF_LoadMemDocument", address, uint64(len(content)), 0)
	}
	if f.document != 0 {
		f.count = f.number(ctx, "FPDF_GetPageCount", f.document)
		if f.err == nil && f.count > 0 {
			return f, nil
		}
	}
	reason := i.number(ctx, "FPDF_GetLastError")
	err = i.failure(ctx)
	i.discard()
	var damaged *document.DamagedError
	switch {
	case errors.As(err, &damaged):
		damaged.Detail = "its structure cannot be processed"
		return nil, err
	case err != nil:
		return nil, err
	case f.document != 0:
		return nil, &document.DamagedError{Format: formatName, Detail: "no pages are found in it"}
	case address == 0:
		return nil, &document.LimitError{Detail: fmt.Sprintf("the PDF takes more than %d MiB of memory to read", r.opt.MaxMemory>>20)}
	case reason == 4 || reason == 5: // a missing password; an encryption that pdfium does not support
		return nil, &document.EncryptedError{Format: formatName}
	case !bytes.Contains(content[:min(len(content), 1024)], []byte("%PDF-")):
		return nil, &document.DamagedError{Format: formatName, Detail: "the mark of a PDF is missing at its start"}
	}
	return nil, &document.DamagedError{Format: formatName, Detail: "the list of its objects is missing or broken, and no pages are found without it"}
}

// page reads a page. A *document.DamagedError only concerns this page. The instance is usable afterwards if f.err is
// nil.
func (f *file) page(ctx context.Context, p *page) error {
	limited, cancel := context.WithTimeout(ctx, f.pageTime)
	defer cancel()
	handle := f.call(limited, "FPDF_LoadPage", f.document, uint64(p.number-1)) //nolint:gosec // counts from 1
	if handle != 0 {
		f.extract(limited, handle, p)
		f.call(limited, "FPDF_ClosePage", handle)
	}
	if f.err != nil && ctx.Err() == nil && limited.Err() != nil {
		return &document.DamagedError{Format: formatName, Detail: "a page takes too long to read", Cause: f.err}
	}
	if err := f.failure(ctx); err != nil {
		return err
	}
	if handle == 0 {
		return &document.DamagedError{Format: formatName, Detail: "a page cannot be read"}
	}
	return nil
}
