package wordmodel

import (
	"strconv"
	"strings"
	"unicode"
)

// BodyLevel is the outline level of text that is no heading. Headings have 0 to 8.
const BodyLevel = 9

// Role is the role of paragraphs of a style.
type Role uint8

// The roles of paragraphs.
const (
	RoleText Role = iota
	RoleCode
	RoleQuote
	RoleContents      // an entry of a table of contents
	RoleContentsTitle // the line above it
)

// StyleMeaning is what the name of a paragraph style says about its paragraphs.
type StyleMeaning struct {
	Role Role
	// HeadingLevel is the level of a heading, 1 to 9, or 0. IsTitle is set for the title of the document.
	HeadingLevel int
	IsTitle      bool
	// IsItem is set for list items, IsOrdered if they are counted. Nesting is their level, from 0.
	IsItem, IsOrdered bool
	Nesting           int
}

// MeaningOf returns the meaning of a style name. Word processors keep the English names of their own styles in files of every
// language. The other names are those of programs and people that translate them.
func MeaningOf(name string) StyleMeaning {
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	base, number := splitNumber(name)
	var m StyleMeaning
	switch base {
	case "heading", "überschrift", "berschrift", "titre", "título", "ttulo", "titolo", "kop", "rubrik", "overskrift", "nagłówek",
		"nadpis", "заголовок", "标题", "標題", "見出し", "제목", "otsikko", "címsor", "başlık", "encabezado":
		if number >= 1 && number <= 9 {
			m.HeadingLevel = number
		}
		m.IsTitle = number == 0 && (base == "titre" || base == "título" || base == "titolo")
	case "title", "titel", "表題", "название", "tytuł", "název", "doc title", "document title":
		m.IsTitle = number == 0
	case "toc", "verzeichnis", "tm", "tdc", "contents":
		if number >= 1 && number <= 9 {
			m.Role = RoleContents
		}
	case "toc heading", "contents heading":
		m.Role = RoleContentsTitle
	case "list bullet", "listbullet", "list number", "listnumber":
		m.IsItem, m.IsOrdered = true, strings.HasSuffix(base, "number")
		m.Nesting = min(max(number-1, 0), MaxListLevels-1)
	case "quote", "intense quote", "intensequote", "block text", "blocktext", "quotations", "quotation", "block quotation", "block quote",
		"blockquote", "zitat", "intensives zitat", "citation":
		m.Role = RoleQuote
	}
	if m.Role == RoleText && isCodeName(name) {
		m.Role = RoleCode
	}
	return m
}

// HeadingLevel returns the level, from 1, of a heading with an outline level, or of the title of the document. It is false for other
// text.
func HeadingLevel(outline int, isTitle bool) (level int, ok bool) {
	const maxLevel = 6
	switch {
	case outline < BodyLevel:
		return min(outline+1, maxLevel), true
	case isTitle:
		return 1, true
	}
	return 0, false
}

// splitNumber splits the number off the end of a name.
func splitNumber(name string) (base string, number int) {
	base = strings.TrimRight(name, "0123456789")
	number, err := strconv.Atoi(name[len(base):])
	if err != nil {
		return name, 0
	}
	return strings.TrimSpace(base), number
}

// isCodeName reports whether a style name is one for code.
func isCodeName(name string) bool {
	switch name {
	case "macro text", "html vorformatiert", "htmlvorformatiert", "html préformaté":
		return true
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	for i, word := range words {
		switch word {
		case "sourcecode", "codeblock", "preformatted", "htmlpreformatted", "preformattedtext", "verbatim", "quellcode", "programlisting",
			"codelisting", "listing":
			return true
		case "code":
			return i == 0 || !isOtherCode(words[i-1])
		case "source":
			if i+1 < len(words) && words[i+1] == "text" || len(words) == 1 {
				return true
			}
		}
	}
	return false
}

// isOtherCode reports whether "code" after a word is no program code.
func isOtherCode(word string) bool {
	switch word {
	case "postal", "zip", "area", "country", "bar", "document", "cost":
		return true
	}
	return false
}

// IsMonospaced reports whether all characters of a font have one width, as those of fonts for code do.
func IsMonospaced(font string) bool {
	font = strings.ToLower(font)
	for _, part := range []string{"courier", "consolas", "menlo", "monaco", "monospace", "lucida console", "inconsolata", " mono",
		"cascadia", "source code", "fira code", "typewriter"} {
		if strings.Contains(font, part) {
			return true
		}
	}
	return false
}
