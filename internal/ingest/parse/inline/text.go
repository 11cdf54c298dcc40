package inline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PlainText returns inline Markdown as the text that a reader sees.
func PlainText(text string) string {
	text = FromHTML(text)
	if !strings.ContainsAny(text, "`*_[]\\~!<") {
		return strings.Join(strings.Fields(text), " ")
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '`':
			n := SpanLength(text[i:])
			b.WriteString(strings.Trim(text[i:i+n], "`"))
			i += n
		case '\\':
			if i+1 < len(text) && unicode.IsPunct(rune(text[i+1])) || i+1 < len(text) && strings.ContainsRune("<>$+=^`|~", rune(text[i+1])) {
				i++
			}
			b.WriteByte(text[i])
			i++
		case '!':
			if i+1 < len(text) && text[i+1] == '[' && linkLength(text[i+1:]) > 0 {
				i++
				continue
			}
			b.WriteByte(c)
			i++
		case '[':
			if label, n := LinkLabel(text[i:]); n > 0 {
				b.WriteString(PlainText(label))
				i += n
				continue
			}
			b.WriteByte(c)
			i++
		case '<':
			if end := strings.IndexByte(text[i:], '>'); end > 0 && strings.Contains(text[i:i+end], "://") {
				b.WriteString(text[i+1 : i+end])
				i += end + 1
				continue
			}
			b.WriteByte(c)
			i++
		case '*', '_', '~':
			n := len(text[i:]) - len(strings.TrimLeft(text[i:], string(c)))
			if !isEmphasis(text, i, n) {
				b.WriteString(text[i : i+n])
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// isEmphasis reports whether the run of n marks at i is at the border of a word.
func isEmphasis(text string, i, n int) bool {
	if n > 3 || text[i] == '~' && n != 2 {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	isWord := func(r rune, exists bool) bool { return exists && (unicode.IsLetter(r) || unicode.IsNumber(r)) }
	isBlank := func(r rune, exists bool) bool { return !exists || unicode.IsSpace(r) }
	hasBefore, hasAfter := i > 0, i+n < len(text)
	if isBlank(before, hasBefore) && isBlank(after, hasAfter) {
		return false
	}
	return text[i] != '_' || !isWord(before, hasBefore) || !isWord(after, hasAfter)
}

// Superscript returns a text of digits and signs as superscript characters, and other text as it is.
func Superscript(text string) string {
	const plain, high = "0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ"
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || strings.Trim(trimmed, plain) != "" {
		return text
	}
	signs := []rune(high)
	var b strings.Builder
	for _, r := range trimmed {
		for i, p := range []rune(plain) {
			if p == r {
				b.WriteRune(signs[i])
			}
		}
	}
	return b.String()
}

// FoldBreaks folds white space. Line breaks, for which readers write NUL characters, become line feeds.
func FoldBreaks(text string) string {
	lines := strings.Split(text, "\x00")
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// CountWords counts the words of a text. In scripts without blanks between words, two characters count as one.
func CountWords(text string) int {
	words, wide := 0, 0
	inWord := false
	for _, r := range text {
		switch {
		case r < 0x80:
			blank := r <= ' '
			if !blank && !inWord {
				words++
			}
			inWord = !blank
		case r >= 0x2E80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || unicode.Is(unicode.Hangul, r)):
			wide++
			inWord = false
		case unicode.IsSpace(r):
			inWord = false
		default:
			if !inWord {
				words++
			}
			inWord = true
		}
	}
	return words + (wide+1)/2
}
