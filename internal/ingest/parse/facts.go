package parse

import (
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/language"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxFactBytes is the longest text, in bytes, in a document's metadata.
const maxFactBytes = 1000

// applyFacts copies the facts of a draft into the document. Facts without a field of their own go to Metadata.
func applyFacts(d *document.Document, draft *document.Draft) {
	used := make(map[string]bool)
	take := func(keys ...string) any {
		for _, key := range keys {
			if value, ok := draft.Meta[key]; ok && value != nil && factText(value) != "" {
				used[key] = true
				return value
			}
		}
		return nil
	}
	date := func(keys ...string) time.Time {
		for _, key := range keys {
			if date := parseDate(draft.Meta[key]); !date.IsZero() {
				used[key] = true
				return date
			}
		}
		return time.Time{}
	}
	d.Title = safetext.TruncateBytes(strings.Join(strings.Fields(factText(take("title"))), " "), 500)
	if d.Title == "" || isPlaceholder(d.Title) {
		if d.Title = safetext.TruncateBytes(strings.Join(strings.Fields(draft.Title), " "), 500); isPlaceholder(d.Title) {
			d.Title = ""
		}
	}
	d.Author = safetext.TruncateBytes(strings.Join(strings.Fields(factText(take("author", "authors"))), " "), compose.MaxNameBytes)
	d.Section = safetext.TruncateBytes(strings.Join(strings.Fields(firstText(take("section", "category", "categories"))), " "), compose.MaxNameBytes)
	d.Version = safetext.TruncateBytes(strings.Join(strings.Fields(factText(take("version"))), " "), compose.MaxNameBytes)
	d.Language = language.Code(factText(take("language", "lang", "locale")))
	if d.Language == "" {
		d.Language = language.Code(draft.Language)
	}
	d.DocType = docTypeName(factText(take("type", "doc_type", "doctype", "content_type")))
	d.Tags = mergeTags(take("tags"), take("keywords"))
	d.CreatedAt = date("date", "created", "created_at", "createdat", "publishdate", "published", "pubdate")
	d.UpdatedAt = date("updated", "lastmod", "last_modified", "modified", "updated_at", "updatedat", "last_update", "lastupdated")
	if description := factText(take("description", "summary", "excerpt", "abstract")); description != "" {
		d.Metadata["description"] = safetext.TruncateBytes(strings.Join(strings.Fields(description), " "), 2000)
	}
	for _, key := range slices.Sorted(maps.Keys(draft.Meta)) {
		if used[key] && isFieldKey(key) || isFieldOnlyKey(key) || len(d.Metadata) >= compose.MaxFacts || len(key) > 100 {
			continue
		}
		if value := metadataValue(draft.Meta[key]); value != nil {
			d.Metadata[key] = value
		}
	}
	maps.Copy(d.Metadata, draft.Extra)
}

// isFieldKey reports whether a key belongs to a field of Document. Its value goes to Metadata only if the field did not
// take it.
func isFieldKey(key string) bool {
	switch key {
	case "version", "language", "lang", "date", "created", "created_at", "createdat", "publishdate", "published", "pubdate",
		"updated", "lastmod", "last_modified", "modified", "updated_at", "updatedat", "last_update", "lastupdated":
		return true
	}
	return false
}

// isFieldOnlyKey reports whether a key never goes to Metadata: those of fields, and description with its synonyms.
func isFieldOnlyKey(key string) bool {
	switch key {
	case "title", "author", "authors", "section", "tags", "keywords", "description", "summary", "excerpt", "abstract":
		return true
	}
	return false
}

// isPlaceholder reports whether a title is one that programs give to documents without a title.
func isPlaceholder(title string) bool {
	title = strings.ToLower(strings.TrimSpace(title))
	switch title {
	case "untitled", "untitled document", "untitled page", "untitled presentation", "new document", "new page", "no title", "notitle", "title",
		"powerpoint presentation", "powerpoint-präsentation", "présentation powerpoint", "presentación de powerpoint",
		"presentazione di powerpoint", "apresentação do powerpoint", "powerpoint プレゼンテーション", "powerpoint 演示文稿", "slide 1",
		"microsoft word document", "word document", "unbenannt", "unbenanntes dokument", "ohne titel", "sans titre", "sin título",
		"senza titolo", "sem título", "無題", "无标题", "無標題", "(anonymous)", "none", "null", "<none>":
		return true
	}
	for _, program := range []string{"microsoft word - ", "microsoft powerpoint - ", "microsoft excel - ", "microsoft office word - "} {
		if strings.HasPrefix(title, program) {
			return true
		}
	}
	word := strings.TrimRight(title, "0123456789 ()")
	switch word {
	case "document", "dokument", "documento", "presentation", "präsentation", "présentation", "book", "mappe", "classeur", "untitled",
		"untitled-", "文档", "文書":
		return word != title // "Document1"
	}
	return false
}

// metadataValue returns a value in the form of Metadata, or nil.
func metadataValue(value any) any {
	switch value := value.(type) {
	case string:
		if text := strings.Join(strings.Fields(value), " "); text != "" {
			return safetext.TruncateBytes(text, maxFactBytes)
		}
	case bool, int, int64, float64, uint64:
		return value
	case time.Time:
		return value.UTC().Format(time.RFC3339)
	case []any:
		var list []string
		for _, item := range value {
			if text := factText(item); text != "" && len(list) < compose.MaxListItems {
				list = append(list, safetext.TruncateBytes(strings.Join(strings.Fields(text), " "), compose.MaxNameBytes))
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// factText returns a value as text: a list joined by commas, and an object by its name.
func factText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(charset.Clean(value))
	case time.Time:
		if value.Hour() == 0 && value.Minute() == 0 && value.Second() == 0 {
			return value.Format(time.DateOnly)
		}
		return value.Format(time.RFC3339)
	case []any:
		var parts []string
		for _, item := range value {
			if text := factText(item); text != "" && len(parts) < compose.MaxListItems {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, key := range []string{"name", "title", "date"} {
			if text, ok := value[key].(string); ok {
				return strings.TrimSpace(charset.Clean(text))
			}
		}
		return ""
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(value)
	}
	if text, ok := value.(fmt.Stringer); ok {
		return text.String()
	}
	return ""
}

// firstText returns a value as text, and a list by its first item.
func firstText(value any) string {
	if list, ok := value.([]any); ok && len(list) > 0 {
		return factText(list[0])
	}
	return factText(value)
}

// mergeTags returns tags without repetitions. A value is a list of tags, or a text of tags separated by commas or
// semicolons.
func mergeTags(values ...any) []string {
	var list []string
	add := func(text string) {
		text = safetext.TruncateBytes(strings.Join(strings.Fields(text), " "), 100)
		same := func(tag string) bool { return strings.EqualFold(tag, text) }
		if text != "" && len(list) < compose.MaxListItems && !slices.ContainsFunc(list, same) {
			list = append(list, text)
		}
	}
	for _, value := range values {
		if items, ok := value.([]any); ok {
			for _, item := range items {
				add(factText(item))
			}
			continue
		}
		for part := range strings.FieldsFuncSeq(factText(value), func(r rune) bool { return strings.ContainsRune(",;\n，、；", r) }) {
			add(part)
		}
	}
	return list
}

// docTypeName returns a front matter type as a document type, or "" if it is a layout or a sentence.
func docTypeName(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	text = strings.NewReplacer(" ", "_", "-", "_").Replace(text)
	if text == "" || len(text) > 30 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	switch text {
	case "docs", "doc", "default", "page", "post", "single", "list", "basic", "index":
		return ""
	}
	return text
}

// parseDate returns a value as a date. The date is zero if the value is none.
func parseDate(value any) time.Time {
	if date, ok := value.(time.Time); ok {
		return plausibleDate(date)
	}
	text := factText(value)
	if text == "" {
		return time.Time{}
	}
	text = strings.TrimPrefix(text, "D:")
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", "2006-01-02 15:04",
		time.DateOnly, "2006/01/02", "2006-01", "02.01.2006", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
		time.RFC1123, time.RFC1123Z, time.RFC850, "2006-01-02T15:04:05-0700", "20060102150405Z0700", "20060102150405-07'00'", "20060102150405-07'00",
		"20060102150405", "20060102", "2006.01.02", "2006年1月2日", "2.1.2006", time.ANSIC, time.UnixDate,
	} {
		if date, err := time.Parse(layout, text); err == nil {
			return plausibleDate(date)
		}
	}
	if date, err := mail.ParseDate(text); err == nil {
		return plausibleDate(date)
	}
	return time.Time{}
}

// plausibleDate returns a date in UTC. It is zero for years that no document has and databases may not hold.
func plausibleDate(date time.Time) time.Time {
	if date.Year() < 1900 || date.Year() > 2200 {
		return time.Time{}
	}
	return date.UTC()
}
