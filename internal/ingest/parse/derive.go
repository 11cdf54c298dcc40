package parse

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/language"
	"github.com/magpie-search/magpie/internal/safetext"
)

// derive fills in the facts that the file does not state.
func derive(d *document.Document, in Input, form format, draft *document.Draft) {
	loc := factsOfPath(in.Name)
	if form.read != nil {
		deriveOfficeFacts(d, in, form, draft)
	}
	if d.Version == "" {
		d.Version = loc.version
	}
	if d.Section == "" {
		d.Section = loc.section
	}
	if d.DocType == "" {
		d.DocType = docType(loc, form, draft)
	}
	if d.Title == "" {
		d.Title = fallbackTitle(in, form, draft)
	}
	deriveLanguage(d, in, loc, draft)
	if _, known := d.Metadata["url"]; !known && in.URL != "" {
		d.Metadata["url"] = safetext.TruncateBytes(in.URL, maxFactBytes)
	}
}

// deriveOfficeFacts corrects the properties of office files: a category is a tag of the author and not a section of a
// site, and a title that is the name of a file was set by a program.
func deriveOfficeFacts(d *document.Document, in Input, form format, draft *document.Draft) {
	category := draft.Meta["category"]
	if named := firstText(category); named != "" && firstText(draft.Meta["section"]) == "" {
		d.Section = ""
		items := make([]any, 0, len(d.Tags))
		for _, tag := range d.Tags {
			items = append(items, tag)
		}
		d.Tags = mergeTags(items, category)
		delete(d.Metadata, "category")
	}
	if form.name == "eml" || form.name == "msg" || form.name == "mbox" {
		return // people write the subjects of mails, even those that look like file names
	}
	base := document.BaseName(in.Name)
	isFile := func(title string) bool {
		return strings.EqualFold(title, base) || strings.EqualFold(title, stem(base)) || isDocumentFileName(title)
	}
	if isFile(d.Title) {
		if d.Title = safetext.TruncateBytes(strings.Join(strings.Fields(draft.Title), " "), 500); isFile(d.Title) {
			d.Title = ""
		}
	}
}

// isDocumentFileName reports whether a title is the name of a file that word processors and similar programs write or
// read.
func isDocumentFileName(title string) bool {
	switch document.Extension(title) {
	case "doc", "docx", "dot", "dotx", "rtf", "odt", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "pdf", "ps", "eps", "dvi", "tex", "indd",
		"qxd", "qxp", "fm", "pages", "key", "numbers", "wpd", "pub", "vsd", "vsdx", "dwg", "html", "htm", "txt", "md", "tif", "tiff", "jpg", "jpeg", "png":
		return true
	}
	return false
}

func deriveLanguage(d *document.Document, in Input, loc pathFacts, draft *document.Draft) {
	if d.Language == "" {
		d.Language = loc.language
	}
	if d.Language == "" {
		d.Language = language.Code(in.Language)
	}
	if !draft.Prose || d.Language != "" && d.Language != "en" || loc.language != "" || language.Code(in.Language) != "" {
		return
	}
	detected, reliable := language.Detect(d)
	switch {
	case d.Language != "":
		// Programs and page templates declare English for everything, so a long and clear text outweighs them.
		if reliable && detected != d.Language && language.IsBeyondDoubt(d) {
			d.Language = detected
		}
	case reliable || detected != "" && detected == loc.ambiguousLanguage:
		d.Language = detected
	}
}

// pathFacts holds what the path of a file states.
type pathFacts struct {
	folders                    []string // in lower case
	stem                       string   // of the file name, in lower case
	language, version, section string
	ambiguousLanguage          string // of a folder whose name may also be a word
}

// factsOfPath reads a path.
func factsOfPath(name string) pathFacts {
	name = strings.Trim(path.Clean(strings.ReplaceAll(name, "\\", "/")), "/")
	parts := strings.Split(name, "/")
	p := pathFacts{stem: strings.ToLower(stem(parts[len(parts)-1]))}
	parts = parts[:len(parts)-1]
	if suffix := path.Ext(p.stem); suffix != "" {
		// page.de.md
		if code := language.FolderCode(suffix[1:]); code != "" {
			p.language, p.stem = code, strings.TrimSuffix(p.stem, suffix)
		}
	}
	last := -1 // index of the last folder that is a language or a version
	for i, part := range parts {
		lower := strings.ToLower(part)
		p.folders = append(p.folders, lower)
		isNested := i > 0 && (last == i-1 || isGeneralFolder(p.folders[i-1]))
		switch {
		case p.version == "" && isVersionFolder(lower), p.version == "" && isNested && isNumberFolder(lower):
			p.version, last = strings.TrimPrefix(strings.TrimPrefix(part, "version-"), "release-"), i
		case p.language != "" || language.FolderCode(lower) == "":
		case !language.IsAmbiguousFolder(lower):
			p.language, last = language.FolderCode(lower), i
		case i == 0 || isNested:
			p.ambiguousLanguage = language.FolderCode(lower)
		}
	}
	p.section = sectionOfPath(parts, last)
	return p
}

// sectionOfPath returns the first folder after the language and version, or else the first folder that is neither.
func sectionOfPath(parts []string, last int) string {
	if last+1 < len(parts) && last >= 0 {
		return parts[last+1]
	}
	for i, part := range parts {
		lower := strings.ToLower(part)
		if i > last && !isGeneralFolder(lower) && !isVersionFolder(lower) {
			return part
		}
	}
	for i := last - 1; i >= 0; i-- {
		lower := strings.ToLower(parts[i])
		if !isGeneralFolder(lower) && !isVersionFolder(lower) && !isNumberFolder(lower) && language.FolderCode(lower) == "" && i > 0 {
			return parts[i]
		}
	}
	return ""
}

// isGeneralFolder reports whether the name of a folder says nothing about its content.
func isGeneralFolder(folder string) bool {
	switch folder {
	case "docs", "doc", "documentation", "content", "contents", "src", "source", "site", "website", "www", "public", "pages",
		"i18n", "locales", "locale", "lang", "langs", "languages", "translations", "versioned_docs", "versions", "files", "current", "..", ".":
		return true
	}
	return false
}

// isVersionFolder reports whether a folder is named like v1, v1.2, 1.2, 1.2.3-rc1, version-1.2 or latest.
func isVersionFolder(folder string) bool {
	switch folder {
	case "latest", "stable", "next", "nightly", "edge":
		return true
	}
	number := strings.TrimPrefix(strings.TrimPrefix(folder, "version-"), "release-")
	isMarked := number != folder
	if rest, found := strings.CutPrefix(number, "v"); found {
		number, isMarked = rest, true
	}
	digits, dots := 0, 0
	for i, r := range number {
		switch {
		case '0' <= r && r <= '9':
			digits++
		case r == '.' && i > 0:
			dots++
		case i > 0 && (r == 'x' || r == '-') && digits > 0:
			return (isMarked || dots > 0) && len(number) < 30
		default:
			return false
		}
	}
	return digits > 0 && len(number) < 30 && (isMarked || dots > 0) && !strings.HasSuffix(number, ".")
}

func isNumberFolder(folder string) bool {
	return len(folder) <= 2 && folder != "" && strings.Trim(folder, "0123456789") == ""
}

// docType returns the type of a document, by the rule in the package documentation.
func docType(loc pathFacts, form format, draft *document.Draft) string {
	if (form.docType == "code" || form.docType == "config") && (draft.DocType == "" || draft.DocType == form.docType) {
		return form.docType
	}
	if kind := docTypeOfName(loc.stem); kind != "" {
		return kind
	}
	for i := len(loc.folders) - 1; i >= 0; i-- {
		if kind := docTypeOfName(loc.folders[i]); kind != "" {
			return kind
		}
	}
	switch {
	case draft.DocType != "":
		return draft.DocType
	case form.docType != "":
		return form.docType
	}
	return "document"
}

func docTypeOfName(name string) string {
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch word {
		case "faq", "faqs":
			return "faq"
		case "glossary":
			return "glossary"
		case "changelog", "changes", "releases", "releasenotes", "history":
			return "changelog"
		case "troubleshooting", "troubleshoot", "runbook", "runbooks", "triage":
			return "troubleshooting"
		case "api", "apis", "openapi", "swagger", "grpc", "rest":
			return "api"
		case "reference", "references", "ref", "cli", "commands":
			return "reference"
		case "guide", "guides", "tutorial", "tutorials", "howto", "quickstart", "intro", "introduction", "started", "walkthrough", "learn", "lessons":
			return "guide"
		case "blog", "news":
			return "blog"
		case "release":
			if strings.Contains(name, "note") {
				return "changelog"
			}
		case "how":
			if strings.HasPrefix(name, "how-to") || strings.HasPrefix(name, "how_to") {
				return "guide"
			}
		}
	}
	return ""
}

// fallbackTitle returns the title of a document that states none: the source's title, the first heading, a first line
// that looks like a title, or the file name made readable. Headings of code and data are names of their parts and no
// titles.
func fallbackTitle(in Input, form format, draft *document.Draft) string {
	base := document.BaseName(in.Name)
	hint := safetext.TruncateBytes(strings.Join(strings.Fields(charset.Clean(in.Title)), " "), 500)
	if hint != "" && hint != base && hint != stem(base) && hint != in.Name && !isPlaceholder(hint) {
		return hint
	}
	isNamed := base != "" && base != "." && base != "/"
	switch form.docType {
	case "code", "config":
		if isNamed {
			return safetext.TruncateBytes(charset.Clean(base), 500)
		}
	case "data":
	default:
		for i := range draft.Blocks[:min(len(draft.Blocks), 21)] {
			if draft.Blocks[i].Kind == document.Heading {
				return safetext.TruncateBytes(strings.Join(strings.Fields(draft.Blocks[i].Text), " "), 500)
			}
		}
		if title := firstLineTitle(draft); title != "" {
			return title
		}
	}
	if !isNamed {
		return "Untitled"
	}
	return titleOfFileName(in.Name)
}

// firstLineTitle returns the first paragraph if it looks like a title: one short line of several words with a capital
// or a digit at its start, without the end of a sentence or salutation, and with more text below.
func firstLineTitle(draft *document.Draft) string {
	if !draft.Prose || len(draft.Blocks) < 2 || draft.Blocks[0].Kind != document.Paragraph {
		return ""
	}
	line := strings.Trim(draft.Blocks[0].Text, " *_")
	length := utf8.RuneCountInString(line)
	if length < 4 || length >= 100 || strings.ContainsAny(line, "\n|<>{}\\`=") || strings.Contains(line, "://") {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(line)
	last, _ := utf8.DecodeLastRuneInString(line)
	if unicode.IsLower(first) || !unicode.IsLetter(first) && !unicode.IsNumber(first) || strings.ContainsRune(".,;:!…。，；：！-", last) {
		return ""
	}
	if first < 0x2E80 && !strings.Contains(line, " ") || strings.Count(line, " ") > 14 {
		return ""
	}
	return strings.Join(strings.Fields(line), " ")
}

func stem(base string) string {
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != "" {
		return stem
	}
	return base
}

// titleOfFileName makes a title of a file name. The front page of a folder gets the folder's name.
func titleOfFileName(name string) string {
	name = charset.Clean(strings.ReplaceAll(name, "\\", "/"))
	stem := stem(path.Base(name))
	switch strings.ToLower(strings.TrimLeft(stem, "_")) {
	case "index", "readme", "default":
		if folder := path.Base(path.Dir(name)); folder != "." && folder != "/" {
			stem = folder
		}
	}
	words := strings.FieldsFunc(stem, func(r rune) bool { return r == '-' || r == '_' || r == ' ' || r == '+' })
	if len(words) == 0 {
		return safetext.TruncateBytes(stem, 500)
	}
	first, size := utf8.DecodeRuneInString(words[0])
	words[0] = string(unicode.ToUpper(first)) + words[0][size:]
	return safetext.TruncateBytes(strings.Join(words, " "), 500)
}
