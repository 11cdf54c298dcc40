package analysis

import (
	"strings"
	"unicode"
)

// withoutFrame returns the subject of a question such as 什么是X and Xとは何ですか. Scripts without spaces are indexed in pairs
// of characters, and the pairs of "what is" and of its border with X are no stop words. Other texts, and a frame without a
// subject, are returned as they are.
func withoutFrame(text string) string {
	if isASCII(text) {
		return text
	}
	subject := strings.TrimRightFunc(text, isEndOfQuestion)
	for _, ending := range frameEndings() {
		if rest, ok := strings.CutSuffix(subject, ending); ok {
			subject = strings.TrimRightFunc(rest, isEndOfQuestion)
			break
		}
	}
	for _, beginning := range frameBeginnings() {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(subject), beginning); ok {
			subject = rest
			break
		}
	}
	if strings.IndexFunc(subject, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
		return text
	}
	return subject
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
