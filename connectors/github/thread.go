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

// maxRemarkPages is how many pages of a hundred comments of one sort are read.
const maxRemarkPages = 30

// maxListPages ends a walk through a list that is never the same.
const maxListPages = 10_000

type account struct {
	Login string `json:"login"`
}

// thread is an issue or a pull request, as both their lists and looks tell it.
type thread struct {
	Number      int       `json:"number"`
	Title       string    `json:"title"`
	State       string    `json:"state"`
	StateReason string    `json:"state_reason,omitempty"`
	HTMLURL     string    `json:"html_url"`
	User        *account  `json:"user"`
	Comments    *int      `json:"comments,omitempty"` // the list of pull requests does not tell
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	Draft       bool      `json:"draft,omitempty"`
	MergedAt    string    `json:"merged_at,omitempty"` // in a pull request's own form
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

// UnmarshalJSON implements [json.Unmarshaler]. What lacks its number, state or
// time is no issue: passed over, it would be taken for deleted.
func (t *thread) UnmarshalJSON(data []byte) error {
	type plain thread
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.Number <= 0 || t.State == "" || t.UpdatedAt.IsZero() || t.HTMLURL == "" {
		return errors.New("it is no issue")
	}
	return nil
}

// version changes with every edit and comment; the count tells of comments that
// were deleted.
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

func threadStage() stage {
	return stage{
		name: "threads",
		has: func(c config, r repo) bool {
			return c.has(contentPulls) || c.has(contentIssues) && r.HasIssues
		},
		walk: walkThreads, least: 100,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.has(contentPulls) && (!s.config.has(contentIssues) || !r.HasIssues) {
				return nil
			}
			var some []thread
			_, err := s.api.JSON(ctx, restapi.Request{Path: r.path("/" + s.threadList(r)), Query: url.Values{"per_page": {"1"}}}, &some)
			return threadError(err, r)
		},
	}
}

// threadList is the list to read: that of issues has pull requests too, and
// tells their comments' number.
func (s *source) threadList(r repo) string {
	if s.config.has(contentIssues) && r.HasIssues {
		return "issues"
	}
	return "pulls"
}

func threadError(err error, r repo) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("list the issues and pull requests of %s (config.%s can leave them out): %w", r.FullName, optionContent, stopped(err, r))
}

// walkThreads reads a page of the list. All states are asked for, also where
// closed ones are left out: a list of open ones would move on under the walk as
// they are closed, and skip others.
func walkThreads(ctx context.Context, s *source, r repo, p place, _ int) (step, error) {
	list := s.threadList(r)
	query := url.Values{"state": {"all"}, "sort": {"created"}, "direction": {"asc"}, "per_page": {"100"}}
	if !s.config.since.IsZero() && list == "issues" {
		query.Set("since", s.config.since.Format(time.RFC3339))
	}
	trail, rest := splitTrail(p.rest)
	if rest != "" {
		next, err := url.ParseQuery(rest)
		if err != nil {
			return step{}, connectors.Fatal(errors.New("this is no cursor of a walk through GitHub"))
		}
		query = next
	}
	page, next, whole, err := ask(ctx, s, threadNote(r, p.n), restapi.Request{Path: r.path("/" + list), Query: query}, withoutBodies)
	if err != nil {
		return step{}, threadError(err, r)
	}
	out := step{more: next != ""}
	if out.more {
		if err := trail.Visit("GitHub", "the issues and pull requests of "+r.FullName, next); err != nil {
			return step{}, err
		}
		out.rest = joinTrail(trail, next)
	}
	if p.n > 0 && query.Has("page") {
		moved, err := s.moved(ctx, r, p.n-1)
		if err != nil {
			return step{}, threadError(err, r)
		}
		if p.n > maxListPages {
			return step{}, connectors.Retryable(fmt.Errorf("the issues and pull requests of %s do not hold still", r.FullName), 0)
		}
		switch {
		case moved:
			out.more, out.rest = true, "" // from the start
		case len(page) == 0: // the page before named it
			return step{}, threadError(connectors.Retryable(errors.New("GitHub names a next page, on which there is nothing"), 0), r)
		}
	}
	for _, t := range page {
		if item, ok := s.threadItem(r, t, list == "pulls"); ok {
			if whole && t.Comments != nil && *t.Comments == 0 && t.PullRequest == nil {
				item.Content = renderThread(r, t, false, nil, false)
			}
			out.items = append(out.items, item)
		}
	}
	return out, nil
}

// splitTrail takes the trail of a list out of its part of a cursor; cursors of
// earlier versions have none.
func splitTrail(rest string) (restapi.LoopDetector, string) {
	if text, after, found := strings.Cut(rest, "|"); found {
		if trail, ok := restapi.ParseLoopDetector(text); ok {
			return trail, after
		}
	}
	return restapi.LoopDetector{}, rest
}

func joinTrail(trail restapi.LoopDetector, rest string) string { return trail.String() + "|" + rest }

func threadNote(r repo, page int) string { return r.note("threads") + strconv.Itoa(page) }

func withoutBodies(page []thread) []thread {
	page = slices.Clone(page)
	for i := range page {
		page[i].Body = ""
	}
	return page
}

// moved says whether a page of the list ends otherwise than when it was read,
// just before the one that follows it: then an issue of it, or before it, was
// deleted meanwhile, what follows moved up, and one was passed over. GitHub does
// not count the request for a page that is the same; lists that it gives by
// cursor, not by number, need none.
func (s *source) moved(ctx context.Context, r repo, page int) (bool, error) {
	var old kept[[]thread]
	if err := s.recall(ctx, threadNote(r, page), &old); err != nil || len(old.Data) == 0 {
		return false, err
	}
	path, rest, _ := strings.Cut(old.Asked, "?")
	query, err := url.ParseQuery(rest)
	if err != nil {
		return false, nil // a note of another version
	}
	now, _, _, err := ask(ctx, s, threadNote(r, page), restapi.Request{Path: path, Query: query}, withoutBodies)
	if err != nil {
		return false, err
	}
	return len(now) == 0 || now[len(now)-1].Number != old.Data[len(old.Data)-1].Number, nil
}

// threadItem leaves out what the config does not ask for.
func (s *source) threadItem(r repo, t thread, pull bool) (connectors.Item, bool) {
	kind, content, word := kindIssue, contentIssues, "issue"
	if pull || t.PullRequest != nil {
		kind, content, word = kindPull, contentPulls, "pull request"
	}
	if t.Number <= 0 || !s.config.has(content) || !s.config.closed && t.State != "open" || t.UpdatedAt.Before(s.config.since) {
		return connectors.Item{}, false
	}
	number := strconv.Itoa(t.Number)
	return connectors.Item{
		ID: idOf(r, kind, number), Path: r.FullName + "#" + number, Version: t.version(), Size: -1,
		Title: t.Title + " #" + number, URL: t.HTMLURL, MediaType: "text/markdown", Author: t.User.login(),
		CreatedAt: t.CreatedAt.UTC(), ModifiedAt: t.UpdatedAt.UTC(),
		Metadata: map[string]string{"repository": r.FullName, "kind": word, "state": stateOf(t)},
	}, true
}

// askThread looks at one issue or pull request. Another repository's, to which
// GitHub leads after a transfer, is none of this one.
func (s *source) askThread(ctx context.Context, r repo, number int) (thread, bool, error) {
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

// readThread makes the document of an issue or a pull request.
func (s *source) readThread(ctx context.Context, r repo, kind string, number int) (version string, text []byte, err error) {
	t, pull, err := s.askThread(ctx, r, number)
	if err == nil && pull != (kind == kindPull) {
		err = connectors.ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	var remarks []remark
	cut := false
	listed := 0
	read := func(path, word string) error {
		more, count, rest, err := s.remarks(ctx, r.path(path), word)
		remarks, listed, cut = append(remarks, more...), listed+count, cut || rest
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
	slices.SortStableFunc(remarks, func(a, b remark) int { return a.at.Compare(b.at) })
	return t.version(), renderThread(r, t, pull, remarks, cut), nil
}

// remarks reads comments or reviews: those with a text, and how many there are;
// cut says that there are more.
func (s *source) remarks(ctx context.Context, path, word string) (all []remark, count int, cut bool, err error) {
	query := url.Values{"per_page": {"100"}}
	var trail restapi.LoopDetector
	for range maxRemarkPages {
		var page []struct {
			User        *account  `json:"user"`
			Body        string    `json:"body"`
			CreatedAt   time.Time `json:"created_at"`
			SubmittedAt time.Time `json:"submitted_at"`
			State       string    `json:"state"`
			Path        string    `json:"path"`
		}
		header, err := s.api.JSON(ctx, restapi.Request{Path: path, Query: query}, &page)
		if err != nil {
			return nil, 0, false, err
		}
		count += len(page)
		for _, c := range page {
			if c.CreatedAt.IsZero() && c.SubmittedAt.IsZero() && c.State == "" {
				return nil, 0, false, connectors.Retryable(errors.New("GitHub lists a comment that cannot be; "+advice), 0)
			}
			one := remark{word: word, author: c.User.login(), at: c.CreatedAt, text: c.Body, about: c.Path}
			if one.at.IsZero() {
				one.at = c.SubmittedAt
			}
			if word == "Review" {
				one.word = reviewWord(c.State)
			}
			if strings.TrimSpace(c.Body) != "" {
				all = append(all, one)
			}
		}
		next, err := nextQuery(header)
		if err == nil && next == "" {
			return all, count, false, nil
		}
		if err == nil {
			err = trail.Visit("GitHub", path, next)
		}
		if err != nil {
			return nil, 0, false, err
		}
		query, _ = url.ParseQuery(next) // it was looked at before
	}
	return all, count, true, nil
}

func reviewWord(state string) string {
	switch state {
	case "APPROVED":
		return "Approval"
	case "CHANGES_REQUESTED":
		return "Changes requested"
	default:
		return "Review"
	}
}
