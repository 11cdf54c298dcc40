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

// readObject reads a record of a link, a comment or a text box.
func (x *xls) readObject(r *records, objects *xlsObjects) {
	switch r.kind {
	case recordHyperlink:
		if link, ok := readHyperlink(r); ok && len(objects.links) < maxLinks {
			objects.links = append(objects.links, link)
		}
	case recordObject:
		if r.u16(0) == objectCommon {
			objects.object, objects.isNote = r.u16(6), r.u16(4) == objectNote
		}
	case recordTextObject:
		if x.version != biff8 {
			return
		}
		text := x.objectText(r)
		switch {
		case text == "" || len(objects.texts)+len(objects.boxes) > maxNotes:
		case objects.isNote:
			objects.texts[objects.object] = text
		default:
			objects.boxes = append(objects.boxes, text)
		}
	case recordNote:
		x.readNote(r, objects)
	}
}

// objectText returns the text of an object, which is in the continuation records.
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

func (x *xls) readNote(r *records, objects *xlsObjects) {
	const continuesNote = 0xFFFF // in place of a row: the text continues the last comment
	row, column := r.u16(0), r.u16(2)
	switch {
	case len(r.data) < 6 || len(objects.notes) > maxNotes:
	case x.version == biff8:
		note := xlsNote{comment{row: row, column: column}, r.u16(6)}
		note.author = x.text16(r, 8)
		objects.notes = append(objects.notes, note)
	case row == continuesNote:
		if n := len(objects.notes); n > 0 && len(objects.notes[n-1].text) < 64<<10 {
			objects.notes[n-1].text += x.bytes(r.data[6:], r.u16(4))
		}
	default:
		note := xlsNote{comment: comment{row: row, column: column, text: x.bytes(r.data[6:], r.u16(4))}}
		objects.notes = append(objects.notes, note)
	}
}

func (x *xls) addObjects(objects *xlsObjects) {
	for _, link := range objects.links {
		x.tables.link(link.area, link.target)
	}
	notes := make([]comment, 0, len(objects.notes))
	for _, note := range objects.notes {
		if note.text == "" {
			note.text = objects.texts[note.object]
		}
		notes = append(notes, note.comment)
	}
	x.tables.comments(nil, notes)
	for _, text := range objects.boxes {
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

// urlMoniker is the class id of a web address.
const urlMoniker = "\xE0\xC9\xEA\x79\xF9\xBA\xCE\x11\x8C\x82\x00\xAA\x00\x4B\xA9\x0B"

// readHyperlink reads a HLINK record. It is false for links to places in files.
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

// wideString reads a string after its length in characters. It returns the data after it.
func wideString(data []byte) (string, []byte) {
	if len(data) < 4 {
		return "", nil
	}
	size := int(min(binary.LittleEndian.Uint32(data), uint32(len(data)/2))) * 2 //nolint:gosec // a record is short
	size = min(size, len(data)-4)
	return decodeWide(data[4 : 4+size]), data[4+size:]
}
