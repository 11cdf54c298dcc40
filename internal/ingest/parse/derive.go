package parse

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// derive fills in what the file does not say about itself.
func derive(d *document.Document, in Input, form format, found *document.Draft) {
	place := placeOf(in.Name)
	if form.open != nil {
		deriveOffice(d, in, form, found)
	}
	if d.Version == "" {
		d.Version = place.version
	}
	if d.Section == "" {
		d.Section = place.section
	}
	if d.DocType == "" {
		d.DocType = docType(place, form, found)
	}
	if d.Title == "" {
		d.Title = titleOf(in, form, found)
	}
	deriveLanguage(d, in, place, found)
	if _, known := d.Metadata["url"]; !known && in.URL != "" {
		d.Metadata["url"] = document.Truncate(in.URL, maxFactBytes)
	}
}

// deriveOffice takes the properties of office files for what they are: a category is a word their author chose, as tags
// are, and no place in a site; a title that is the name of the file was given by a program.
func deriveOffice(d *document.Document, in Input, form format, found *document.Draft) {
	category := found.Meta["category"]
	if named := firstText(category); named != "" && firstText(found.Meta["section"]) == "" {
		d.Section = ""
		items := make([]any, 0, len(d.Tags))
		for _, tag := range d.Tags {
			items = append(items, tag)
		}
		d.Tags = tags(items, category)
		delete(d.Metadata, "category")
	}
	if form.name == "eml" || form.name == "msg" || form.name == "mbox" {
		return // subjects are written by people, also those that are names of files
	}
	base := baseName(in.Name)
	isFile := func(title string) bool {
		return strings.EqualFold(title, base) || strings.EqualFold(title, stemOf(base)) || isDocumentName(title)
	}
	if isFile(d.Title) {
		if d.Title = document.Truncate(oneLine(found.Title), 500); isFile(d.Title) {
			d.Title = ""
		}
	}
}

// isDocumentName reports the names of files that programs for documents write or read.
func isDocumentName(title string) bool {
	switch extensionOf(title) {
	case "doc", "docx", "dot", "dotx", "rtf", "odt", "xls", "xlsx", "ods", "ppt", "pptx", "odp", "pdf", "ps", "eps", "dvi", "tex", "indd",
		"qxd", "qxp", "fm", "pages", "key", "numbers", "wpd", "pub", "vsd", "vsdx", "dwg", "html", "htm", "txt", "md", "tif", "tiff", "jpg", "jpeg", "png":
		return true
	}
	return false
}

func deriveLanguage(d *document.Document, in Input, place place, found *document.Draft) {
	if d.Language == "" {
		d.Language = place.language
	}
	if d.Language == "" {
		d.Language = languageCode(in.Language)
	}
	if !found.Prose || d.Language != "" && d.Language != "en" || place.language != "" || languageCode(in.Language) != "" {
		return
	}
	detected, reliable := detectLanguage(d)
	switch {
	case d.Language != "":
		// Programs and page templates say English of all they make: a text that is long and clear says more.
		if reliable && detected != d.Language && isBeyondDoubt(d) {
			d.Language = detected
		}
	case reliable || detected != "" && detected == place.doubtful:
		d.Language = detected
	}
}

// place is what a path says.
type place struct {
	folders                    []string // lower case
	stem                       string   // of the file name, lower case
	language, version, section string
	doubtful                   string // a folder that may be a language or a word
}

// placeOf reads a path.
func placeOf(name string) place {
	name = strings.Trim(path.Clean(strings.ReplaceAll(name, "\\", "/")), "/")
	parts := strings.Split(name, "/")
	p := place{stem: strings.ToLower(stemOf(parts[len(parts)-1]))}
	parts = parts[:len(parts)-1]
	if suffix := path.Ext(p.stem); suffix != "" {
		// page.de.md
		if code := languageFolder(suffix[1:]); code != "" {
			p.language, p.stem = code, strings.TrimSuffix(p.stem, suffix)
		}
	}
	last := -1 // the last folder that is a language or a version
	for i, part := range parts {
		lower := strings.ToLower(part)
		p.folders = append(p.folders, lower)
		framed := i > 0 && (last == i-1 || isGeneral(p.folders[i-1]))
		switch {
		case p.version == "" && isVersionFolder(lower), p.version == "" && framed && isShortNumber(lower):
			p.version, last = strings.TrimPrefix(strings.TrimPrefix(part, "version-"), "release-"), i
		case p.language != "" || languageFolder(lower) == "":
		case !isAmbiguous(lower):
			p.language, last = languageFolder(lower), i
		case i == 0 || framed:
			p.doubtful = languageFolder(lower)
		}
	}
	p.section = sectionOf(parts, last)
	return p
}

// sectionOf is the first folder after the language and version; without such a folder the first one that is neither.
func sectionOf(parts []string, last int) string {
	if last+1 < len(parts) && last >= 0 {
		return parts[last+1]
	}
	for i, part := range parts {
		lower := strings.ToLower(part)
		if i > last && !isGeneral(lower) && !isVersionFolder(lower) {
			return part
		}
	}
	for i := last - 1; i >= 0; i-- {
		lower := strings.ToLower(parts[i])
		if !isGeneral(lower) && !isVersionFolder(lower) && !isShortNumber(lower) && languageFolder(lower) == "" && i > 0 {
			return parts[i]
		}
	}
	return ""
}

// isGeneral reports names of folders that say nothing about what is in them.
func isGeneral(folder string) bool {
	switch folder {
	case "docs", "doc", "documentation", "content", "contents", "src", "source", "site", "website", "www", "public", "pages",
		"i18n", "locales", "locale", "lang", "langs", "languages", "translations", "versioned_docs", "versions", "files", "current", "..", ".":
		return true
	}
	return false
}

// isVersionFolder recognises v1, v1.2, 1.2, 1.2.3-rc1, version-1.2, latest.
func isVersionFolder(folder string) bool {
	switch folder {
	case "latest", "stable", "next", "nightly", "edge":
		return true
	}
	number := strings.TrimPrefix(strings.TrimPrefix(folder, "version-"), "release-")
	marked := number != folder
	if rest, found := strings.CutPrefix(number, "v"); found {
		number, marked = rest, true
	}
	digits, dots := 0, 0
	for i, r := range number {
		switch {
		case '0' <= r && r <= '9':
			digits++
		case r == '.' && i > 0:
			dots++
		case i > 0 && (r == 'x' || r == '-') && digits > 0:
			return (marked || dots > 0) && len(number) < 30
		default:
			return false
		}
	}
	return digits > 0 && len(number) < 30 && (marked || dots > 0) && !strings.HasSuffix(number, ".")
}

func isShortNumber(folder string) bool {
	return len(folder) <= 2 && folder != "" && strings.Trim(folder, "0123456789") == ""
}

// docType is the small rule of the package documentation.
func docType(place place, form format, found *document.Draft) string {
	if (form.docType == "code" || form.docType == "config") && (found.DocType == "" || found.DocType == form.docType) {
		return form.docType
	}
	if kind := typeOfWords(place.stem); kind != "" {
		return kind
	}
	for i := len(place.folders) - 1; i >= 0; i-- {
		if kind := typeOfWords(place.folders[i]); kind != "" {
			return kind
		}
	}
	switch {
	case found.DocType != "":
		return found.DocType
	case form.docType != "":
		return form.docType
	}
	return "document"
}

func typeOfWords(name string) string {
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

// titleOf is the source's title, the first heading, a first line that looks like a title, or the file's name made
// readable. Headings of code and data are names of their parts and no titles.
func titleOf(in Input, form format, found *document.Draft) string {
	base := baseName(in.Name)
	hint := document.Truncate(oneLine(clean(in.Title)), 500)
	if hint != "" && hint != base && hint != stemOf(base) && hint != in.Name && !isPlaceholder(hint) {
		return hint
	}
	named := base != "" && base != "." && base != "/"
	switch form.docType {
	case "code", "config":
		if named {
			return document.Truncate(clean(base), 500)
		}
	case "data":
	default:
		for i := range found.Blocks[:min(len(found.Blocks), 21)] {
			if found.Blocks[i].Kind == document.Heading {
				return document.Truncate(oneLine(found.Blocks[i].Text), 500)
			}
		}
		if title := firstLineTitle(found); title != "" {
			return title
		}
	}
	if !named {
		return "Untitled"
	}
	return humanise(in.Name)
}

// firstLineTitle returns the first paragraph of a text when it looks like a title: one short line with a capital or a
// figure at its start, of more than one word, that does not end as sentences and salutations do, with more text below.
func firstLineTitle(found *document.Draft) string {
	if !found.Prose || len(found.Blocks) < 2 || found.Blocks[0].Kind != document.Paragraph {
		return ""
	}
	line := strings.Trim(found.Blocks[0].Text, " *_")
	runes := utf8.RuneCountInString(line)
	if runes < 4 || runes >= 100 || strings.ContainsAny(line, "\n|<>{}\\`=") || strings.Contains(line, "://") {
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
	return oneLine(line)
}

func stemOf(base string) string {
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != "" {
		return stem
	}
	return base
}

// humanise makes a title of a file name; a page that is its folder's front page takes the folder's name.
func humanise(name string) string {
	name = clean(strings.ReplaceAll(name, "\\", "/"))
	stem := stemOf(path.Base(name))
	switch strings.ToLower(strings.TrimLeft(stem, "_")) {
	case "index", "readme", "default":
		if folder := path.Base(path.Dir(name)); folder != "." && folder != "/" {
			stem = folder
		}
	}
	words := strings.FieldsFunc(stem, func(r rune) bool { return r == '-' || r == '_' || r == ' ' || r == '+' })
	if len(words) == 0 {
		return document.Truncate(stem, 500)
	}
	first, size := utf8.DecodeRuneInString(words[0])
	words[0] = string(unicode.ToUpper(first)) + words[0][size:]
	return document.Truncate(strings.Join(words, " "), 500)
}
