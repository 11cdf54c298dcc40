package analysis

import (
	"strings"
	"unicode"
)

// withoutFrame returns a question such as 什么是X and Xとは何ですか with blanks in place of all but its subject. Scripts without spaces are indexed in pairs
// of characters, and the pairs of "what is" and of its border with X are no stop words. Other texts, and a frame without a
// subject, are returned as they are.
func withoutFrame(text string) string {
	if at := strings.Index(text, "est-ce "); at > 0 {
		// The hyphen of "qu'est-ce que" and "est-ce que" makes no compound.
		text = text[:at+3] + " " + text[at+4:]
	}
	if isASCII(text) {
		return text
	}
	to := len(strings.TrimRightFunc(text, isEndOfQuestion))
	for _, ending := range frameEndings() {
		if strings.HasSuffix(text[:to], ending) {
			to -= len(ending)
			break
		}
	}
	from := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	for _, beginning := range frameBeginnings() {
		if from < to && strings.HasPrefix(text[from:to], beginning) {
			from += len(beginning)
			break
		}
	}
	if from >= to || strings.IndexFunc(text[from:to], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
		return text
	}
	return strings.Repeat(" ", from) + text[from:to] + strings.Repeat(" ", len(text)-to)
}

func isEndOfQuestion(r rune) bool { return unicode.IsSpace(r) || r == '?' || r == '？' || r == '。' }

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// frameEndings returns the ends of "what is" questions, longer ones before their own ends.
func frameEndings() []string {
	return []string{
		"指的是什么", "是指什么", "是什么意思", "是什么", "指的是什麼", "是指什麼", "是什麼意思", "是什麼",
		"とはどういう意味ですか", "とは何でしょうか", "とは何ですか", "とはなんですか", "とは何か", "とは何", "とは", "って何ですか", "って何",
		"이란 무엇인가요", "이란 무엇입니까", "이란 무엇인가", "란 무엇인가요", "란 무엇입니까", "란 무엇인가",
		"은 무엇인가요", "는 무엇인가요", "은 무엇입니까", "는 무엇입니까", "이 뭐예요", "가 뭐예요",
	}
}

func frameBeginnings() []string { return []string{"什么是", "何谓", "什麼是", "何謂"} }
