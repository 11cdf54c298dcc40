package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// maxCommentPages is the largest number of pages of comments that are read.
const maxCommentPages = 30

// maxListPages bounds a walk through a list that keeps changing.
const maxListPages = 10_000

type account struct {
	Login string `json:"login"`
}

// A thread is an issue or a pull request, as GitHub lists and returns it.
type thread struct {
	Number      int       `json:"number"`
	Title       string    `json:"title"`
	State       string    `json:"state"`
	StateReason string    `json:"state_reason,omitempty"`
	HTMLURL     string    `json:"html_url"`
	User        *account  `json:"user"`
	Comments    *int      `json:"comments,omitempty"` // nil in the list of pull requests
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	Draft       bool      `json:"draft,omitempty"`
	MergedAt    string    `json:"merged_at,omitempty"` // of a pull request
	PullRequest *struct {
		MergedAt string `json:"merged_at,omitempty"`
	} `json:"pull_request,omitempty"` // in an issue's
	Body   string `json:"body,omitempty"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels,omitempty"`
	Milestone *struct {
		Title string `json:"title"`
	} `json:"milestone,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A response without a number,
// state or time is an error: if it were ignored, its document would be deleted.
func (t *thread) UnmarshalJSON(data []byte) error {
	type plain thread
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.Number <= 0 || t.State == "" || t.UpdatedAt.IsZero() || t.HTMLURL == "" {
		return errors.New("not an issue")
	}
	return nil
}

// version changes with edits and comments. The number of comments shows deleted
// ones.
func (t thread) version() string {
	version := t.UpdatedAt.UTC().Format(time.RFC3339)
	if t.Comments != nil {
		version += "/" + strconv.Itoa(*t.Comments)
	}
	return version
}

func (a *account) login() string {
	if a == nil {
		return "ghost" // what GitHub calls an account that is gone
	}
	return a.Login
}

const threadStageName = "threads"

func threadStage() stage {
	return stage{
		name: threadStageName,
		applies: func(c config, r repo) bool {
			return c.hasContent(contentPulls) || c.hasContent(contentIssues) && r.HasIssues
		},
		walk: walkThreads, minRoom: 100,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.hasContent(contentPulls) && (!s.config.hasContent(contentIssues) || !r.HasIssues) {
				return nil
			}
			var page []thread
			_, err := s.api.JSON(ctx, restapi.Request{Path: r.path("/" + s.threadList(r)), Query: url.Values{"per_page": {"1"}}}, &page)
			return threadError(err, r)
		},
	}
}

// threadList returns the list to read. That of issues includes pull requests,
// with their numbers of comments.
func (s *source) threadList(r repo) string {
	if s.config.hasContent(contentIssues) && r.HasIssues {
		return "issues"
	}
	return "pulls"
}

func threadError(err error, r repo) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("list the issues and pull requests of %s (config.%s can leave them out): %w", r.FullName, optionContent, missingIsFatal(err, r))
}

// walkThreads reads a page of the list in all states: a list of open threads
// would shift while threads are closed, and pages would skip others.
func walkThreads(ctx context.Context, s *source, r repo, p position, _ int) (stepResult, error) {
	list := s.threadList(r)
	query := url.Values{"state": {"all"}, "sort": {"created"}, "direction": {"asc"}, "per_page": {"100"}}
	if !s.config.since.IsZero() && list == "issues" {
		query.Set("since", s.config.since.Format(time.RFC3339))
	}
	loop, offset := splitLoop(p.offset)
	if offset != "" {
		next, err := url.ParseQuery(offset)
		if err != nil {
			return stepResult{}, connectors.ErrCursor
		}
		query = next
	}
	page, next, isNew, err := getCached(ctx, s, threadsKey(r, p.steps), restapi.Request{Path: r.path("/" + list), Query: query}, withoutBodies)
	if err != nil {
		return stepResult{}, threadError(err, r)
	}
	out := stepResult{more: next != ""}
	if out.more {
		if err := loop.Visit("GitHub", "the issues and pull requests of "+r.FullName, next); err != nil {
			return stepResult{}, err
		}
		out.offset = joinLoop(loop, next)
	}
	if p.steps > 0 && query.Has("page") {
		shifted, err := s.pageShifted(ctx, r, p.steps-1)
		if err != nil {
			return stepResult{}, threadError(err, r)
		}
		if p.steps > maxListPages {
			return stepResult{}, connectors.Retryable(fmt.Errorf("the issues and pull requests of %s keep changing while they are listed", r.FullName), 0)
		}
		switch {
		case shifted:
			out.more, out.offset = true, "" // from the start
		case len(page) == 0: // the previous page has a link to it
			return stepResult{}, threadError(connectors.Retryable(errors.New("GitHub names a next page, on which there is nothing"), 0), r)
		}
	}
	for _, t := range page {
		if item, ok := s.threadItem(r, t, list == "pulls"); ok {
			if isNew && t.Comments != nil && *t.Comments == 0 && t.PullRequest == nil {
				item.Content = renderThread(r, t, false, nil, false)
			}
			out.items = append(out.items, item)
		}
	}
	return out, nil
}

// splitLoop splits the loop detector from a stage's offset. Cursors of earlier
// versions have none.
func splitLoop(offset string) (restapi.LoopDetector, string) {
	if text, rest, found := strings.Cut(offset, "|"); found {
		if loop, ok := restapi.ParseLoopDetector(text); ok {
			return loop, rest
		}
	}
	return restapi.LoopDetector{}, offset
}

func joinLoop(loop restapi.LoopDetector, offset string) string { return loop.String() + "|" + offset }

func threadsKey(r repo, page int) string { return r.stateKey("threads") + strconv.Itoa(page) }

func withoutBodies(page []thread) []thread {
	page = slices.Clone(page)
	for i := range page {
		page[i].Body = ""
	}
	return page
}

// pageShifted says whether a page of the list ends otherwise than when it was read,
// just before the one that follows it: then an issue of it, or before it, was
// deleted meanwhile, what follows moved up, and one was passed over. GitHub does
// not count the request for a page that is the same; lists that it gives by
// cursor, not by number, need none.
func (s *source) pageShifted(ctx context.Context, r repo, page int) (bool, error) {
	var old cachedResponse[[]thread]
	if _, err := connectors.GetJSON(ctx, s.state, threadsKey(r, page), &old); err != nil || len(old.Data) == 0 {
		return false, err
	}
	path, rawQuery, _ := strings.Cut(old.Request, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return false, nil // state of another version
	}
	now, _, _, err := getCached(ctx, s, threadsKey(r, page), restapi.Request{Path: path, Query: query}, withoutBodies)
	if err != nil {
		return false, err
	}
	return len(now) == 0 || now[len(now)-1].Number != old.Data[len(old.Data)-1].Number, nil
}

// threadItem reports false for a thread that the config does not include.
func (s *source) threadItem(r repo, t thread, pull bool) (connectors.Item, bool) {
	kind, content, word := kindIssue, contentIssues, "issue"
	if pull || t.PullRequest != nil {
		kind, content, word = kindPull, contentPulls, "pull request"
	}
	if t.Number <= 0 || !s.config.hasContent(content) || !s.config.closed && t.State != "open" || t.UpdatedAt.Before(s.config.since) {
		return connectors.Item{}, false
	}
	number := strconv.Itoa(t.Number)
	return connectors.Item{
		ID: itemID(r, kind, number), Path: r.FullName + "#" + number, Version: t.version(), Size: -1,
		Title: t.Title + " #" + number, URL: t.HTMLURL, MediaType: "text/markdown", Author: t.User.login(),
		CreatedAt: t.CreatedAt.UTC(), ModifiedAt: t.UpdatedAt.UTC(),
		Metadata: map[string]string{"repository": r.FullName, "kind": word, "state": threadState(t)},
	}, true
}

// getThread returns an issue or pull request. It is ErrNotFound if GitHub
// redirects to another repository, as after a transfer.
func (s *source) getThread(ctx context.Context, r repo, number int) (thread, bool, error) {
	list := s.threadList(r)
	var t thread
	if _, err := s.api.JSON(ctx, restapi.Request{Path: r.path("/" + list + "/" + strconv.Itoa(number))}, &t); err != nil {
		return thread{}, false, err
	}
	if t.Number != number || !strings.HasPrefix(strings.ToLower(t.HTMLURL), strings.ToLower(r.HTMLURL)+"/") {
		return thread{}, false, connectors.ErrNotFound
	}
	pull := list == "pulls" || t.PullRequest != nil
	if list == "pulls" {
		t.Comments = nil // as the list has it, for the version
	}
	return t, pull, nil
}

// readThread returns the document of an issue or pull request.
func (s *source) readThread(ctx context.Context, r repo, kind string, number int) (version string, text []byte, err error) {
	t, pull, err := s.getThread(ctx, r, number)
	if err == nil && pull != (kind == kindPull) {
		err = connectors.ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	var comments []comment
	truncated := false
	listed := 0
	read := func(path, label string) error {
		page, count, more, err := s.readComments(ctx, r.path(path), label)
		comments, listed, truncated = append(comments, page...), listed+count, truncated || more
		return err
	}
	if t.Comments == nil || *t.Comments > 0 {
		if err := read(fmt.Sprintf("/issues/%d/comments", number), "Comment"); err != nil {
			return "", nil, err
		}
		if t.Comments != nil && listed == 0 {
			return "", nil, connectors.Retryable(fmt.Errorf("GitHub says that there are %d comments, and lists none", *t.Comments), 0)
		}
	}
	if pull {
		if err := read(fmt.Sprintf("/pulls/%d/reviews", number), "Review"); err != nil {
			return "", nil, err
		}
		if err := read(fmt.Sprintf("/pulls/%d/comments", number), "Review comment"); err != nil {
			return "", nil, err
		}
	}
	slices.SortStableFunc(comments, func(a, b comment) int { return a.at.Compare(b.at) })
	return t.version(), renderThread(r, t, pull, comments, truncated), nil
}

// readComments reads comments or reviews. It returns those with a text and the
// number of all. truncated reports whether there are more.
func (s *source) readComments(ctx context.Context, path, label string) (comments []comment, count int, truncated bool, err error) {
	complete, err := restapi.Pages("GitHub", path, maxCommentPages, func(cursor string) (next string, err error) {
		var page []struct {
			User        *account  `json:"user"`
			Body        string    `json:"body"`
			CreatedAt   time.Time `json:"created_at"`
			SubmittedAt time.Time `json:"submitted_at"`
			State       string    `json:"state"`
			Path        string    `json:"path"`
		}
		header, err := s.api.JSON(ctx, restapi.Request{Path: path, Query: pageQuery(cursor)}, &page)
		if err != nil {
			return "", err
		}
		count += len(page)
		for _, p := range page {
			if p.CreatedAt.IsZero() && p.SubmittedAt.IsZero() && p.State == "" {
				return "", connectors.Retryable(errors.New("GitHub lists a comment that cannot be; "+checkAdvice), 0)
			}
			c := comment{label: label, author: p.User.login(), at: p.CreatedAt, text: p.Body, file: p.Path}
			if c.at.IsZero() {
				c.at = p.SubmittedAt
			}
			if label == "Review" {
				c.label = reviewLabel(p.State)
			}
			if strings.TrimSpace(p.Body) != "" {
				comments = append(comments, c)
			}
		}
		return restapi.NextLink("GitHub", header)
	})
	if err != nil {
		return nil, 0, false, err
	}
	return comments, count, !complete, nil
}

// pageQuery returns the query of a page: that of a next link, or of the first page.
func pageQuery(cursor string) url.Values {
	if cursor == "" {
		return url.Values{"per_page": {"100"}}
	}
	query, _ := url.ParseQuery(cursor) // NextLink has parsed it
	return query
}

func reviewLabel(state string) string {
	switch state {
	case "APPROVED":
		return "Approval"
	case "CHANGES_REQUESTED":
		return "Changes requested"
	default:
		return "Review"
	}
}
