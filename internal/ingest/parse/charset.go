package parse

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

// decode returns content as clean UTF-8 and the name of the encoding it was in.
func decode(content []byte, form format, mediaType string) (text, name string, err error) {
	from, name, size := encodingOf(content, form, mediaType)
	content = content[size:]
	if from == nil {
		text = string(content)
	} else {
		decoded, err := from.NewDecoder().Bytes(content)
		if err != nil {
			return "", "", fmt.Errorf("decode %s text: %w", name, err)
		}
		if bytes.IndexByte(decoded, 0) >= 0 && bytes.Count(decoded, []byte{0})*20 > len(decoded) {
			return "", "", &document.UnsupportedError{Reason: "binary content"}
		}
		text = string(decoded)
	}
	if name == "windows-1258" {
		text = norm.NFC.String(text) // tones are characters of their own in it
	}
	if form.name == "text" {
		return cleanPages(text), name, nil
	}
	return clean(text), name, nil
}

// encodingOf returns the encoding of a text, nil for UTF-8, with its name and the length of its byte order mark.
func encodingOf(content []byte, form format, mediaType string) (from encoding.Encoding, name string, mark int) {
	head := content[:min(len(content), headBytes)]
	name, mark = byteOrderMark(head)
	if name == "" && bytes.IndexByte(head, 0) >= 0 {
		name = guessWide(head)
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
	if isShifted(content) {
		return japanese.ISO2022JP, "iso-2022-jp", 0
	}
	if utf8.Valid(content) {
		return nil, "utf-8", 0
	}
	if from, name := declared(content, form, mediaType); from != nil {
		return from, name, 0
	}
	if isNearlyUTF8(content) {
		return nil, "utf-8", 0
	}
	from, name = guess(content)
	return from, name, 0
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

// isShifted reports ISO-2022-JP, which is ASCII with escape sequences that begin and end double bytes.
func isShifted(content []byte) bool {
	if bytes.IndexByte(content[:min(len(content), 64<<10)], 0x1B) < 0 {
		return false
	}
	begins := bytes.Contains(content, []byte("\x1B$B")) || bytes.Contains(content, []byte("\x1B$@"))
	return begins && (bytes.Contains(content, []byte("\x1B(B")) || bytes.Contains(content, []byte("\x1B(J"))) &&
		bytes.IndexFunc(content, func(r rune) bool { return r >= 0x80 }) < 0
}

// declared returns the encoding that the source, an HTML page, an XML declaration or an Emacs or Vim line names, nil when
// none does. Servers name ISO-8859-1 of all they do not know: that counts for nothing, nor does a name whose bytes the
// content does not have.
func declared(content []byte, form format, mediaType string) (encoding.Encoding, string) {
	var found encoding.Encoding
	var name string
	if form.name == "html" || strings.Contains(strings.ToLower(mediaType), "charset=") {
		var certain bool
		found, name, certain = charset.DetermineEncoding(content, mediaType)
		if !certain && name == "windows-1252" {
			found = nil
			if label := metaCharset(content); form.name == "html" && label != "" {
				found, name = charset.Lookup(label)
			}
		}
	}
	if found == nil || form.name != "html" && name == "windows-1252" {
		if label := labelInText(content[:min(len(content), 1024)]); label != "" {
			found, name = charset.Lookup(label)
		}
	}
	if found == nil || name == "utf-8" || name == "replacement" || form.name != "html" && name == "windows-1252" {
		return nil, ""
	}
	decoded, err := found.NewDecoder().Bytes(content[:min(len(content), 64<<10)])
	if wrong := bytes.Count(decoded, []byte("\uFFFD")); err != nil || wrong > 1 && wrong*200 > len(decoded) {
		return nil, ""
	}
	return found, name
}

// labelInText returns the name of an encoding as the first lines of a file give it: encoding="…" in an XML declaration,
// coding: … in a comment for editors.
func labelInText(head []byte) string {
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

// isNearlyUTF8 reports content that is UTF-8 but for a few bytes, which is better read as that than as something else.
func isNearlyUTF8(content []byte) bool {
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
				break // cut at the end
			}
			broken++
		} else {
			characters++
		}
		i += size
	}
	return characters > 0 && characters >= 5*broken
}

// clean makes valid UTF-8 with \n line ends and without control characters, which databases refuse and nobody reads.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	dirty := dirtIn(text, false)
	if dirty < 0 {
		return text
	}
	return cleanFrom(text, dirty, false)
}

// dirtIn returns where the first character is that must go, -1 when there is none. It looks at bytes, since most text has
// none to be looked at closer. In pages form feeds may stay.
func dirtIn(text string, pages bool) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0x20 && c < 0x7F, c == '\n', c == '\t', c == '\f' && pages:
		case c < utf8.RuneSelf:
			return i
		case c == 0xC2 || c == 0xE2 || c == 0xEF:
			if r, _ := utf8.DecodeRuneInString(text[i:]); isDirt(r) {
				return i
			}
		}
	}
	return -1
}

// cleanPages is clean for plain text as it was made for printers and terminals: form feeds stay, letters that are struck
// over themselves to make them bold stand once, and colours go.
func cleanPages(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if dirtIn(text, true) < 0 {
		return text
	}
	if strings.IndexByte(text, '\b') >= 0 {
		text = unstrike(text)
	}
	if strings.Contains(text, "\x1b[") {
		text = withoutColours(text)
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

// unstrike takes away characters with a backspace after them: x\bx is a bold x, _\bx an underlined one.
func unstrike(text string) string {
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

// withoutColours takes away the control sequences of terminals (ECMA-48: ESC [, parameters, a letter).
func withoutColours(text string) string {
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
