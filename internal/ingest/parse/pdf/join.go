package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A vocabulary has the spellings, with and without hyphen, of words that are broken at the ends of lines.
type vocabulary map[string]bool // whether the document contains the spelling

// vocabularyOf returns the vocabulary of pages.
func vocabularyOf(pages []page) vocabulary {
	words := make(vocabulary)
	for i := range pages {
		lines := pages[i].lines
		for k := range lines {
			if lines[k].table != nil || !isHyphen(lastRune(lines[k].text)) {
				continue
			}
			var next *line
			switch {
			case k+1 < len(lines):
				next = &lines[k+1]
			case i+1 < len(pages) && len(pages[i+1].lines) > 0:
				next = &pages[i+1].lines[0]
			default:
				continue
			}
			before, after := fragments(lines[k].text, next.text)
			words[strings.ToLower(before+after)] = false
			words[strings.ToLower(before+"-"+after)] = false
		}
	}
	if len(words) == 0 {
		return nil
	}
	for i := range pages {
		for k := range pages[i].lines {
			for _, word := range strings.Fields(pages[i].lines[k].text) {
				word = strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }))
				if _, isBroken := words[word]; isBroken {
					words[word] = true
				}
			}
		}
	}
	return words
}

func isHyphen(r rune) bool { return r == '-' || r == softHyphen || r == '\u2010' }

// fragments returns the two halves of a word that is broken between two lines.
func fragments(a, b string) (before, after string) {
	_, size := utf8.DecodeLastRuneInString(a)
	a = a[:len(a)-size]
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || r == '-' || r == softHyphen }
	from := len(a)
	for from > 0 {
		r, n := utf8.DecodeLastRuneInString(a[:from])
		if !isPart(r) {
			break
		}
		from -= n
	}
	to := 0
	for to < len(b) {
		r, n := utf8.DecodeRuneInString(b[to:])
		if !isPart(r) {
			break
		}
		to += n
	}
	return a[from:], b[:to]
}

// joinLines joins two lines of a paragraph. The second is not changed. A broken word is joined, unless it occurs with
// its hyphen elsewhere in the document or is a compound of names.
func joinLines(a, b string, words vocabulary) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	last, first := lastRune(a), firstRune(b)
	if isHyphen(last) {
		return joinBroken(a, b, words)
	}
	if isIdeographic(last) && isIdeographic(first) {
		return a + b
	}
	if word := a[strings.LastIndexByte(a, ' ')+1:]; strings.Contains(word, "://") && strings.ContainsRune("/._=&?", last) &&
		(unicode.IsLower(first) || unicode.IsDigit(first)) {
		return a + b
	}
	return a + " " + b
}

func joinBroken(a, b string, words vocabulary) string {
	_, size := utf8.DecodeLastRuneInString(a)
	stem := a[:len(a)-size]
	before, first := lastRune(stem), firstRune(b)
	switch {
	case before == utf8.RuneError || unicode.IsSpace(before):
		return stem + "- " + b
	case !unicode.IsLetter(before) && !unicode.IsDigit(before):
		return stem + "-" + b
	case !unicode.IsLower(first) || !unicode.IsLetter(before):
		return stem + "-" + b
	}
	left, right := fragments(a, b)
	switch right {
	case "und", "oder", "bzw", "and", "or", "bis", "to", "et", "ou":
		if len(b) == len(right) || b[len(right)] == ' ' {
			return stem + "- " + b
		}
	}
	whole, hyphenated := words[strings.ToLower(left+right)], words[strings.ToLower(left+"-"+right)]
	if hyphenated && !whole || strings.ContainsAny(left, "-") || strings.Contains(lastWord(stem), "://") {
		return stem + "-" + b
	}
	return stem + b
}

func lastWord(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

// smooth removes soft hyphens from a finished text.
func smooth(text string) string {
	if !strings.ContainsRune(text, softHyphen) {
		return text
	}
	if lastRune(text) == softHyphen {
		text = strings.TrimSuffix(text, string(softHyphen)) + "-"
	}
	return strings.ReplaceAll(text, string(softHyphen), "")
}
