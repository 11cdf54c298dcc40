package rtf

import (
	"strconv"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

func noteNumber(n int) string { return "[" + strconv.Itoa(n) + "]" }

// word handles a control word. One that is ignorable opens a group to be left out by those that do not know it.
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
	if name == "u" && t.given {
		r.unicode(t.value)
		return
	}
	r.skip = 0
	if r.destinationWord(name, ignorable) {
		return
	}
	if ignorable && !isKnown(name) {
		r.style.other = true // where it is one: of characters or tables
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

// specialText returns the text of words that stand for a character.
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

// special handles words that end something.
func (r *reader) special(name string) {
	f := r.state.flow
	switch name {
	case "par":
		if r.state.deleted {
			return // the end of the paragraph is deleted: the next one goes on with it
		}
		r.endParagraph(f)
	case "sect":
		r.flush()
		if !f.line.IsBlank() {
			r.endParagraph(f)
		}
		r.section = f == r.root
	case "sbknone", "sbkcol":
		r.section = false
	case "page", "softpage":
		r.flush()
		if f == r.root && !r.state.hidden && !r.state.deleted {
			r.breaks++
			if f.line.IsBlank() {
				f.page = r.breaks + 1
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
		f.paged = f.framed
	}
}

// characterWord handles properties of text.
func (r *reader) characterWord(name string, t *token) bool {
	s := &r.state
	switch name {
	case "plain":
		s.font, s.otherFont, s.rightToLeft = r.defaultFont, -1, false
		s.bold, s.italic, s.hidden, s.deleted, s.reference = false, false, false, false, false
	case "f":
		s.font = t.value
	case "af":
		s.otherFont = t.value
	case "rtlch":
		s.rightToLeft = true
	case "ltrch":
		s.rightToLeft = false
	case "b":
		s.bold = t.on()
	case "i":
		s.italic = t.on()
	case "v":
		s.hidden = t.on()
	case "deleted":
		s.deleted = t.on()
	case "uc":
		s.fallback = min(max(t.value, 0), 8)
	case "htmlrtf":
		r.flush()
		s.htmlHidden = t.on()
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
		p.inTable = t.on()
	case "itap":
		p.depth = min(max(t.value, 0), 2)
		p.inTable = p.depth > 0
	case "pagebb":
		p.breaks = t.on()
	}
}

// numberingWord handles the properties of numbers in files of before 1997, which are the paragraph's.
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

// maxDefinitions is how many cells a row may be defined to have.
const maxDefinitions = 1000

// tableDefinition handles the definition of a row.
func (r *reader) tableDefinition(name string, t *token) {
	f := r.state.flow
	if r.state.nested {
		return
	}
	switch name {
	case "trowd":
		f.definitions, f.definition, f.left, f.header = f.definitions[:0], cellDefinition{}, 0, false
	case "trleft":
		f.left = t.value
	case "trhdr":
		f.header = true
	case "clvmrg":
		f.definition.below = true
	case "cellx":
		f.definition.right = t.value
		if len(f.definitions) < maxDefinitions {
			f.definitions = append(f.definitions, f.definition)
		}
		f.definition = cellDefinition{}
	}
}
