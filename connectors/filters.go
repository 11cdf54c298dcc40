package connectors

import (
	"errors"
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

// Filters select the items of a source that become documents. The zero value
// selects all.
type Filters struct {
	// Include and Exclude are patterns of package glob for [Item].Path. If Include
	// is not empty, an item must match one of its patterns. Exclude wins over
	// Include.
	Include, Exclude []string
	// Extensions and ExcludeExtensions are endings of file names, in lower case and
	// without the leading dot: "md", "tar.gz".
	Extensions, ExcludeExtensions []string
	// ModifiedAfter excludes items that were last modified before it.
	ModifiedAfter time.Time
	// CreatedWithin excludes items that were created longer ago. An item without a
	// time of creation counts from its last modification.
	CreatedWithin time.Duration
}

// ParseFilters parses the object "filters" of a config: include, exclude,
// extensions and excludeExtensions (lists of strings), modifiedAfter (RFC 3339 or
// YYYY-MM-DD) and createdWithin ("30d", with the units h, d and w). An absent
// object is the zero Filters. Its errors are *OptionError.
func ParseFilters(config map[string]any) (Filters, error) {
	var filters Filters
	value := config[filtersField]
	if value == nil {
		return filters, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return Filters{}, newFilterError("", "must be an object, not "+jsonType(value))
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if reason := filters.set(name, object[name]); reason != "" {
			return Filters{}, newFilterError("."+printable(name), reason)
		}
	}
	return filters, nil
}

func newFilterError(suffix, message string) error {
	return &OptionError{Field: "config." + filtersField + suffix, Message: message}
}

// set parses one field and returns what is wrong with it, "" for nothing.
func (f *Filters) set(name string, value any) (reason string) {
	switch name {
	case "include":
		f.Include, reason = parsePatterns(value)
	case "exclude":
		f.Exclude, reason = parsePatterns(value)
	case "extensions":
		f.Extensions, reason = parseExtensions(value)
	case "excludeExtensions":
		f.ExcludeExtensions, reason = parseExtensions(value)
	case "modifiedAfter":
		f.ModifiedAfter, reason = parseTime(value)
	case "createdWithin":
		f.CreatedWithin, reason = parseDuration(value)
	default:
		reason = "unknown field; known ones are createdWithin, exclude, excludeExtensions, extensions, include, modifiedAfter"
	}
	return reason
}

// Match reports whether an item is selected and, if not, why. CreatedWithin counts
// back from now. Unknown dates exclude nothing.
func (f Filters) Match(item Item, now time.Time) (ok bool, reason string) {
	matches := func(pattern string) bool { return glob.Match(pattern, item.Path) }
	if len(f.Include) > 0 && !slices.ContainsFunc(f.Include, matches) {
		return false, "no pattern of filters.include matches"
	}
	if i := slices.IndexFunc(f.Exclude, matches); i >= 0 {
		return false, fmt.Sprintf("filters.exclude has %q", f.Exclude[i])
	}
	name := strings.ToLower(path.Base(item.Path))
	hasExtension := func(extension string) bool {
		return strings.HasSuffix(name, "."+strings.ToLower(strings.TrimPrefix(extension, ".")))
	}
	if len(f.Extensions) > 0 && !slices.ContainsFunc(f.Extensions, hasExtension) {
		return false, "its extension is not in filters.extensions"
	}
	if i := slices.IndexFunc(f.ExcludeExtensions, hasExtension); i >= 0 {
		return false, fmt.Sprintf("filters.excludeExtensions has %q", f.ExcludeExtensions[i])
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

func parsePatterns(value any) ([]string, string) {
	list, reason := toStrings(value)
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

func parseExtensions(value any) ([]string, string) {
	list, reason := toStrings(value)
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

func parseTime(value any) (time.Time, string) {
	if value == nil {
		return time.Time{}, ""
	}
	text, _ := value.(string)
	parsed, err := ParseTime(text)
	if err != nil {
		return time.Time{}, err.Error()
	}
	return parsed, ""
}

// ParseTime parses a day (2024-12-31) or a time (RFC 3339) in UTC. Its error says
// how to write one.
func ParseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if parsed, err := time.Parse(layout, text); err == nil {
			return parsed.UTC(), nil
		}
	}
	return time.Time{}, errors.New("must be a date such as 2024-12-31 or a time such as 2024-12-31T23:59:59Z")
}

func parseDuration(value any) (time.Duration, string) {
	const message = "must be a whole number of hours, days or weeks such as 12h, 30d or 8w, and at most 100 years"
	const maximum = 100 * 366 * 24 * time.Hour
	if value == nil {
		return 0, ""
	}
	text, ok := value.(string)
	if !ok || text == "" {
		return 0, message
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, ok := units[text[len(text)-1]]
	if !ok {
		return 0, message
	}
	count, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if err != nil || count <= 0 || text[0] == '+' || count > int64(maximum/unit) {
		return 0, message
	}
	return time.Duration(count) * unit, ""
}
