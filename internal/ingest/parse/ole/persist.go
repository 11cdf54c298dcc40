package ole

import (
	"errors"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

const slidesFormat = "PowerPoint presentation"

// encryptedToken marks an encrypted presentation in the stream of the current user (MS-PPT 2.3.2).
const encryptedToken = 0xF3D1C4DF

// maxEdits is how many saved edits are read.
const maxEdits = 10_000

// persist is the directory of a presentation's objects by id (MS-PPT 2.3.4).
type persist struct {
	stream   view
	offsets  map[int]int
	document int // id of the document, -1 if it is unknown
}

// at returns the object with an id. It is false if there is none of the kind.
func (p *persist) at(id, kind int) (record, bool) {
	offset, isKnown := p.offsets[id]
	if !isKnown {
		return record{}, false
	}
	r, _, ok := readRecord(p.stream, offset)
	return r, ok && r.kind == kind
}

// readPersist reads the saved edits, from the last one back. The error is a *document.EncryptedError or
// *document.LimitError.
func readPersist(w *walk, file *cfb.File, stream view) (*persist, error) {
	p := &persist{stream: stream, offsets: make(map[int]int), document: -1}
	edit := -1
	user, err := file.Read("Current User")
	if err == nil {
		head := view(user)
		if len(head) >= 20 && uint32(head.i32(12)) == encryptedToken { //nolint:gosec // a mark, no number
			return nil, &document.EncryptedError{Format: slidesFormat}
		}
		edit = head.u32(16)
	} else if _, limited := errors.AsType[*document.LimitError](err); limited {
		return nil, err
	}
	if file.Has("EncryptedSummary") {
		return nil, &document.EncryptedError{Format: slidesFormat}
	}
	if r, _, ok := readRecord(stream, edit); !ok || r.kind != recordUserEdit {
		if edit, err = lastEdit(w, stream); err != nil {
			return nil, err
		}
	}
	seen := make(map[int]bool)
	for range maxEdits {
		r, _, ok := readRecord(stream, edit)
		if !ok || r.kind != recordUserEdit || seen[edit] {
			break
		}
		seen[edit] = true
		if p.document < 0 {
			p.document = r.content.u32(16)
		}
		if err := p.directory(w, r.content.u32(12)); err != nil {
			return nil, err
		}
		if id := r.content.u32(28); len(r.content) >= 32 && id > 0 {
			if _, encrypted := p.at(id, recordCryptSession); encrypted {
				return nil, &document.EncryptedError{Format: slidesFormat}
			}
		}
		if edit = r.content.u32(8); edit == 0 {
			break
		}
	}
	return p, nil
}

// lastEdit returns the offset of the last saved edit in the stream, or -1.
func lastEdit(w *walk, stream view) (int, error) {
	last, at := -1, 0
	err := w.each(stream, func(r record) error {
		if r.kind == recordUserEdit {
			last = at
		}
		at += recordHead + len(r.content)
		return nil
	})
	return last, err
}

// directory reads a list of objects. Offsets of later edits, which are read before, take precedence.
func (p *persist) directory(w *walk, offset int) error {
	r, _, ok := readRecord(p.stream, offset)
	if !ok || r.kind != recordPersist {
		return nil
	}
	for at := 0; at+4 <= len(r.content); {
		head := r.content.i32(at)
		id, count := head&0xFFFFF, head>>20&0xFFF
		at += 4
		for range count {
			if err := w.Step(); err != nil {
				return err
			}
			if w.stepsLeft--; at+4 > len(r.content) || w.stepsLeft < 0 {
				return nil
			}
			if _, taken := p.offsets[id]; !taken && len(p.offsets) < maxEntries {
				p.offsets[id] = r.content.u32(at)
			}
			id++
			at += 4
		}
	}
	return nil
}
