package parse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/internal/ingest/document"
	"magpie/internal/ingest/parse/xmlscan"
)

// readXML reads XML. Feeds become their entries, pictures their titles, lists of addresses lists; documents of a known
// kind (DocBook, DITA, JATS, TEI), and of any kind whose text stands for the most part in elements that are named like
// paragraphs and titles, become prose. All other XML is data and stays code, so that attributes are not lost.
func readXML(ctx context.Context, r request) (*document.Draft, error) {
	survey, err := surveyXML(ctx, r.text)
	var syntax *xmlscan.SyntaxError
	if errors.As(err, &syntax) {
		found, codeErr := readCode(ctx, xmlAsCode(r))
		if codeErr != nil {
			return nil, codeErr
		}
		found.Extra["structure_error"] = document.Truncate(syntax.Error(), 200)
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	switch {
	case survey.root == "html":
		return readHTML(ctx, r)
	case survey.root == "rss", survey.root == "feed", survey.root == "RDF" && survey.items > 0:
		return readFeed(ctx, r)
	case survey.isProse(), survey.root == "svg", survey.root == "urlset", survey.root == "sitemapindex", survey.root == "opml":
		w := xmlWriter{ctx: ctx, scanner: xmlscan.New(strings.NewReader(r.text)), anchors: make(document.Anchors)}
		if err := w.document(); err != nil {
			return nil, err
		}
		if len(w.blocks) > 0 {
			return &document.Draft{Blocks: w.blocks, Meta: w.meta, Language: w.language, Prose: true, DocType: "document"}, nil
		}
	}
	return readCode(ctx, xmlAsCode(r))
}

// xmlAsCode is a request that reads XML as data.
func xmlAsCode(r request) request {
	r.format.language, r.format.docType = "xml", "config"
	return r
}

// xmlSurvey is what one pass over a document tells of its kind.
type xmlSurvey struct {
	root         string
	prose, other int // letters in elements named like paragraphs and titles, and in others
	items        int // elements named item
}

// isProse reports documents that are mostly paragraphs.
func (s *xmlSurvey) isProse() bool { return s.prose > 40 && s.prose > 2*s.other }

func surveyXML(ctx context.Context, text string) (*xmlSurvey, error) {
	s := &xmlSurvey{}
	scanner := xmlscan.New(strings.NewReader(text))
	within := 0 // depth of the outermost element of prose, 0 outside
	for step := 0; ; step++ {
		if step%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("parse XML: %w", ctx.Err())
		}
		kind, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err // the caller tells syntax errors apart
		}
		switch kind {
		case xmlscan.Start:
			if s.root == "" {
				s.root = scanner.Name()
			}
			if scanner.Name() == "item" {
				s.items++
			}
			if role := xmlRole(scanner.Name()); within == 0 && (role == xmlParagraph || role == xmlTitle || role == xmlCode) {
				within = scanner.Depth()
			}
		case xmlscan.End:
			if scanner.Depth() < within {
				within = 0
			}
		case xmlscan.Text:
			if n := len(strings.TrimSpace(scanner.Text())); within > 0 {
				s.prose += n
			} else {
				s.other += n
			}
		}
	}
}

// role is what elements of a name are in the document formats that this reader knows by their common words.
type role uint8

const (
	xmlOther role = iota
	xmlSection
	xmlTitle
	xmlParagraph
	xmlList
	xmlItem
	xmlTable
	xmlRow
	xmlCell
	xmlCode
	xmlQuote
	xmlMeta // said of the document, no text of it
	xmlSkip
)

func xmlRole(name string) role {
	switch strings.ToLower(name) {
	case "section", "sect1", "sect2", "sect3", "sect4", "sect5", "simplesect", "chapter", "appendix", "part", "preface", "sec", "topic", "concept", "task",
		"reference", "glossary", "refsect1", "refsect2", "refsect3", "refsection", "refsynopsisdiv", "glossentry", "div", "div1", "div2", "div3":
		return xmlSection
	case "title", "subtitle", "head", "heading", "refname", "article-title", "glossterm", "bridgehead":
		return xmlTitle
	case "para", "p", "simpara", "formalpara", "shortdesc", "refpurpose", "paragraph", "desc", "abstract", "caption", "l", "note", "tip", "warning",
		"caution", "important", "term", "dt", "dd", "cmd", "info", "result", "stepresult", "line", "verse", "subject", "text", "outline", "loc":
		return xmlParagraph
	case "itemizedlist", "orderedlist", "variablelist", "simplelist", "ul", "ol", "sl", "list", "steps", "procedure", "steps-unordered", "dl", "segmentedlist":
		return xmlList
	case "listitem", "li", "list-item", "step", "member", "varlistentry", "sli", "dlentry", "substep":
		return xmlItem
	case "table", "informaltable", "simpletable":
		return xmlTable
	case "row", "tr", "strow", "sthead":
		return xmlRow
	case "entry", "td", "th", "stentry", "cell":
		return xmlCell
	case "programlisting", "screen", "codeblock", "literallayout", "pre", "synopsis", "cmdsynopsis", "funcsynopsis", "msgblock", "code-block", "preformat":
		return xmlCode
	case "blockquote", "epigraph", "lq", "disp-quote", "cit":
		return xmlQuote
	case "articleinfo", "bookinfo", "chapterinfo", "sectioninfo", "refentryinfo", "prolog", "front", "teiheader", "metadata":
		return xmlMeta
	case "indexterm", "index", "toc", "style", "script", "defs", "remark", "comment":
		return xmlSkip
	}
	return xmlOther
}
