package parse

import (
	"mime"
	"strings"
)

// Supported tells from name and media type alone whether it is worth fetching a file: false, with the reason that Parse
// would give, only where it is sure that the format is not read.
func (p *Parser) Supported(name, mediaType string) (reason string, ok bool) {
	if _, found := p.formatByExtension(name); found {
		return "", true
	}
	if refused := refusedExtension(extensionOf(name)); refused != "" {
		return notSupported(refused), false
	}
	if _, found := p.formatByMediaType(mediaType); found {
		return "", true
	}
	base, _, err := mime.ParseMediaType(mediaType)
	if err == nil && refusedMediaType(base) {
		return notSupported(base), false
	}
	return "", true
}

func notSupported(mediaType string) string {
	switch mediaType {
	case "image/png", "image/jpeg", "image/tiff", "image/gif", "image/bmp", "image/webp":
		return "format not supported: " + mediaType + " (text recognition is not there: tesseract is not installed, or switched off)"
	}
	return "format not supported: " + mediaType
}

func refusedMediaType(base string) bool {
	kind, rest, _ := strings.Cut(base, "/")
	switch kind {
	case "image", "audio", "video", "font":
		return true
	case "application":
		for _, part := range []string{"pdf", "zip", "msword", "ms-", "vnd.openxmlformats", "vnd.oasis", "epub", "rtf", "x-tar",
			"gzip", "x-7z", "x-rar", "java-archive", "x-executable", "wasm", "x-sqlite3", "vnd.rar"} {
			if strings.HasPrefix(rest, part) || strings.HasPrefix(rest, "vnd."+part) {
				return true
			}
		}
	}
	return false
}

// refusedExtension returns the media type of files that are surely not read, "" for others.
func refusedExtension(extension string) string {
	switch extension {
	case "pdf", "zip", "rtf", "wasm":
		return "application/" + extension
	case "doc", "dot":
		return "application/msword"
	case "xls", "xlt":
		return "application/vnd.ms-excel"
	case "ppt", "pps":
		return "application/vnd.ms-powerpoint"
	case "docx", "docm", "dotx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case "xlsx", "xlsm", "xltx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case "pptx", "pptm", "ppsx":
		return "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	case "odt":
		return "application/vnd.oasis.opendocument.text"
	case "ods":
		return "application/vnd.oasis.opendocument.spreadsheet"
	case "odp":
		return "application/vnd.oasis.opendocument.presentation"
	case "epub":
		return "application/epub+zip"
	case "msg":
		return "application/vnd.ms-outlook"
	case "eml", "mbox":
		return "message/rfc822"
	case "gz", "tgz":
		return "application/gzip"
	case "tar", "7z", "rar", "bz2", "xz", "zst", "jar", "war", "iso", "dmg", "pkg", "deb", "rpm", "apk", "msi", "cab":
		return "application/x-" + extension
	case "exe", "dll", "so", "dylib", "o", "a", "class", "pyc", "bin", "elf", "obj", "lib":
		return "application/octet-stream"
	case "png", "gif", "webp", "bmp", "tiff", "heic", "avif", "ico", "psd":
		return "image/" + extension
	case "jpg", "jpeg":
		return "image/jpeg"
	case "tif":
		return "image/tiff"
	case "mp3", "wav", "ogg", "flac", "aac", "m4a", "wma", "opus":
		return "audio/" + extension
	case "mp4", "avi", "mov", "mkv", "webm", "wmv", "m4v", "mpg", "mpeg":
		return "video/" + extension
	case "ttf", "otf", "woff", "woff2", "eot":
		return "font/" + extension
	case "sqlite", "db", "mdb", "parquet", "avro", "pb", "pickle", "npy":
		return "application/x-" + extension
	}
	return ""
}

// ReadsImages reports whether text in images is read: whether there is a program for it.
func (p *Parser) ReadsImages() bool { return p.opt.OCR != nil }
