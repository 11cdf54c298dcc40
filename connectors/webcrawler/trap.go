package webcrawler

import (
	"net/url"
	"strings"
)

// What a site that goes on for ever looks like.
const (
	// maxAlike is how many addresses are followed that differ in their numbers
	// or the value of a parameter only, and a tenth of it with each parameter
	// more: lists that can be sorted and filtered have a page for all of that.
	// Calendars, which have a page for each day, end by their depth.
	maxAlike = 5000
	// maxRepeats is how often one folder may stand in a path: a relative link
	// that is wrong leads ever deeper.
	maxRepeats = 3
	maxFolders = 20
)

// endless says that a path looks like one that a trap has grown.
func endless(u *url.URL) bool {
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

// shape is an address without what counters and listings vary, its numbers and
// the values of its parameters, and how many addresses may have it; "" for an
// address of its own.
func shape(u *url.URL) (form string, most int) {
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
	most = maxAlike
	if u.RawQuery != "" {
		varies = true
		for range strings.Count(u.RawQuery, "&") {
			most = max(most/10, 5)
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
	return b.String(), most
}
