package parse

import (
	"context"
	"mime"
	"path"
	"strings"
)

// format is one format that is read.
type format struct {
	name string
	// language of source code and configuration, for highlighting.
	language string
	// docType the format speaks for, "" for prose.
	docType string
	read    func(context.Context, request) (*draft, error)
}

func baseName(name string) string { return path.Base(strings.ReplaceAll(name, "\\", "/")) }

// extensionOf returns the extension without the dot, in lower case.
func extensionOf(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(baseName(name)), "."))
}

// formatByExtension returns the format of a file name.
func formatByExtension(name string) (format, bool) {
	base := strings.ToLower(baseName(name))
	switch base {
	case "dockerfile", "containerfile", "makefile", "gnumakefile", "jenkinsfile", "vagrantfile", "rakefile", "gemfile":
		return codeFormat(strings.TrimPrefix(base, "gnu")), true
	case "readme", "license", "licence", "notice", "changelog", "authors", "contributing", "copying", "todo", "news", "install":
		return textFormat(), true
	case "go.mod", "go.sum", "cmakelists.txt":
		return codeFormat(strings.TrimSuffix(base, ".txt")), true
	}
	extension := extensionOf(name)
	switch extension {
	case "md", "markdown", "mdown", "mkd", "mdwn", "qmd", "rmd":
		return format{name: "markdown", read: readMarkdown}, true
	case "mdx":
		return format{name: "mdx", read: readMarkdown}, true
	case "html", "htm", "xhtml", "shtml":
		return htmlFormat(), true
	case "txt", "text", "log", "org", "tex", "textile", "wiki", "me", "nfo", "srt", "vtt":
		return textFormat(), true
	case "rst", "rest":
		return format{name: "restructuredtext", read: readRestructured}, true
	case "adoc", "asciidoc", "asc":
		return format{name: "asciidoc", read: readASCIIDoc}, true
	case "csv", "tsv", "tab", "psv":
		return format{name: "csv", docType: "data", read: readSeparated}, true
	case "json", "geojson", "ipynb", "webmanifest", "har":
		return jsonFormat(), true
	case "jsonl", "ndjson", "jsonlines":
		return format{name: "jsonl", docType: "data", read: readJSON}, true
	}
	if language, found := configLanguage(extension); found {
		return format{name: "config", language: language, docType: "config", read: readCode}, true
	}
	if language, found := codeLanguage(extension); found {
		return codeFormat(language), true
	}
	return format{}, false
}

func codeFormat(language string) format {
	return format{name: "code", language: language, docType: "code", read: readCode}
}

func textFormat() format { return format{name: "text", read: readText} }

func htmlFormat() format { return format{name: "html", read: readHTML} }

func jsonFormat() format { return format{name: "json", docType: "data", read: readJSON} }

// formatByMediaType returns the format of a media type.
func formatByMediaType(mediaType string) (format, bool) {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return format{}, false
	}
	switch base {
	case "text/markdown", "text/x-markdown":
		return format{name: "markdown", read: readMarkdown}, true
	case "text/html", "application/xhtml+xml":
		return htmlFormat(), true
	case "text/csv", "text/tab-separated-values":
		return format{name: "csv", docType: "data", read: readSeparated}, true
	case "application/json":
		return jsonFormat(), true
	case "application/x-ndjson", "application/jsonl", "application/jsonlines":
		return format{name: "jsonl", docType: "data", read: readJSON}, true
	case "text/x-rst", "text/prs.fallenstein.rst":
		return format{name: "restructuredtext", read: readRestructured}, true
	case "text/asciidoc", "text/x-asciidoc":
		return format{name: "asciidoc", read: readASCIIDoc}, true
	case "application/yaml", "application/x-yaml", "text/yaml", "application/xml", "text/xml", "application/toml":
		_, kind, _ := strings.Cut(base, "/")
		return format{name: "config", language: strings.TrimPrefix(kind, "x-"), docType: "config", read: readCode}, true
	case "text/plain":
		return textFormat(), true
	}
	if strings.HasSuffix(base, "+json") {
		return jsonFormat(), true
	}
	return format{}, false
}

func configLanguage(extension string) (string, bool) {
	switch extension {
	case "yaml", "yml":
		return "yaml", true
	case "toml", "ini", "xml", "xsd", "xsl", "properties", "plist", "hcl", "tf", "rss", "atom", "jsonc", "json5":
		return extension, true
	case "conf", "cfg", "cnf", "config", "editorconfig", "service":
		return "ini", true
	}
	return "", false
}

func codeLanguage(extension string) (string, bool) {
	switch extension {
	case "py", "pyi":
		return "python", true
	case "js", "mjs", "cjs", "jsx":
		return "javascript", true
	case "ts", "tsx", "mts", "cts":
		return "typescript", true
	case "rb":
		return "ruby", true
	case "rs":
		return "rust", true
	case "kt", "kts":
		return "kotlin", true
	case "cs":
		return "csharp", true
	case "cc", "cpp", "cxx", "hpp", "hh", "hxx":
		return "cpp", true
	case "c", "h":
		return "c", true
	case "sh", "bash", "zsh", "ksh", "fish":
		return "shell", true
	case "ps1", "psm1":
		return "powershell", true
	case "bat", "cmd":
		return "batch", true
	case "pl", "pm":
		return "perl", true
	case "ex", "exs":
		return "elixir", true
	case "erl", "hrl":
		return "erlang", true
	case "hs":
		return "haskell", true
	case "ml", "mli":
		return "ocaml", true
	case "m", "mm":
		return "objective-c", true
	case "gql":
		return "graphql", true
	case "tpl", "gotmpl", "tmpl":
		return "template", true
	case "go", "java", "scala", "swift", "php", "lua", "r", "jl", "dart", "clj", "groovy", "gradle", "sql", "proto",
		"graphql", "css", "scss", "sass", "less", "vue", "svelte", "zig", "nim", "vb", "fs", "asm", "s", "cmake",
		"mk", "bzl", "awk", "diff", "patch", "rego", "cue", "thrift", "avsc", "sol", "tcl", "v", "vim", "el", "lisp":
		return extension, true
	}
	return "", false
}

// Supported tells from name and media type alone whether it is worth fetching a file: false, with the reason that Parse
// would give, only where it is sure that the format is not read.
func Supported(name, mediaType string) (reason string, ok bool) {
	if _, found := formatByExtension(name); found {
		return "", true
	}
	if refused := refusedExtension(extensionOf(name)); refused != "" {
		return notSupported(refused), false
	}
	if _, found := formatByMediaType(mediaType); found {
		return "", true
	}
	base, _, err := mime.ParseMediaType(mediaType)
	if err == nil && refusedMediaType(base) {
		return notSupported(base), false
	}
	return "", true
}

func notSupported(mediaType string) string { return "format not supported: " + mediaType }

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
	case "svg":
		return "image/svg+xml"
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
