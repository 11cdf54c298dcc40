package rtf

import "strings"

// destinationWord handles words that say what the text of the group is for. It is false for others.
func (r *reader) destinationWord(name string, ignorable bool) bool {
	dest := r.state.dest
	if isSkipped(name) {
		r.scanner.skipGroup()
		return true
	}
	if r.deeper > 0 {
		// The groups are not told apart here: a text that is not the document's is left out.
		if isApart(name) {
			r.scanner.skipGroup()
			return true
		}
		return false
	}
	if dest == destInfo || dest == destFonts || dest == destStyles || dest == destLists || dest == destOverrides {
		return name == "ud" || r.upr(name)
	}
	switch name {
	case "fonttbl":
		r.become(destFonts)
		r.font = nil
	case "stylesheet":
		r.become(destStyles)
	case "listtable":
		r.become(destLists)
	case "listoverridetable":
		r.become(destOverrides)
	case "info":
		r.become(destInfo)
	case "pict":
		r.become(destPicture)
	case "sn":
		r.become(destShapeName)
	case "sv":
		r.become(destShapeValue)
	case "sp":
		r.shape = shape{}
	case "listtext", "pntext":
		r.become(destMarker)
		r.state.flow.marked, r.state.flow.marker = true, ""
	case "pn":
		r.become(destNumbering)
	case "atnauthor":
		r.become(destAuthor)
		r.author = ""
	case "field":
		r.state.field = &field{}
	case "fldinst":
		r.become(destInstruction)
		r.state.instruction = r.state.field
	case "fldrslt":
		r.fieldResult()
	case "htmltag":
		if r.html == nil {
			r.scanner.skipGroup()
			return true
		}
		r.become(destHTMLTag)
	case "nesttableprops":
		r.state.nested = true
	default:
		return r.flowWord(name, ignorable) || r.upr(name)
	}
	return true
}

// flowWord handles destinations with paragraphs of their own.
func (r *reader) flowWord(name string, ignorable bool) bool {
	s := &r.state
	if s.dest != destText {
		return false
	}
	switch name {
	case "footnote":
		if s.hidden || s.deleted || r.html != nil {
			r.scanner.skipGroup()
			return true
		}
		r.noted++
		s.reference = true
		r.text(noteNumber(r.noted))
		r.enter(flowNote)
		s.flow.number = r.noted
	case "annotation":
		if s.deleted || r.html != nil {
			r.scanner.skipGroup()
			return true
		}
		r.enter(flowComment)
	case "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		if r.html != nil {
			r.scanner.skipGroup()
			return true
		}
		r.enter(flowHeader)
	case "shptxt", "dptxbxtext":
		if s.deleted {
			r.scanner.skipGroup()
			return true
		}
		r.enter(flowBox)
	default:
		return ignorable && isPassed(name)
	}
	return true
}

// upr handles a text that stands twice, the second time in Unicode.
func (r *reader) upr(name string) bool {
	if name != "upr" {
		return false
	}
	if t := r.scanner.next(); t.kind == tokenOpen {
		r.scanner.skipGroup()
		r.scanner.next()
	}
	return true
}

func (r *reader) fieldResult() {
	s := &r.state
	if s.field == nil {
		return
	}
	r.flush()
	if link := s.field.link(); link != "" {
		s.link = link
	}
	if s.flow.framed && s.field.isPageNumber() {
		s.flow.paged = true
		s.hidden = true
	}
}

// endDestination takes in what a group held that was for another kind of text.
func (r *reader) endDestination(closed *state) {
	if closed.flow != r.state.flow {
		r.leave(closed.flow)
		return
	}
	switch closed.dest {
	case destStyle:
		r.keepStyle()
	case destInfoText, destInfoTime:
		r.info.keep(closed.dest)
	case destShapeValue:
		r.describe()
	case destText, destFonts, destStyles, destLists, destOverrides, destInfo, destInstruction, destMarker, destNumbering, destAuthor,
		destPicture, destShapeName, destHTMLTag:
	}
}

// isApart reports destinations whose text is not the document's.
func isApart(name string) bool {
	switch name {
	case "fonttbl", "stylesheet", "listtable", "listoverridetable", "info", "pict", "sn", "sv", "listtext", "pntext", "pn", "atnauthor",
		"fldinst", "htmltag", "annotation", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		return true
	}
	return false
}

// isSkipped reports destinations that are left out whether or not they are marked as ignorable.
func isSkipped(name string) bool {
	switch name {
	case "colortbl", "filetbl", "themedata", "colorschememapping", "datastore", "latentstyles", "rsidtbl", "generator", "xmlnstbl",
		"revtbl", "private", "nextfile", "template", "tc", "tcn", "xe", "rxe", "bkmkstart", "bkmkend", "objdata", "objclass", "objname",
		"objalias", "objsect", "objtopic", "objitem", "datafield", "formfield", "panose", "falt", "fontemb", "fontfile", "levelnumbers",
		"leveltext", "listname", "liststylename", "listpicture", "nonshppict", "shprslt", "pnseclvl", "ftnsep", "ftnsepc", "ftncn",
		"aftnsep", "aftnsepc", "aftncn", "background", "mmathPr", "mmathPict", "atnref", "atndate", "atntime", "atnid", "atnicn",
		"atnparent", "atrfstart", "atrfend", "passwordhash", "protusertbl", "userprops", "docvar", "wgrffmtfilter", "nonesttables",
		"mhtmltag", "svb", "pgdscno", "pgdsctbl", "mailmerge", "keycode", "gridtbl", "blipuid", "bliptag", "pntxta", "pntxtb",
		"NeXTGraphic":
		return true
	}
	return false
}

// isPassed reports ignorable destinations whose text is read as if they were not there.
func isPassed(name string) bool {
	switch name {
	case "ud", "shpinst", "shppict", "picprop", "do", "company", "shpgrp", "result":
		return true
	}
	return strings.HasPrefix(name, "m") && isMath(name)
}

// isKnown reports words that may stand behind \* and mean what they mean elsewhere.
func isKnown(name string) bool { return infoKey(name) != "" || isPassed(name) }

// isMath reports the groups of formulas that have text in them.
func isMath(name string) bool {
	switch name {
	case "moMath", "moMathPara", "mr", "mf", "mnum", "mden", "me", "msup", "msub", "msSup", "msSub", "msSubSup", "mrad", "mdeg",
		"md", "mnary", "mfunc", "mfName", "mlim", "mlimLow", "mlimUpp", "macc", "mbar", "mbox", "mborderBox", "mgroupChr", "mm",
		"mmr", "meqArr", "msPre", "mphant":
		return true
	}
	return false
}
