package confluence

import (
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
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	centerPages = 50 // pages of one answer, with their text
	// overlap is how many pages are asked for again where a list is paged by
	// number: what was deleted before them moves them up.
	overlap     = 10
	maxRestarts = 5
)

// center is Confluence Data Center.
type center struct {
	*api
	wants  wants
	noScan atomic.Bool // before 7.18
}

func (c *center) spaces(ctx context.Context, keys []string) ([]space, error) {
	var found []space
	for _, status := range []string{"current", "archived"} {
		parts := [][]string{nil}
		if len(keys) > 0 {
			parts = slices.Collect(slices.Chunk(keys, 50))
		}
		for _, part := range parts {
			query := url.Values{"status": {status}, "limit": {strconv.Itoa(listed)}}
			if part != nil {
				query["spaceKey"] = part
			}
			var trail restapi.LoopDetector
			for start := 0; ; {
				var answer rows[struct {
					ID        int64
					Key, Name string
					Type      string
				}]
				query.Set("start", strconv.Itoa(start))
				if err := c.get(ctx, "rest/api/space", query, &answer); err != nil {
					return nil, err
				}
				keys := ""
				for _, r := range answer.Results {
					if r.Key == "" {
						return nil, improper("a space")
					}
					keys += r.Key + " "
					found = append(found, space{id: strconv.FormatInt(r.ID, 10), key: r.Key, name: r.Name, personal: r.Type == "personal", archived: status == "archived"})
				}
				start += len(answer.Results)
				if next, _ := following(answer.paging); !next || len(answer.Results) == 0 {
					break
				}
				if err := trail.Visit("Confluence", "the spaces", keys); err != nil {
					return nil, err
				}
			}
		}
	}
	return found, nil
}

func (c *center) expand(body bool) string { return c.wants.expansions(body, "ancestors", "space") }

// list scans pages where the version can; its cursor is the last page seen.
// Else it counts, and looks whether the page before is still where it was.
func (c *center) list(ctx context.Context, of space, kind, cursor string) ([]*page, string, error) {
	query := url.Values{"spaceKey": {of.key}, "limit": {strconv.Itoa(centerPages)}}
	counted := kind != kindPage || c.noScan.Load() || strings.HasPrefix(cursor, "at:")
	if !counted {
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		answer, err := c.listing(ctx, "rest/api/content/scan", query)
		switch {
		case errors.Is(err, connectors.ErrNotFound) && restapi.StatusOf(err) == http.StatusNotFound && cursor == "":
			c.noScan.Store(true)
		case err != nil:
			return nil, "", err
		default:
			pages, err := c.pagesOf(ctx, answer.Results)
			next, token := following(answer.paging)
			token = firstOf(answer.NextCursor, token)
			switch {
			case !next:
				token = ""
			case token == "" && err == nil:
				err = errNowhere
			case token == cursor && err == nil:
				err = restapi.LoopError("Confluence", "the pages of "+of.key, token)
			}
			return pages, token, err
		}
	}
	query.Set("type", kind)
	query.Set("status", "current")
	return c.counted(ctx, query, cursor)
}

func (c *center) listing(ctx context.Context, path string, query url.Values) (contents, error) {
	var answer contents
	query.Set("expand", c.expand(true))
	err := c.get(ctx, path, query, &answer)
	if errors.Is(err, errLarge) {
		query.Set("expand", c.expand(false)) // each body by itself, later
		err = c.get(ctx, path, query, &answer)
	}
	return answer, err
}

// counted gives the part of a list that follows a cursor "at:START:LAST:RESTARTS",
// LAST being the page before START. Where that page is not found in the overlap,
// too much has moved, and the list begins anew: pages come twice then, but none
// is passed over.
func (c *center) counted(ctx context.Context, query url.Values, cursor string) ([]*page, string, error) {
	start, restarts, last := 0, 0, ""
	if cursor != "" {
		var err error
		parts := strings.Split(cursor, ":")
		if len(parts) != 4 {
			return nil, "", errCursor
		}
		if start, err = strconv.Atoi(parts[1]); err != nil || start < 1 {
			return nil, "", errCursor
		}
		if restarts, err = strconv.Atoi(parts[3]); err != nil {
			return nil, "", errCursor
		}
		last = parts[2]
	}
	from := max(start-overlap, 0)
	query.Set("start", strconv.Itoa(from))
	answer, err := c.listing(ctx, "rest/api/content", query)
	if err != nil {
		return nil, "", err
	}
	rows := answer.Results
	if last != "" {
		at := slices.IndexFunc(rows, func(r content) bool { return r.ID == last })
		switch {
		case at >= 0:
			from, rows = from+at+1, rows[at+1:]
		case restarts >= maxRestarts:
			return nil, "", connectors.Retryable(errors.New("the space changes faster than it can be listed; it is tried again later"), 0)
		default:
			query.Del("start")
			return c.counted(ctx, query, fmt.Sprintf("at:%d:%s:%d", 1, "", restarts+1))
		}
	} else if cursor != "" {
		from, rows = 0, answer.Results
	}
	pages, err := c.pagesOf(ctx, rows)
	if err != nil {
		return nil, "", err
	}
	next, _ := following(answer.paging)
	switch {
	case !next || len(answer.Results) == 0:
		return pages, "", nil
	case len(rows) == 0:
		return nil, "", connectors.Retryable(errors.New("the wiki gives lists that are too short to be followed"), 0)
	}
	return pages, fmt.Sprintf("at:%d:%s:%d", from+len(rows), rows[len(rows)-1].ID, restarts), nil
}

func (c *center) pagesOf(ctx context.Context, rows []content) ([]*page, error) {
	pages := make([]*page, 0, len(rows))
	for _, r := range rows {
		p, err := c.pageOf(ctx, r)
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

func (c *center) pageOf(ctx context.Context, r content) (*page, error) {
	if !r.proper() || r.Space.Key == "" || r.Metadata.Labels.Results == nil {
		return nil, improper("a page")
	}
	p := &page{
		id: r.ID, kind: r.Type, title: r.Title, status: r.Status, space: r.Space.Key, number: r.Version.Number,
		created: r.History.CreatedDate.Time, modified: r.Version.When.Time,
	}
	if r.Links.WebUI != "" {
		p.url = c.site.base + r.Links.WebUI
	}
	if r.Body.Storage != nil {
		p.hasBody, p.body = true, r.Body.Storage.Value
	}
	for _, a := range r.Ancestors {
		p.ancestors = append(p.ancestors, ancestor{id: a.ID, kind: firstOf(a.Type, "page"), title: a.Title})
	}
	files, marks, readers := c.wants.detail(c.site.base, p, r)
	if files {
		p.files = nil
		if err := c.all(ctx, "rest/api/content/"+p.id+"/child/attachment", url.Values{"expand": {"version,history"}}, func(f content) {
			p.files = append(p.files, fileOf(c.site.base, p.id, f))
		}); err != nil {
			return nil, err
		}
	}
	if marks {
		p.marks = nil
		if err := c.all(ctx, "rest/api/content/"+p.id+"/descendant/comment", url.Values{"expand": {"version"}}, func(one content) {
			p.marks = append(p.marks, markOf(one))
		}); err != nil {
			return nil, err
		}
		slices.Sort(p.marks)
	}
	if readers {
		p.restriction = nil
	}
	return p, nil
}

func (c *center) one(ctx context.Context, kind, id string) (*page, error) {
	var row content
	if err := c.get(ctx, "rest/api/content/"+url.PathEscape(id), url.Values{"expand": {c.expand(true)}}, &row); err != nil {
		return nil, err
	}
	if row.Type != kind {
		return nil, connectors.ErrNotFound
	}
	return c.pageOf(ctx, row)
}

func (c *center) titled(ctx context.Context, of space, kind, title string) ([]*page, error) {
	answer, err := c.listing(ctx, "rest/api/content", url.Values{"spaceKey": {of.key}, "type": {kind}, "title": {title}, "status": {"current"}, "limit": {strconv.Itoa(centerPages)}})
	if err != nil {
		return nil, err
	}
	return c.pagesOf(ctx, answer.Results)
}

func (c *center) file(ctx context.Context, id string) (*file, error) {
	var row content
	if err := c.get(ctx, "rest/api/content/"+url.PathEscape(id), url.Values{"expand": {"version,history,container"}}, &row); err != nil {
		return nil, err
	}
	if row.Type != "attachment" || row.Status != "" && row.Status != "current" {
		return nil, connectors.ErrNotFound
	}
	made := fileOf(c.site.base, row.Container.ID, row)
	return &made, nil
}

// download is the link that came with the attachment, which names the version.
func (c *center) download(f *file) (string, url.Values) { return f.download, nil }

func (c *center) comments(ctx context.Context, p *page) ([]comment, error) {
	return c.commentsOf(ctx, "rest/api/content/"+p.id+"/descendant/comment", url.Values{})
}

// user looks a user up by key, or by name where the key was none.
func (c *center) user(ctx context.Context, id string) (user, error) {
	var found user
	err := c.get(ctx, "rest/api/user", url.Values{"key": {id}}, &found)
	if errors.Is(err, connectors.ErrNotFound) {
		err = c.get(ctx, "rest/api/user", url.Values{"username": {id}}, &found)
	}
	return found, err
}

func (c *center) names(ctx context.Context, ids []string, known people) error {
	for _, id := range ids {
		found, err := c.user(ctx, id)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			known[id] = ""
		case err != nil:
			return err
		default:
			known[id] = found.name()
		}
	}
	return nil
}

// mails asks for the profiles: the interface itself has no mail addresses in
// most versions.
func (c *center) mails(ctx context.Context, ids []string) (map[string]string, error) {
	found := make(map[string]string)
	for _, id := range ids {
		u, err := c.user(ctx, id)
		if err == nil && u.Email == "" && u.Username != "" {
			var profile struct{ UserName, FullName, DisplayName, Email string }
			err = c.get(ctx, "rest/mobile/1.0/profile/"+url.PathEscape(u.Username), nil, &profile)
			if err == nil && firstOf(profile.UserName, profile.FullName, profile.DisplayName, profile.Email) == "" {
				err = improper("a profile")
			}
			u.Email = profile.Email
		}
		if err != nil && !errors.Is(err, connectors.ErrNotFound) && restapi.StatusOf(err) != http.StatusForbidden {
			return nil, err
		}
		found[id] = u.Email
	}
	return found, nil
}
