package ole

import "strings"

// What the Symbol font draws at 0x21 and on and at 0xA0 and on, by its mapping to Unicode.
const (
	symbolLow  = "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)

// symbolText returns what a character of a font of symbols shows, "" where that is not known: an ornament.
func symbolText(font string, r rune) string {
	code := r & 0xFF
	switch font = strings.ToLower(font); {
	case strings.HasPrefix(font, "wingdings"):
		switch code {
		case 0x6F, 0xA8:
			return "☐"
		case 0xFC:
			return "✓"
		case 0xFB:
			return "✗"
		case 0xFD:
			return "☒"
		case 0xFE:
			return "☑"
		case 0xE0, 0xE8, 0xF0:
			return "→"
		case 0x6C, 0x9F, 0xA7:
			return "•"
		}
		return ""
	case strings.Contains(font, "dings"), strings.Contains(font, "marlett"):
		return ""
	case font != "" && font != "symbol" && code > ' ' && code < 0x7F:
		return string(code) // a font of letters, counted as symbols
	case code >= 0xA0:
		return runeAt(symbolHigh, int(code)-0xA0)
	}
	return runeAt(symbolLow, int(code)-0x21)
}

func runeAt(text string, at int) string {
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
