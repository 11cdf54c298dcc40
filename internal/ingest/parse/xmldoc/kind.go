package xmldoc

// Kinds of elements in prose, by their names in DocBook 5, DITA 1.3, JATS 1.3, TEI P5, RFC XML and HTML.
const (
	kindBlock = iota // any other element: its content is read
	kindSkipped
	kindInline
	kindSection
	kindTitle
	kindCode
	kindList
	kindTerms
	kindTable
	kindAdmonition
	kindQuote
	kindImage
	kindInfo
	kindFootnote
	kindQuestion
	kindNames
)

// kindOf returns the kind of an element with a name.
func kindOf(name string) int {
	switch name {
	case "indexterm", "colspec", "colgroup", "col", "remark", "comment", "toc", "lot", "index", "processing-instruction", "style", "script", "co", "area",
		"areaspec", "spanspec", "metadata", "object-id", "permissions", "counts", "related-links", "draft-comment", "required-cleanup", "index-base",
		"journal-meta", "publisher-meta", "revhistory", "data", "ditavalmeta", "binary":
		return kindSkipped
	case "title", "heading", "head", "article-title", "h1", "h2", "h3", "h4", "h5", "h6", "bridgehead":
		return kindTitle
	case "book", "part", "chapter", "article", "section", "sect1", "sect2", "sect3", "sect4", "sect5", "simplesect", "sec", "appendix", "preface",
		"dedication", "acknowledgements", "colophon", "refentry", "refsect1", "refsect2", "refsect3", "refsection", "topic", "concept", "task",
		"reference", "troubleshooting", "glossary", "bibliography", "div", "div1", "div2", "div3", "div4", "set", "partintro", "refsynopsisdiv",
		"faq", "app", "ref-list", "ack", "glossgroup", "subsection", "subsubsection":
		return kindSection
	case "programlisting", "screen", "codeblock", "literallayout", "synopsis", "msgblock", "pre", "preformat", "sourcecode", "artwork", "eg", "egxml",
		"codelisting", "listing", "verbatim", "programlistingco", "screenco", "console":
		return kindCode
	case "itemizedlist", "orderedlist", "simplelist", "procedure", "substeps", "stepalternatives", "ul", "ol", "sl", "steps", "steps-unordered",
		"steps-informal", "choices", "list", "calloutlist", "bibliolist":
		return kindList
	case "variablelist", "dl", "def-list", "glosslist", "parml", "deflist", "definition-list":
		return kindTerms
	case "table", "informaltable", "simpletable", "properties", "choicetable", "table-wrap":
		return kindTable
	case "tip", "warning", "caution", "important", "danger", "attention", "admonition", "hazardstatement", "note":
		return kindAdmonition
	case "blockquote", "epigraph", "lq", "disp-quote", "verse-group", "lg", "cit":
		return kindQuote
	case "mediaobject", "inlinemediaobject", "imageobject", "graphic", "inline-graphic", "image", "img", "media", "imagedata", "videoobject",
		"audioobject", "mediaobjectco":
		return kindImage
	case "info", "bookinfo", "articleinfo", "chapterinfo", "sectioninfo", "sect1info", "sect2info", "setinfo", "partinfo", "appendixinfo",
		"prefaceinfo", "refentryinfo", "prolog", "front", "teiheader", "header", "refmeta", "topicmeta", "bookmeta", "title-info", "document-info", "publish-info":
		return kindInfo
	case "footnote", "fn":
		return kindFootnote
	case "qandaentry", "qa":
		return kindQuestion
	case "refnamediv":
		return kindNames
	}
	if isInlineName(name) {
		return kindInline
	}
	return kindBlock
}

// isInlineName reports whether a name is that of an inline element.
func isInlineName(name string) bool {
	switch name {
	case "emphasis", "em", "b", "i", "u", "tt", "bold", "italic", "underline", "strong", "strike", "hi", "sc", "roman", "sans-serif", "monospace", "link",
		"ulink", "olink", "xref", "a", "ref", "ptr", "ext-link", "email", "uri", "code", "literal", "filename", "command", "option", "replaceable", "varname",
		"function", "classname", "methodname", "parameter", "type", "constant", "envar", "userinput", "computeroutput", "systemitem", "tag", "sgmltag",
		"prompt", "keycap", "keycombo", "keysym", "guibutton", "guiicon", "guilabel", "guimenu", "guimenuitem", "guisubmenu", "menuchoice", "mousebutton",
		"application", "package", "productname", "productnumber", "acronym", "abbrev", "firstterm", "glossterm", "foreignphrase", "phrase",
		"quote", "q", "trademark", "wordasword", "markup", "token", "symbol", "errorcode", "errorname", "returnvalue", "structfield", "structname",
		"interface", "interfacename", "exceptionname", "property", "database", "hardware", "medialabel", "anchor", "subscript", "superscript", "sub",
		"sup", "inlineequation", "inline-formula", "mathphrase", "citation", "citetitle", "citerefentry", "refentrytitle", "manvolnum", "cite", "ph",
		"keyword", "codeph", "uicontrol", "menucascade", "cmdname", "filepath", "apiname", "msgnum", "msgph", "parmname", "synph", "sep",
		"systemoutput", "wintitle", "tm", "named-content", "styled-content", "abbr", "span", "small", "kbd", "samp", "var", "br", "lb", "break", "person",
		"personname", "foreign", "mentioned", "socalled", "gloss", "name-inline", "eref", "bcp14", "vspace", "xi", "math",
		"tex-math", "date", "surname", "given-names", "firstname", "year", "month", "day", "pb", "cb", "label", "mixed-citation",
		"element-citation", "nlm-citation":
		return true
	}
	return false
}

// isCodeName reports whether a name is that of an inline element which is shown as code.
func isCodeName(name string) bool {
	switch name {
	case "code", "literal", "filename", "command", "option", "varname", "function", "classname", "methodname", "parameter", "constant", "envar",
		"userinput", "computeroutput", "systemitem", "tag", "sgmltag", "keycap", "keysym", "tt", "monospace", "codeph", "cmdname", "filepath", "apiname",
		"msgph", "parmname", "synph", "systemoutput", "kbd", "samp", "structfield", "structname", "interfacename", "exceptionname", "returnvalue",
		"errorcode", "markup", "token", "prompt", "envvar":
		return true
	}
	return false
}
