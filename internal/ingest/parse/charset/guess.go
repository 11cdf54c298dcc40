package charset

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

// detectWide returns the name of UTF-16 or UTF-32 without a byte order mark, or "". Bytes that decode to plausible text
// are taken for it. If both byte orders do, the zero bytes decide, since they are the upper halves of blanks and line
// ends.
func detectWide(head []byte) string {
	if len(head) < 8 {
		return ""
	}
	switch {
	case isUTF32(head, binary.LittleEndian):
		return "utf-32le"
	case isUTF32(head, binary.BigEndian):
		return "utf-32be"
	}
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	little, big := isUTF16(head, binary.LittleEndian), isUTF16(head, binary.BigEndian)
	switch {
	case little && (!big || zeros[1] >= zeros[0]):
		return "utf-16le"
	case big:
		return "utf-16be"
	}
	return ""
}

// isUTF32 reports whether all 32-bit units are characters of text.
func isUTF32(head []byte, order binary.ByteOrder) bool {
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

// isUTF16 reports whether the 16-bit units are text: existing characters of few scripts, with blanks or punctuation.
func isUTF16(head []byte, order binary.ByteOrder) bool {
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
	rare := scripts[""]
	delete(scripts, "")
	return units >= 4 && blanks+letters >= units/2 && rare*20 <= units && len(scripts) <= 4
}

// scriptOf returns the ISO 15924 code of a script in wide use, with one name for all scripts of India. It is "" for
// other scripts.
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

// sampleBytes is how much text decides the encoding. More text hardly changes the result.
const sampleBytes = 4 << 10

// detectLegacy returns the encoding in which the bytes are most likely text in some language.
func detectLegacy(content []byte) (encoding.Encoding, string) {
	sample, isComplete := nonASCIISample(content)
	scorer := letter.NewScorer()
	var best encoding.Encoding
	bestName, lowest := "", 0.0
	seen := make(map[string]bool)
	for _, candidate := range candidates() {
		source := candidate.encoding
		if source == nil {
			source, _ = charset.Lookup(candidate.name)
		}
		decoded, err := source.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		text := string(decoded)
		if !isComplete {
			text = strings.TrimRight(text, "\uFFFD")
		}
		if candidate.name == "windows-1258" {
			text = norm.NFC.String(text)
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		if cost := scorer.Cost(text) + candidate.handicap; best == nil || cost < lowest {
			best, bestName, lowest = source, candidate.name, cost
		}
	}
	return best, bestName
}

// candidate is an encoding that texts occur in. The handicap, in nats, counts against encodings that are rare today.
type candidate struct {
	name     string
	encoding encoding.Encoding // of encodings that the web has no name for
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

// nonASCIISample collects lines that are not ASCII, and reports whether the sample ends with a complete line.
func nonASCIISample(content []byte) (sample []byte, whole bool) {
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
