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
	// maxRestarts is how many times a document is opened again after pdfium failed at a page.
	maxRestarts = 3
	// maxLines is how many lines of text a document may have.
	maxLines = 500_000
)

// content is what was read out of a file.
type content struct {
	info    info
	outline []bookmark
	pages   []page // all, in order; what could not be read is empty and marked
	bytes   []byte // the file as it was opened
	cut     bool   // whether the end of the file is missing
	lost    bool   // whether the list of its objects was

	recognised  int    // how many pages were read as pictures
	withoutText string // why pages have no text
}

// file is a document that is open in an instance.
type file struct {
	*instance
	document uint64
	count    int // of its pages, at least 1
	pageTime time.Duration
}

// readPages reads all that a file has without recognising pictures. It holds a slot while it does.
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
	lost := len(opened) != len(in.Content)
	read := &content{info: f.info(ctx), outline: f.outline(ctx, count)}
	read.bytes, read.lost = opened, lost
	read.cut = !hasEnd(in.Content) && (lost || f.number(ctx, "FPDF_DocumentHasValidCrossReferenceTable", f.document) == 0)
	if err := f.failure(ctx); err != nil && !isDamaged(err) {
		return nil, err
	}
	read.pages = make([]page, count)
	restarts, text, lines := 0, 0, 0
	for number := 1; number <= count; number++ {
		p := &read.pages[number-1]
		p.number = number
		if f.err != nil {
			if restarts++; restarts > maxRestarts {
				p.damaged = true
				continue
			}
			f.discard()
			again, err := r.open(ctx, engine, opened)
			if err != nil {
				return nil, err
			}
			f = again
		}
		if err := f.page(ctx, p); err != nil {
			if !isDamaged(err) {
				return nil, err
			}
			*p = page{number: number, damaged: true}
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

// isDamaged tells the errors that are the fault of a file, or of one page, from those that end the reading of a document.
func isDamaged(err error) bool {
	var damaged *document.DamagedError
	return errors.As(err, &damaged)
}

// hasEnd tells whether the mark at the end of a file is there.
func hasEnd(content []byte) bool {
	return bytes.Contains(content[max(0, len(content)-2048):], []byte("%%EOF"))
}

// openOrRepair opens a file, with a new list of its pages where the one in it is of no use. It returns the bytes that were
// opened.
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

// open opens a file in an instance of its own.
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
	case reason == 4 || reason == 5: // a password is missing; a way of encrypting that pdfium does not know
		return nil, &document.EncryptedError{Format: formatName}
	case !bytes.Contains(content[:min(len(content), 1024)], []byte("%PDF-")):
		return nil, &document.DamagedError{Format: formatName, Detail: "the mark of a PDF is missing at its start"}
	}
	return nil, &document.DamagedError{Format: formatName, Detail: "the list of its objects is missing or broken, and no pages are found without it"}
}

// page reads one page. A *document.DamagedError is a fault of this page alone; f.err then says whether the instance can
// still be used.
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
