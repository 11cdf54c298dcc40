package parse

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/ingest/parse/letter"
)

// guessWide recognises UTF-16 and UTF-32 without a mark: by being text when they are read so, which bytes that are something
// else are not. Where both ends would do, zero bytes decide: they are the upper halves of blanks and line ends. It is "" for
// all else.
func guessWide(head []byte) string {
	if len(head) < 8 {
		return ""
	}
	switch {
	case isLongText(head, binary.LittleEndian):
		return "utf-32le"
	case isLongText(head, binary.BigEndian):
		return "utf-32be"
	}
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	little, big := isWideText(head, binary.LittleEndian), isWideText(head, binary.BigEndian)
	switch {
	case little && (!big || zeros[1] >= zeros[0]):
		return "utf-16le"
	case big:
		return "utf-16be"
	}
	return ""
}

// isLongText reports 32-bit units that are all characters of text.
func isLongText(head []byte, order binary.ByteOrder) bool {
	for i := 0; i+3 < len(head); i += 4 {
		r := order.Uint32(head[i:])
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\f', r == 0xAD, 0x200B <= r && r <= 0x200F, r == 0xFEFF:
		case r > unicode.MaxRune || !unicode.IsGraphic(rune(r)):
			return false
		}
	}
	return true
}

// isWideText reports 16-bit units that are text: characters that exist, of few scripts, with blanks or punctuation.
func isWideText(head []byte, order binary.ByteOrder) bool {
	units, letters, blanks := 0, 0, 0
	scripts := make(map[string]int)
	for i := 0; i+1 < len(head); i += 2 {
		r := rune(order.Uint16(head[i:]))
		units++
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == ' ':
			blanks++
		case 0xD800 <= r && r < 0xE000:
			if i+3 < len(head) && (r >= 0xDC00 || order.Uint16(head[i+2:])&0xFC00 != 0xDC00) {
				return false
			}
			i += 2
		case r < 0x20 || 0x7F <= r && r < 0xA0 || !unicode.IsGraphic(r) && r != 0xAD && (r < 0x200B || r > 0x200F):
			return false
		case r < 0x250:
			letters++
		case unicode.IsLetter(r):
			letters++
			scripts[scriptOf(r)]++
		}
	}
	strange := scripts[""]
	delete(scripts, "")
	return units >= 4 && blanks+letters >= units/2 && strange*20 <= units && len(scripts) <= 4
}

// scriptOf names the scripts that texts of our day are mostly written in, "" for others.
func scriptOf(r rune) string {
	switch {
	case r < 0x250, 0x1E00 <= r && r < 0x1F00:
		return "Latn"
	case r < 0x370:
		return ""
	case r < 0x400, 0x1F00 <= r && r < 0x2000:
		return "Grek"
	case r < 0x530:
		return "Cyrl"
	case r < 0x590:
		return "Armn"
	case r < 0x600:
		return "Hebr"
	case r < 0x700, 0xFB50 <= r && r < 0xFE00, 0xFE70 <= r && r < 0xFF00:
		return "Arab"
	case 0x900 <= r && r < 0xE00:
		return "Indic"
	case 0xE00 <= r && r < 0xE80:
		return "Thai"
	case 0x10A0 <= r && r < 0x1100:
		return "Geor"
	case 0x3040 <= r && r < 0x3100, 0x3400 <= r && r < 0xA000, 0xF900 <= r && r < 0xFB00, 0xFF00 <= r && r < 0xFFF0:
		return "Hani"
	case 0xAC00 <= r && r < 0xD7A4, 0x3130 <= r && r < 0x3190:
		return "Hang"
	}
	return ""
}

// sampleBytes is how much text is looked at: letters tell their encoding soon or never.
const sampleBytes = 4 << 10

// guess picks the encoding of text that is not UTF-8: the one in which the bytes are most likely text in some language.
func guess(content []byte) (encoding.Encoding, string) {
	sample, whole := sampleOf(content)
	reader := letter.NewReader()
	var best encoding.Encoding
	bestName, least := "", 0.0
	seen := make(map[string]bool)
	for _, candidate := range candidates() {
		from := candidate.encoding
		if from == nil {
			from, _ = charset.Lookup(candidate.name)
		}
		decoded, err := from.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		text := string(decoded)
		if !whole {
			text = strings.TrimRight(text, "\uFFFD")
		}
		if candidate.name == "windows-1258" {
			text = norm.NFC.String(text)
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		if cost := reader.Cost(text) + candidate.handicap; best == nil || cost < least {
			best, bestName, least = from, candidate.name, cost
		}
	}
	return best, bestName
}

// candidate is an encoding that texts are found in. The handicap, in nats, is against those that are rare today.
type candidate struct {
	name     string
	encoding encoding.Encoding // where the web has no name for it
	handicap float64
}

func candidates() []candidate {
	return []candidate{
		{name: "windows-1252"}, {name: "shift_jis"}, {name: "gb18030"}, {name: "big5"}, {name: "euc-kr"}, {name: "euc-jp"},
		{name: "windows-1251"}, {name: "windows-1250"}, {name: "windows-1253"}, {name: "windows-1254"}, {name: "windows-1255"},
		{name: "windows-1256"}, {name: "windows-1257", handicap: 1}, {name: "windows-1258", handicap: 5}, {name: "windows-874"},
		{name: "koi8-r", handicap: 1}, {name: "koi8-u", handicap: 1}, {name: "iso-8859-2", handicap: 1}, {name: "iso-8859-15", handicap: 1},
		{name: "iso-8859-5", handicap: 2}, {name: "iso-8859-6", handicap: 2}, {name: "iso-8859-7", handicap: 1}, {name: "iso-8859-8", handicap: 1},
		{name: "iso-8859-4", handicap: 3}, {name: "iso-8859-13", handicap: 2}, {name: "iso-8859-16", handicap: 3},
		{name: "macintosh", handicap: 4}, {name: "x-mac-cyrillic", handicap: 4}, {name: "ibm866", handicap: 3},
		{name: "ibm850", encoding: charmap.CodePage850, handicap: 4}, {name: "ibm852", encoding: charmap.CodePage852, handicap: 4},
		{name: "ibm437", encoding: charmap.CodePage437, handicap: 5}, {name: "utf-16le", handicap: 4}, {name: "utf-16be", handicap: 4},
	}
}

// sampleOf collects the lines that are not ASCII, and reports whether the end of the sample is the end of a line.
func sampleOf(content []byte) (sample []byte, whole bool) {
	if len(content) <= sampleBytes {
		return content, true
	}
	isHigh := func(b []byte) bool {
		for _, c := range b {
			if c >= utf8.RuneSelf {
				return true
			}
		}
		return false
	}
	for line := range bytes.Lines(content[:min(len(content), 4<<20)]) {
		switch {
		case !isHigh(line):
		case len(sample)+len(line) <= sampleBytes:
			sample = append(sample, line...)
		case len(sample) > sampleBytes/2:
			return sample, true
		default:
			return append(sample, line[:sampleBytes-len(sample)]...), false
		}
	}
	if len(sample) == 0 {
		return content[:sampleBytes], false
	}
	return sample, true
}
