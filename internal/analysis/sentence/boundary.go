package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// openers may precede the first letter of a sentence, closers follow its mark.
const (
	openers = " \t\"'“„‘‚«»(*_[¿¡"
	closers = "\"'”’»)]*_"
)

// sentenceEnd returns where the sentence ends that the segmenter ends at a boundary of
// block, or -1 if it goes on. start is where the sentence begins.
func (r *rules) sentenceEnd(block string, start, boundary int) int {
	end := boundary
	last, size := utf8.DecodeLastRuneInString(block[:boundary])
	if !unicode.IsSpace(last) {
		if end = endWithoutBlank(block, boundary, last, size); end < 0 {
			return -1
		}
	}
	body := strings.TrimRightFunc(block[start:boundary], unicode.IsSpace)
	body = strings.TrimRight(body, closers)
	mark, size := utf8.DecodeLastRuneInString(body)
	body = body[:len(body)-size]
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(block[end:], openers))
	switch {
	case unicode.IsLower(next):
		return -1 // “stop!” he said
	case mark == '.' && r.continues(body, strings.TrimLeft(block[end:], openers)):
		return -1
	default:
		return end
	}
}

// endWithoutBlank returns the end of a sentence whose boundary follows no white space,
// or -1. last is the character before the boundary.
func endWithoutBlank(block string, boundary int, last rune, size int) int {
	rest := block[boundary:]
	if last == '[' { // the number of a footnote: "done.[5] Next"
		digits := strings.TrimLeft(rest, "0123456789")
		if after, ok := strings.CutPrefix(digits, "] "); ok && len(digits) < len(rest) {
			return len(block) - len(after)
		}
		return -1
	}
	if strings.ContainsRune("“‘「『（《〈【", last) {
		return boundary - size
	}
	if n := len(rest) - len(strings.TrimLeft(rest, closers)); n > 0 {
		if n == len(rest) || rest[n] == ' ' {
			return boundary + n
		}
		return -1
	}
	mark, before := last, block[:boundary-size]
	if strings.ContainsRune(closers, last) {
		before = strings.TrimRight(block[:boundary], closers)
		mark, size = utf8.DecodeLastRuneInString(before)
		before = before[:len(before)-size]
	}
	if mark >= utf8.RuneSelf {
		return boundary // a mark of a script without blanks, or a danda
	}
	left, _ := utf8.DecodeLastRuneInString(before)
	right, _ := utf8.DecodeRuneInString(rest)
	if isCaseless(left) && isCaseless(right) {
		return boundary // a blank was forgotten
	}
	return -1
}

// isCaseless reports whether r is a letter of a script without capitals.
func isCaseless(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Gujarati,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) && !unicode.IsNumber(r)
}

// continues reports whether a sentence goes on after a full stop. body is the sentence
// before it, and rest what follows.
func (r *rules) continues(body, rest string) bool {
	word := body[strings.LastIndexFunc(body, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("(\"'“„«[/*_", c) })+1:]
	if word == "" {
		return false
	}
	if last, _ := utf8.DecodeLastRuneInString(word); unicode.In(last, unicode.Thai, unicode.Lao) {
		return true // an abbreviation
	}
	folded := strings.ToLower(word)
	following := firstWord(rest)
	isStart := !strings.HasPrefix(rest[len(following):], ".") && r.starts(strings.ToLower(following))
	switch {
	case r.abbreviations[folded] == title:
		return true
	case r.abbreviations[folded] == beforeNumber && (isNumber(following) || isRoman(following)):
		return true
	case r.abbreviations[folded] == ordinary, isInitial(word):
		return !isStart
	case isNumber(word):
		return strings.TrimSpace(body) == word || r.ordinals && len(word) <= 2 && !isStart
	default:
		return r.ordinals && isRoman(word) && !isStart
	}
}

// firstWord returns the letters and digits that a text begins with.
func firstWord(text string) string {
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) }); i >= 0 {
		return text[:i]
	}
	return text
}

// isNumber reports whether a word is digits.
func isNumber(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// isRoman reports whether a word is a Roman numeral.
func isRoman(word string) bool { return word != "" && strings.Trim(word, "IVXLC") == "" }

// isInitial reports whether a word is a letter, or letters with points or hyphens between
// them, such as U.S and J.-P.
func isInitial(word string) bool {
	letters := 0
	for _, r := range word {
		switch {
		case r == '.' || r == '-':
			letters = 0
		case unicode.IsMark(r):
		case unicode.IsUpper(r) || unicode.IsLower(r) || unicode.In(r, unicode.Arabic, unicode.Hebrew) && unicode.IsLetter(r):
			letters++
		default:
			return false
		}
		if letters > 1 {
			return false
		}
	}
	return letters == 1
}
