package parse

import (
	"mime"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Supported reports whether a file is worth fetching, judged by its name and media type alone. It is false only if the format
// is certainly not read; the reason is then the one that Parse would give.
func (p *Parser) Supported(name, mediaType string) (reason string, ok bool) {
	if form, found := p.formatOfFileName(name); found {
		if form.isRead() {
			return "", true
		}
		return notSupported(form.name).Reason, false
	}
	if _, found := p.formatOfMediaType(mediaType); found {
		return "", true
	}
	base, _, err := mime.ParseMediaType(mediaType)
	if err == nil && isRefusedMediaType(base) {
		return notSupported(base).Reason, false
	}
	return "", true
}

// ReadsImages reports whether text in images is read, which takes an OCR program.
func (p *Parser) ReadsImages() bool { return p.opt.OCR != nil }

func notSupported(mediaType string) *document.UnsupportedError {
	reason := "format not supported: " + mediaType
	switch mediaType {
	case "image/png", "image/jpeg", "image/tiff", "image/gif", "image/bmp", "image/webp":
		reason += " (text recognition is not there: tesseract is not installed, or switched off)"
	}
	return &document.UnsupportedError{Reason: reason}
}

// isRefusedMediaType reports whether files of a media type that no format has are certainly not text.
func isRefusedMediaType(base string) bool {
	kind, subtype, _ := strings.Cut(base, "/")
	switch kind {
	case "image", "audio", "video", "font":
		return true
	case "application":
		for _, part := range []string{"pdf", "zip", "msword", "ms-", "vnd.openxmlformats", "vnd.oasis", "epub", "rtf", "x-tar",
			"gzip", "x-7z", "x-rar", "java-archive", "x-executable", "wasm", "x-sqlite3", "vnd.rar"} {
			if strings.HasPrefix(subtype, part) || strings.HasPrefix(subtype, "vnd."+part) {
				return true
			}
		}
	}
	return false
}
