package parse

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// headBytes is how much of a file is looked at to tell what it is.
const headBytes = 8 << 10

// identify decides the format: by what the content surely is, then by extension, media type, and content again.
func (p *Parser) identify(name, mediaType string, content []byte) (format, error) {
	named, isNamed := p.formatByExtension(name)
	if kind := signature(content); kind != "" {
		return p.signed(kind, named, isNamed, extensionOf(name))
	}
	head := content[:min(len(content), headBytes)]
	refused := refusedExtension(extensionOf(name))
	switch {
	case isBinary(head) && isNamed && named.open != nil:
		return named, nil // whose reader says what is wrong with it
	case isBinary(head) && refused != "":
		return format{}, &document.UnsupportedError{Reason: notSupported(refused)}
	case isBinary(head):
		return format{}, &document.UnsupportedError{Reason: "binary content"}
	case isNamed && named.open != nil && named.strict && !looksLikeHTML(head):
		return named, nil
	case isNamed && (named.open == nil || named.textual):
		return named, nil
	}
	if reason, ok := p.Supported(name, mediaType); !ok {
		return format{}, &document.UnsupportedError{Reason: reason}
	}
	if form, found := p.formatByMediaType(mediaType); found && (form.open == nil || form.textual) && form.name != "text" {
		return form, nil
	}
	if looksLikeHTML(head) {
		return htmlFormat(), nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))), []byte("<?xml")) {
		return xmlFormat(), nil
	}
	if looksLikeMail(head) {
		if form, found := p.binary("eml"); found {
			return form, nil
		}
	}
	return textFormat(), nil
}

func looksLikeHTML(head []byte) bool {
	return strings.HasPrefix(http.DetectContentType(head), "text/html")
}

// looksLikeMail reports the header of a mail: lines of "Name: value", among them two that mails have.
func looksLikeMail(head []byte) bool {
	header, _, found := bytes.Cut(bytes.ReplaceAll(head, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	if !found {
		return false
	}
	marks := 0
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
			marks++
		}
	}
	return marks >= 2
}

// signed returns the format that the beginning of a file tells. Archives of one kind may be formats that only the
// extension tells apart.
func (p *Parser) signed(kind string, named format, isNamed bool, extension string) (format, error) {
	switch kind {
	case "encrypted":
		return format{}, &document.EncryptedError{Format: "Office document"}
	case "zip", "ole":
		if isNamed && named.open != nil {
			return named, nil
		}
		if refused := refusedExtension(extension); refused != "" {
			return format{}, &document.UnsupportedError{Reason: notSupported(refused)}
		}
	}
	if form, found := p.binary(kind); found {
		return form, nil
	}
	if kind == "ole" {
		kind = "application/x-ole-storage"
	}
	return format{}, &document.UnsupportedError{Reason: notSupported(kind)}
}

// isBinary reports content that is no text in any encoding that is read.
func isBinary(head []byte) bool {
	if _, size := byteOrderMark(head); size > 0 {
		return false
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return guessWide(head) == ""
	}
	controls := 0
	for _, b := range head {
		if b < 0x20 && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1B && b != '\b' {
			controls++
		}
	}
	return controls*20 > len(head)
}
