package mail_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
)

// message builds a file of Outlook: properties by storage, in the order of their setting.
type message struct {
	storages []string
	fixed    map[string][]byte
	streams  []cfbtest.Stream
}

func newMessage(class, subject string) *message {
	m := &message{fixed: make(map[string][]byte)}
	m.storage("")
	m.unicode("", 0x001A, class)
	m.unicode("", 0x0037, subject)
	return m
}

func (m *message) storage(path string) {
	if _, known := m.fixed[path]; !known {
		m.fixed[path] = nil
		m.storages = append(m.storages, path)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

func (m *message) stream(path string, id uint16, kind uint16, content []byte) {
	m.storage(path)
	m.streams = append(m.streams, cfbtest.Stream{Path: join(path, fmt.Sprintf("__substg1.0_%04X%04X", id, kind)), Content: content})
	m.value(path, id, kind, uint64(len(content)))
}

func (m *message) value(path string, id, kind uint16, value uint64) {
	m.storage(path)
	entry := binary.LittleEndian.AppendUint16(nil, kind)
	entry = binary.LittleEndian.AppendUint16(entry, id)
	entry = binary.LittleEndian.AppendUint32(entry, 6)
	m.fixed[path] = append(m.fixed[path], binary.LittleEndian.AppendUint64(entry, value)...)
}

func (m *message) unicode(path string, id uint16, text string) {
	var content []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		content = binary.LittleEndian.AppendUint16(content, unit)
	}
	m.stream(path, id, 0x001F, content)
}

func (m *message) text(path string, id uint16, text string) { m.stream(path, id, 0x001E, []byte(text)) }
func (m *message) binary(path string, id uint16, text string) {
	m.stream(path, id, 0x0102, []byte(text))
}
func (m *message) long(path string, id uint16, value uint64) { m.value(path, id, 0x0003, value) }
func (m *message) time(path string, id uint16, value time.Time) {
	m.value(path, id, 0x0040, filetime(value))
}

func filetime(at time.Time) uint64 { return uint64(at.Unix()+11_644_473_600) * 10_000_000 }

// attachment adds one and returns its storage.
func (m *message) attachment(in string, number int, method uint64, name, kind, content string) string {
	path := join(in, fmt.Sprintf("__attach_version1.0_#%08X", number))
	m.long(path, 0x3705, method)
	m.unicode(path, 0x3707, name)
	if kind != "" {
		m.unicode(path, 0x370E, kind)
	}
	if method == 1 {
		m.binary(path, 0x3701, content)
	}
	return path
}

func (m *message) recipient(number int, kind uint64, name, address string) {
	path := fmt.Sprintf("__recip_version1.0_#%08X", number)
	m.long(path, 0x0C15, kind)
	m.unicode(path, 0x3001, name)
	m.unicode(path, 0x39FE, address)
}

// names maps numbered properties of a set to ids from 0x8000 on.
func (m *message) names(set string, numbers ...uint32) {
	var entries []byte
	for i, number := range numbers {
		entries = binary.LittleEndian.AppendUint32(entries, number)
		entries = binary.LittleEndian.AppendUint16(entries, 3<<1)
		entries = binary.LittleEndian.AppendUint16(entries, uint16(i))
	}
	m.streams = append(m.streams, cfbtest.Stream{Path: "__nameid_version1.0/__substg1.0_00020102", Content: []byte(set)},
		cfbtest.Stream{Path: "__nameid_version1.0/__substg1.0_00030102", Content: entries})
}

func (m *message) build() []byte {
	streams := slices.Clone(m.streams)
	for _, path := range m.storages {
		head := 8
		switch {
		case path == "":
			head = 32
		case strings.HasSuffix(path, "__substg1.0_3701000D"):
			head = 24
		}
		streams = append(streams, cfbtest.Stream{Path: join(path, "__properties_version1.0"), Content: append(make([]byte, head), m.fixed[path]...)})
	}
	return cfbtest.Build(false, streams...)
}

// compress writes RTF as Outlook does (MS-OXRTFCP), with the longest match in the dictionary for each place.
func compress(text string) string {
	const initial = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier` +
		`{\colortbl\red0\green0\blue0` + "\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`
	var window [4096]byte
	at := copy(window[:], initial)
	var out, group []byte
	flags, bits := byte(0), 0
	flush := func() {
		out = append(append(out, flags), group...)
		flags, bits, group = 0, 0, nil
	}
	put := func(c byte) {
		window[at] = c
		at = (at + 1) % len(window)
	}
	for rest := text; ; {
		best, offset := 0, 0
		for from := 0; from < len(window) && rest != ""; from++ {
			n := 0
			for n < min(17, len(rest)) && (from+n)%len(window) != at && window[(from+n)%len(window)] == rest[n] {
				n++
			}
			if n > best && from != at {
				best, offset = n, from
			}
		}
		switch {
		case rest == "":
			flags |= 1 << bits
			group = binary.BigEndian.AppendUint16(group, uint16(at<<4))
		case best >= 2:
			flags |= 1 << bits
			group = binary.BigEndian.AppendUint16(group, uint16(offset<<4|(best-2)))
			for _, c := range []byte(rest[:best]) {
				put(c)
			}
		default:
			group = append(group, rest[0])
			put(rest[0])
			best = 1
		}
		if bits++; bits == 8 || rest == "" {
			flush()
		}
		if rest == "" {
			break
		}
		rest = rest[best:]
	}
	return compressedHead(len(out), len(text), 0x75465A4C) + string(out)
}

// uncompressed writes RTF as Outlook does where it does not compress.
func uncompressed(text string) string { return compressedHead(len(text), len(text), 0x414C454D) + text }

func compressedHead(compressed, raw int, kind uint32) string {
	head := binary.LittleEndian.AppendUint32(nil, uint32(compressed+12))
	head = binary.LittleEndian.AppendUint32(head, uint32(raw))
	head = binary.LittleEndian.AppendUint32(head, kind)
	return string(binary.LittleEndian.AppendUint32(head, 0))
}
