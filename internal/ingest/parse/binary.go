package parse

import (
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/ingest/parse/epub"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
	"github.com/magpie-search/magpie/internal/ingest/parse/ole"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

// binary returns the reader of a binary format, or of a mail, by its short name.
func (p *Parser) binary(name string) (format, bool) {
	form := format{name: name}
	switch name {
	case "pdf":
		form.open, form.strict = p.pdf.Read, true
	case "rtf":
		form.open, form.strict = rtf.Read, true
	case "xlsx":
		form.open, form.strict = sheet.ReadXLSX, true
	case "xls":
		form.open = sheet.ReadXLS
	case "image/png", "image/jpeg", "image/tiff", "image/gif", "image/bmp", "image/webp":
		if p.opt.OCR == nil {
			return format{}, false
		}
		form.name, form.open, form.strict = "image", p.opt.OCR.Read, true
	case "docx":
		form.open, form.strict = ooxml.ReadWord, true
	case "pptx":
		form.open, form.strict = ooxml.ReadSlides, true
	case "doc":
		form.open = ole.ReadWord
	case "ppt":
		form.open = ole.ReadSlides
	case "epub":
		form.open, form.strict = epub.Read, true
	case "odt":
		form.open, form.strict = odf.ReadText, true
	case "ods":
		form.open, form.strict = odf.ReadSpreadsheet, true
	case "odp":
		form.open, form.strict = odf.ReadPresentation, true
	case "eml":
		form.open, form.textual = mail.ReadEML, true
	case "msg":
		form.open, form.strict = mail.ReadMSG, true
	case "mbox":
		form.open, form.textual = mail.ReadMbox, true
	case "zip", "tar", "gzip", "bzip2":
		form.open, form.strict = archive.Read, true
	default:
		return format{}, false
	}
	return form, true
}

// binaryExtension returns the short name of the binary format of a file extension, "" for others.
func binaryExtension(extension string) string {
	switch extension {
	case "pdf", "rtf", "epub", "zip", "tar", "msg", "eml", "mbox":
		return extension
	case "mht", "mhtml":
		return "eml"
	case "docx", "docm", "dotx", "dotm":
		return "docx"
	case "pptx", "pptm", "ppsx", "ppsm", "potx":
		return "pptx"
	case "xlsx", "xlsm", "xltx", "xltm":
		return "xlsx"
	case "doc", "dot":
		return "doc"
	case "ppt", "pps", "pot":
		return "ppt"
	case "xls", "xlt":
		return "xls"
	case "odt", "ott", "fodt":
		return "odt"
	case "ods", "ots", "fods":
		return "ods"
	case "odp", "otp", "fodp":
		return "odp"
	case "gz", "tgz":
		return "gzip"
	case "bz2", "tbz2", "tbz":
		return "bzip2"
	case "png", "gif", "webp", "bmp":
		return "image/" + extension
	case "jpg", "jpeg":
		return "image/jpeg"
	case "tif", "tiff":
		return "image/tiff"
	}
	return ""
}

// binaryMediaType returns the short name of the binary format of a media type, "" for others.
func binaryMediaType(base string) string {
	switch base {
	case "application/pdf":
		return "pdf"
	case "application/rtf", "text/rtf":
		return "rtf"
	case "application/epub+zip":
		return "epub"
	case "application/zip", "application/x-zip-compressed":
		return "zip"
	case "application/x-tar":
		return "tar"
	case "application/gzip", "application/x-gzip":
		return "gzip"
	case "application/x-bzip2":
		return "bzip2"
	case "message/rfc822":
		return "eml"
	case "application/mbox":
		return "mbox"
	case "application/vnd.ms-outlook":
		return "msg"
	case "application/msword":
		return "doc"
	case "application/vnd.ms-excel":
		return "xls"
	case "application/vnd.ms-powerpoint":
		return "ppt"
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return "docx"
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return "xlsx"
	case "application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return "pptx"
	case "application/vnd.oasis.opendocument.text":
		return "odt"
	case "application/vnd.oasis.opendocument.spreadsheet":
		return "ods"
	case "application/vnd.oasis.opendocument.presentation":
		return "odp"
	case "image/png", "image/jpeg", "image/tiff", "image/gif", "image/webp", "image/bmp":
		return base
	}
	return ""
}
