package parse

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
)

// headBytes is how much of a file is examined to identify its format.
const headBytes = 8 << 10

// identify returns the format of a file: by its signature, then by its extension, its media type, and finally by what its text
// looks like. The error is a *document.UnsupportedError or a *document.EncryptedError.
func (p *Parser) identify(name, mediaType string, content []byte) (format, error) {
	named, isNamed := p.formatOfFileName(name)
	if signed, found := p.signature(content); found {
		return p.resolve(signed, named)
	}
	head := content[:min(len(content), headBytes)]
	switch {
	case charset.IsBinary(head) && named.read != nil:
		return named, nil // the reader reports what is wrong with the file
	case charset.IsBinary(head) && isNamed && !named.isRead():
		return format{}, notSupported(named.name)
	case charset.IsBinary(head):
		return format{}, &document.UnsupportedError{Reason: "binary content"}
	case named.read != nil && named.strict && !looksLikeHTML(head):
		return named, nil
	case named.readText != nil || named.textual:
		return named, nil
	}
	if reason, ok := p.Supported(name, mediaType); !ok {
		return format{}, &document.UnsupportedError{Reason: reason}
	}
	if form, found := p.formatOfMediaType(mediaType); found && (form.readText != nil || form.textual) && form.name != "text" {
		return form, nil
	}
	guess := "text"
	switch {
	case looksLikeHTML(head):
		guess = "html"
	case bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))), []byte("<?xml")):
		guess = "xml"
	case looksLikeMail(head):
		guess = "eml"
	}
	form, _ := p.formatNamed(guess)
	return form, nil
}

// resolve returns the format of a file from its signature and its name. The name decides between formats that are plain
// archives or compound files.
func (p *Parser) resolve(signed, named format) (format, error) {
	switch signed.name {
	case encryptedName:
		return format{}, &document.EncryptedError{Format: "Office document"}
	case "zip", "ole":
		if named.read != nil {
			return named, nil
		}
		if named.name != "" && !named.isRead() {
			return format{}, notSupported(named.name)
		}
	}
	switch {
	case signed.isRead():
		return signed, nil
	case signed.name == "ole":
		return format{}, notSupported("application/x-ole-storage")
	}
	return format{}, notSupported(signed.name)
}

func looksLikeHTML(head []byte) bool {
	return strings.HasPrefix(http.DetectContentType(head), "text/html")
}

// looksLikeMail reports whether a text begins with lines "Name: value", at least two of which are header fields of mails.
func looksLikeMail(head []byte) bool {
	header, _, found := bytes.Cut(bytes.ReplaceAll(head, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	if !found {
		return false
	}
	fields := 0
	for line := range bytes.Lines(header) {
		if line[0] == ' ' || line[0] == '\t' {
			continue
		}
		name, _, found := bytes.Cut(line, []byte(":"))
		if !found || bytes.ContainsAny(name, " \t") {
			return false
		}
		switch strings.ToLower(string(name)) {
		case "from", "received", "return-path", "message-id", "mime-version", "delivered-to":
			fields++
		}
	}
	return fields >= 2
}
