package wordmodel

import "strings"

// The characters of the Symbol font, by the mapping table that Unicode keeps for it. A blank stands for characters that Unicode
// lacks. symbolLow begins at 0x21, symbolHigh at 0xA0.
const (
	symbolLow  = "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)

// SymbolText returns the text of a character in a symbol font, of which the low eight bits count. It is "" for ornaments and
// unknown characters. Without a font, the character is taken for one of the Symbol font, which bullets are in.
func SymbolText(font string, r rune) string {
	code := r & 0xFF
	font = strings.ToLower(font)
	switch {
	case strings.HasPrefix(font, "wingdings 2"):
		return wingdings2(code)
	case strings.HasPrefix(font, "wingdings") && font != "wingdings 3":
		return wingdings(code)
	case IsSymbolFont(font) && font != "symbol":
		return ""
	case font != "" && font != "symbol" && code < 0x7F:
		return string(code) // a font of letters that is encoded as symbols
	case code >= 0xA0:
		return runeAt(symbolHigh, code-0xA0)
	}
	return runeAt(symbolLow, code-0x21)
}

// IsSymbolFont reports whether the characters of a font are symbols.
func IsSymbolFont(font string) bool {
	font = strings.ToLower(font)
	for _, part := range []string{"dings", "dingbat", "marlett", "mt extra", "monotype sorts", "bookshelf symbol", "awesome", "icons"} {
		if strings.Contains(font, part) {
			return true
		}
	}
	return font == "symbol"
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

// wingdings returns the characters of Wingdings that occur in prose.
func wingdings(code rune) string {
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
	case 0x6C, 0x9F, 0xB7:
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

// wingdings2 returns the check marks and boxes of Wingdings 2.
func wingdings2(code rune) string {
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
