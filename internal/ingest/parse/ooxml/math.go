package ooxml

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxMathDepth is how deep the structure of formulas is read. Deeper parts become plain text.
	maxMathDepth = 40
	// maxFormula is the longest formula, in bytes. The rest is left out.
	maxFormula = 16 << 10
)

// mathText returns a formula (Office Math, ECMA-376 part 1, 22.1) on one line, as people type it: a/b, x^2, √(x),
// ∑_(i=1)^n. The scanner must be at the Start of the formula, and is then behind its End.
func mathText(s *xmlscan.Scanner) (string, error) {
	text, err := mathElement(s, maxMathDepth)
	return oneLine(text), err
}

// mathElement returns the text of the element of the last Start.
func mathElement(s *xmlscan.Scanner, depth int) (string, error) {
	if depth == 0 {
		return boundedText(s, maxFormula)
	}
	name := s.Name()
	switch name {
	case "t", "delText":
		return boundedText(s, maxFormula)
	case "rPr", "ctrlPr", "argPr", "del", "moveFrom", "instrText":
		return "", s.Skip()
	}
	m := formula{name: name}
	for level := s.Depth(); s.Depth() >= level; {
		kind, err := s.Next()
		if err != nil {
			return m.String(), err
		}
		if kind != xmlscan.Start {
			continue
		}
		if strings.HasSuffix(s.Name(), "Pr") && s.Name() != "ctrlPr" {
			if err := m.properties(s); err != nil {
				return m.String(), err
			}
			continue
		}
		part := s.Name()
		text, err := mathElement(s, depth-1)
		if m.size += len(text); m.size <= maxFormula && len(m.parts) < maxFormula {
			m.parts = append(m.parts, formulaPart{part, text})
		}
		if err != nil {
			return m.String(), err
		}
	}
	return m.String(), nil
}

// A formula is an element of a formula with the text of its children.
type formula struct {
	name  string
	parts []formulaPart
	// sign, begin, end and separator are the characters that the properties set.
	sign                          string
	begin, end, separator         string
	hasBegin, hasEnd, hasNoDegree bool
	size                          int
}

type formulaPart struct{ name, text string }

func (m *formula) properties(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		value := s.Attr("val")
		switch s.Name() {
		case "chr":
			m.sign = value
		case "begChr":
			m.begin, m.hasBegin = value, true
		case "endChr":
			m.end, m.hasEnd = value, true
		case "sepChr":
			m.separator = value
		case "degHide":
			m.hasNoDegree = isToggled(s)
		}
	}
	return nil
}

// part returns the text of the child with a name.
func (m *formula) part(name string) string {
	for i := range m.parts {
		if m.parts[i].name == name {
			return strings.TrimSpace(m.parts[i].text)
		}
	}
	return ""
}

func (m *formula) String() string {
	base := m.part("e")
	switch m.name {
	case "f":
		return group(m.part("num")) + "/" + group(m.part("den"))
	case "sSup":
		return group(base) + "^" + group(m.part("sup"))
	case "sSub":
		return group(base) + "_" + group(m.part("sub"))
	case "sSubSup":
		return group(base) + "_" + group(m.part("sub")) + "^" + group(m.part("sup"))
	case "sPre":
		return "_" + group(m.part("sub")) + "^" + group(m.part("sup")) + base
	case "rad":
		if degree := m.part("deg"); degree != "" && !m.hasNoDegree {
			return degree + "√(" + base + ")"
		}
		return "√(" + base + ")"
	case "nary":
		return m.operator() + " " + base
	case "d":
		return m.delimit()
	case "func":
		return m.part("fName") + " " + base
	case "acc":
		return group(base) + m.sign
	case "limLow":
		return base + "_" + group(m.part("lim"))
	case "limUpp":
		return base + "^" + group(m.part("lim"))
	case "mr":
		return m.join(", ")
	case "m":
		return "[" + m.join("; ") + "]"
	case "eqArr":
		return m.join("; ")
	}
	return m.join("")
}

func (m *formula) join(separator string) string {
	var b strings.Builder
	for i := range m.parts {
		if i > 0 {
			b.WriteString(separator)
		}
		isSpaced := separator == "" && needsBlanks(m.parts[i].name)
		if isSpaced || separator == "" && strings.HasPrefix(m.parts[i].name, "sS") && endsInWord(b.String()) {
			b.WriteByte(' ')
		}
		b.WriteString(m.parts[i].text)
		if isSpaced {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return wordmodel.IsWordRune(r)
}

// needsBlanks reports whether a part could be mistaken together with the text around it.
func needsBlanks(name string) bool {
	switch name {
	case "f", "rad", "nary", "func", "limLow", "limUpp":
		return true
	}
	return false
}

// operator returns the sign of a sum, product or integral with its limits.
func (m *formula) operator() string {
	text := m.sign
	if text == "" {
		text = "∫"
	}
	if low := m.part("sub"); low != "" {
		text += "_" + group(low)
	}
	if high := m.part("sup"); high != "" {
		text += "^" + group(high)
	}
	return text
}

func (m *formula) delimit() string {
	begin, end, separator := "(", ")", m.separator
	if m.hasBegin {
		begin = m.begin
	}
	if m.hasEnd {
		end = m.end
	}
	if separator == "" {
		separator = "|"
	}
	return begin + m.join(separator) + end
}

// group puts a text in parentheses, unless it is a single number, name or group.
func group(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return !wordmodel.IsWordRune(r) && r != '.' && r != '′' }) &&
		(!strings.HasPrefix(text, "(") || !strings.HasSuffix(text, ")")) {
		return "(" + text + ")"
	}
	return text
}
