package cfb

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
	"unicode"
)

// Types of property values (MS-OLEPS 2.15).
const (
	typeI2       = 2
	typeBinary   = 8
	typeBytes    = 30
	typeWide     = 31
	typeFileTime = 64
)

// maxProperty is the longest property, in bytes. Longer ones are cut.
const maxProperty = 64 << 10

// codePageProperty is the id of the property with the code page of the others.
const codePageProperty = 1

// Format ids of the two property sets (MS-OLEPS 3.1).
const (
	summarySet  = "\xE0\x85\x9F\xF2\xF9\x4F\x68\x10\xAB\x91\x08\x00\x2B\x27\xB3\xD9"
	documentSet = "\x02\xD5\xCD\xD5\x9C\x2E\x1B\x10\x93\x97\x08\x00\x2B\x2C\xF9\xAE"
)

// Properties returns the properties of the file by the keys of document.Draft.Meta: title, subject, author, keywords,
// description, last_modified_by, application, category and company as strings, created and modified as times. Empty and
// unreadable ones are left out.
func (f *File) Properties() map[string]any {
	meta := make(map[string]any)
	sets := []struct {
		path, format string
		keys         map[uint32]string
	}{
		{"\x05SummaryInformation", summarySet, map[uint32]string{
			2: "title", 3: "subject", 4: "author", 5: "keywords", 6: "description", 8: "last_modified_by", 12: "created", 13: "modified",
			18: "application",
		}},
		{"\x05DocumentSummaryInformation", documentSet, map[uint32]string{2: "category", 15: "company"}},
	}
	for _, set := range sets {
		content, found := f.Stream(set.path)
		if !found {
			continue
		}
		properties := readProperties(content, set.format)
		for id, key := range set.keys {
			if value := properties.value(id); value != nil {
				meta[key] = value
			}
		}
	}
	return meta
}

// properties is a property set. A value begins with its type.
type properties struct {
	values   map[uint32][]byte
	codePage int
}

// readProperties returns the set with a format id from a stream of property sets.
func readProperties(content []byte, format string) properties {
	p := properties{values: make(map[uint32][]byte), codePage: 1252}
	const head, place = 28, 20
	if len(content) < head {
		return p
	}
	le := binary.LittleEndian
	var set []byte
	for i := range min(int64(le.Uint32(content[24:])), 4) {
		at := head + int(i)*place
		if at+place > len(content) {
			return p
		}
		if start := int64(le.Uint32(content[at+16:])); string(content[at:at+16]) == format && start < int64(len(content)) {
			set = content[start:]
			break
		}
	}
	if len(set) < 8 {
		return p
	}
	for i := range min(int64(le.Uint32(set[4:])), 4096) {
		at := 8 + int(i)*8
		if at+8 > len(set) {
			break
		}
		id, start := le.Uint32(set[at:]), int64(le.Uint32(set[at+4:]))
		if _, taken := p.values[id]; !taken && start+8 <= int64(len(set)) {
			p.values[id] = set[start:]
		}
	}
	if value, found := p.values[codePageProperty]; found && le.Uint16(value) == typeI2 {
		p.codePage = int(le.Uint16(value[4:]))
	}
	return p
}

// value returns a property as a string or a time. It is nil if the property is empty, missing or of another type.
func (p properties) value(id uint32) any {
	content, found := p.values[id]
	if !found {
		return nil
	}
	le := binary.LittleEndian
	length := int64(le.Uint32(content[4:]))
	var text string
	switch le.Uint16(content) {
	case typeBytes, typeBinary:
		raw := content[8:][:min(length, int64(len(content)-8), maxProperty)]
		if p.codePage != codePageUTF16 {
			raw, _, _ = bytes.Cut(raw, []byte{0})
		}
		text = Decode(p.codePage, raw)
	case typeWide:
		text = DecodeUTF16(content[8:][:min(length*2, int64(len(content)-8), maxProperty)])
	case typeFileTime:
		if len(content) < 12 {
			return nil
		}
		if at := FileTime(le.Uint64(content[4:])); !at.IsZero() {
			return at
		}
		return nil
	default:
		return nil
	}
	text, _, _ = strings.Cut(text, "\x00")
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, text))
	if text == "" {
		return nil
	}
	return text
}

// FileTime converts a Windows FILETIME, the number of 100 ns intervals since 1601. It is zero for times that no
// document can have.
func FileTime(ticks uint64) time.Time {
	const toUnix, perSecond = 11_644_473_600, 10_000_000
	seconds := int64(ticks/perSecond) - toUnix //nolint:gosec // at most 2^64/10^7
	at := time.Unix(seconds, int64(ticks%perSecond)*100).UTC()
	if at.Year() < 1970 || at.Year() > 2200 {
		return time.Time{}
	}
	return at
}
