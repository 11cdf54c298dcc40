package webcrawler

import (
	"net/url"
	"strings"
)

// Signs of an endless site.
const (
	// maxSimilar is the number of followed URLs that differ only in numbers or
	// in the value of one parameter. Each further parameter divides it by ten,
	// since lists that can be sorted and filtered have a URL for each
	// combination. Calendars are limited by their depth.
	maxSimilar = 5000
	// maxRepeats is how often a path may have the same folder. A wrong relative
	// link adds one each time.
	maxRepeats = 3
	maxFolders = 20
)

// isEndless reports whether a path looks like a trap's.
func isEndless(u *url.URL) bool {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) > maxFolders {
		return true
	}
	seen := make(map[string]int, len(parts))
	for _, part := range parts {
		if part == "" {
			continue
		}
		if seen[part]++; seen[part] > maxRepeats {
			return true
		}
	}
	return false
}

// urlPattern returns a URL without its numbers and values of parameters, and
// the number of URLs that may have the same pattern. It is "" for a URL without
// any.
func urlPattern(u *url.URL) (form string, limit int) {
	var b strings.Builder
	b.WriteString(u.Host)
	number := false
	for i := 0; i < len(u.Path); i++ {
		c := u.Path[i]
		if c >= '0' && c <= '9' {
			if !number {
				b.WriteByte('#')
			}
			number = true
			continue
		}
		number = false
		b.WriteByte(c)
	}
	varies := strings.Contains(b.String(), "#")
	limit = maxSimilar
	if u.RawQuery != "" {
		varies = true
		for range strings.Count(u.RawQuery, "&") {
			limit = max(limit/10, 5)
		}
		b.WriteByte('?')
		for _, pair := range strings.Split(u.RawQuery, "&") {
			name, _, _ := strings.Cut(pair, "=")
			b.WriteString(name)
			b.WriteByte('&')
		}
	}
	if !varies {
		return "", 0
	}
	return b.String(), limit
}
