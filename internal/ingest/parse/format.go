package parse

import (
	"context"
	"mime"
	"path"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// format is one format that is read.
type format struct {
	name string
	// language of source code and configuration, for highlighting.
	language string
	// docType the format speaks for, "" for prose.
	docType string
	// read reads a text format, open a binary one; the other is nil.
	read func(context.Context, request) (*document.Draft, error)
	open func(context.Context, document.Source) (*document.Draft, error)
	// strict tells of a binary format that a file named so is damaged when it is plain text; of others the content decides.
	strict bool
	// textual tells of a format with a reader of its own that is text all the same, as mails are.
	textual bool
	// long tells of a text format whose reader itself bounds what it makes of many lines.
	long bool
}

func baseName(name string) string { return path.Base(strings.ReplaceAll(name, "\\", "/")) }

// extensionOf returns the extension without the dot, in lower case.
func extensionOf(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(baseName(name)), "."))
}

// formatByExtension returns the format of a file name.
func (p *Parser) formatByExtension(name string) (format, bool) {
	if form, found := textByExtension(name); found {
		return form, true
	}
	return p.binary(binaryExtension(extensionOf(name)))
}

// textByExtension returns the text format of a file name.
func textByExtension(name string) (format, bool) {
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
		return format{name: "csv", long: true, docType: "data", read: readSeparated}, true
	case "ipynb":
		return format{name: "notebook", read: readNotebook}, true
	case "json", "geojson", "webmanifest", "har":
		return jsonFormat(), true
	case "jsonl", "ndjson", "jsonlines":
		return format{name: "jsonl", long: true, docType: "data", read: readJSONLines}, true
	}
	switch extension {
	case "xml", "rss", "atom", "rdf", "svg", "opml", "dbk", "docbook", "dita", "ditamap", "fb2", "jats", "tei":
		return xmlFormat(), true
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

func textFormat() format { return format{name: "text", long: true, read: readText} }

func htmlFormat() format { return format{name: "html", read: readHTML} }

func xmlFormat() format { return format{name: "xml", read: readXML} }

func jsonFormat() format { return format{name: "json", docType: "data", read: readJSON} }

// formatByMediaType returns the format of a media type.
func (p *Parser) formatByMediaType(mediaType string) (format, bool) {
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
		return format{name: "csv", long: true, docType: "data", read: readSeparated}, true
	case "application/json":
		return jsonFormat(), true
	case "application/x-ndjson", "application/jsonl", "application/jsonlines":
		return format{name: "jsonl", long: true, docType: "data", read: readJSONLines}, true
	case "text/x-rst", "text/prs.fallenstein.rst":
		return format{name: "restructuredtext", read: readRestructured}, true
	case "text/asciidoc", "text/x-asciidoc":
		return format{name: "asciidoc", read: readASCIIDoc}, true
	case "application/yaml", "application/x-yaml", "text/yaml", "application/toml":
		_, kind, _ := strings.Cut(base, "/")
		return format{name: "config", language: strings.TrimPrefix(kind, "x-"), docType: "config", read: readCode}, true
	case "application/xml", "text/xml", "image/svg+xml":
		return xmlFormat(), true
	case "text/plain":
		return textFormat(), true
	}
	if form, found := p.binary(binaryMediaType(base)); found {
		return form, true
	}
	switch {
	case strings.HasSuffix(base, "+json"):
		return jsonFormat(), true
	case strings.HasSuffix(base, "+xml"):
		return xmlFormat(), true
	}
	return format{}, false
}

func configLanguage(extension string) (string, bool) {
	switch extension {
	case "yaml", "yml":
		return "yaml", true
	case "toml", "ini", "xsd", "xsl", "properties", "plist", "hcl", "tf", "jsonc", "json5":
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
