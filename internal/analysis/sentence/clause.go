package sentence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of clauses in characters.
const (
	minClause    = 40  // before a word that begins one
	targetClause = 100 // before any word
	minRest      = 25
	maxBracket   = 400 // from which a bracket counts as never closed
)

// clauses adds text[from:to], and divides it into clauses if it is Thai or Lao.
func (s *splitter) clauses(from, to int) {
	text := s.text[from:to]
	if !strings.ContainsFunc(text, isUnmarked) {
		s.add(from, to)
		return
	}
	rest := utf8.RuneCountInString(text)
	start, length := 0, 0 // of the clause so far
	for i, r := range text {
		if unicode.IsSpace(r) && length >= minClause && rest >= minRest {
			before, after := text[start:i], strings.TrimLeftFunc(text[i:], unicode.IsSpace)
			if canDivide(before, after) && (length >= targetClause || hasPrefix(after, clauseStarts)) &&
				(length >= maxBracket || !inBrackets(before)) {
				s.add(from+start, from+i)
				start, length = i, 0
			}
		}
		length++
		rest--
	}
	s.add(from+start, to)
}

// isUnmarked reports whether r belongs to a script without a mark at the end of a
// sentence.
func isUnmarked(r rune) bool { return unicode.In(r, unicode.Thai, unicode.Lao) }

// canDivide reports whether a clause may end between two parts of a text: a name, a number
// or a foreign word has blanks around it that end nothing.
func canDivide(before, after string) bool {
	left, _ := utf8.DecodeLastRuneInString(before)
	right, _ := utf8.DecodeRuneInString(after)
	if !isUnmarked(right) || right == 'ๆ' || !isUnmarked(left) && !strings.ContainsRune(`)]"”’`, left) && !unicode.IsNumber(left) {
		return false
	}
	for _, word := range strings.Fields(clauseBinders) {
		if strings.HasSuffix(before, word) {
			return false
		}
	}
	return !hasPrefix(after, clauseJoiners)
}

// inBrackets reports whether a bracket or a quotation is open at the end of a text.
func inBrackets(text string) bool {
	return strings.Count(text, "(") > strings.Count(text, ")") || strings.Count(text, "“") > strings.Count(text, "”") || strings.Count(text, `"`)%2 == 1
}

// hasPrefix reports whether a text begins with one of the words.
func hasPrefix(text, words string) bool {
	for _, word := range strings.Fields(words) {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}

// Words that begin a clause, that end none, and that continue one.
const (
	clauseStarts  = "อย่างไรก็ตาม นอกจากนี้ นอกจากนั้น ดังนั้น ทั้งนี้ ต่อมา หลังจาก ในปี ในช่วง ในขณะที่ เมื่อ แต่ เขา เธอ พวกเขา มัน การ ความ ผู้ นี่ สิ่งนี้ เนื่องจาก เพราะ แม้ ถ้า หาก ในระหว่าง จากนั้น สำหรับ ตาม"
	clauseBinders = "และ หรือ คือ เช่น ว่า ได้แก่ ที่ ของ โดย กับ ใน เป็น ซึ่ง จาก ถึง ประมาณ ราว"
	clauseJoiners = "และ หรือ ซึ่ง ที่ ว่า ของ คน ปี ล้าน แห่ง ครั้ง กิโลเมตร เมตร เปอร์เซ็นต์"
)
