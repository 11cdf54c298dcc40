package pdf

import (
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// info holds the metadata of a file.
type info struct {
	title, author, subject, keywords, producer, language string
	created, modified                                    time.Time
}

// info reads the information dictionary (ISO 32000-1, 14.3.3) and the language of the catalog.
func (f *file) info(ctx context.Context) info {
	text := func(tag string) string {
		return strings.Join(strings.Fields(f.wide(ctx, "FPDF_GetMetaText", f.document, f.name(ctx, tag))), " ")
	}
	return info{
		title: text("Title"), author: text("Author"), subject: text("Subject"), keywords: text("Keywords"),
		producer: text("Producer"), created: parseDate(text("CreationDate")), modified: parseDate(text("ModDate")),
		language: strings.TrimSpace(f.wide(ctx, "FPDFCatalog_GetLanguage", f.document)),
	}
}

// meta returns the metadata by the keys of a draft.
func (i info) meta(fileName string) map[string]any {
	meta := make(map[string]any)
	for key, value := range map[string]string{
		"title": cleanTitle(i.title, fileName), "author": i.author, "description": i.subject, "keywords": i.keywords,
		"producer": i.producer,
	} {
		if value != "" {
			meta[key] = value
		}
	}
	if !i.created.IsZero() {
		meta["created"] = i.created
	}
	if !i.modified.IsZero() {
		meta["modified"] = i.modified
	}
	return meta
}

// dateForm is a date of ISO 32000-1, 7.9.4. Its parts after the year are optional.
var dateForm = regexp.MustCompile(`^(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([Zz+-])(?:(\d\d)'?(\d\d)?'?)?)?`)

// parseDate parses a date of PDF. It is zero for an invalid one.
func parseDate(text string) time.Time {
	parts := dateForm.FindStringSubmatch(text)
	if parts == nil {
		return time.Time{}
	}
	number := func(i, otherwise int) int {
		if value, err := strconv.Atoi(parts[i]); err == nil {
			return value
		}
		return otherwise
	}
	month, day := number(2, 1), number(3, 1)
	if month < 1 || month > 12 || day < 1 || day > 31 || number(4, 0) > 23 || number(5, 0) > 59 {
		return time.Time{}
	}
	zone := time.UTC
	if offset := number(8, 0)*3600 + number(9, 0)*60; offset != 0 && offset < 86400 {
		if parts[7] == "-" {
			offset = -offset
		}
		zone = time.FixedZone("", offset)
	}
	return time.Date(number(1, 0), time.Month(month), day, number(4, 0), number(5, 0), number(6, 0), 0, zone)
}

// program matches what word processors put before the file name that they use as title.
var program = regexp.MustCompile(`(?i)^(?:microsoft|ms) (?:office )?(?:word|powerpoint|excel|visio|publisher|outlook|project)\s*-\s*`)

// cleanTitle returns a title without the additions of programs. It is "" for a file name and for default titles.
func cleanTitle(title, fileName string) string {
	fromProgram := program.MatchString(title)
	title = strings.TrimSpace(program.ReplaceAllString(title, ""))
	extension := strings.ToLower(path.Ext(title))
	switch extension {
	case ".doc", ".docx", ".docm", ".dot", ".dotx", ".odt", ".ott", ".rtf", ".txt", ".pdf", ".ppt", ".pptx", ".odp", ".xls", ".xlsx",
		".ods", ".indd", ".tex", ".dvi", ".ps", ".eps", ".qxd", ".qxp", ".pmd", ".p65", ".fm", ".pub", ".htm", ".html", ".md", ".ai",
		".cdr", ".tif", ".tiff", ".jpg", ".png", ".pages", ".key", ".sxw", ".wpd", ".xml":
		if fromProgram || !strings.Contains(title, " ") || len(extension) > 1 {
			return ""
		}
	}
	stem := strings.TrimSuffix(fileName, path.Ext(fileName))
	lower := strings.ToLower(title)
	switch {
	case strings.EqualFold(title, stem) && !strings.Contains(title, " "):
		return ""
	case strings.HasPrefix(lower, "untitled"), strings.HasPrefix(lower, "unbenannt"), strings.HasPrefix(lower, "sans titre"),
		lower == "title", lower == "document", lower == "none", lower == "powerpoint presentation", lower == "powerpoint-präsentation",
		lower == "präsentation powerpoint", lower == "présentation powerpoint", lower == "slide 1", lower == "folie 1", lower == "layout 1",
		lower == "full page photo", lower == "(anonymous)", lower == "scan", lower == "scanned document":
		return ""
	case strings.HasPrefix(lower, "file://"), strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
		return ""
	}
	letters := 0
	for _, r := range title {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < 2 {
		return ""
	}
	return title
}

// languageOf returns the language that the file declares. It is "" if the text is in another script: programs declare
// the language of their user by default.
func (c *content) languageOf() string {
	latin, other := 0, 0
	for i := range c.pages {
		for k := range c.pages[i].lines {
			for _, r := range c.pages[i].lines[k].text {
				switch {
				case unicode.Is(unicode.Latin, r):
					latin++
				case unicode.IsLetter(r):
					other++
				}
			}
		}
		if latin+other > 20_000 {
			break
		}
	}
	language, _, _ := strings.Cut(strings.ToLower(c.info.language), "-")
	switch language {
	case "ja", "zh", "ko", "ru", "uk", "bg", "sr", "mk", "be", "el", "he", "yi", "ar", "fa", "ur", "hi", "mr", "ne", "bn", "ta", "te", "ml", "kn",
		"gu", "pa", "th", "lo", "my", "km", "ka", "hy", "am", "kk", "mn":
		return c.info.language
	}
	if other > latin {
		return ""
	}
	return c.info.language
}
