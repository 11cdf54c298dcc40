package parse

import (
	"context"
	"mime"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// format is a row of the table of formats: how files of a format are recognised, and how they are read. Lists are separated
// by blanks and in lower case.
type format struct {
	// name is the short name that documents have as their format. For a format that is not read it is the media type.
	name string
	// language is that of source code and configuration, docType the type of documents of the format, "" for prose.
	language, docType string

	// extensions, fileNames and mediaTypes identify the format where the content does not.
	extensions, fileNames, mediaTypes string
	// signature reports whether the beginning of a file is that of the format. Formats inside a container have no signature of
	// their own: streams lists streams of an OLE compound file, zipEntry is an entry of an Office file, and zipType begins the
	// entry "mimetype" of a ZIP archive.
	signature func(head []byte) bool
	streams   []string
	zipEntry  string
	zipType   string

	// readText reads a text format, read any other. Both are nil for a format that is not read.
	readText func(context.Context, document.Text) (*document.Draft, error)
	read     func(context.Context, document.Source) (*document.Draft, error)

	// strict is set if a file with an extension of the format is damaged when it is plain text. For others the content decides.
	strict bool
	// textual is set for a format with read whose files are text, such as mails.
	textual bool
	// maxLines is how many lines a text may have: 0 stands for compose.MaxLines. maxTags is how many tags it may have, 0 for any
	// number.
	maxLines, maxTags int
}

// unlimited is maxLines of a format whose reader bounds its own work.
const unlimited = -1

// isRead reports whether there is a reader for the format.
func (f *format) isRead() bool { return f.readText != nil || f.read != nil }

// find returns the first format for which match is true.
func (p *Parser) find(match func(*format) bool) (format, bool) {
	for i := range p.table {
		if match(&p.table[i]) {
			return p.table[i], true
		}
	}
	return format{}, false
}

// formatNamed returns the format with a short name.
func (p *Parser) formatNamed(name string) (format, bool) {
	return p.find(func(f *format) bool { return f.name == name })
}

// formatOfFileName returns the format of a file name, which may be one that is not read.
func (p *Parser) formatOfFileName(name string) (format, bool) {
	base, extension := strings.ToLower(document.BaseName(name)), document.Extension(name)
	if form, found := p.find(func(f *format) bool { return hasWord(f.fileNames, base) }); found {
		return form, true
	}
	return p.find(func(f *format) bool { return hasWord(f.extensions, extension) })
}

// formatOfMediaType returns the format of a media type that is read.
func (p *Parser) formatOfMediaType(mediaType string) (format, bool) {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return format{}, false
	}
	if form, found := p.find(func(f *format) bool { return f.isRead() && hasWord(f.mediaTypes, base) }); found {
		return form, true
	}
	switch {
	case strings.HasSuffix(base, "+json"):
		return p.formatNamed("json")
	case strings.HasSuffix(base, "+xml"):
		return p.formatNamed("xml")
	}
	return format{}, false
}

// hasWord reports whether a list contains a word. The empty word is in no list.
func hasWord(list, word string) bool {
	for start := 0; word != ""; {
		at := strings.Index(list[start:], word)
		if at < 0 {
			return false
		}
		at += start
		start = at + len(word)
		if (at == 0 || list[at-1] == ' ') && (start == len(list) || list[start] == ' ') {
			return true
		}
	}
	return false
}
