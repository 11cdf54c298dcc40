package github

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/safetext"
)

// The kinds of items in ids. An id is the repository's number, the kind, and a
// path or number. The number of a repository does not change with its name.
const (
	kindFile       = "f"
	kindIssue      = "i"
	kindPull       = "p"
	kindDiscussion = "d"
	kindWiki       = "w"
	kindBranch     = "b" // no item: all files of a branch, for webhooks
)

func itemID(r repo, kind, rest string) string {
	return strconv.FormatInt(r.ID, 10) + ":" + kind + ":" + rest
}

var idPattern = regexp.MustCompile(`(?s)^([1-9]\d{0,17}):([fipdwb]):(.+)$`)

func parseID(id string) (repo int64, kind, rest string, ok bool) {
	match := idPattern.FindStringSubmatch(id)
	if match == nil {
		return 0, "", "", false
	}
	repo, _ = strconv.ParseInt(match[1], 10, 64)
	return repo, match[2], match[3], true
}

// parseNumber parses the number of an issue, a pull request or a discussion.
func parseNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0 && strconv.Itoa(n) == text
}

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	id, kind, rest, ok := parseID(item.ID)
	if !ok {
		return nil, connectors.ErrNotFound
	}
	r, err := s.repoByID(ctx, id)
	if err != nil {
		return nil, err
	}
	action := "read the file " + r.FullName + "/" + safetext.Truncate(strings.ToValidUTF8(rest, "?"), 200)
	if kind == kindFile && s.config.hasContent(contentFiles) {
		content, err := s.openFile(ctx, r, rest, item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", action, err)
		}
		return content, nil
	}
	var version string
	var text []byte
	number, isNumber := parseNumber(rest)
	switch {
	case kind == kindIssue && isNumber && s.config.hasContent(contentIssues), kind == kindPull && isNumber && s.config.hasContent(contentPulls):
		version, text, err = s.readThread(ctx, r, kind, number)
	case kind == kindDiscussion && isNumber && s.config.hasContent(contentDiscussions):
		version, text, err = s.readDiscussion(ctx, r, number)
	case kind == kindWiki && s.config.hasContent(contentWiki):
		version, text, err = s.readWiki(ctx, r, rest)
	default:
		err = connectors.ErrNotFound
	}
	if err == nil && item.Version != "" && item.Version != version {
		err = connectors.Retryable(errChanged, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", action, itemError(err))
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}
