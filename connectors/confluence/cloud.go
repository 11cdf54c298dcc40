package confluence

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	cloudPages = 100 // pages of one answer, and of one search for what it lacks
	cloudList  = 250 // the most that version 2 gives
	maxLevels  = 60  // of pages above a page
)

// cloud is Confluence Cloud.
type cloud struct {
	*api
	wants wants

	mutex   sync.Mutex        // of what follows
	parents map[string]parent // what is above pages, by id
	keys    map[string]string // of spaces, by id
}

type parent struct{ title, kind, above, aboveKind string }

// What follows is how version 2 writes things.

type pageV2 struct {
	ID, Status, Title, SpaceID, ParentID, ParentType, AuthorID string
	CreatedAt                                                  stamp
	Version                                                    struct {
		Number    int
		CreatedAt stamp
		AuthorID  string
	}
	Body struct {
		Storage *struct{ Value string }
	}
	Links links `json:"_links"`
}

type fileV2 struct {
	ID, Status, Title, PageID, BlogPostID, MediaType, DownloadLink, WebUILink string
	FileSize                                                                  int64
	CreatedAt                                                                 stamp
	Version                                                                   struct {
		Number    int
		CreatedAt stamp
	}
}

type listV2[T any] struct {
	Results []T
	Links   links `json:"_links"`
}

func (listV2[T]) needs() []string { return []string{"results"} }

func (pageV2) needs() []string { return []string{"id", "title"} }

func (fileV2) needs() []string { return []string{"id", "version.number"} }

// listAll reads a list of version 2 to its end.
func listAll[T any](ctx context.Context, a *api, path string, query url.Values) ([]T, error) {
	query = cloned(query)
	query.Set("limit", strconv.Itoa(cloudList))
	var found []T
	var trail restapi.LoopDetector
	for {
		var answer listV2[T]
		if err := a.get(ctx, path, query, &answer); err != nil {
			return nil, err
		}
		found = append(found, answer.Results...)
		next, cursor := following(paging{Links: answer.Links})
		if !next {
			return found, nil
		}
		if cursor == "" {
			return nil, errNowhere
		}
		if err := trail.Visit("Confluence", path, cursor); err != nil {
			return nil, err
		}
		query.Set("cursor", cursor)
	}
}

var errNowhere = connectors.Retryable(errors.New("the wiki said that a list goes on, but not where"), 0)

func (c *cloud) spaces(ctx context.Context, keys []string) ([]space, error) {
	type spaceV2 struct{ ID, Key, Name, Type, Status string }
	var found []space
	parts := [][]string{nil}
	if len(keys) > 0 {
		parts = slices.Collect(slices.Chunk(keys, 50))
	}
	for _, part := range parts {
		query := url.Values{}
		if part != nil {
			query.Set("keys", strings.Join(part, ","))
		}
		rows, err := listAll[spaceV2](ctx, c.api, "api/v2/spaces", query)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.ID == "" || r.Key == "" {
				return nil, improper("a space")
			}
			found = append(found, space{id: r.ID, key: r.Key, name: r.Name, personal: r.Type == "personal", archived: r.Status == "archived"})
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, s := range found {
		c.keys[s.id] = s.key
	}
	return found, nil
}

func collection(kind string) string {
	if kind == kindBlog {
		return "blogposts"
	}
	return "pages"
}

func (c *cloud) list(ctx context.Context, of space, kind, cursor string) ([]*page, string, error) {
	query := url.Values{"limit": {strconv.Itoa(cloudPages)}, "body-format": {"storage"}, "sort": {"id"}, "status": {"current"}}
	if c.wants.archived && kind == kindPage {
		query.Set("status", "current,archived")
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	var answer listV2[pageV2]
	path := "api/v2/spaces/" + url.PathEscape(of.id) + "/" + collection(kind)
	err := c.get(ctx, path, query, &answer)
	if errors.Is(err, errLarge) {
		query.Del("body-format") // each body by itself, later
		err = c.get(ctx, path, query, &answer)
	}
	if err != nil {
		return nil, "", err
	}
	pages, err := c.complete(ctx, kind, of.key, answer.Results)
	if err != nil {
		return nil, "", err
	}
	next, token := following(paging{Links: answer.Links})
	if next && token == "" {
		return nil, "", errNowhere
	}
	return pages, token, nil
}

// complete makes pages of rows of version 2: with what is above them, and with
// what only a search or a request for each tells.
func (c *cloud) complete(ctx context.Context, kind, key string, rows []pageV2) ([]*page, error) {
	pages := make([]*page, 0, len(rows))
	for _, r := range rows {
		if r.ID == "" || r.Version.Number <= 0 {
			return nil, improper("a page")
		}
		p := &page{
			id: r.ID, kind: kind, title: r.Title, status: r.Status, space: key, number: r.Version.Number,
			created: r.CreatedAt.Time, modified: r.Version.CreatedAt.Time,
		}
		if r.Links.WebUI != "" {
			p.url = c.site.base + r.Links.WebUI
		}
		if r.Body.Storage != nil {
			p.hasBody, p.body = true, r.Body.Storage.Value
		}
		pages = append(pages, p)
	}
	if kind == kindPage {
		if err := c.above(ctx, rows, pages); err != nil {
			return nil, err
		}
	}
	return pages, c.details(ctx, pages)
}

// above finds the titles of the pages and folders that pages lie in, level by
// level for all of them at once.
func (c *cloud) above(ctx context.Context, rows []pageV2, pages []*page) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.parents) > 200_000 {
		clear(c.parents)
	}
	for _, r := range rows {
		c.parents[r.ID] = parent{title: r.Title, kind: "page", above: r.ParentID, aboveKind: r.ParentType}
	}
	for range maxLevels {
		missing := make(map[string]string)
		for _, r := range rows {
			at := c.parents[r.ID]
			for range maxLevels {
				above, known := c.parents[at.above]
				if at.above == "" {
					break
				}
				if !known {
					missing[at.above] = at.aboveKind
					break
				}
				at = above
			}
		}
		if len(missing) == 0 {
			break
		}
		if err := c.fetchParents(ctx, missing); err != nil {
			return err
		}
	}
	for i, r := range rows {
		seen := map[string]bool{r.ID: true}
		for at := c.parents[r.ID]; at.above != "" && !seen[at.above] && len(seen) < maxLevels; at = c.parents[at.above] {
			seen[at.above] = true
			if above := c.parents[at.above]; above.title != "" {
				pages[i].ancestors = append(pages[i].ancestors, ancestor{id: at.above, kind: above.kind, title: above.title})
			}
		}
		slices.Reverse(pages[i].ancestors)
	}
	return nil
}

func (c *cloud) fetchParents(ctx context.Context, missing map[string]string) error {
	var ids []string
	for id, kind := range missing {
		if kind == "" || kind == "page" {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	for part := range slices.Chunk(ids, cloudList) {
		rows, err := listAll[pageV2](ctx, c.api, "api/v2/pages", url.Values{"id": {strings.Join(part, ",")}, "status": {"current,archived"}})
		if err != nil {
			return err
		}
		for _, r := range rows {
			c.parents[r.ID] = parent{title: r.Title, kind: "page", above: r.ParentID, aboveKind: r.ParentType}
		}
	}
	for id, kind := range missing {
		if slices.Contains([]string{"folder", "whiteboard", "database", "embed"}, kind) {
			var row pageV2
			if err := c.get(ctx, "api/v2/"+kind+"s/"+url.PathEscape(id), nil, &row); err == nil {
				c.parents[id] = parent{title: row.Title, kind: kind, above: row.ParentID, aboveKind: row.ParentType}
			} else if status := restapi.StatusOf(err); status != http.StatusNotFound && status != http.StatusForbidden && status != http.StatusUnauthorized {
				return err // the others: a grant can be without the right to read these
			}
		}
		if _, found := c.parents[id]; !found {
			c.parents[id] = parent{} // it cannot be seen: the path does without it
		}
	}
	return nil
}

// details adds labels, files, marks of comments and restrictions.
func (c *cloud) details(ctx context.Context, pages []*page) error {
	for part := range slices.Chunk(pages, cloudPages) {
		told := make(map[string]content)
		if err := c.search(ctx, "id in ("+idsOf(part)+")", c.wants.expansions(false), func(one content) { told[one.ID] = one }); err != nil {
			return err
		}
		for _, p := range part {
			found, ok := told[p.id]
			ok = ok && found.Metadata.Labels.Results != nil
			files, marks, readers := !ok && c.wants.files, !ok && c.wants.comments, false
			if ok {
				files, marks, readers = c.wants.detail(c.site.base, p, found)
			} else if err := c.labelsOf(ctx, p); err != nil { // too new for the search
				return err
			}
			if files {
				if err := c.filesOf(ctx, p); err != nil {
					return err
				}
			}
			if marks {
				if err := c.marksOf(ctx, p); err != nil {
					return err
				}
			}
			if readers {
				p.restriction = nil // asked for when it is needed
			}
		}
	}
	return nil
}

func (c *cloud) labelsOf(ctx context.Context, p *page) error {
	rows, err := listAll[struct{ Name, Prefix string }](ctx, c.api, "api/v2/"+collection(p.kind)+"/"+p.id+"/labels", nil)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return err
	}
	p.labels = nil
	for _, r := range rows {
		if r.Prefix == "" || r.Prefix == "global" {
			p.labels = append(p.labels, r.Name)
		}
	}
	slices.Sort(p.labels)
	return nil
}

func (c *cloud) filesOf(ctx context.Context, p *page) error {
	rows, err := listAll[fileV2](ctx, c.api, "api/v2/"+collection(p.kind)+"/"+p.id+"/attachments", url.Values{"status": {"current"}})
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return err
	}
	p.files = nil
	for _, r := range rows {
		if r.ID == "" || r.Version.Number <= 0 {
			return improper("a file")
		}
		p.files = append(p.files, c.fileOf(r))
	}
	return nil
}

func (c *cloud) fileOf(r fileV2) file {
	f := file{
		id: r.ID, page: firstOf(r.PageID, r.BlogPostID), title: r.Title, media: r.MediaType, number: r.Version.Number, size: r.FileSize,
		created: r.CreatedAt.Time, modified: r.Version.CreatedAt.Time, download: r.DownloadLink,
	}
	if r.WebUILink != "" {
		f.url = c.site.base + r.WebUILink
	}
	return f
}

func (c *cloud) marksOf(ctx context.Context, p *page) error {
	p.marks = nil
	err := c.search(ctx, "type=comment and container="+p.id, "version", func(one content) { p.marks = append(p.marks, markOf(one)) })
	slices.Sort(p.marks)
	return err
}

func (c *cloud) one(ctx context.Context, kind, id string) (*page, error) {
	var row pageV2
	if err := c.get(ctx, "api/v2/"+collection(kind)+"/"+url.PathEscape(id), url.Values{"body-format": {"storage"}}, &row); err != nil {
		return nil, err
	}
	key, err := c.keyOf(ctx, row.SpaceID)
	if err != nil {
		return nil, err
	}
	pages, err := c.complete(ctx, kind, key, []pageV2{row})
	if err != nil {
		return nil, err
	}
	return pages[0], nil
}

// keyOf is the key of the space with an id.
func (c *cloud) keyOf(ctx context.Context, id string) (string, error) {
	c.mutex.Lock()
	key := c.keys[id]
	c.mutex.Unlock()
	if key != "" {
		return key, nil
	}
	var row struct{ ID, Key string }
	if err := c.get(ctx, "api/v2/spaces/"+url.PathEscape(id), nil, &row); err != nil {
		return "", err
	}
	if row.Key == "" || row.ID != id {
		return "", improper("a space")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.keys[id] = row.Key
	return row.Key, nil
}

func (c *cloud) titled(ctx context.Context, of space, kind, title string) ([]*page, error) {
	query := url.Values{"title": {title}, "body-format": {"storage"}, "status": {"current"}}
	if c.wants.archived && kind == kindPage {
		query.Set("status", "current,archived")
	}
	rows, err := listAll[pageV2](ctx, c.api, "api/v2/spaces/"+url.PathEscape(of.id)+"/"+collection(kind), query)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return c.complete(ctx, kind, of.key, rows)
}

func (c *cloud) file(ctx context.Context, id string) (*file, error) {
	var row fileV2
	if err := c.get(ctx, "api/v2/attachments/"+url.PathEscape(id), nil, &row); err != nil {
		return nil, err
	}
	if row.Status != "" && row.Status != "current" {
		return nil, connectors.ErrNotFound
	}
	made := c.fileOf(row)
	return &made, nil
}

// download leads through version 1: the link in the answers does not take the
// token of a grant.
func (c *cloud) download(f *file) (string, url.Values) {
	return "rest/api/content/" + url.PathEscape(f.page) + "/child/attachment/" + url.PathEscape(f.id) + "/download", url.Values{"version": {strconv.Itoa(f.number)}}
}

// comments come by search: version 2 gives the answers to each comment by
// themselves only.
func (c *cloud) comments(ctx context.Context, p *page) ([]comment, error) {
	return c.commentsOf(ctx, "rest/api/content/search", url.Values{"cql": {"type=comment and container=" + p.id}})
}

func (c *cloud) names(ctx context.Context, ids []string, known people) error {
	return c.users(ctx, ids, func(u user) { known[u.AccountID] = u.name() })
}

func (c *cloud) mails(ctx context.Context, ids []string) (map[string]string, error) {
	found := make(map[string]string)
	err := c.users(ctx, ids, func(u user) {
		found[u.AccountID] = u.Email
		if u.AccountType == "app" {
			found[u.AccountID] = program
		}
	})
	return found, err
}

func (c *cloud) users(ctx context.Context, ids []string, take func(user)) error {
	for part := range slices.Chunk(ids, cloudList) {
		var answer rows[user]
		body := map[string]any{"accountIds": part}
		if err := c.ask(ctx, restapi.Request{Method: http.MethodPost, Path: "api/v2/users-bulk", Body: body}, &answer); err != nil {
			return err
		}
		for _, u := range answer.Results {
			take(u)
		}
	}
	return nil
}
