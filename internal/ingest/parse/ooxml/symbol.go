package ooxml

import (
	"strings"
	"unicode/utf8"
)

// The characters that fonts of symbols draw at 0x21 and on, by Unicode's mapping tables of the vendors; a blank where a
// font has nothing that Unicode has too.
const (
	symbolLow = "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	// symbolHigh begins at 0xA0.
	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)

// symbol returns what a character in the private range F020 to F0FF shows in a font, "" where that is not known. Without a
// font it is taken for the Symbol font, which bullets are written in.
func symbol(font string, r rune) string {
	code := r & 0xFF
	font = strings.ToLower(font)
	switch {
	case strings.HasPrefix(font, "wingdings 2"):
		return dingbat2(code)
	case font == "wingdings":
		return dingbat(code)
	case isSymbolFont(font) && font != "symbol":
		return "" // arrows and ornaments
	case font != "" && font != "symbol" && code < 0x7F:
		return string(code) // a font of letters, encoded as symbols
	case code >= 0xA0:
		return runeAt(symbolHigh, code-0xA0)
	}
	return runeAt(symbolLow, code-0x21)
}

func runeAt(text string, at rune) string {
	if at < 0 {
		return " "
	}
	for _, r := range text {
		if at == 0 {
			return string(r)
		}
		at--
	}
	return ""
}

// dingbat maps the characters of Wingdings that stand in prose.
func dingbat(code rune) string {
	switch code {
	case 0x20:
		return " "
	case 0x28, 0x29:
		return "☎"
	case 0x2A:
		return "✉"
	case 0x46:
		return "☞"
	case 0x4A:
		return "☺"
	case 0x4C:
		return "☹"
	case 0x6C, 0x9F:
		return "•"
	case 0x6E, 0xA7:
		return "▪"
	case 0x6F, 0xA8:
		return "☐"
	case 0x71, 0x72:
		return "❑"
	case 0x75, 0x76:
		return "◆"
	case 0xD8, 0xE8:
		return "➔"
	case 0xDF, 0xE7:
		return "←"
	case 0xE0:
		return "→"
	case 0xE1:
		return "↑"
	case 0xE2:
		return "↓"
	case 0xF3:
		return "⇔"
	case 0xF0:
		return "⇨"
	case 0xFB:
		return "✗"
	case 0xFC:
		return "✓"
	case 0xFD:
		return "☒"
	case 0xFE:
		return "☑"
	}
	return ""
}

// dingbat2 maps the check marks and boxes of Wingdings 2.
func dingbat2(code rune) string {
	switch code {
	case 0x4F, 0xD1:
		return "✗"
	case 0x50:
		return "✓"
	case 0x51:
		return "☒"
	case 0x52:
		return "☑"
	case 0x97, 0x98:
		return "•"
	case 0xA3, 0x2A, 0x30:
		return "☐"
	}
	return ""
}

// symbolCode reads the hexadecimal code of a w:sym element and returns what it shows.
func symbolCode(font, code string) string {
	r := rune(0)
	for _, digit := range strings.ToLower(code) {
		switch {
		case digit >= '0' && digit <= '9':
			r = r<<4 | (digit - '0')
		case digit >= 'a' && digit <= 'f':
			r = r<<4 | (digit - 'a' + 10)
		default:
			return ""
		}
		if r > utf8.MaxRune {
			return ""
		}
	}
	switch {
	case r >= 0xF020 && r <= 0xF0FF:
		return symbol(font, r)
	case r >= 0x20 && r <= 0xFF && isSymbolFont(font):
		return symbol(font, 0xF000|r)
	case r < ' ' || r >= 0xD800 && r <= 0xF8FF:
		return ""
	}
	return string(r)
}

func isSymbolFont(font string) bool {
	font = strings.ToLower(font)
	for _, part := range []string{"dings", "dingbat", "marlett", "mt extra", "monotype sorts", "bookshelf symbol", "awesome", "icons"} {
		if strings.Contains(font, part) {
			return true
		}
	}
	return font == "symbol"
}
