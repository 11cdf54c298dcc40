package charset

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Options describes the format of a text file. The zero value stands for any format without peculiarities.
type Options struct {
	// HTML is set if meta elements may declare the encoding.
	HTML bool
	// Pages is set if the text may have been made for printers and terminals.
	Pages bool
}

// Decode returns the content of a text file as clean UTF-8 with line feeds as line ends, and the name of the encoding
// it was in. The media type is that of the source, "" if it gave none.
func Decode(content []byte, mediaType string, opt Options) (text, name string, err error) {
	source, name, size := encodingOf(content, mediaType, opt.HTML)
	content = content[size:]
	if source == nil {
		text = string(content)
	} else {
		decoded, err := source.NewDecoder().Bytes(content)
		if err != nil {
			return "", "", fmt.Errorf("decode %s text: %w", name, err)
		}
		if bytes.IndexByte(decoded, 0) >= 0 && bytes.Count(decoded, []byte{0})*20 > len(decoded) {
			return "", "", &document.UnsupportedError{Reason: "binary content"}
		}
		text = string(decoded)
	}
	if name == "windows-1258" {
		text = norm.NFC.String(text) // combining tone marks
	}
	if opt.Pages {
		return cleanPages(text), name, nil
	}
	return Clean(text), name, nil
}

// encodingOf returns the encoding of a text, its name and the length of its byte order mark. The encoding is nil for
// UTF-8.
func encodingOf(content []byte, mediaType string, isHTML bool) (source encoding.Encoding, name string, mark int) {
	head := content[:min(len(content), maxWideHead)]
	name, mark = byteOrderMark(head)
	if name == "" && bytes.IndexByte(head, 0) >= 0 {
		name = detectWide(head)
	}
	switch name {
	case "utf-8":
		return nil, name, mark
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), name, mark
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), name, mark
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), name, mark
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), name, mark
	}
	if isISO2022JP(content) {
		return japanese.ISO2022JP, "iso-2022-jp", 0
	}
	if utf8.Valid(content) {
		return nil, "utf-8", 0
	}
	if source, name := declaredEncoding(content, mediaType, isHTML); source != nil {
		return source, name, 0
	}
	if isMostlyUTF8(content) {
		return nil, "utf-8", 0
	}
	source, name = detectLegacy(content)
	return source, name, 0
}

// maxWideHead is how much of a file is examined for the zero bytes of UTF-16 and UTF-32.
const maxWideHead = 8 << 10

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

// isISO2022JP reports whether content is ISO-2022-JP: ASCII with escape sequences that switch to double bytes and back.
func isISO2022JP(content []byte) bool {
	if bytes.IndexByte(content[:min(len(content), 64<<10)], 0x1B) < 0 {
		return false
	}
	begins := bytes.Contains(content, []byte("\x1B$B")) || bytes.Contains(content, []byte("\x1B$@"))
	return begins && (bytes.Contains(content, []byte("\x1B(B")) || bytes.Contains(content, []byte("\x1B(J"))) &&
		bytes.IndexFunc(content, func(r rune) bool { return r >= 0x80 }) < 0
}

// declaredEncoding returns the encoding that the source, an HTML page, an XML declaration, or an Emacs or Vim line
// declares. It is nil if there is none, or if the content is invalid in that encoding. A declaration of ISO-8859-1 by a
// server is ignored, since servers send it for everything.
func declaredEncoding(content []byte, mediaType string, isHTML bool) (encoding.Encoding, string) {
	var source encoding.Encoding
	var name string
	if isHTML || strings.Contains(strings.ToLower(mediaType), "charset=") {
		var certain bool
		source, name, certain = charset.DetermineEncoding(content, mediaType)
		if !certain && name == "windows-1252" {
			source = nil
			if label := metaLabel(content); isHTML && label != "" {
				source, name = charset.Lookup(label)
			}
		}
	}
	if source == nil || !isHTML && name == "windows-1252" {
		if label := declarationLabel(content[:min(len(content), 1024)]); label != "" {
			source, name = charset.Lookup(label)
		}
	}
	if source == nil || name == "utf-8" || name == "replacement" || !isHTML && name == "windows-1252" {
		return nil, ""
	}
	decoded, err := source.NewDecoder().Bytes(content[:min(len(content), 64<<10)])
	if wrong := bytes.Count(decoded, []byte("\uFFFD")); err != nil || wrong > 1 && wrong*200 > len(decoded) {
		return nil, ""
	}
	return source, name
}

// declarationLabel returns the encoding in the first two lines of a file: encoding="…" in an XML declaration, or
// coding: … in a comment for editors.
func declarationLabel(head []byte) string {
	end := len(head)
	for i, lines := 0, 0; i < len(head); i++ {
		if head[i] == '\n' {
			if lines++; lines == 2 {
				end = i
			}
		}
	}
	first := strings.ToLower(string(head[:end]))
	at := strings.Index(first, "coding")
	if at < 0 || !strings.HasPrefix(first, "<?xml") && !strings.ContainsAny(first[:at], "#/*;-") && !strings.HasPrefix(first, "@charset") {
		return ""
	}
	rest := strings.TrimLeft(first[at+len("coding"):], " ")
	if rest == "" || rest[0] != ':' && rest[0] != '=' {
		return ""
	}
	rest = strings.TrimLeft(rest[1:], " \"'")
	stop := strings.IndexFunc(rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
	if stop < 0 {
		stop = len(rest)
	}
	return strings.ReplaceAll(rest[:stop], "latin-", "latin")
}

// isMostlyUTF8 reports whether content is UTF-8 with a few invalid bytes.
func isMostlyUTF8(content []byte) bool {
	content = content[:min(len(content), 64<<10)]
	characters, broken := 0, 0
	for i := 0; i < len(content); {
		if content[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(content[i:])
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(content[i:]) {
				break // a character cut off at the end
			}
			broken++
		} else {
			characters++
		}
		i += size
	}
	return characters > 0 && characters >= 5*broken
}

// Clean returns text as valid UTF-8 with \n line ends and without control characters, which databases refuse.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	dirty := indexUnwanted(text, false)
	if dirty < 0 {
		return text
	}
	return cleanFrom(text, dirty, false)
}

// indexUnwanted returns the offset of the first character that cleaning removes or replaces, or -1. In pages form feeds
// stay. Most text has no such character, so a fast loop over bytes pays.
func indexUnwanted(text string, pages bool) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0x20 && c < 0x7F, c == '\n', c == '\t', c == '\f' && pages:
		case c < utf8.RuneSelf:
			return i
		case c == 0xC2 || c == 0xE2 || c == 0xEF:
			if r, _ := utf8.DecodeRuneInString(text[i:]); isUnwanted(r) {
				return i
			}
		}
	}
	return -1
}

// cleanPages is like Clean for text that was made for printers and terminals: form feeds stay, overstruck characters
// become one, and escape sequences for colours go.
func cleanPages(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if indexUnwanted(text, true) < 0 {
		return text
	}
	if strings.IndexByte(text, '\b') >= 0 {
		text = removeOverstrikes(text)
	}
	if strings.Contains(text, "\x1b[") {
		text = removeEscapes(text)
	}
	return cleanFrom(text, 0, true)
}

func cleanFrom(text string, dirty int, pages bool) string {
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(text[:dirty])
	for i, r := range text[dirty:] {
		switch {
		case r == '\r':
			if next := dirty + i + 1; next >= len(text) || text[next] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\f' && pages:
			b.WriteByte('\f')
		case r == '\f' || r == '\v' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case isUnwanted(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isUnwanted(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || 0x7F <= r && r < 0xA0:
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0xFEFF
}

// removeOverstrikes removes each character that a backspace follows: x\bx is a bold x, _\bx an underlined one.
func removeOverstrikes(text string) string {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		switch {
		case r != '\b':
			out = append(out, r)
		case len(out) > 0 && out[len(out)-1] != '\n':
			out = out[:len(out)-1]
		}
	}
	return string(out)
}

// removeEscapes removes the control sequences of terminals (ECMA-48: ESC [, parameters, a letter).
func removeEscapes(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := 0
		for end < len(after) && end < 32 && after[end] >= 0x20 && after[end] < 0x40 {
			end++
		}
		if end < len(after) && after[end] >= 0x40 && after[end] < 0x7F {
			end++
		}
		text = after[end:]
	}
}

// IsBinary reports whether the beginning of a file is text in no encoding that Decode knows.
func IsBinary(head []byte) bool {
	if _, size := byteOrderMark(head); size > 0 {
		return false
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return detectWide(head) == ""
	}
	controls := 0
	for _, b := range head {
		if b < 0x20 && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1B && b != '\b' {
			controls++
		}
	}
	return controls*20 > len(head)
}
