package restapi

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// reportEndOfLife reports a response that says that the platform ends its API or
// has ended it, by the headers Deprecation (RFC 9745) and Sunset (RFC 8594) or the
// status 410.
func (c *Client) reportEndOfLife(ctx context.Context, response *http.Response) {
	sunset, deprecation := response.Header.Get("Sunset"), response.Header.Get("Deprecation")
	what := fmt.Sprintf("%s %s", response.Request.Method, pathPattern(response.Request.URL.Path))
	if date, ok := endDate(sunset); ok {
		connectors.Notice(ctx, fmt.Sprintf("%s ends a part of its API on %s (%s). A newer version of Magpie may be needed by then.",
			c.opt.Platform, date.Format(time.DateOnly), what))
	} else if deprecates(deprecation) {
		connectors.Notice(ctx, fmt.Sprintf("%s says that a part of its API is deprecated (%s). A newer version of Magpie may be needed.", c.opt.Platform, what))
	}
	if response.StatusCode == http.StatusGone && c.opt.GoneEndsAPI {
		connectors.Notice(ctx, fmt.Sprintf("%s does not have a part of its API any more (410, %s). A newer version of Magpie may be needed.", c.opt.Platform, what))
	}
}

// endDate returns the time of a Sunset header.
func endDate(text string) (time.Time, bool) {
	if date, err := http.ParseTime(text); err == nil {
		return date.UTC(), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.RFC1123Z} {
		if date, err := time.Parse(layout, text); err == nil {
			return date.UTC(), true
		}
	}
	return time.Time{}, false
}

// deprecates reports whether a Deprecation header says so: "@" and a time, "true", or
// a date.
func deprecates(text string) bool {
	seconds, dated := strings.CutPrefix(text, "@")
	if dated {
		_, err := strconv.ParseInt(seconds, 10, 64)
		return err == nil
	}
	_, date := endDate(text)
	return date || strings.EqualFold(strings.Trim(text, "?1 "), "true") || text == "?1"
}

// pathPattern returns a path without what differs between requests of a sort, so
// that a sync has one notice of them.
func pathPattern(path string) string {
	version := regexp.MustCompile(`^(v[0-9][0-9.]*|[0-9]{4}-[0-9]{2}(-[0-9]{2})?)$`)
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789%!.:") && !version.MatchString(part) || len(part) > maxPatternPart {
			parts[i] = "…"
		}
	}
	return truncatedPath(strings.Join(parts, "/"))
}

const maxPatternPart = 30
