package connectors

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors/glob"
)

const maxFilterPatterns = 200

// Filters choose the items of a source that become documents. The zero value
// lets everything through.
type Filters struct {
	// Include and Exclude are patterns of package glob on [Item].Path. With
	// Include, an item has to match one of them; Exclude wins over Include.
	Include, Exclude []string
	// Extensions and ExcludeExtensions are file name endings in lower case
	// without the leading dot: "md", "tar.gz".
	Extensions, ExcludeExtensions []string
	// ModifiedAfter drops items last modified before it.
	ModifiedAfter time.Time
	// CreatedWithin drops items created longer ago. Where the source knows no
	// time of creation, that of the last modification stands for it.
	CreatedWithin time.Duration
}

// ParseFilters reads the object "filters" of a config: include, exclude,
// extensions, excludeExtensions (lists of strings), modifiedAfter (RFC 3339 or
// YYYY-MM-DD) and createdWithin ("30d"; h, d and w are understood). An absent
// object gives the zero Filters. Errors are *OptionError.
func ParseFilters(config map[string]any) (Filters, error) {
	var filters Filters
	value := config[filtersField]
	if value == nil {
		return filters, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return Filters{}, filterError("", "must be an object, not "+jsonTypeOf(value))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if reason := filters.set(name, object[name]); reason != "" {
			return Filters{}, filterError("."+printable(name), reason)
		}
	}
	return filters, nil
}

func filterError(suffix, message string) error {
	return &OptionError{Field: "config." + filtersField + suffix, Message: message}
}

// set reads one field and returns what is wrong with it.
func (f *Filters) set(name string, value any) (reason string) {
	switch name {
	case "include":
		f.Include, reason = patternsOf(value)
	case "exclude":
		f.Exclude, reason = patternsOf(value)
	case "extensions":
		f.Extensions, reason = extensionsOf(value)
	case "excludeExtensions":
		f.ExcludeExtensions, reason = extensionsOf(value)
	case "modifiedAfter":
		f.ModifiedAfter, reason = instantOf(value)
	case "createdWithin":
		f.CreatedWithin, reason = spanOf(value)
	default:
		reason = "unknown field; known ones are createdWithin, exclude, excludeExtensions, extensions, include, modifiedAfter"
	}
	return reason
}

// Match reports whether an item passes, and if not, why. now is the time that
// CreatedWithin counts back from. A date the source does not tell drops nothing.
func (f Filters) Match(item Item, now time.Time) (ok bool, reason string) {
	matches := func(pattern string) bool { return glob.Match(pattern, item.Path) }
	if len(f.Include) > 0 && !slices.ContainsFunc(f.Include, matches) {
		return false, "no pattern of filters.include matches"
	}
	if at := slices.IndexFunc(f.Exclude, matches); at >= 0 {
		return false, fmt.Sprintf("filters.exclude has %q", f.Exclude[at])
	}
	name := strings.ToLower(path.Base(item.Path))
	ends := func(extension string) bool {
		return strings.HasSuffix(name, "."+strings.ToLower(strings.TrimPrefix(extension, ".")))
	}
	if len(f.Extensions) > 0 && !slices.ContainsFunc(f.Extensions, ends) {
		return false, "its extension is not in filters.extensions"
	}
	if at := slices.IndexFunc(f.ExcludeExtensions, ends); at >= 0 {
		return false, fmt.Sprintf("filters.excludeExtensions has %q", f.ExcludeExtensions[at])
	}
	if !f.ModifiedAfter.IsZero() && !item.ModifiedAt.IsZero() && item.ModifiedAt.Before(f.ModifiedAfter) {
		return false, "last modified before filters.modifiedAfter"
	}
	created := item.CreatedAt
	if created.IsZero() {
		created = item.ModifiedAt
	}
	if f.CreatedWithin > 0 && !created.IsZero() && created.Before(now.Add(-f.CreatedWithin)) {
		return false, "created longer ago than filters.createdWithin"
	}
	return true, ""
}

func patternsOf(value any) ([]string, string) {
	list, reason := stringsOf(value)
	if reason != "" {
		return nil, reason
	}
	if len(list) > maxFilterPatterns {
		return nil, fmt.Sprintf("has %d patterns, at most %d are allowed", len(list), maxFilterPatterns)
	}
	for _, pattern := range list {
		if err := glob.Check(pattern); err != nil {
			return nil, err.Error()
		}
	}
	return list, ""
}

func extensionsOf(value any) ([]string, string) {
	list, reason := stringsOf(value)
	if reason != "" {
		return nil, reason
	}
	if len(list) > maxFilterPatterns {
		return nil, fmt.Sprintf("has %d extensions, at most %d are allowed", len(list), maxFilterPatterns)
	}
	for i, extension := range list {
		list[i] = strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(extension, "*"), "."))
		if list[i] == "" || strings.ContainsAny(list[i], "/*?") {
			return nil, fmt.Sprintf("%q is no file extension; write it as md or .md", printable(extension))
		}
	}
	return list, ""
}

func instantOf(value any) (time.Time, string) {
	const wanted = "must be a date such as 2024-12-31 or a time such as 2024-12-31T23:59:59Z"
	if value == nil {
		return time.Time{}, ""
	}
	text, ok := value.(string)
	if !ok {
		return time.Time{}, wanted
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if instant, err := time.Parse(layout, text); err == nil {
			return instant.UTC(), ""
		}
	}
	return time.Time{}, wanted
}

func spanOf(value any) (time.Duration, string) {
	const wanted = "must be a whole number of hours, days or weeks such as 12h, 30d or 8w, and at most 100 years"
	const longest = 100 * 366 * 24 * time.Hour
	if value == nil {
		return 0, ""
	}
	text, ok := value.(string)
	if !ok || text == "" {
		return 0, wanted
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, ok := units[text[len(text)-1]]
	if !ok {
		return 0, wanted
	}
	count, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if err != nil || count <= 0 || text[0] == '+' || count > int64(longest/unit) {
		return 0, wanted
	}
	return time.Duration(count) * unit, ""
}
