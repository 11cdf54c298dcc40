package parse

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"magpie/internal/ingest/document"
)

// decode returns content as clean UTF-8 and the name of the encoding it was in.
func decode(content []byte, form format, mediaType string) (text, name string, err error) {
	name, size := byteOrderMark(content)
	content = content[size:]
	if name == "" && bytes.IndexByte(content[:min(len(content), headBytes)], 0) >= 0 {
		name = guessUTF16(content[:min(len(content), headBytes)])
	}
	if name == "" && utf8.Valid(content) {
		name = "utf-8"
	}
	var from encoding.Encoding
	switch name {
	case "utf-8":
		return clean(string(content)), name, nil
	case "utf-16le":
		from = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		from = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf-32le":
		from = utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		from = utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	default:
		from, name = guess(content, form, mediaType)
	}
	decoded, err := from.NewDecoder().Bytes(content)
	if err != nil {
		return "", "", fmt.Errorf("decode %s text: %w", name, err)
	}
	if bytes.IndexByte(decoded, 0) >= 0 && bytes.Count(decoded, []byte{0})*20 > len(decoded) {
		return "", "", &document.UnsupportedError{Reason: "binary content"}
	}
	return clean(string(decoded)), name, nil
}

func byteOrderMark(content []byte) (name string, size int) {
	switch {
	case bytes.HasPrefix(content, []byte("\xEF\xBB\xBF")):
		return "utf-8", 3
	case bytes.HasPrefix(content, []byte("\xFF\xFE\x00\x00")) && len(content) >= 8:
		return "utf-32le", 4
	case bytes.HasPrefix(content, []byte("\x00\x00\xFE\xFF")):
		return "utf-32be", 4
	case bytes.HasPrefix(content, []byte("\xFF\xFE")):
		return "utf-16le", 2
	case bytes.HasPrefix(content, []byte("\xFE\xFF")):
		return "utf-16be", 2
	}
	return "", 0
}

// guessUTF16 recognises UTF-16 without a mark by its zero bytes, which stand in every other place where the text is
// mostly Western, "" when it is not that.
func guessUTF16(head []byte) string {
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	half := len(head) / 2
	switch {
	case half < 4:
		return ""
	case zeros[0] == 0 && zeros[1]*10 > half*7:
		return "utf-16le"
	case zeros[1] == 0 && zeros[0]*10 > half*7:
		return "utf-16be"
	}
	return ""
}

// guess picks the encoding of text that is not UTF-8. For HTML what the page says of itself goes first.
func guess(content []byte, form format, mediaType string) (encoding.Encoding, string) {
	if form.name == "html" || strings.Contains(strings.ToLower(mediaType), "charset=") {
		found, name, certain := charset.DetermineEncoding(content, mediaType)
		if name != "utf-8" && (certain || name != "windows-1252") {
			return found, name
		}
	}
	sample := content[:min(len(content), 64<<10)]
	// A file that is UTF-8 but for a few bytes is better read as that than as something else.
	if broken := len(sample) - len(bytes.ToValidUTF8(sample, nil)); broken*200 < len(sample) && hasMultibyte(sample) {
		return unicode.UTF8, "utf-8"
	}
	if detected := detect(sample); detected != "" {
		if found, name := charset.Lookup(detected); found != nil && name != "utf-8" && name != "replacement" {
			return found, name
		}
	}
	found, name := charset.Lookup("windows-1252")
	return found, name
}

func detect(sample []byte) (name string) {
	defer func() {
		// The detector walks state tables by input bytes; what it cannot name is decoded as Western.
		if recover() != nil {
			name = ""
		}
	}()
	result := chardet.Detect(sample)
	if result.Confidence < 0.5 {
		return ""
	}
	return result.Encoding
}

func hasMultibyte(sample []byte) bool {
	for i := 0; i < len(sample); {
		r, size := utf8.DecodeRune(sample[i:])
		if size > 1 && r != utf8.RuneError {
			return true
		}
		i += size
	}
	return false
}

// clean makes valid UTF-8 with \n line ends and without control characters, which databases refuse and nobody reads.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	dirty := strings.IndexFunc(text, isDirt)
	if dirty < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(text[:dirty])
	for i, r := range text[dirty:] {
		switch {
		case r == '\r':
			if next := dirty + i + 1; next >= len(text) || text[next] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\f' || r == '\v' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case isDirt(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isDirt(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || 0x7F <= r && r < 0xA0:
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0xFEFF
}
