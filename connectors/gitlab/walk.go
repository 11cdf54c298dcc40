package gitlab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The kinds of items in ids. An id is the project's number, the kind, and a path,
// number or slug.
const (
	kindFile    = "f"
	kindIssue   = "i"
	kindMerge   = "m"
	kindWiki    = "w"
	kindSnippet = "s"
	kindBranch  = "b" // of deliveries only
)

// kinds has the kinds of items in the order of the stages.
const kinds = kindFile + kindIssue + kindMerge + kindWiki + kindSnippet

// The parts of a project, in the order of the walk.
const (
	stageFiles = iota
	stageIssues
	stageMerges
	stageWiki
	stageSnippets
)

const (
	listedAtOnce = 100 // items of a step, except for a wiki
	maxSteps     = 20  // of a page
)

// A position is a place in a walk: the project, the stage, and the page.
type position struct {
	Project int64  `json:"p"`
	Stage   int    `json:"s,omitempty"`
	Query   string `json:"q,omitempty"` // of the page
	Ref     string `json:"c,omitempty"` // the commit of the files
	Since   string `json:"t,omitempty"` // the start of the window of updates
	Page    int    `json:"n,omitempty"` // in the window
	Loop    string `json:"l,omitempty"`
	// Total is the number of items so far, with issues and merge requests as GitLab counts
	// them, and -1 if it does not.
	Total int `json:"k,omitempty"`
}

// stages returns the names of the parts of a project, in the order of the walk.
func stages() []string {
	return []string{"files", "issues", "merge requests", "wiki", "snippets"}
}

func (s *source) applies(stage int, p project) bool {
	on := func(option string, enabled *bool) bool {
		return s.settings.Boolean(option) && (enabled == nil || *enabled)
	}
	switch stage {
	case stageFiles:
		return s.settings.Boolean(optionFiles) && !p.Empty && cmp.Or(s.settings.String(optionBranch), p.Branch) != ""
	case stageIssues:
		return on(optionIssues, p.Issues)
	case stageMerges:
		return on(optionMerges, p.Merges)
	case stageWiki:
		return on(optionWikis, p.Wiki)
	default:
		return on(optionSnippets, p.Snippet)
	}
}

// Walk implements [connectors.Source]: the projects by id, and of each one its files,
// issues, merge requests, wiki and snippets.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, err
	}
	var at position
	var out connectors.Page
	var list []project
	if cursor == "" {
		all, err := s.selected(ctx)
		if err != nil {
			return out, err
		}
		list, out.Warnings = all.projects, all.warnings
		if all.incomplete {
			out.Incomplete = []string{""}
		}
		if err := s.remember(ctx, list); err != nil {
			return out, err
		}
	} else {
		err := connectors.ParseCursor(cursor, &at)
		_, badQuery := url.ParseQuery(at.Query)
		if err != nil || badQuery != nil || at.Stage < 0 || at.Stage >= len(stages()) || at.Page < 0 {
			return out, connectors.ErrCursor
		}
		if list, err = s.projects(ctx); err != nil {
			return out, err
		}
	}
	i, found := slices.BinarySearchFunc(list, at.Project, func(p project, id int64) int { return cmp.Compare(p.ID, id) })
	if !found {
		at = position{Total: at.Total}
	}
	steps := 0
	for ; i < len(list); i, at = i+1, (position{Total: at.Total}) {
		at.Project = list[i].ID
		for at.Stage < len(stages()) {
			if !s.applies(at.Stage, list[i]) {
				at = position{Project: list[i].ID, Stage: at.Stage + 1, Total: at.Total}
				continue
			}
			if steps == maxSteps || len(out.Items) > connectors.MaxPageItems-listedAtOnce {
				out.Next = connectors.FormatCursor(at)
				return out, nil
			}
			steps++
			step, err := s.step(ctx, list[i], at)
			if err != nil && isHidden(err) && !errors.Is(err, errScope) {
				out.Incomplete = append(out.Incomplete, list[i].key())
				out.Warnings = append(out.Warnings, hiddenWarning(stages()[at.Stage], list[i]))
				step, err = stepResult{uncounted: true}, nil
			}
			if err != nil {
				return connectors.Page{}, fmt.Errorf("list the %s of %s: %w", stages()[at.Stage], list[i].Path, err)
			}
			if len(out.Items)+len(step.items) > connectors.MaxPageItems { // a large wiki
				out.Next = connectors.FormatCursor(at)
				return out, nil
			}
			out.Items, out.Warnings = append(out.Items, step.items...), append(out.Warnings, step.warnings...)
			total := step.addTo(at)
			if step.next == nil {
				step.next = &position{}
				at.Stage++
			}
			step.next.Project, step.next.Stage, step.next.Total = list[i].ID, at.Stage, total
			at = *step.next
		}
	}
	out.Done, out.Total = true, max(at.Total, 0)
	return out, nil
}

// addTo adds the items of a step at a position to its total.
func (r stepResult) addTo(at position) int {
	switch isThreads := at.Stage == stageIssues || at.Stage == stageMerges; {
	case at.Total < 0 || r.uncounted:
		return -1
	case !isThreads:
		return at.Total + len(r.items)
	case at.Since == "" && at.Page <= 1:
		return at.Total + r.counted
	default:
		return at.Total // counted by the first step
	}
}

func hiddenWarning(part string, p project) string {
	return fmt.Sprintf("GitLab does not show the %s of %s to the account; the documents stay. Give the account access, or leave this part out.", part, p.Path)
}

// A stepResult is a page of a stage. next is nil at the end of the stage.
type stepResult struct {
	items    []connectors.Item
	warnings []string
	next     *position
	// counted is the length of the whole list as GitLab counts it, which it does not do if
	// uncounted is set.
	counted   int
	uncounted bool
}

func (s *source) step(ctx context.Context, p project, at position) (stepResult, error) {
	switch at.Stage {
	case stageFiles:
		return s.files(ctx, p, at)
	case stageIssues:
		return s.threads(ctx, p, kindIssue, at)
	case stageMerges:
		return s.threads(ctx, p, kindMerge, at)
	case stageWiki:
		return s.wiki(ctx, p)
	default:
		return s.snippets(ctx, p, at)
	}
}

func (s *source) branch(p project) string { return cmp.Or(s.settings.String(optionBranch), p.Branch) }

// files lists a page of the tree of one commit, so that a push meanwhile does not move
// the pages.
func (s *source) files(ctx context.Context, p project, at position) (out stepResult, err error) {
	if at.Ref == "" {
		head, err := s.head(ctx, p)
		if errors.Is(err, connectors.ErrNotFound) && s.settings.String(optionBranch) != "" {
			out.warnings = []string{fmt.Sprintf("%s has no branch %s; it has no files here.", p.Path, s.branch(p))}
			return out, nil
		}
		if err != nil && !errors.Is(err, connectors.ErrNotFound) {
			return out, err
		}
		// Some proxies do not let this request through. The list tells whether there are files.
		at.Ref = cmp.Or(head, s.branch(p))
	}
	type entry struct{ ID, Path, Type, Mode string }
	query := url.Values{"ref": {at.Ref}, "recursive": {"true"}, "pagination": {"keyset"}, "per_page": {perPage}}
	if at.Query != "" {
		query, _ = url.ParseQuery(at.Query)
	}
	list, next, err := page[entry](ctx, s, p.path("/repository/tree"), query)
	if err != nil {
		return out, err
	}
	for _, e := range list {
		if e.ID == "" || e.Path == "" || e.Type == "" {
			return out, errInvalid("a file")
		}
		if item, ok := s.fileItem(p, e.Path, e.ID); ok && e.Type == "blob" && e.Mode != "120000" {
			out.items = append(out.items, item)
		}
	}
	return out, advance(&out, at, next, "the files of "+p.Path)
}

// advance sets the next position of a list that is paged by links.
func advance(out *stepResult, at position, next, name string) error {
	if next == "" {
		return nil
	}
	loop, _ := restapi.ParseLoopDetector(at.Loop)
	if err := loop.Visit("GitLab", name, next); err != nil {
		return err
	}
	out.next = &position{Query: next, Ref: at.Ref, Loop: loop.String()}
	return nil
}

func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("GitLab answers with %s that cannot be; check config.%s, and whether a proxy stands between", what, optionURL), 0)
}

// fileItem reports false for a file that is not selected.
func (s *source) fileItem(p project, path, sha string) (connectors.Item, bool) {
	item := s.item(p, kindFile, path)
	item.Path, item.Version = p.Path+"/"+path, sha
	item.URL = p.URL + "/-/blob/" + escapePath(s.branch(p)) + "/" + escapePath(path)
	item.Metadata["branch"] = s.branch(p)
	patterns := s.settings.Strings(optionPaths)
	selected := len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool { return glob.Match(pattern, path) })
	return item, selected && len(item.ID) <= connectors.MaxIDBytes && len(item.Path) <= connectors.MaxIDBytes
}

func (s *source) item(p project, kind, rest string) connectors.Item {
	return connectors.Item{ID: p.key() + ":" + kind + ":" + rest, Container: p.key(), Size: -1, Metadata: map[string]string{"project": p.Path}}
}

func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// A thread is an issue or merge request.
type thread struct {
	IID          int       `json:"iid"`
	Title        string    `json:"title"`
	Description  string    `json:"description"`
	State        string    `json:"state"`
	URL          string    `json:"web_url"`
	Labels       []string  `json:"labels"`
	Author       author    `json:"author"`
	Assignees    []author  `json:"assignees"`
	Notes        *int      `json:"user_notes_count"`
	Confidential bool      `json:"confidential"`
	Created      time.Time `json:"created_at"`
	Updated      time.Time `json:"updated_at"`
}

type author struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Username string `json:"username"`
}

func (t thread) isValid() bool { return t.IID > 0 && !t.Updated.IsZero() && t.State != "" }

func (t thread) version() string {
	notes := 0
	if t.Notes != nil {
		notes = *t.Notes
	}
	return strconv.FormatInt(t.Updated.UnixMilli(), 10) + "-" + strconv.Itoa(notes)
}

func listOf(kind string) string {
	if kind == kindMerge {
		return "/merge_requests"
	}
	return "/issues"
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// threads lists a page of issues or merge requests in the order of their updates. The
// next page begins at the last update, so that neither updates nor deletions meanwhile
// move others over the edge of a page; versions before keyset paging have no other way.
func (s *source) threads(ctx context.Context, p project, kind string, at position) (out stepResult, err error) {
	query := url.Values{"scope": {"all"}, "state": {"all"}, "order_by": {"updated_at"}, "sort": {"asc"}, "per_page": {perPage}}
	if at.Since != "" {
		query.Set("updated_after", at.Since)
	}
	if at.Page > 1 {
		query.Set("page", strconv.Itoa(at.Page))
	}
	list, next, header, err := pageWithHeader[thread](ctx, s, p.path(listOf(kind)), query)
	if err != nil {
		return out, err
	}
	// GitLab leaves the header out if there are more than 10,000.
	counted, countErr := strconv.Atoi(header.Get("X-Total"))
	out.counted, out.uncounted = counted, countErr != nil || counted < 0
	ids := at.Since
	for _, t := range list {
		if !t.isValid() {
			return out, errInvalid("an issue or merge request")
		}
		item := s.threadItem(p, kind, t)
		if t.Notes != nil && *t.Notes == 0 {
			item.Content = render(kind, p, t, nil)
		}
		out.items = append(out.items, item)
		ids += " " + strconv.Itoa(t.IID)
	}
	if next == "" || len(list) == 0 {
		return out, nil
	}
	loop, _ := restapi.ParseLoopDetector(at.Loop)
	if err := loop.Visit("GitLab", "the issues or merge requests of "+p.Path, ids); err != nil {
		return out, err
	}
	out.next = &position{Since: at.Since, Page: max(at.Page, 1) + 1, Loop: loop.String()}
	if last := list[len(list)-1].Updated.UTC().Format(timeFormat); last > at.Since {
		out.next.Since, out.next.Page = last, 0
	}
	return out, nil
}

func (s *source) threadItem(p project, kind string, t thread) connectors.Item {
	mark, word := "#", "issue"
	if kind == kindMerge {
		mark, word = "!", "merge request"
	}
	item := s.item(p, kind, strconv.Itoa(t.IID))
	item.Path, item.Version, item.Title = p.Path+mark+strconv.Itoa(t.IID), t.version(), t.Title+" "+mark+strconv.Itoa(t.IID)
	item.URL, item.MediaType, item.Author = t.URL, "text/markdown", t.Author.Name
	item.CreatedAt, item.ModifiedAt = t.Created.UTC(), t.Updated.UTC()
	item.Metadata["kind"], item.Metadata["state"] = word, t.State
	if t.Confidential {
		item.Metadata["confidential"] = "true"
	}
	if kind == kindIssue {
		s.rememberAccess(item.ID, t.access())
	}
	return item
}

type wikiPage struct{ Slug, Title, Content, Format string }

// wiki lists the pages of a wiki with their content, which GitLab does in one answer.
func (s *source) wiki(ctx context.Context, p project) (out stepResult, err error) {
	pages, _, err := page[wikiPage](ctx, s, p.path("/wikis"), url.Values{"with_content": {"1"}})
	if err != nil {
		return out, err
	}
	for _, w := range pages {
		if w.Slug == "" || w.Title == "" {
			return out, errInvalid("a wiki page")
		}
		if len(out.items) == connectors.MaxPageItems {
			return out, connectors.Fatal(fmt.Errorf("the wiki of %s has more than %d pages; leave wikis out by config.%s", p.Path, connectors.MaxPageItems, optionWikis))
		}
		out.items = append(out.items, s.wikiItem(p, w))
	}
	return out, nil
}

func (s *source) wikiItem(p project, w wikiPage) connectors.Item {
	item := s.item(p, kindWiki, w.Slug)
	sum := sha256.Sum256([]byte(w.Title + "\n" + w.Content))
	item.Path, item.Title, item.Version, item.MediaType = p.Path+".wiki/"+w.Slug, w.Title, hex.EncodeToString(sum[:12]), "text/markdown"
	item.URL, item.Content = p.URL+"/-/wikis/"+escapePath(w.Slug), []byte("# "+w.Title+"\n\n"+w.Content+"\n")
	item.Metadata["kind"] = "wiki page"
	return item
}

type snippet struct {
	ID         int64     `json:"id"`
	Title      string    `json:"title"`
	FileName   string    `json:"file_name"`
	Visibility string    `json:"visibility"`
	URL        string    `json:"web_url"`
	Author     author    `json:"author"`
	Created    time.Time `json:"created_at"`
	Updated    time.Time `json:"updated_at"`
}

func (s *source) snippets(ctx context.Context, p project, at position) (out stepResult, err error) {
	query := url.Values{"per_page": {perPage}}
	if at.Query != "" {
		query, _ = url.ParseQuery(at.Query)
	}
	list, next, err := page[snippet](ctx, s, p.path("/snippets"), query)
	if err != nil {
		return out, err
	}
	for _, one := range list {
		if one.ID <= 0 || one.Updated.IsZero() {
			return out, errInvalid("a snippet")
		}
		out.items = append(out.items, s.snippetItem(p, one))
	}
	return out, advance(&out, at, next, "the snippets of "+p.Path)
}

func (s *source) snippetItem(p project, one snippet) connectors.Item {
	id := strconv.FormatInt(one.ID, 10)
	item := s.item(p, kindSnippet, id)
	item.Path, item.Title, item.Version = p.Path+"/snippets/"+id+"/"+connectors.PathSegment(one.FileName), one.Title, strconv.FormatInt(one.Updated.UnixMilli(), 10)
	item.URL, item.Author, item.CreatedAt, item.ModifiedAt = one.URL, one.Author.Name, one.Created.UTC(), one.Updated.UTC()
	item.Metadata["kind"] = "snippet"
	s.rememberAccess(item.ID, one.access())
	return item
}
