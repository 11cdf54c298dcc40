package rtf

import (
	"strconv"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

func noteNumber(n int) string { return "[" + strconv.Itoa(n) + "]" }

// word handles a control word. An ignorable one starts a group that readers skip unless they know the word.
func (r *reader) word(t *token, ignorable bool) {
	name := string(t.text)
	if text, found := specialText(name); found {
		switch {
		case r.skip > 0:
			r.skip--
		case r.html == nil || !r.htmlWord(name):
			r.text(text)
		}
		return
	}
	if name == "u" && t.hasValue {
		r.unicode(t.value)
		return
	}
	r.skip = 0
	if r.destinationWord(name, ignorable) {
		return
	}
	if ignorable && !isKnown(name) {
		r.style.isOther = true // a style of characters or tables
		r.scanner.skipGroup()
		return
	}
	switch r.state.dest {
	case destText, destMarker, destInstruction, destHTMLTag, destPicture, destAuthor:
	case destInfo, destInfoTime:
		r.infoWord(t)
		return
	case destNumbering:
		r.numberingWord(name)
		return
	case destFonts, destStyles, destStyle, destLists, destOverrides, destInfoText, destShapeName, destShapeValue:
		r.tableWord(t)
		return
	}
	if r.characterWord(name, t) || r.html != nil && r.htmlWord(name) {
		return
	}
	if r.state.dest == destText && r.html == nil {
		r.special(name)
		r.paragraphWord(name, t)
		r.tableDefinition(name, t)
	}
}

// specialText returns the text of a word that stands for characters.
func specialText(name string) (string, bool) {
	switch name {
	case "tab":
		return "\t", true
	case "line", "lbr":
		return "\n", true
	case "emdash":
		return "—", true
	case "endash":
		return "–", true
	case "emspace", "enspace", "qmspace":
		return " ", true
	case "bullet":
		return "•", true
	case "lquote":
		return "‘", true
	case "rquote":
		return "’", true
	case "ldblquote":
		return "“", true
	case "rdblquote":
		return "”", true
	case "zwj":
		return "\u200D", true
	case "zwnj":
		return "\u200C", true
	}
	return "", false
}

// special handles words that end a paragraph, cell, row, page or section, and page numbers.
func (r *reader) special(name string) {
	f := r.state.flow
	switch name {
	case "par":
		if r.state.isDeleted {
			return // the paragraph mark is deleted: the next paragraph continues this one
		}
		r.endParagraph(f)
	case "sect":
		r.flush()
		if !f.line.IsBlank() {
			r.endParagraph(f)
		}
		r.startsSection = f == r.root
	case "sbknone", "sbkcol":
		r.startsSection = false
	case "page", "softpage":
		r.flush()
		if f == r.root && !r.state.isHidden && !r.state.isDeleted {
			r.pageBreaks++
			if f.line.IsBlank() {
				f.page = r.pageBreaks + 1
			}
		}
	case "cell":
		r.endCell(f, false)
	case "nestcell":
		r.endCell(f, true)
	case "row":
		r.endRow(f, false)
	case "nestrow":
		r.endRow(f, true)
	case "chpgn":
		f.hasPageNumber = f.isFramed
	}
}

// characterWord handles properties of text. It is false for other words.
func (r *reader) characterWord(name string, t *token) bool {
	s := &r.state
	switch name {
	case "plain":
		s.font, s.otherFont, s.rightToLeft = r.defaultFont, -1, false
		s.bold, s.italic, s.isHidden, s.isDeleted, s.isNoteNumber = false, false, false, false, false
	case "f":
		s.font = t.value
	case "af":
		s.otherFont = t.value
	case "rtlch":
		s.rightToLeft = true
	case "ltrch":
		s.rightToLeft = false
	case "b":
		s.bold = t.isOn()
	case "i":
		s.italic = t.isOn()
	case "v":
		s.isHidden = t.isOn()
	case "deleted":
		s.isDeleted = t.isOn()
	case "uc":
		s.fallback = min(max(t.value, 0), 8)
	case "htmlrtf":
		r.flush()
		s.isHTMLHidden = t.isOn()
	case "ansicpg":
		if t.value > 0 {
			r.page = t.value
		}
	case "mac":
		r.page = 10000
	case "pc":
		r.page = 437
	case "pca":
		r.page = 850
	case "deff":
		r.defaultFont, s.font = t.value, t.value
	default:
		return false
	}
	return true
}

// paragraphWord handles properties of paragraphs.
func (r *reader) paragraphWord(name string, t *token) {
	p := &r.state.paragraph
	switch name {
	case "pard":
		*p = plainParagraph()
	case "s":
		p.style = t.value
	case "li":
		p.indent = t.value
	case "fi":
		p.first = t.value
	case "outlinelevel":
		p.outline = t.value
	case "ls":
		p.list = t.value
	case "ilvl":
		p.level = min(max(t.value, 0), wordmodel.MaxListLevels-1)
	case "intbl":
		p.inTable = t.isOn()
	case "itap":
		p.depth = min(max(t.value, 0), 2)
		p.inTable = p.depth > 0
	case "pagebb":
		p.breaksPage = t.isOn()
	}
}

// numberingWord handles numbering properties of Word 6, which apply to the paragraph.
func (r *reader) numberingWord(name string) {
	if len(r.stack) == 0 {
		return
	}
	p := &r.stack[len(r.stack)-1].paragraph
	switch name {
	case "pnlvlblt":
		p.numbering = 'b'
	case "pnlvlbody", "pnlvlcont", "pndec":
		if p.numbering == 0 {
			p.numbering = 'n'
		}
	}
}

// maxDefinitions is how many cells a row may have.
const maxDefinitions = 1000

// tableDefinition handles the definition of a row.
func (r *reader) tableDefinition(name string, t *token) {
	f := r.state.flow
	if r.state.isNestedRow {
		return
	}
	switch name {
	case "trowd":
		f.definitions, f.definition, f.left, f.isHeader = f.definitions[:0], cellDefinition{}, 0, false
	case "trleft":
		f.left = t.value
	case "trhdr":
		f.isHeader = true
	case "clvmrg":
		f.definition.continuesAbove = true
	case "cellx":
		f.definition.right = t.value
		if len(f.definitions) < maxDefinitions {
			f.definitions = append(f.definitions, f.definition)
		}
		f.definition = cellDefinition{}
	}
}
