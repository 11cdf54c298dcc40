package confluence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	dataCenterPageSize = 50 // pages of one response, with their content
	// numberOverlap is the number of pages that are requested again in a list
	// that is paged by number, since deletions shift pages.
	numberOverlap = 10
	maxRestarts   = 5
)

// dataCenter is the deployment Confluence Data Center.
type dataCenter struct {
	*client
	include         inclusions
	scanUnsupported atomic.Bool // before version 7.18
}

func (c *dataCenter) spaces(ctx context.Context, keys []string) ([]space, error) {
	var found []space
	for _, status := range []string{"current", "archived"} {
		parts := [][]string{nil}
		if len(keys) > 0 {
			parts = slices.Collect(slices.Chunk(keys, 50))
		}
		for _, part := range parts {
			query := url.Values{"status": {status}, "limit": {strconv.Itoa(maxListEntries)}}
			if part != nil {
				query["spaceKey"] = part
			}
			err := restapi.AllOffsets("Confluence", "the spaces", func(offset int) (keys []string, more bool, err error) {
				var page rows[struct {
					ID        int64
					Key, Name string
					Type      string
				}]
				query.Set("start", strconv.Itoa(offset))
				if err := c.get(ctx, "rest/api/space", query, &page); err != nil {
					return nil, false, err
				}
				for _, r := range page.Results {
					if r.Key == "" {
						return nil, false, c.ErrInvalid("a space")
					}
					keys = append(keys, r.Key)
					found = append(found, space{id: strconv.FormatInt(r.ID, 10), key: r.Key, name: r.Name, personal: r.Type == "personal", archived: status == "archived"})
				}
				more, _ = nextPage(page.paging)
				return keys, more, nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (c *dataCenter) expansions(body bool) string {
	return c.include.expansions(body, "ancestors", "space")
}

// list scans pages, with the last page as cursor, if the version supports it.
// Otherwise it lists by number.
func (c *dataCenter) list(ctx context.Context, in space, kind, cursor string) ([]*page, string, error) {
	query := url.Values{"spaceKey": {in.key}, "limit": {strconv.Itoa(dataCenterPageSize)}}
	byNumber := kind != kindPage || c.scanUnsupported.Load() || strings.HasPrefix(cursor, "at:")
	if !byNumber {
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		result, err := c.listContent(ctx, "rest/api/content/scan", query)
		switch {
		case errors.Is(err, connectors.ErrNotFound) && restapi.StatusOf(err) == http.StatusNotFound && cursor == "":
			c.scanUnsupported.Store(true)
		case err != nil:
			return nil, "", err
		default:
			pages, err := c.newPages(ctx, result.Results)
			next, token := nextPage(result.paging)
			token = cmp.Or(result.NextCursor, token)
			switch {
			case !next:
				token = ""
			case token == "" && err == nil:
				err = errNoCursor
			case token == cursor && err == nil:
				err = restapi.LoopError("Confluence", "the pages of "+in.key, token)
			}
			return pages, token, err
		}
	}
	query.Set("type", kind)
	query.Set("status", "current")
	return c.listByNumber(ctx, query, cursor)
}

func (c *dataCenter) listContent(ctx context.Context, path string, query url.Values) (contents, error) {
	var result contents
	query.Set("expand", c.expansions(true))
	err := c.get(ctx, path, query, &result)
	if errors.Is(err, atlassian.ErrTooLarge) {
		query.Set("expand", c.expansions(false)) // bodies are requested one by one later
		err = c.get(ctx, path, query, &result)
	}
	return result, err
}

// listByNumber returns the part of a list that follows a cursor
// "at:START:LAST:RESTARTS". LAST is the page before START. If that page is not
// in the overlap, pages have shifted too far and the list starts again: pages
// may be listed twice, but none is skipped.
func (c *dataCenter) listByNumber(ctx context.Context, query url.Values, cursor string) ([]*page, string, error) {
	start, restarts, last := 0, 0, ""
	if cursor != "" {
		var err error
		parts := strings.Split(cursor, ":")
		if len(parts) != 4 {
			return nil, "", connectors.ErrCursor
		}
		if start, err = strconv.Atoi(parts[1]); err != nil || start < 1 {
			return nil, "", connectors.ErrCursor
		}
		if restarts, err = strconv.Atoi(parts[3]); err != nil {
			return nil, "", connectors.ErrCursor
		}
		last = parts[2]
	}
	from := max(start-numberOverlap, 0)
	query.Set("start", strconv.Itoa(from))
	result, err := c.listContent(ctx, "rest/api/content", query)
	if err != nil {
		return nil, "", err
	}
	rows := result.Results
	if last != "" {
		index := slices.IndexFunc(rows, func(r content) bool { return r.ID == last })
		switch {
		case index >= 0:
			from, rows = from+index+1, rows[index+1:]
		case restarts >= maxRestarts:
			return nil, "", connectors.Retryable(errors.New("the space changes faster than it can be listed; it is tried again later"), 0)
		default:
			query.Del("start")
			return c.listByNumber(ctx, query, fmt.Sprintf("at:%d:%s:%d", 1, "", restarts+1))
		}
	} else if cursor != "" {
		from, rows = 0, result.Results
	}
	pages, err := c.newPages(ctx, rows)
	if err != nil {
		return nil, "", err
	}
	next, _ := nextPage(result.paging)
	switch {
	case !next || len(result.Results) == 0:
		return pages, "", nil
	case len(rows) == 0:
		return nil, "", connectors.Retryable(errors.New("the wiki gives lists that are too short to be followed"), 0)
	}
	return pages, fmt.Sprintf("at:%d:%s:%d", from+len(rows), rows[len(rows)-1].ID, restarts), nil
}

func (c *dataCenter) newPages(ctx context.Context, rows []content) ([]*page, error) {
	pages := make([]*page, 0, len(rows))
	for _, r := range rows {
		p, err := c.newPage(ctx, r)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

func (c *dataCenter) newPage(ctx context.Context, r content) (*page, error) {
	if !r.isValid() || r.Space.Key == "" || r.Metadata.Labels.Results == nil {
		return nil, c.ErrInvalid("a page")
	}
	p := &page{
		id: r.ID, kind: r.Type, title: r.Title, status: r.Status, space: r.Space.Key, version: r.Version.Number,
		created: r.History.CreatedDate.Time, modified: r.Version.When.Time,
	}
	if r.Links.WebUI != "" {
		p.url = c.Site.Base + r.Links.WebUI
	}
	if r.Body.Storage != nil {
		p.hasBody, p.body = true, r.Body.Storage.Value
	}
	for _, a := range r.Ancestors {
		p.ancestors = append(p.ancestors, ancestor{id: a.ID, kind: cmp.Or(a.Type, "page"), title: a.Title})
	}
	files, comments, readers := c.include.addDetails(c.Site.Base, p, r)
	if files {
		p.files = nil
		if err := c.all(ctx, "rest/api/content/"+p.id+"/child/attachment", url.Values{"expand": {"version,history"}}, func(f content) {
			p.files = append(p.files, newFile(c.Site.Base, p.id, f))
		}); err != nil {
			return nil, err
		}
	}
	if comments {
		p.commentMarks = nil
		if err := c.all(ctx, "rest/api/content/"+p.id+"/descendant/comment", url.Values{"expand": {"version"}}, func(mark content) {
			p.commentMarks = append(p.commentMarks, commentMark(mark))
		}); err != nil {
			return nil, err
		}
		slices.Sort(p.commentMarks)
	}
	if readers {
		p.restriction = nil
	}
	return p, nil
}

func (c *dataCenter) page(ctx context.Context, kind, id string) (*page, error) {
	var row content
	if err := c.get(ctx, "rest/api/content/"+url.PathEscape(id), url.Values{"expand": {c.expansions(true)}}, &row); err != nil {
		return nil, err
	}
	if row.Type != kind {
		return nil, connectors.ErrNotFound
	}
	return c.newPage(ctx, row)
}

func (c *dataCenter) pagesTitled(ctx context.Context, in space, kind, title string) ([]*page, error) {
	result, err := c.listContent(ctx, "rest/api/content", url.Values{"spaceKey": {in.key}, "type": {kind}, "title": {title}, "status": {"current"}, "limit": {strconv.Itoa(dataCenterPageSize)}})
	if err != nil {
		return nil, err
	}
	return c.newPages(ctx, result.Results)
}

func (c *dataCenter) file(ctx context.Context, id string) (*file, error) {
	var row content
	if err := c.get(ctx, "rest/api/content/"+url.PathEscape(id), url.Values{"expand": {"version,history,container"}}, &row); err != nil {
		return nil, err
	}
	if row.Type != "attachment" || row.Status != "" && row.Status != "current" {
		return nil, connectors.ErrNotFound
	}
	f := newFile(c.Site.Base, row.Container.ID, row)
	return &f, nil
}

// downloadRequest returns the link in the attachment, which has the version.
func (c *dataCenter) downloadRequest(f *file) (string, url.Values) { return f.download, nil }

func (c *dataCenter) comments(ctx context.Context, p *page) ([]comment, error) {
	return c.readComments(ctx, "rest/api/content/"+p.id+"/descendant/comment", url.Values{})
}

// lookUpUser returns a user by key or, if there is none, by name.
func (c *dataCenter) lookUpUser(ctx context.Context, id string) (user, error) {
	var u user
	err := c.get(ctx, "rest/api/user", url.Values{"key": {id}}, &u)
	if errors.Is(err, connectors.ErrNotFound) {
		err = c.get(ctx, "rest/api/user", url.Values{"username": {id}}, &u)
	}
	return u, err
}

func (c *dataCenter) names(ctx context.Context, ids []string, names userNames) error {
	for _, id := range ids {
		u, err := c.lookUpUser(ctx, id)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			names[id] = ""
		case err != nil:
			return err
		default:
			names[id] = u.displayName()
		}
	}
	return nil
}

// addresses uses profiles: most versions of the REST API have no addresses.
func (c *dataCenter) addresses(ctx context.Context, ids []string) (map[string]string, error) {
	addresses := make(map[string]string)
	for _, id := range ids {
		u, err := c.lookUpUser(ctx, id)
		if err == nil && u.Email == "" && u.Username != "" {
			var profile struct{ UserName, FullName, DisplayName, Email string }
			err = c.get(ctx, "rest/mobile/1.0/profile/"+url.PathEscape(u.Username), nil, &profile)
			if err == nil && cmp.Or(profile.UserName, profile.FullName, profile.DisplayName, profile.Email) == "" {
				err = c.ErrInvalid("a profile")
			}
			u.Email = profile.Email
		}
		if err != nil && !errors.Is(err, connectors.ErrNotFound) && restapi.StatusOf(err) != http.StatusForbidden {
			return nil, err
		}
		addresses[id] = u.Email
	}
	return addresses, nil
}
