package parse

import (
	"bytes"
	"net/http"
	"strings"
)

// headBytes is how much of a file is looked at to tell what it is.
const headBytes = 8 << 10

// identify decides the format: by what the content surely is, then by extension, media type, and content again.
func identify(in Input) (format, error) {
	head := in.Content[:min(len(in.Content), headBytes)]
	if refused := signature(head); refused != "" {
		// Office files are archives or OLE storages of one kind: the extension says which.
		if named := refusedExtension(extensionOf(in.Name)); named != "" && (refused == "application/zip" || refused == "application/x-ole-storage") {
			refused = named
		}
		return format{}, &UnsupportedError{Reason: notSupported(refused)}
	}
	if isBinary(head) {
		if refused := refusedExtension(extensionOf(in.Name)); refused != "" {
			return format{}, &UnsupportedError{Reason: notSupported(refused)}
		}
		return format{}, &UnsupportedError{Reason: "binary content"}
	}
	if form, found := formatByExtension(in.Name); found {
		return form, nil
	}
	if reason, ok := Supported(in.Name, in.MediaType); !ok {
		return format{}, &UnsupportedError{Reason: reason}
	}
	if form, found := formatByMediaType(in.MediaType); found && form.name != "text" {
		return form, nil
	}
	if strings.HasPrefix(http.DetectContentType(head), "text/html") {
		return htmlFormat(), nil
	}
	return textFormat(), nil
}

// signature returns the media type of a file that begins as formats do that are not read, "" for others.
func signature(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("{\\rtf")):
		return "application/rtf"
	case bytes.HasPrefix(head, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")):
		return "application/x-ole-storage"
	case bytes.HasPrefix(head, []byte("\x7FELF")):
		return "application/x-executable"
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return "application/x-sqlite3"
	case bytes.HasPrefix(head, []byte("7z\xBC\xAF\x27\x1C")):
		return "application/x-7z-compressed"
	case bytes.HasPrefix(head, []byte("MZ")) && bytes.IndexByte(head, 0) >= 0:
		return "application/x-msdownload"
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")) && !startsAsText(head):
		return "application/pdf"
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

// isBinary reports content that is no text in any encoding that is read.
func isBinary(head []byte) bool {
	if _, size := byteOrderMark(head); size > 0 {
		return false
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return guessUTF16(head) == ""
	}
	controls := 0
	for _, b := range head {
		if b < 0x20 && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1B && b != '\b' {
			controls++
		}
	}
	return controls*20 > len(head)
}
