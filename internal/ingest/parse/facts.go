package parse

import (
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Bounds of what front matter and page heads may put into a document.
const (
	maxFacts     = 50
	maxFactBytes = 1000
	maxTags      = 50
	maxName      = 200
)

// applyFacts moves what the file says about itself into the document. What has no field of its own goes to Metadata.
func applyFacts(d *document.Document, found *document.Draft) {
	used := make(map[string]bool)
	take := func(keys ...string) any {
		for _, key := range keys {
			if value, ok := found.Meta[key]; ok && value != nil && factText(value) != "" {
				used[key] = true
				return value
			}
		}
		return nil
	}
	date := func(keys ...string) time.Time {
		for _, key := range keys {
			if date := dateOf(found.Meta[key]); !date.IsZero() {
				used[key] = true
				return date
			}
		}
		return time.Time{}
	}
	d.Title = document.Truncate(oneLine(factText(take("title"))), 500)
	if d.Title == "" || isPlaceholder(d.Title) {
		if d.Title = document.Truncate(oneLine(found.Title), 500); isPlaceholder(d.Title) {
			d.Title = ""
		}
	}
	d.Author = document.Truncate(oneLine(factText(take("author", "authors"))), maxName)
	d.Section = document.Truncate(oneLine(firstText(take("section", "category", "categories"))), maxName)
	d.Version = document.Truncate(oneLine(factText(take("version"))), maxName)
	d.Language = languageCode(factText(take("language", "lang", "locale")))
	if d.Language == "" {
		d.Language = languageCode(found.Language)
	}
	d.DocType = typeName(factText(take("type", "doc_type", "doctype", "content_type")))
	d.Tags = tags(take("tags"), take("keywords"))
	d.CreatedAt = date("date", "created", "created_at", "createdat", "publishdate", "published", "pubdate")
	d.UpdatedAt = date("updated", "lastmod", "last_modified", "modified", "updated_at", "updatedat", "last_update", "lastupdated")
	if description := factText(take("description", "summary", "excerpt", "abstract")); description != "" {
		d.Metadata["description"] = document.Truncate(oneLine(description), 2000)
	}
	for _, key := range slices.Sorted(maps.Keys(found.Meta)) {
		if used[key] && isField(key) || isRepeated(key) || len(d.Metadata) >= maxFacts || len(key) > 100 {
			continue
		}
		if value := fact(found.Meta[key]); value != nil {
			d.Metadata[key] = value
		}
	}
	maps.Copy(d.Metadata, found.Extra)
}

// isField reports keys whose value is in a field of Document, where it was of use there.
func isField(key string) bool {
	switch key {
	case "version", "language", "lang", "date", "created", "created_at", "createdat", "publishdate", "published", "pubdate",
		"updated", "lastmod", "last_modified", "modified", "updated_at", "updatedat", "last_update", "lastupdated":
		return true
	}
	return false
}

// isRepeated reports keys that are kept in fields of Document only, and description, which has its own rule.
func isRepeated(key string) bool {
	switch key {
	case "title", "author", "authors", "section", "tags", "keywords", "description", "summary", "excerpt", "abstract":
		return true
	}
	return false
}

// isPlaceholder reports titles that programs give to documents which have none.
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

// fact returns a value as Metadata holds it, nil for what it does not hold.
func fact(value any) any {
	switch value := value.(type) {
	case string:
		if text := oneLine(value); text != "" {
			return document.Truncate(text, maxFactBytes)
		}
	case bool, int, int64, float64, uint64:
		return value
	case time.Time:
		return value.UTC().Format(time.RFC3339)
	case []any:
		var list []string
		for _, item := range value {
			if text := factText(item); text != "" && len(list) < maxTags {
				list = append(list, document.Truncate(oneLine(text), maxName))
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// factText returns a value as text: a list joined by commas, the name of an object that has one.
func factText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(clean(value))
	case time.Time:
		if value.Hour() == 0 && value.Minute() == 0 && value.Second() == 0 {
			return value.Format(time.DateOnly)
		}
		return value.Format(time.RFC3339)
	case []any:
		var parts []string
		for _, item := range value {
			if text := factText(item); text != "" && len(parts) < maxTags {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, key := range []string{"name", "title", "date"} {
			if text, ok := value[key].(string); ok {
				return strings.TrimSpace(clean(text))
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

// firstText is factText of the first item of a list.
func firstText(value any) string {
	if list, ok := value.([]any); ok && len(list) > 0 {
		return factText(list[0])
	}
	return factText(value)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// tags joins lists of tags, and texts of tags parted by commas or semicolons, without repetition.
func tags(values ...any) []string {
	var list []string
	add := func(text string) {
		text = document.Truncate(oneLine(text), 100)
		same := func(tag string) bool { return strings.EqualFold(tag, text) }
		if text != "" && len(list) < maxTags && !slices.ContainsFunc(list, same) {
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

// typeName accepts a front matter type that is a name and not a layout or a sentence.
func typeName(text string) string {
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

// dateOf reads a date, zero when it is none.
func dateOf(value any) time.Time {
	if date, ok := value.(time.Time); ok {
		return plausible(date)
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
			return plausible(date)
		}
	}
	if date, err := mail.ParseDate(text); err == nil {
		return plausible(date)
	}
	return time.Time{}
}

// plausible refuses dates that no document can have and databases may not hold.
func plausible(date time.Time) time.Time {
	if date.Year() < 1900 || date.Year() > 2200 {
		return time.Time{}
	}
	return date.UTC()
}
