package cfb

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Code pages of Unicode.
const (
	codePageUTF16 = 1200
	codePageUTF8  = 65001
)

// DecodeUTF16 decodes little-endian UTF-16. An unpaired surrogate becomes U+FFFD. An odd last byte is left out.
func DecodeUTF16(text []byte) string {
	var b strings.Builder
	b.Grow(len(text) / 2)
	for i := 0; i+1 < len(text); i += 2 {
		r := rune(binary.LittleEndian.Uint16(text[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+3 < len(text) {
				low = rune(binary.LittleEndian.Uint16(text[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 2
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Decode decodes text in a Windows code page. Unknown code pages are read as 1252. Invalid bytes become U+FFFD.
func Decode(codePage int, text []byte) string {
	switch codePage {
	case codePageUTF16:
		return DecodeUTF16(text)
	case codePageUTF8:
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	decoded, err := codePageEncoding(codePage).NewDecoder().Bytes(text)
	if err != nil {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return string(decoded)
}

func codePageEncoding(codePage int) encoding.Encoding {
	switch codePage {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 855:
		return charmap.CodePage855
	case 866:
		return charmap.CodePage866
	case 874:
		return charmap.Windows874
	case 932:
		return japanese.ShiftJIS
	case 936:
		return simplifiedchinese.GBK
	case 949:
		return korean.EUCKR
	case 950:
		return traditionalchinese.Big5
	case 1250:
		return charmap.Windows1250
	case 1251:
		return charmap.Windows1251
	case 1253:
		return charmap.Windows1253
	case 1254:
		return charmap.Windows1254
	case 1255:
		return charmap.Windows1255
	case 1256:
		return charmap.Windows1256
	case 1257:
		return charmap.Windows1257
	case 1258:
		return charmap.Windows1258
	case 10000:
		return charmap.Macintosh
	case 10007:
		return charmap.MacintoshCyrillic
	case 20866:
		return charmap.KOI8R
	case 20932, 51932:
		return japanese.EUCJP
	case 21866:
		return charmap.KOI8U
	case 28591:
		return charmap.ISO8859_1
	case 28592:
		return charmap.ISO8859_2
	case 28595:
		return charmap.ISO8859_5
	case 28597:
		return charmap.ISO8859_7
	case 28605:
		return charmap.ISO8859_15
	case 50220, 50221, 50222:
		return japanese.ISO2022JP
	case 54936:
		return simplifiedchinese.GB18030
	}
	return charmap.Windows1252
}

// CodePageOf returns the Windows code page of a language id (MS-LCID). It depends on the primary language, and for languages with
// several scripts on the whole id.
func CodePageOf(language int) int {
	switch language {
	case 0x0404, 0x0C04, 0x1404:
		return 950
	case 0x0C1A, 0x201A:
		return 1251
	}
	switch language & 0x3FF {
	case 0x01, 0x20, 0x29:
		return 1256
	case 0x02, 0x19, 0x22, 0x23, 0x2F, 0x3F, 0x40, 0x44:
		return 1251
	case 0x04:
		return 936
	case 0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24:
		return 1250
	case 0x08:
		return 1253
	case 0x0D:
		return 1255
	case 0x11:
		return 932
	case 0x12:
		return 949
	case 0x1E:
		return 874
	case 0x1F, 0x2C:
		return 1254
	case 0x25, 0x26, 0x27:
		return 1257
	case 0x2A:
		return 1258
	}
	return 1252
}
