package ole

import (
	"strings"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// Kinds of texts on slides (MS-PPT 2.13.33).
const (
	textTitle       = 0
	textBody        = 1
	textNotes       = 2
	textOther       = 4
	textCenterTitle = 6
	textHalfBody    = 7
	textQuarterBody = 8
)

// maxIndent is how deep list items may be nested.
const maxIndent = 8

// A slideText is a text on a slide with its formatting.
type slideText struct {
	kind         int
	units        []uint16 // UTF-16, with \r between paragraphs
	styles       []paraStyleRun
	links        []textLink
	placeholders []int // positions of placeholders of numbers and dates
	isUsed       bool
}

// A paraStyleRun is the formatting of the paragraphs up to a position.
type paraStyleRun struct {
	end    int
	level  int
	bullet int // 1 with a bullet, 0 without, -1 if not given
}

type textLink struct {
	from, to int
	address  string
}

// texts reads the texts of a list of slides or of a text box. It calls a function for other records.
func (r *slides) texts(v view, other func(record) error) ([]*slideText, error) {
	var found []*slideText
	current := func() *slideText {
		if len(found) == 0 {
			found = append(found, &slideText{kind: textOther})
		}
		return found[len(found)-1]
	}
	link := ""
	err := r.each(v, func(rec record) error {
		switch rec.kind {
		case recordTextHeader:
			found = append(found, &slideText{kind: rec.content.u32(0)})
		case recordTextChars:
			t := current()
			if t.units != nil {
				found = append(found, &slideText{kind: t.kind})
				t = current()
			}
			t.units = wideUnits(rec.content)
			return r.count(t)
		case recordTextBytes:
			t := current()
			if t.units != nil {
				found = append(found, &slideText{kind: t.kind})
				t = current()
			}
			t.units = narrowUnits(rec.content)
			return r.count(t)
		case recordTextStyle:
			t := current()
			t.styles = paragraphStyles(rec.content, len(t.units))
		case recordNumberChar, recordDateChar, recordRTFDateChar:
			t := current()
			t.placeholders = append(t.placeholders, rec.content.u32(0))
		case recordInteractive:
			atom, ok, err := r.child(rec.content, recordInteraction)
			if err != nil {
				return err
			}
			if link = ""; ok {
				link = r.links[atom.content.u32(4)]
			}
		case recordTextLink:
			if link != "" {
				t := current()
				t.links = append(t.links, textLink{from: rec.content.u32(0), to: rec.content.u32(4), address: link})
				link = ""
			}
		default:
			if other != nil {
				return other(rec)
			}
		}
		return nil
	})
	return found, err
}

// count adds the cost of a text.
func (r *slides) count(t *slideText) error {
	r.Cost += 2 * len(t.units)
	for _, unit := range t.units {
		if unit == '\r' {
			r.Cost += blockCost
		}
	}
	return r.Step()
}

func wideUnits(content view) []uint16 {
	units := make([]uint16, 0, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		units = append(units, uint16(content[i])|uint16(content[i+1])<<8)
	}
	return units
}

func narrowUnits(content view) []uint16 {
	units := make([]uint16, len(content))
	for i, b := range content {
		units[i] = uint16(b)
	}
	return units
}

// paragraphStyles reads the paragraph formatting of a text (MS-PPT 2.9.44).
func paragraphStyles(content view, length int) []paraStyleRun {
	var runs []paraStyleRun
	at, end := 0, 0
	for end <= length && at+10 <= len(content) {
		count := content.u32(at)
		if count == 0 {
			break
		}
		end += count
		mask := content.u32(at + 6)
		run := paraStyleRun{end: end, level: min(content.u16(at+4), maxIndent), bullet: -1}
		at += 10
		if mask&0xF != 0 {
			if mask&1 != 0 {
				run.bullet = content.u16(at) & 1
			}
			at += 2
		}
		at += paragraphStyleSize(mask, content.from(at))
		runs = append(runs, run)
	}
	return runs
}

// paragraphStyleSize returns the size of the fields after the first one that a mask selects (MS-PPT 2.9.20).
func paragraphStyleSize(mask int, rest view) int {
	size := 0
	for _, bit := range []uint{7, 4, 6, 5, 11, 12, 13, 14, 8, 10, 15} {
		if mask>>bit&1 == 1 {
			size += 2
		}
		if bit == 5 && mask>>bit&1 == 1 {
			size += 2
		}
	}
	if mask>>20&1 == 1 {
		size += 2 + 4*rest.u16(size)
	}
	if mask>>16&1 == 1 {
		size += 2
	}
	if mask>>17&7 != 0 {
		size += 2
	}
	if mask>>21&1 == 1 {
		size += 2
	}
	return size
}

// isBody reports whether the text is a list on most slides.
func (t *slideText) isBody() bool {
	return t.kind == textBody || t.kind == textHalfBody || t.kind == textQuarterBody
}

func (t *slideText) isTitle() bool { return t.kind == textTitle || t.kind == textCenterTitle }

// plain returns the text on one line.
func (t *slideText) plain() string {
	var l wordmodel.Line
	t.paragraphs(func(part *wordmodel.Line, _ paraStyleRun) {
		l.Append(part.Plain()+" ", wordmodel.Look{})
	})
	return l.Plain()
}

// write adds the paragraphs of the text to a flow.
func (t *slideText) write(f *wordmodel.Flow) {
	f.Flush()
	t.paragraphs(func(l *wordmodel.Line, style paraStyleRun) {
		text := l.Markdown()
		item := style.bullet == 1 || style.bullet < 0 && (t.isBody() || style.level > 0 && t.kind != textNotes)
		switch {
		case text == "":
			f.Gap(false)
		case item:
			f.Item(style.level, wordmodel.Marker{}, text, 0)
		default:
			f.Add(document.Block{Kind: document.Paragraph, Text: text})
		}
	})
	f.Flush()
}

// paragraphs calls a function for each paragraph.
func (t *slideText) paragraphs(do func(*wordmodel.Line, paraStyleRun)) {
	var l wordmodel.Line
	run, link, placeholder := 0, 0, 0
	style := func(at int) paraStyleRun {
		for run < len(t.styles) && t.styles[run].end <= at {
			run++
		}
		if run < len(t.styles) {
			return t.styles[run]
		}
		return paraStyleRun{bullet: -1}
	}
	start := 0
	for i := 0; i < len(t.units); i++ {
		for link < len(t.links) && t.links[link].to <= i {
			link++
		}
		for placeholder < len(t.placeholders) && t.placeholders[placeholder] < i {
			placeholder++
		}
		if placeholder < len(t.placeholders) && t.placeholders[placeholder] == i {
			continue
		}
		var look wordmodel.Look
		if link < len(t.links) && t.links[link].from <= i {
			look.Link = t.links[link].address
		}
		r := rune(t.units[i])
		if utf16.IsSurrogate(r) && i+1 < len(t.units) {
			if r = utf16.DecodeRune(r, rune(t.units[i+1])); r != '\uFFFD' {
				i++
			}
		}
		if r == '\r' {
			do(&l, style(start))
			l.Reset()
			start = i + 1
			continue
		}
		addRune(&l, r, look)
	}
	do(&l, style(start))
}

// stringOf returns the text of a string record.
func stringOf(r record) string {
	return strings.Join(strings.Fields(cfb.DecodeUTF16(r.content.part(0, maxString))), " ")
}

// maxString is the longest string record that is read, in bytes.
const maxString = 1 << 16
