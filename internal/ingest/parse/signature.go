package parse

import (
	"bytes"
	"net/http"
	"path"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

// signature returns the format of a file that begins like one of a binary format. The format may be one that is not read.
func (p *Parser) signature(content []byte) (format, bool) {
	head := content[:min(len(content), headBytes)]
	form, found := p.find(func(f *format) bool { return f.signature != nil && f.signature(head) })
	switch {
	case found && form.name == "ole":
		return p.compoundFormat(content, form), true
	case found && form.name == "zip":
		return p.zipFormat(content, form), true
	case found:
		return form, true
	}
	detected, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case strings.HasPrefix(detected, "text/"), detected == "application/octet-stream":
		return format{}, false
	case detected != "application/postscript" && !charset.IsBinary(head):
		return format{}, false // some signatures are two or three letters, with which a text may begin
	}
	if form, found := p.find(func(f *format) bool { return hasWord(f.mediaTypes, detected) }); found {
		return form, true
	}
	return format{name: detected}, true
}

// prefix returns a signature that matches content with one of several beginnings.
func prefix(beginnings ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, beginning := range beginnings {
			if len(head) >= len(beginning) && string(head[:len(beginning)]) == beginning {
				return true
			}
		}
		return false
	}
}

func isBzip2(head []byte) bool {
	return bytes.HasPrefix(head, []byte("BZh")) && charset.IsBinary(head)
}

func isTar(head []byte) bool {
	const at = 257
	return bytes.HasPrefix(head[min(at, len(head)):], []byte("ustar\x0000")) || bytes.HasPrefix(head[min(at, len(head)):], []byte("ustar  \x00"))
}

func isWindowsProgram(head []byte) bool {
	return bytes.HasPrefix(head, []byte("MZ")) && bytes.IndexByte(head, 0) >= 0
}

// isPDF reports whether the signature of PDF is within the first kilobyte. A text may mention it, but not at its very start.
func isPDF(head []byte) bool {
	at := bytes.Index(head[:min(len(head), 1024)], []byte("%PDF-"))
	return at == 0 || at > 0 && charset.IsBinary(head)
}

// zipFormat returns the format of a ZIP archive by the names of its entries.
func (p *Parser) zipFormat(content []byte, plain format) format {
	const maxType = 200
	limits := document.Limits{}
	archive, err := zipfile.Open(content, "zip archive", limits, document.NewBudget(limits))
	if err != nil {
		return plain
	}
	if mimetype, err := archive.Read("mimetype"); err == nil && len(mimetype) < maxType {
		kind := strings.TrimSpace(string(mimetype))
		if form, found := p.find(func(f *format) bool { return f.zipType != "" && strings.HasPrefix(kind, f.zipType) }); found {
			return form
		}
		if strings.HasPrefix(kind, "application/vnd.oasis.opendocument.") {
			return format{name: kind}
		}
	}
	if !archive.Has("[Content_Types].xml") && !archive.Has("_rels/.rels") {
		return plain
	}
	if form, found := p.find(func(f *format) bool { return f.zipEntry != "" && archive.Has(f.zipEntry) }); found {
		return form
	}
	for _, file := range archive.Files() {
		folder, _, _ := strings.Cut(strings.TrimLeft(strings.ToLower(file.Name), "/"), "/")
		if form, found := p.find(func(f *format) bool { return f.zipEntry != "" && path.Dir(f.zipEntry) == folder }); found {
			return form
		}
	}
	return plain
}

// compoundFormat returns the format of an OLE compound file by the names of its streams.
func (p *Parser) compoundFormat(content []byte, plain format) format {
	file, err := cfb.Open(content, "file", document.NewBudget(document.Limits{}))
	if err != nil {
		return plain
	}
	if _, found := file.Stream("EncryptedPackage"); found {
		return format{name: encryptedName}
	}
	form, found := p.find(func(f *format) bool {
		for _, name := range f.streams {
			if _, found := file.Stream(name); found {
				return true
			}
		}
		return false
	})
	if !found {
		return plain
	}
	return form
}

// encryptedName is the name of the format of Office files that need a password.
const encryptedName = "encrypted"
