package rtf

import "strings"

// destinationWord handles words that set the destination of a group. It is false for others.
func (r *reader) destinationWord(name string, ignorable bool) bool {
	dest := r.state.dest
	if isSkipped(name) {
		r.scanner.skipGroup()
		return true
	}
	if r.openDeeper > 0 {
		// These groups are not kept separate: text that is not the document's is skipped.
		if isSeparate(name) {
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
		r.state.flow.hasMarker, r.state.flow.marker = true, ""
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
		r.state.isNestedRow = true
	default:
		return r.flowWord(name, ignorable) || r.upr(name)
	}
	return true
}

// flowWord handles destinations that contain paragraphs.
func (r *reader) flowWord(name string, ignorable bool) bool {
	s := &r.state
	if s.dest != destText {
		return false
	}
	switch name {
	case "footnote":
		if s.isHidden || s.isDeleted || r.html != nil {
			r.scanner.skipGroup()
			return true
		}
		r.noteCount++
		s.isNoteNumber = true
		r.text(noteNumber(r.noteCount))
		r.enter(flowNote)
		s.flow.number = r.noteCount
	case "annotation":
		if s.isDeleted || r.html != nil {
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
		if s.isDeleted {
			r.scanner.skipGroup()
			return true
		}
		r.enter(flowBox)
	default:
		return ignorable && isTransparent(name)
	}
	return true
}

// upr handles a text with two representations, of which the second is Unicode.
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
	if s.flow.isFramed && s.field.isPageNumber() {
		s.flow.hasPageNumber = true
		s.isHidden = true
	}
}

// endDestination handles the end of a group with a destination.
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

// isSeparate reports whether the text of a destination is not the document's.
func isSeparate(name string) bool {
	switch name {
	case "fonttbl", "stylesheet", "listtable", "listoverridetable", "info", "pict", "sn", "sv", "listtext", "pntext", "pn", "atnauthor",
		"fldinst", "htmltag", "annotation", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		return true
	}
	return false
}

// isSkipped reports whether a destination is left out, even if it is not marked as ignorable.
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

// isTransparent reports whether an ignorable destination is read as if it were not there.
func isTransparent(name string) bool {
	switch name {
	case "ud", "shpinst", "shppict", "picprop", "do", "company", "shpgrp", "result":
		return true
	}
	return strings.HasPrefix(name, "m") && isMath(name)
}

// isKnown reports whether a word has its usual meaning after \*.
func isKnown(name string) bool { return infoKey(name) != "" || isTransparent(name) }

// isMath reports whether a group of a formula contains text.
func isMath(name string) bool {
	switch name {
	case "moMath", "moMathPara", "mr", "mf", "mnum", "mden", "me", "msup", "msub", "msSup", "msSub", "msSubSup", "mrad", "mdeg",
		"md", "mnary", "mfunc", "mfName", "mlim", "mlimLow", "mlimUpp", "macc", "mbar", "mbox", "mborderBox", "mgroupChr", "mm",
		"mmr", "meqArr", "msPre", "mphant":
		return true
	}
	return false
}
