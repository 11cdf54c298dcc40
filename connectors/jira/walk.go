package jira

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	walkOrder = "created ASC, key ASC"
	feedOrder = "updated ASC, key ASC"
	// centerOverlap is the number of issues that are requested again on Data Center,
	// whose lists are paged by number: issues shift if others are deleted.
	centerOverlap  = 10
	maxRestarts    = 5
	maxPageContent = 16 << 20 // bytes of content on one page
)

// A position is a place in the list of a search: a page, and the last issue and
// file of it that were given.
type position struct {
	Page string `json:"p,omitempty"`
	// Before is the last issue before the page, for Data Center.
	Before   string `json:"b,omitempty"`
	Issue    string `json:"i,omitempty"`
	File     string `json:"f,omitempty"`
	Loop     string `json:"l,omitempty"`
	Restarts int    `json:"r,omitempty"`
	// From bounds the creation of the issues, in milliseconds, after Cloud forgot a
	// page's token. Last is the creation of the last issue before the page.
	From int64 `json:"c,omitempty"`
	Last int64 `json:"d,omitempty"`
	// Seen is the number of issues on earlier pages.
	Seen int `json:"n,omitempty"`
}

func (p position) isValid() bool {
	return (p.Issue == "" || isID(p.Issue)) && (p.File == "" || isID(p.File)) && (p.Before == "" || isID(p.Before)) && p.From >= 0 && p.Last >= 0 && p.Restarts >= 0 && p.Seen >= 0
}

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at position
	if text == "" {
		s.resetCaches()
	} else if err := connectors.ParseCursor(text, &at); err != nil {
		return connectors.Page{}, err
	} else if !at.isValid() {
		return connectors.Page{}, connectors.ErrCursor
	}
	projects, err := s.selectedProjects(ctx)
	if err != nil {
		return connectors.Page{}, err
	}
	var incomplete []string
	if text == "" {
		if incomplete, err = s.beginProjects(ctx, projects); err != nil {
			return connectors.Page{}, err
		}
	}
	listed, err := s.list(ctx, query{base: s.base, order: walkOrder}, at)
	if err != nil {
		return connectors.Page{}, err
	}
	if listed.done {
		if err := s.compareCount(ctx, at.Seen+len(listed.page)); err != nil {
			return connectors.Page{}, err
		}
	}
	if err := s.rememberProjects(ctx, listed.page); err != nil {
		return connectors.Page{}, err
	}
	page := connectors.Page{Items: listed.items, Done: listed.done, Incomplete: incomplete, Pause: s.api.Pause(), Warnings: s.takeWarnings()}
	if !page.Done {
		page.Next = connectors.FormatCursor(listed.next)
	}
	return page, nil
}

// compareCount warns if a walk saw fewer issues than Jira counts. The count is only
// about right, and issues are created meanwhile.
func (s *source) compareCount(ctx context.Context, seen int) error {
	count, err := s.api.count(ctx, query{base: s.base})
	if err != nil {
		return err
	}
	if restapi.IsShort(seen, count) {
		s.addWarning(fmt.Sprintf("Jira listed %d of about %d issues; those that are missing may come with the next complete sync.", seen, count))
	}
	return nil
}

// A listing is a part of a search.
type listing struct {
	page   []issue // the whole page
	items  []connectors.Item
	issues []issue // whose items are given completely
	next   position
	done   bool
}

// list returns the items of a search at a position.
func (s *source) list(ctx context.Context, q query, at position) (listing, error) {
	issues, next, err := s.readPage(ctx, q, at)
	if isForgotten(err) && s.api.Site.Cloud && at.Page != "" && q.order == walkOrder {
		// The token has expired. The issues up to the last one were given.
		at = position{From: at.Last, Last: at.Last, Seen: at.Seen}
		issues, next, err = s.readPage(ctx, q, at)
	}
	if err != nil {
		return listing{}, err
	}
	rest := issues
	if at.Issue != "" {
		// If the issue is gone, its page is given again.
		if i := slices.IndexFunc(rest, func(i issue) bool { return string(i.ID) == at.Issue }); i >= 0 {
			rest = rest[i:]
		} else {
			at.Issue, at.File = "", ""
		}
	}
	result := listing{next: at, page: issues}
	content := 0
	for _, found := range rest {
		files := s.fileItems(&found)
		if string(found.ID) == at.Issue {
			files = slices.DeleteFunc(files, func(item connectors.Item) bool {
				_, file := parseID(item.ID)
				return at.File == "" || compareIDs(file, at.File) <= 0
			})
		} else {
			if len(result.items) >= connectors.MaxPageItems || content > maxPageContent {
				return result, nil
			}
			item := s.issueItem(&found)
			item.Content = s.content(&found)
			content += len(item.Content)
			result.items = append(result.items, item)
			result.next.Issue, result.next.File = string(found.ID), "0"
		}
		for _, item := range files {
			if len(result.items) >= connectors.MaxPageItems {
				return result, nil
			}
			_, file := parseID(item.ID)
			result.items, result.next.File = append(result.items, item), file
		}
		result.issues = append(result.issues, found)
	}
	if next == "" {
		result.done = true
		return result, nil
	}
	loop, _ := restapi.ParseLoopDetector(at.Loop)
	visited := next
	if !s.api.Site.Cloud {
		var ids strings.Builder
		for _, found := range issues {
			ids.WriteString(string(found.ID) + " ")
		}
		visited = ids.String()
	}
	if err := loop.Visit("Jira", "the issues", visited); err != nil {
		return listing{}, err
	}
	result.next = position{Page: next, Loop: loop.String(), Restarts: at.Restarts, From: at.From, Last: at.Last, Seen: at.Seen + len(issues)}
	if len(issues) > 0 {
		last := issues[len(issues)-1]
		result.next.Last = milliseconds(last.Fields.Created.Time)
		if !s.api.Site.Cloud {
			result.next.Before = string(last.ID)
		}
	}
	return result, nil
}

// isForgotten reports whether Jira refuses a page of a search.
func isForgotten(err error) bool { return errors.Is(err, errQuery) }

// readPage returns the issues of the page at a position, and the next page.
func (s *source) readPage(ctx context.Context, q query, at position) ([]issue, string, error) {
	if at.From > 0 {
		q = q.with("created >= %d", at.From)
	}
	page, skip := at.Page, 0
	if !s.api.Site.Cloud && at.Page != "" {
		start, err := strconv.Atoi(at.Page)
		if err != nil || start < 0 {
			return nil, "", connectors.ErrCursor
		}
		skip = min(centerOverlap, start)
		page = strconv.Itoa(start - skip)
	}
	issues, next, err := search[issue](ctx, s.api, q, textFields(s.withComments, s.withFiles), issuesPerPage+skip, page)
	if errors.Is(err, atlassian.ErrTooLarge) {
		// The texts are requested one by one later.
		issues, next, err = search[issue](ctx, s.api, q, factFields(s.withFiles), issuesPerPage+skip, page)
	}
	if err == nil && skip > 0 {
		issues, next, err = s.readBeyond(ctx, q, at.Page, issues, next)
	}
	if err != nil {
		return nil, "", scopeError(err)
	}
	for i := range issues {
		if !issues[i].isValid() {
			return nil, "", s.api.ErrInvalid("an issue")
		}
	}
	s.rememberFacts(issues)
	if skip == 0 || at.Before == "" {
		return issues, next, nil
	}
	i := slices.IndexFunc(issues, func(i issue) bool { return string(i.ID) == at.Before })
	switch {
	case i >= 0:
		return issues[i+1:], next, nil
	case at.Restarts >= maxRestarts:
		return nil, "", connectors.Retryable(errors.New("the list of issues changes faster than it can be read"), 0)
	}
	// Too many issues were deleted in front: the list starts again. Issues are given
	// twice then, and none is skipped.
	return nil, "0", nil
}

// readBeyond reads on until the issues reach beyond a position, from a site with pages
// that are not longer than the overlap.
func (s *source) readBeyond(ctx context.Context, q query, position string, issues []issue, next string) ([]issue, string, error) {
	start, _ := strconv.Atoi(position) // readPage has parsed it
	for next != "" {
		if at, err := strconv.Atoi(next); err != nil || at > start {
			break
		}
		more, after, err := search[issue](ctx, s.api, q, textFields(s.withComments, s.withFiles), issuesPerPage, next)
		if err != nil {
			return nil, "", err
		}
		for _, found := range more {
			if slices.ContainsFunc(issues, func(i issue) bool { return i.ID == found.ID }) {
				return nil, "", restapi.LoopError("Jira", "the issues", string(found.ID))
			}
		}
		issues, next = append(issues, more...), after
	}
	return issues, next, nil
}

// content returns the document of an issue, or nil if the search did not give all
// of it.
func (s *source) content(i *issue) []byte {
	if i.Fields.Description == nil {
		return nil
	}
	var list []comment
	if s.withComments {
		if i.Fields.Comment == nil || len(i.Fields.Comment.Comments) < i.Fields.Comment.Total {
			return nil
		}
		list = i.Fields.Comment.Comments
	}
	return s.render(i, list)
}
