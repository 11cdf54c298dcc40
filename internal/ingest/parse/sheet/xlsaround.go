package sheet

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// xlsLink is a link of a sheet, xlsNote a comment.
type (
	xlsLink struct {
		area
		target string
	}
	xlsNote struct {
		comment
		object int
	}
)

// Kinds of objects (MS-XLS 2.5.143).
const (
	objectCommon = 0x15
	objectNote   = 0x19
)

// readObject reads a record that belongs to a link, a comment or a text box.
func (x *xls) readObject(r *records, around *xlsAround) {
	switch r.kind {
	case recordHyperlink:
		if link, ok := readHyperlink(r); ok && len(around.links) < maxLinks {
			around.links = append(around.links, link)
		}
	case recordObject:
		if r.u16(0) == objectCommon {
			around.object, around.isNote = r.u16(6), r.u16(4) == objectNote
		}
	case recordTextObject:
		if x.version != biff8 {
			return
		}
		text := x.objectText(r)
		switch {
		case text == "" || len(around.texts)+len(around.boxes) > maxNotes:
		case around.isNote:
			around.texts[around.object] = text
		default:
			around.boxes = append(around.boxes, text)
		}
	case recordNote:
		x.readNote(r, around)
	}
}

// objectText returns the text of an object, whose characters stand in the records behind.
func (x *xls) objectText(r *records) string {
	characters := r.u16(10)
	p := r.continued()
	if p.list = p.list[1:]; characters == 0 || len(p.list) == 0 {
		return ""
	}
	flags := p.u8()
	x.buffer = p.appendCharacters(x.buffer[:0], characters, flags&flagWide != 0)
	return string(x.buffer)
}

func (x *xls) readNote(r *records, around *xlsAround) {
	const goesOn = 0xFFFF // in the row: the text of the comment before goes on
	row, column := r.u16(0), r.u16(2)
	switch {
	case len(r.data) < 6 || len(around.notes) > maxNotes:
	case x.version == biff8:
		note := xlsNote{comment{row: row, column: column}, r.u16(6)}
		note.author = x.text16(r, 8)
		around.notes = append(around.notes, note)
	case row == goesOn:
		if n := len(around.notes); n > 0 && len(around.notes[n-1].text) < 64<<10 {
			around.notes[n-1].text += x.bytes(r.data[6:], r.u16(4))
		}
	default:
		note := xlsNote{comment: comment{row: row, column: column, text: x.bytes(r.data[6:], r.u16(4))}}
		around.notes = append(around.notes, note)
	}
}

func (x *xls) putAround(around *xlsAround) {
	for _, link := range around.links {
		x.tables.link(link.area, link.target)
	}
	notes := make([]comment, 0, len(around.notes))
	for _, note := range around.notes {
		if note.text == "" {
			note.text = around.texts[note.object]
		}
		notes = append(notes, note.comment)
	}
	x.tables.comments(nil, notes)
	for _, text := range around.boxes {
		x.tables.Paragraph(text)
	}
}

// Flags of a link (MS-OSHARED 2.3.7.1).
const (
	linkMoniker  = 0x001
	linkLocation = 0x008
	linkDisplay  = 0x010
	linkFrame    = 0x080
	linkPlain    = 0x100 // the address is a string
)

// urlMoniker is the class id of an address of the web.
const urlMoniker = "\xE0\xC9\xEA\x79\xF9\xBA\xCE\x11\x8C\x82\x00\xAA\x00\x4B\xA9\x0B"

// readHyperlink reads a HLINK record; false for links to places in files.
func readHyperlink(r *records) (xlsLink, bool) {
	const head = 8 + 16 + 4 // the cells, a class id, a version
	if len(r.data) < head+4 {
		return xlsLink{}, false
	}
	link := xlsLink{area: area{top: r.u16(0), bottom: r.u16(2), left: r.u16(4), right: r.u16(6)}}
	flags := r.u32(head)
	rest := r.data[head+4:]
	for _, flag := range []uint32{linkDisplay, linkFrame} {
		if flags&flag != 0 {
			_, rest = wideString(rest)
		}
	}
	if flags&linkMoniker == 0 {
		return link, false
	}
	if flags&linkPlain != 0 {
		link.target, rest = wideString(rest)
	} else {
		found := false
		if rest, found = bytes.CutPrefix(rest, []byte(urlMoniker)); !found || len(rest) < 4 {
			return link, false
		}
		size := int(min(binary.LittleEndian.Uint32(rest), uint32(len(rest)-4))) //nolint:gosec // a record is short
		link.target, rest = decodeWide(rest[4:4+size]), rest[4+size:]
	}
	if location, _ := wideString(rest); flags&linkLocation != 0 && location != "" && !strings.Contains(link.target, "#") {
		link.target += "#" + location
	}
	return link, link.target != ""
}

// wideString reads a string whose length, in characters, stands in front, and returns what comes behind it.
func wideString(data []byte) (string, []byte) {
	if len(data) < 4 {
		return "", nil
	}
	size := int(min(binary.LittleEndian.Uint32(data), uint32(len(data)/2))) * 2 //nolint:gosec // a record is short
	size = min(size, len(data)-4)
	return decodeWide(data[4 : 4+size]), data[4+size:]
}
