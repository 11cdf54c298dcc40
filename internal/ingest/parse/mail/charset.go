package mail

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// decodeText returns clean text of bytes in the encoding with a label, "" if it is unknown.
func decodeText(text []byte, label string) string {
	return clean(decodeCharset(text, label))
}

func decodeCharset(text []byte, label string) string {
	label = strings.ToLower(strings.Trim(label, " \t\"'"))
	switch label {
	case "utf-7", "unicode-1-1-utf-7", "x-unicode-2-0-utf-7":
		return decodeUTF7(text)
	case "hz-gb-2312":
		return decodeBy(simplifiedchinese.HZGB2312, text)
	case "utf-8", "utf8", "", "us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "default", "8bit", "7bit", "iso-8859-1":
		if label == "iso-8859-1" && !isASCII(text) {
			break
		}
		return guess(text)
	}
	from, name := charset.Lookup(label)
	if from == nil || name == "replacement" {
		found, err := ianaindex.MIME.Encoding(label)
		if err != nil || found == nil {
			return guess(text)
		}
		from = found
	}
	return decodeBy(from, text)
}

func decodeBy(from encoding.Encoding, text []byte) string {
	decoded, err := from.NewDecoder().Bytes(text)
	if err != nil {
		return guess(text)
	}
	return string(decoded)
}

// guess decodes bytes in an unknown or wrongly labelled encoding.
func guess(text []byte) string {
	switch {
	case bytes.Contains(text, []byte("\x1b$B")) || bytes.Contains(text, []byte("\x1b$@")):
		return decodeBy(japanese.ISO2022JP, text)
	case utf8.Valid(text):
		return string(text)
	}
	sample := text[:min(len(text), 64<<10)]
	if broken := len(sample) - len(bytes.ToValidUTF8(sample, nil)); broken*200 < len(sample) {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	from, _ := charset.Lookup("windows-1252")
	if found, name := charset.Lookup(detect(sample)); found != nil && name != "utf-8" && name != "replacement" {
		from = found
	}
	decoded, err := from.NewDecoder().Bytes(text)
	if err != nil {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return string(decoded)
}

func detect(sample []byte) (name string) {
	defer func() {
		// The detector indexes its tables by input bytes and may panic. Western is then the default.
		if recover() != nil {
			name = ""
		}
	}()
	if len(sample) < 40 {
		return "" // too short to detect
	}
	result := chardet.Detect(sample)
	if result.Confidence < 0.5 {
		return ""
	}
	return result.Encoding
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// decodeUTF7 decodes UTF-7 (RFC 2152).
func decodeUTF7(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		plus := bytes.IndexByte(text, '+')
		if plus < 0 {
			b.Write(text)
			break
		}
		b.Write(text[:plus])
		text = text[plus+1:]
		end := 0
		for end < len(text) && isBase64(text[end]) {
			end++
		}
		if end == 0 {
			b.WriteByte('+')
		} else {
			units := make([]uint16, 0, end/2)
			raw, _ := base64.RawStdEncoding.DecodeString(string(text[:end])) // invalid bytes are left out
			for i := 0; i+1 < len(raw); i += 2 {
				units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
			}
			b.WriteString(string(utf16.Decode(units)))
		}
		text = bytes.TrimPrefix(text[end:], []byte("-"))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func isBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// clean replaces line ends by \n and removes control characters.
func clean(text string) string {
	if strings.IndexFunc(text, isDirt) < 0 && utf8.ValidString(text) {
		return text
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029:
			return '\n'
		case isDirt(r):
			return -1
		}
		return r
	}, text)
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
