package parse

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
	"github.com/magpie-search/magpie/internal/ingest/parse/asciidoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/code"
	"github.com/magpie-search/magpie/internal/ingest/parse/epub"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/jsondoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
	"github.com/magpie-search/magpie/internal/ingest/parse/markdown"
	"github.com/magpie-search/magpie/internal/ingest/parse/notebook"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
	"github.com/magpie-search/magpie/internal/ingest/parse/ole"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
	"github.com/magpie-search/magpie/internal/ingest/parse/plaintext"
	"github.com/magpie-search/magpie/internal/ingest/parse/restructured"
	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
	"github.com/magpie-search/magpie/internal/ingest/parse/separated"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/yamldoc"
)

// formats returns the table of all formats. The order matters where several signatures match a file: the first row wins.
func (p *Parser) formats() []format {
	rows := []format{
		// Text.
		{name: "text", extensions: "txt text log org tex textile wiki me nfo srt vtt", mediaTypes: "text/plain", readText: plaintext.Read, maxLines: 5_000_000,
			fileNames: "readme license licence notice changelog authors contributing copying todo news install"},
		{name: "markdown", extensions: "md markdown mdown mkd mdwn qmd rmd", mediaTypes: "text/markdown text/x-markdown", readText: markdown.Read},
		{name: "mdx", extensions: "mdx", readText: markdown.Read},
		{name: "html", extensions: "html htm xhtml shtml", mediaTypes: "text/html application/xhtml+xml", readText: htmldoc.Read, maxTags: 2_000_000},
		{name: "restructuredtext", extensions: "rst rest", mediaTypes: "text/x-rst text/prs.fallenstein.rst", readText: restructured.Read},
		{name: "asciidoc", extensions: "adoc asciidoc asc", mediaTypes: "text/asciidoc text/x-asciidoc", readText: asciidoc.Read},
		{name: "csv", extensions: "csv tsv tab psv", mediaTypes: "text/csv text/tab-separated-values", docType: "data", readText: separated.Read, maxLines: unlimited},
		{name: "notebook", extensions: "ipynb", readText: notebook.Read},
		{name: "json", extensions: "json geojson webmanifest har", mediaTypes: "application/json", docType: "data", readText: jsondoc.Read},
		{name: "jsonl", extensions: "jsonl ndjson jsonlines", mediaTypes: "application/x-ndjson application/jsonl application/jsonlines", docType: "data",
			readText: jsondoc.ReadLines, maxLines: unlimited},
		{name: "xml", extensions: "xml rss atom rdf svg opml dbk docbook dita ditamap fb2 jats tei", mediaTypes: "application/xml text/xml image/svg+xml",
			readText: xmldoc.Read},
		{name: "config", language: "yaml", extensions: "yaml yml", mediaTypes: "application/yaml application/x-yaml text/yaml", docType: "config",
			readText: yamldoc.Read},
		{name: "config", language: "toml", extensions: "toml", mediaTypes: "application/toml", docType: "config", readText: code.Read},
		{name: "config", language: "ini", extensions: "ini conf cfg cnf config editorconfig service", docType: "config", readText: code.Read},

		// Containers: what is inside decides between the formats with the same signature.
		{name: "rtf", extensions: "rtf", mediaTypes: "application/rtf text/rtf", signature: prefix("{\\rtf"), read: rtf.Read, strict: true},
		{name: "ole", signature: prefix(cfb.Magic)},
		{name: "doc", extensions: "doc dot", mediaTypes: "application/msword", streams: []string{"WordDocument"}, read: ole.ReadWord},
		{name: "ppt", extensions: "ppt pps pot", mediaTypes: "application/vnd.ms-powerpoint", streams: []string{"PowerPoint Document"}, read: ole.ReadSlides},
		{name: "xls", extensions: "xls xlt", mediaTypes: "application/vnd.ms-excel", streams: []string{"Workbook", "Book"}, read: sheet.ReadXLS},
		{name: "msg", extensions: "msg", mediaTypes: "application/vnd.ms-outlook", streams: []string{"__properties_version1.0"}, read: mail.ReadMSG, strict: true},
		{name: "zip", extensions: "zip", mediaTypes: "application/zip application/x-zip-compressed", signature: prefix("PK\x03\x04", "PK\x05\x06"),
			read: archive.Read, strict: true},
		{name: "docx", extensions: "docx docm dotx dotm", mediaTypes: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
			zipEntry: "word/document.xml", read: ooxml.ReadWord, strict: true},
		{name: "pptx", extensions: "pptx pptm ppsx ppsm potx", mediaTypes: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
			zipEntry: "ppt/presentation.xml", read: ooxml.ReadSlides, strict: true},
		{name: "xlsx", extensions: "xlsx xlsm xltx xltm", mediaTypes: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			zipEntry: "xl/workbook.xml", read: sheet.ReadXLSX, strict: true},
		{name: "application/vnd.ms-excel.sheet.binary.macroenabled.12", zipEntry: "xl/workbook.bin"},
		{name: "epub", extensions: "epub", mediaTypes: "application/epub+zip", zipType: "application/epub+zip", read: epub.Read, strict: true},
		{name: "odt", extensions: "odt ott fodt", mediaTypes: "application/vnd.oasis.opendocument.text", zipType: "application/vnd.oasis.opendocument.text",
			read: odf.ReadText, strict: true},
		{name: "ods", extensions: "ods ots fods", mediaTypes: "application/vnd.oasis.opendocument.spreadsheet",
			zipType: "application/vnd.oasis.opendocument.spreadsheet", read: odf.ReadSpreadsheet, strict: true},
		{name: "odp", extensions: "odp otp fodp", mediaTypes: "application/vnd.oasis.opendocument.presentation",
			zipType: "application/vnd.oasis.opendocument.presentation", read: odf.ReadPresentation, strict: true},

		// Other binary formats, and mails.
		{name: "gzip", extensions: "gz tgz", mediaTypes: "application/gzip application/x-gzip", signature: prefix("\x1F\x8B\x08"), read: archive.Read, strict: true},
		{name: "bzip2", extensions: "bz2 tbz2 tbz", mediaTypes: "application/x-bzip2", signature: isBzip2, read: archive.Read, strict: true},
		{name: "tar", extensions: "tar", mediaTypes: "application/x-tar", signature: isTar, read: archive.Read, strict: true},
		{name: "pdf", extensions: "pdf", mediaTypes: "application/pdf", signature: isPDF, read: p.pdf.Read, strict: true},
		{name: "eml", extensions: "eml mht mhtml", mediaTypes: "message/rfc822", read: mail.ReadEML, textual: true},
		{name: "mbox", extensions: "mbox", mediaTypes: "application/mbox", read: mail.ReadMbox, textual: true},

		// Files that are recognised, but not read.
		{name: "application/x-executable", signature: prefix("\x7FELF")},
		{name: "application/x-sqlite3", signature: prefix("SQLite format 3\x00")},
		{name: "application/x-7z-compressed", signature: prefix("7z\xBC\xAF\x27\x1C")},
		{name: "application/x-xz", signature: prefix("\xFD7zXZ\x00")},
		{name: "application/zstd", signature: prefix("\x28\xB5\x2F\xFD")},
		{name: "application/x-msdownload", signature: isWindowsProgram},
		{name: "application/wasm", extensions: "wasm"},
		{name: "application/octet-stream", extensions: "exe dll so dylib o a class pyc bin elf obj lib"},
	}
	rows = append(rows, p.imageFormats()...)
	for _, refused := range [][2]string{
		{"application/x-", "7z rar xz zst jar war iso dmg pkg deb rpm apk msi cab sqlite db mdb parquet avro pb pickle npy"},
		{"image/", "heic avif ico psd"},
		{"audio/", "mp3 wav ogg flac aac m4a wma opus"},
		{"video/", "mp4 avi mov mkv webm wmv m4v mpg mpeg"},
		{"font/", "ttf otf woff woff2 eot"},
	} {
		for extension := range strings.FieldsSeq(refused[1]) {
			rows = append(rows, format{name: refused[0] + extension, extensions: extension})
		}
	}
	for language := range strings.FieldsSeq("xsd xsl properties plist hcl tf jsonc json5") {
		rows = append(rows, format{name: "config", language: language, extensions: language, docType: "config", readText: code.Read})
	}
	return append(rows, codeFormats()...)
}

// imageFormats returns the formats of images, which can be read if the parser has an OCR program.
func (p *Parser) imageFormats() []format {
	rows := []format{
		{mediaTypes: "image/png", extensions: "png"},
		{mediaTypes: "image/jpeg", extensions: "jpg jpeg"},
		{mediaTypes: "image/tiff", extensions: "tif tiff", signature: prefix("II*\x00", "MM\x00*")},
		{mediaTypes: "image/gif", extensions: "gif"},
		{mediaTypes: "image/webp", extensions: "webp"},
		{mediaTypes: "image/bmp", extensions: "bmp"},
	}
	for i := range rows {
		rows[i].name = rows[i].mediaTypes
		if p.opt.OCR != nil {
			rows[i].name, rows[i].read, rows[i].strict = "image", p.opt.OCR.Read, true
		}
	}
	return rows
}

// codeFormats returns a format for each programming language. Most are named like their extension.
func codeFormats() []format {
	var rows []format
	add := func(language, extensions, fileNames string) {
		rows = append(rows, format{
			name: "code", language: language, extensions: extensions, fileNames: fileNames, docType: "code", readText: code.Read,
		})
	}
	for _, language := range [][2]string{
		{"python", "py pyi"}, {"javascript", "js mjs cjs jsx"}, {"typescript", "ts tsx mts cts"}, {"ruby", "rb"}, {"rust", "rs"}, {"kotlin", "kt kts"},
		{"csharp", "cs"}, {"cpp", "cc cpp cxx hpp hh hxx"}, {"c", "c h"}, {"shell", "sh bash zsh ksh fish"}, {"powershell", "ps1 psm1"},
		{"batch", "bat cmd"}, {"perl", "pl pm"}, {"elixir", "ex exs"}, {"erlang", "erl hrl"}, {"haskell", "hs"}, {"ocaml", "ml mli"},
		{"objective-c", "m mm"}, {"graphql", "gql graphql"}, {"template", "tpl gotmpl tmpl"},
	} {
		add(language[0], language[1], "")
	}
	for language := range strings.FieldsSeq("go java scala swift php lua r jl dart clj groovy gradle sql proto css scss sass less vue svelte zig nim vb " +
		"fs asm s cmake mk bzl awk diff patch rego cue thrift avsc sol tcl v vim el lisp") {
		add(language, language, "")
	}
	for language := range strings.FieldsSeq("dockerfile containerfile jenkinsfile vagrantfile rakefile gemfile go.mod go.sum") {
		add(language, "", language)
	}
	add("makefile", "", "makefile gnumakefile")
	add("cmakelists", "", "cmakelists.txt")
	return rows
}
