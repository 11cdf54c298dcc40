package ole

import (
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// Kinds of records (MS-PPT 2.13.24, MS-ODRAW 2.2).
const (
	recordDocument       = 0x03E8
	recordSlide          = 0x03EE
	recordSlideAtom      = 0x03EF
	recordNotes          = 0x03F0
	recordSlidePersist   = 0x03F3
	recordMaster         = 0x03F8
	recordExternals      = 0x0409
	recordDrawing        = 0x040C
	recordPlaceholder    = 0x0BC3
	recordOutlineRef     = 0x0F9E
	recordTextHeader     = 0x0F9F
	recordTextChars      = 0x0FA0
	recordTextStyle      = 0x0FA1
	recordTextBytes      = 0x0FA8
	recordString         = 0x0FBA
	recordLinkAtom       = 0x0FD3
	recordLink           = 0x0FD7
	recordNumberChar     = 0x0FD8
	recordHeadersFooters = 0x0FD9
	recordHeadersAtom    = 0x0FDA
	recordTextLink       = 0x0FDF
	recordHandout        = 0x0FC9
	recordSlideList      = 0x0FF0
	recordInteractive    = 0x0FF2
	recordInteraction    = 0x0FF3
	recordUserEdit       = 0x0FF5
	recordDateChar       = 0x0FF7
	recordRTFDateChar    = 0x1015
	recordTags           = 0x1388
	recordBinaryTag      = 0x138A
	recordBinaryData     = 0x138B
	recordPersist        = 0x1772
	recordComment        = 0x2EE0
	recordCryptSession   = 0x2F14
	recordGroup          = 0xF003
	recordShape          = 0xF004
	recordDrawingGroup   = 0xF002
	recordOptions        = 0xF00B
	recordTextBox        = 0xF00D
	recordChildAnchor    = 0xF00F
	recordClientData     = 0xF011
	recordMoreOptions    = 0xF122
)

const recordHead = 8

// A record is a record of a presentation (MS-PPT 2.3.1).
type record struct {
	kind        int
	instance    int
	isContainer bool // it contains records
	isTruncated bool // its length exceeds that of its container
	content     view
}

// readRecord reads the record at an offset and returns the offset of the next one. It is false at the end.
func readRecord(v view, at int) (r record, next int, ok bool) {
	if at < 0 || at+recordHead > len(v) {
		return record{}, len(v), false
	}
	length := v.u32(at + 4)
	r = record{kind: v.u16(at + 2), instance: v.u16(at) >> 4, isContainer: v.u16(at)&0xF == 0xF, content: v.part(at+recordHead, length)}
	r.isTruncated = length > len(r.content)
	return r, at + recordHead + len(r.content), true
}

// walk reads records. The number of reads is bounded, since offsets may lead to the same records again.
type walk struct {
	wordmodel.Work
	stepsLeft int
}

// each calls a function for each record of a sequence. An error of the function ends it.
func (w *walk) each(v view, do func(record) error) error {
	for at := 0; ; {
		r, next, ok := readRecord(v, at)
		if !ok {
			return nil
		}
		if err := w.Step(); err != nil {
			return err
		}
		if w.stepsLeft--; w.stepsLeft < 0 {
			return &document.LimitError{Detail: "the presentation refers to the same parts again and again"}
		}
		if err := do(r); err != nil {
			return err
		}
		at = next
	}
}

// child returns the first record of a kind.
func (w *walk) child(v view, kind int) (found record, ok bool, err error) {
	err = w.each(v, func(r record) error {
		if r.kind == kind && !ok {
			found, ok = r, true
		}
		return nil
	})
	return found, ok, err
}

// blockCost and cellCost are what a block and a cell add to the cost of a file.
const (
	blockCost = 32
	cellCost  = 16
)

// maxEntries is how many notes, comments, authors or objects of a file are read.
const maxEntries = 200_000
