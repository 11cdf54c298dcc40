package ooxml

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxMath is how deep formulas keep their structure.
	maxMath = 40
	// maxFormula is how long a formula may be, in bytes; what is beyond it is left out.
	maxFormula = 16 << 10
)

// mathText returns a formula (Office Math, ECMA-376 part 1, 22.1) on one line, in the notation that people type: a/b,
// x^2, √(x), ∑_(i=1)^n. The scanner stands at the Start of its element and then behind its End.
func mathText(s *xmlscan.Scanner) (string, error) {
	text, err := mathElement(s, maxMath)
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

// formula is one element of a formula with the text of those in it.
type formula struct {
	name  string
	parts []formulaPart
	// What its properties say: a sign, brackets and what stands between them.
	sign                    string
	begin, end, between     string
	hasBegin, hasEnd, bared bool
	size                    int
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
			m.between = value
		case "degHide":
			m.bared = toggled(s)
		}
	}
	return nil
}

// of returns the text of the part of a name.
func (m *formula) of(name string) string {
	for i := range m.parts {
		if m.parts[i].name == name {
			return strings.TrimSpace(m.parts[i].text)
		}
	}
	return ""
}

func (m *formula) String() string {
	base := m.of("e")
	switch m.name {
	case "f":
		return grouped(m.of("num")) + "/" + grouped(m.of("den"))
	case "sSup":
		return grouped(base) + "^" + grouped(m.of("sup"))
	case "sSub":
		return grouped(base) + "_" + grouped(m.of("sub"))
	case "sSubSup":
		return grouped(base) + "_" + grouped(m.of("sub")) + "^" + grouped(m.of("sup"))
	case "sPre":
		return "_" + grouped(m.of("sub")) + "^" + grouped(m.of("sup")) + base
	case "rad":
		if degree := m.of("deg"); degree != "" && !m.bared {
			return degree + "√(" + base + ")"
		}
		return "√(" + base + ")"
	case "nary":
		return m.large() + " " + base
	case "d":
		return m.delimited()
	case "func":
		return m.of("fName") + " " + base
	case "acc":
		return grouped(base) + m.sign
	case "limLow":
		return base + "_" + grouped(m.of("lim"))
	case "limUpp":
		return base + "^" + grouped(m.of("lim"))
	case "mr":
		return m.joined(", ")
	case "m":
		return "[" + m.joined("; ") + "]"
	case "eqArr":
		return m.joined("; ")
	}
	return m.joined("")
}

func (m *formula) joined(between string) string {
	var b strings.Builder
	for i := range m.parts {
		if i > 0 {
			b.WriteString(between)
		}
		apart := between == "" && isApart(m.parts[i].name)
		if apart || between == "" && strings.HasPrefix(m.parts[i].name, "sS") && endsInWord(b.String()) {
			b.WriteByte(' ')
		}
		b.WriteString(m.parts[i].text)
		if apart {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return isWordRune(r)
}

// isApart tells which parts of a formula could run into what stands before and after them.
func isApart(name string) bool {
	switch name {
	case "f", "rad", "nary", "func", "limLow", "limUpp":
		return true
	}
	return false
}

// large writes the sign of a sum, product or integral with its limits.
func (m *formula) large() string {
	text := m.sign
	if text == "" {
		text = "∫"
	}
	if low := m.of("sub"); low != "" {
		text += "_" + grouped(low)
	}
	if high := m.of("sup"); high != "" {
		text += "^" + grouped(high)
	}
	return text
}

func (m *formula) delimited() string {
	begin, end, between := "(", ")", m.between
	if m.hasBegin {
		begin = m.begin
	}
	if m.hasEnd {
		end = m.end
	}
	if between == "" {
		between = "|"
	}
	return begin + m.joined(between) + end
}

// grouped puts text in parentheses that is more than one number, name or group.
func grouped(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return !isWordRune(r) && r != '.' && r != '′' }) &&
		(!strings.HasPrefix(text, "(") || !strings.HasSuffix(text, ")")) {
		return "(" + text + ")"
	}
	return text
}
