package restapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// errEndless says that a list has more pages than any list can have.
var errEndless = errors.New("the list does not come to an end")

// Pages reads a list that is paged by cursor. It calls read with "" and then with
// each cursor that read returned, until read returns "" or has been called
// maxPages times; then complete is false. A cursor that repeats is a retryable
// error. platform and list are for the texts of errors.
func Pages(platform, list string, maxPages int, read func(cursor string) (next string, err error)) (complete bool, err error) {
	var loop LoopDetector
	cursor := ""
	for range maxPages {
		next, err := read(cursor)
		switch {
		case err != nil:
			return false, err
		case next == "":
			return true, nil
		}
		if err := loop.Visit(platform, list, next); err != nil {
			return false, err
		}
		cursor = next
	}
	return false, nil
}

// AllPages is [Pages] for a list that must be read completely: it is a retryable
// error if the list has more than maxPages pages.
func AllPages(platform, list string, maxPages int, read func(cursor string) (next string, err error)) error {
	complete, err := Pages(platform, list, maxPages, read)
	if err == nil && !complete {
		err = connectors.Retryable(fmt.Errorf("read %s of %s: %w", list, platform, errEndless), 0)
	}
	return err
}

// AllOffsets reads a list that is paged by offset. It calls read with the number
// of entries so far, until read returns no entries or reports that there are no
// more. ids are the entries of the page; a page that repeats is a retryable error.
func AllOffsets(platform, list string, read func(offset int) (ids []string, more bool, err error)) error {
	var loop LoopDetector
	for offset := 0; ; {
		ids, more, err := read(offset)
		if err != nil || !more || len(ids) == 0 {
			return err
		}
		if err := loop.Visit(platform, list, strings.Join(ids, " ")); err != nil {
			return err
		}
		offset += len(ids)
	}
}

var nextLink = regexp.MustCompile(`<([^<>]*)>\s*;[^,]*rel="?next"?`)

// NextLink returns the query of the link with rel="next" in the Link header (RFC
// 8288), or "" if there is none. Only the query is returned since the path is
// known.
func NextLink(platform string, header http.Header) (query string, err error) {
	match := nextLink.FindStringSubmatch(header.Get("Link"))
	if match == nil {
		return "", nil
	}
	target, err := url.Parse(match[1])
	if err == nil && target.RawQuery != "" {
		_, err = url.ParseQuery(target.RawQuery)
	}
	if err != nil || target.RawQuery == "" {
		return "", connectors.Retryable(fmt.Errorf("%s names a next page whose address is not valid", platform), 0)
	}
	return target.RawQuery, nil
}
