package parse

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

// signature returns the format of a file that begins as binary formats do, "" for others. Formats that are read have a
// short name, others their media type.
func signature(content []byte) string {
	head := content[:min(len(content), headBytes)]
	switch {
	case bytes.HasPrefix(head, []byte("{\\rtf")):
		return "rtf"
	case bytes.HasPrefix(head, []byte(cfb.Magic)):
		return compoundFormat(content)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return zipFormat(content)
	case bytes.HasPrefix(head, []byte("\x1F\x8B\x08")):
		return "gzip"
	case bytes.HasPrefix(head, []byte("BZh")) && isBinary(head):
		return "bzip2"
	case len(head) > 264 && (string(head[257:265]) == "ustar\x0000" || string(head[257:265]) == "ustar  \x00"):
		return "tar"
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")) && !startsAsText(head):
		return "pdf"
	case bytes.HasPrefix(head, []byte("II*\x00")), bytes.HasPrefix(head, []byte("MM\x00*")):
		return "image/tiff"
	case bytes.HasPrefix(head, []byte("\x7FELF")):
		return "application/x-executable"
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return "application/x-sqlite3"
	case bytes.HasPrefix(head, []byte("7z\xBC\xAF\x27\x1C")):
		return "application/x-7z-compressed"
	case bytes.HasPrefix(head, []byte("\xFD7zXZ\x00")):
		return "application/x-xz"
	case bytes.HasPrefix(head, []byte("\x28\xB5\x2F\xFD")):
		return "application/zstd"
	case bytes.HasPrefix(head, []byte("MZ")) && bytes.IndexByte(head, 0) >= 0:
		return "application/x-msdownload"
	}
	detected, _, _ := strings.Cut(http.DetectContentType(head), ";")
	switch {
	case strings.HasPrefix(detected, "text/"), detected == "application/octet-stream":
		return ""
	case detected != "application/postscript" && !isBinary(head):
		return "" // some signatures are two or three letters that text may begin with
	}
	return detected
}

// startsAsText reports whether the first line is text that only speaks of the PDF signature.
func startsAsText(head []byte) bool {
	at := bytes.Index(head, []byte("%PDF-"))
	return at > 0 && !isBinary(head)
}

// zipFormat tells what a zip archive is by the names of its members.
func zipFormat(content []byte) string {
	limits := document.Limits{}
	archive, err := zipfile.Open(content, "zip archive", limits, document.NewBudget(limits))
	if err != nil {
		return "zip"
	}
	if kind, err := archive.Read("mimetype"); err == nil && len(kind) < 200 {
		switch kind := strings.TrimSpace(string(kind)); {
		case kind == "application/epub+zip":
			return "epub"
		case strings.HasPrefix(kind, "application/vnd.oasis.opendocument.text"):
			return "odt"
		case strings.HasPrefix(kind, "application/vnd.oasis.opendocument.spreadsheet"):
			return "ods"
		case strings.HasPrefix(kind, "application/vnd.oasis.opendocument.presentation"):
			return "odp"
		case strings.HasPrefix(kind, "application/vnd.oasis.opendocument."):
			return kind
		}
	}
	switch {
	case !archive.Has("[Content_Types].xml") && !archive.Has("_rels/.rels"):
		return "zip"
	case archive.Has("word/document.xml"):
		return "docx"
	case archive.Has("ppt/presentation.xml"):
		return "pptx"
	case archive.Has("xl/workbook.xml"):
		return "xlsx"
	case archive.Has("xl/workbook.bin"):
		return "application/vnd.ms-excel.sheet.binary.macroenabled.12"
	}
	for _, file := range archive.Files() {
		folder, _, _ := strings.Cut(strings.TrimLeft(strings.ToLower(file.Name), "/"), "/")
		switch folder {
		case "word":
			return "docx"
		case "ppt":
			return "pptx"
		case "xl":
			return "xlsx"
		}
	}
	return "zip"
}

// compoundFormat tells what an OLE compound file is by the names of its streams, "ole" where they tell nothing.
func compoundFormat(content []byte) string {
	file, err := cfb.Open(content, "file", document.NewBudget(document.Limits{}))
	if err != nil {
		return "ole"
	}
	for name, format := range map[string]string{
		"EncryptedPackage": "encrypted", "WordDocument": "doc", "PowerPoint Document": "ppt", "Workbook": "xls", "Book": "xls",
		"__properties_version1.0": "msg",
	} {
		if _, found := file.Stream(name); found {
			return format
		}
	}
	return "ole"
}
