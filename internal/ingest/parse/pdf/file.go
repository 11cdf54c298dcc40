package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/internal/ingest/document"
)

const (
	// maxRestarts is how many times a document is opened again after pdfium failed at a page.
	maxRestarts = 3
	// pageTime is the longest that one page may take, whatever time the document has.
	pageTime = 30 * time.Second
	// maxLines is how many lines of text a document may have.
	maxLines = 500_000
)

// content is what was read out of a file.
type content struct {
	info    info
	outline []bookmark
	pages   []page // all, in order; what could not be read is empty and marked
	cut     bool   // whether the end of the file is missing

	recognised  int    // how many pages were read as pictures
	withoutText string // why pages have no text
}

// file is a document that is open in an instance.
type file struct {
	*instance
	document uint64
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
	f, err := open(ctx, engine, in.Content)
	if err != nil {
		return nil, err
	}
	defer func() { f.discard() }()
	count := f.number(ctx, "FPDF_GetPageCount", f.document)
	if err := f.failure(ctx); err != nil {
		return nil, err
	}
	switch {
	case count <= 0:
		return nil, &document.DamagedError{Format: formatName, Detail: "no pages are found in it"}
	case count > in.Limits.MaxPages:
		return nil, &document.LimitError{Detail: fmt.Sprintf("the PDF has %d pages, the limit is %d", count, in.Limits.MaxPages)}
	}
	read := &content{info: f.info(ctx), outline: f.outline(ctx, count)}
	tail := in.Content[max(0, len(in.Content)-2048):]
	read.cut = !bytes.Contains(tail, []byte("%%EOF")) && f.number(ctx, "FPDF_DocumentHasValidCrossReferenceTable", f.document) == 0
	if err := f.failure(ctx); err != nil && isFatal(err) {
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
			again, err := open(ctx, engine, in.Content)
			if err != nil {
				return nil, err
			}
			f = again
		}
		if err := f.page(ctx, p); err != nil {
			if isFatal(err) {
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

// isFatal tells the errors that end the reading of a document from those of one page.
func isFatal(err error) bool {
	var damaged *document.DamagedError
	return !errors.As(err, &damaged)
}

// open opens a file in an instance of its own.
func open(ctx context.Context, engine *engine, content []byte) (*file, error) {
	i, err := engine.instance(ctx)
	if err != nil {
		return nil, err
	}
	f := &file{instance: i}
	address := i.put(ctx, content)
	if address != 0 {
		f.document = i.call(ctx, "FPDF_LoadMemDocument", address, uint64(len(content)), 0)
	}
	if f.document != 0 {
		return f, nil
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
	case address == 0:
		return nil, &document.LimitError{Detail: fmt.Sprintf("the PDF takes more than %d MiB of memory to read", maxMemory>>20)}
	case reason == 4 || reason == 5: // a password is missing; a way of encrypting that pdfium does not know
		return nil, &document.EncryptedError{Format: formatName}
	case !bytes.Contains(content[:min(len(content), 1024)], []byte("%PDF-")):
		return nil, &document.DamagedError{Format: formatName, Detail: "the mark of a PDF is missing at its start"}
	}
	return nil, &document.DamagedError{Format: formatName, Detail: "its list of objects cannot be found, and they cannot be found without it"}
}

// page reads one page. A *document.DamagedError is a fault of this page alone; f.err then says whether the instance can
// still be used.
func (f *file) page(ctx context.Context, p *page) error {
	limited, cancel := context.WithTimeout(ctx, pageTime)
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
