package confluence

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	cloudPageSize = 100 // pages of one response, and of the search for their details
	cloudListSize = 250 // the largest page of version 2
	maxListPages  = 10_000
	maxLevels     = 60 // of pages above a page
)

// cloud is the deployment Confluence Cloud.
type cloud struct {
	*client
	include inclusions

	mutex     sync.Mutex        // guards the fields below
	parents   map[string]parent // what is above pages, by id
	spaceKeys map[string]string // of spaces, by id
}

type parent struct{ title, kind, parentID, parentKind string }

// What follows is how version 2 writes things.

type pageV2 struct {
	ID, Status, Title, SpaceID, ParentID, ParentType, AuthorID string
	CreatedAt                                                  atlassian.Timestamp
	Version                                                    struct {
		Number    int
		CreatedAt atlassian.Timestamp
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
	CreatedAt                                                                 atlassian.Timestamp
	Version                                                                   struct {
		Number    int
		CreatedAt atlassian.Timestamp
	}
}

type listV2[T any] struct {
	Results []T
	Links   links `json:"_links"`
}

func (listV2[T]) RequiredFields() []string { return []string{"results"} }

func (pageV2) RequiredFields() []string { return []string{"id", "title"} }

func (fileV2) RequiredFields() []string { return []string{"id", "version.number"} }

// listAll reads all pages of a list of version 2.
func listAll[T any](ctx context.Context, c *client, path string, query url.Values) ([]T, error) {
	query = cloneQuery(query)
	query.Set("limit", strconv.Itoa(cloudListSize))
	var all []T
	err := restapi.AllPages("Confluence", path, maxListPages, func(cursor string) (next string, err error) {
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		var page listV2[T]
		if err := c.get(ctx, path, query, &page); err != nil {
			return "", err
		}
		all = append(all, page.Results...)
		more, next := nextPage(paging{Links: page.Links})
		if more && next == "" {
			return "", errNoCursor
		}
		return next, nil
	})
	return all, err
}

var errNoCursor = connectors.Retryable(errors.New("the wiki said that a list goes on, but not where"), 0)

func (c *cloud) spaces(ctx context.Context, keys []string) ([]space, error) {
	type spaceV2 struct{ ID, Key, Name, Type, Status string }
	var spaces []space
	parts := [][]string{nil}
	if len(keys) > 0 {
		parts = slices.Collect(slices.Chunk(keys, 50))
	}
	for _, part := range parts {
		query := url.Values{}
		if part != nil {
			query.Set("keys", strings.Join(part, ","))
		}
		rows, err := listAll[spaceV2](ctx, c.client, "api/v2/spaces", query)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.ID == "" || r.Key == "" {
				return nil, c.ErrInvalid("a space")
			}
			spaces = append(spaces, space{id: r.ID, key: r.Key, name: r.Name, personal: r.Type == "personal", archived: r.Status == "archived"})
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, s := range spaces {
		c.spaceKeys[s.id] = s.key
	}
	return spaces, nil
}

func collectionName(kind string) string {
	if kind == kindBlog {
		return "blogposts"
	}
	return "pages"
}

func (c *cloud) list(ctx context.Context, in space, kind, cursor string) ([]*page, string, error) {
	query := url.Values{"limit": {strconv.Itoa(cloudPageSize)}, "body-format": {"storage"}, "sort": {"id"}, "status": {"current"}}
	if c.include.archived && kind == kindPage {
		query.Set("status", "current,archived")
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	var result listV2[pageV2]
	path := "api/v2/spaces/" + url.PathEscape(in.id) + "/" + collectionName(kind)
	err := c.get(ctx, path, query, &result)
	if errors.Is(err, atlassian.ErrTooLarge) {
		query.Del("body-format") // bodies are requested one by one later
		err = c.get(ctx, path, query, &result)
	}
	if err != nil {
		return nil, "", err
	}
	pages, err := c.completePages(ctx, kind, in.key, result.Results)
	if err != nil {
		return nil, "", err
	}
	next, token := nextPage(paging{Links: result.Links})
	if next && token == "" {
		return nil, "", errNoCursor
	}
	return pages, token, nil
}

// completePages returns the pages of rows of version 2, with their ancestors
// and details.
func (c *cloud) completePages(ctx context.Context, kind, spaceKey string, rows []pageV2) ([]*page, error) {
	pages := make([]*page, 0, len(rows))
	for _, r := range rows {
		if r.ID == "" || r.Version.Number <= 0 {
			return nil, c.ErrInvalid("a page")
		}
		p := &page{
			id: r.ID, kind: kind, title: r.Title, status: r.Status, space: spaceKey, version: r.Version.Number,
			created: r.CreatedAt.Time, modified: r.Version.CreatedAt.Time,
		}
		if r.Links.WebUI != "" {
			p.url = c.Site.Base + r.Links.WebUI
		}
		if r.Body.Storage != nil {
			p.hasBody, p.body = true, r.Body.Storage.Value
		}
		pages = append(pages, p)
	}
	if kind == kindPage {
		if err := c.loadAncestors(ctx, rows, pages); err != nil {
			return nil, err
		}
	}
	return pages, c.loadDetails(ctx, pages)
}

// loadAncestors loads the titles of pages and folders above pages, level by
// level for all of them at once.
func (c *cloud) loadAncestors(ctx context.Context, rows []pageV2, pages []*page) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.parents) > 200_000 {
		clear(c.parents)
	}
	for _, r := range rows {
		c.parents[r.ID] = parent{title: r.Title, kind: "page", parentID: r.ParentID, parentKind: r.ParentType}
	}
	for range maxLevels {
		missing := make(map[string]string)
		for _, r := range rows {
			current := c.parents[r.ID]
			for range maxLevels {
				above, known := c.parents[current.parentID]
				if current.parentID == "" {
					break
				}
				if !known {
					missing[current.parentID] = current.parentKind
					break
				}
				current = above
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
		for current := c.parents[r.ID]; current.parentID != "" && !seen[current.parentID] && len(seen) < maxLevels; current = c.parents[current.parentID] {
			seen[current.parentID] = true
			if above := c.parents[current.parentID]; above.title != "" {
				pages[i].ancestors = append(pages[i].ancestors, ancestor{id: current.parentID, kind: above.kind, title: above.title})
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
	for part := range slices.Chunk(ids, cloudListSize) {
		rows, err := listAll[pageV2](ctx, c.client, "api/v2/pages", url.Values{"id": {strings.Join(part, ",")}, "status": {"current,archived"}})
		if err != nil {
			return err
		}
		for _, r := range rows {
			c.parents[r.ID] = parent{title: r.Title, kind: "page", parentID: r.ParentID, parentKind: r.ParentType}
		}
	}
	for id, kind := range missing {
		if slices.Contains([]string{"folder", "whiteboard", "database", "embed"}, kind) {
			var row pageV2
			if err := c.get(ctx, "api/v2/"+kind+"s/"+url.PathEscape(id), nil, &row); err == nil {
				c.parents[id] = parent{title: row.Title, kind: kind, parentID: row.ParentID, parentKind: row.ParentType}
			} else if status := restapi.StatusOf(err); status != http.StatusNotFound && status != http.StatusForbidden && status != http.StatusUnauthorized {
				return err // other statuses mean that the grant lacks the right
			}
		}
		if _, found := c.parents[id]; !found {
			c.parents[id] = parent{} // not visible, and left out of paths
		}
	}
	return nil
}

// loadDetails adds labels, files, versions of comments and restrictions.
func (c *cloud) loadDetails(ctx context.Context, pages []*page) error {
	for part := range slices.Chunk(pages, cloudPageSize) {
		details := make(map[string]content)
		if err := c.search(ctx, "id in ("+joinIDs(part)+")", c.include.expansions(false), func(c content) { details[c.ID] = c }); err != nil {
			return err
		}
		for _, p := range part {
			found, ok := details[p.id]
			ok = ok && found.Metadata.Labels.Results != nil
			files, comments, readers := !ok && c.include.files, !ok && c.include.comments, false
			if ok {
				files, comments, readers = c.include.addDetails(c.Site.Base, p, found)
			} else if err := c.loadLabels(ctx, p); err != nil { // too new for the search
				return err
			}
			if files {
				if err := c.loadFiles(ctx, p); err != nil {
					return err
				}
			}
			if comments {
				if err := c.loadCommentMarks(ctx, p); err != nil {
					return err
				}
			}
			if readers {
				p.restriction = nil // requested when it is needed
			}
		}
	}
	return nil
}

func (c *cloud) loadLabels(ctx context.Context, p *page) error {
	rows, err := listAll[struct{ Name, Prefix string }](ctx, c.client, "api/v2/"+collectionName(p.kind)+"/"+p.id+"/labels", nil)
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

func (c *cloud) loadFiles(ctx context.Context, p *page) error {
	rows, err := listAll[fileV2](ctx, c.client, "api/v2/"+collectionName(p.kind)+"/"+p.id+"/attachments", url.Values{"status": {"current"}})
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return err
	}
	p.files = nil
	for _, r := range rows {
		if r.ID == "" || r.Version.Number <= 0 {
			return c.ErrInvalid("a file")
		}
		p.files = append(p.files, c.newFile(r))
	}
	return nil
}

func (c *cloud) newFile(r fileV2) file {
	f := file{
		id: r.ID, page: cmp.Or(r.PageID, r.BlogPostID), title: r.Title, media: r.MediaType, version: r.Version.Number, size: r.FileSize,
		created: r.CreatedAt.Time, modified: r.Version.CreatedAt.Time, download: r.DownloadLink,
	}
	if r.WebUILink != "" {
		f.url = c.Site.Base + r.WebUILink
	}
	return f
}

func (c *cloud) loadCommentMarks(ctx context.Context, p *page) error {
	p.commentMarks = nil
	err := c.search(ctx, "type=comment and container="+p.id, "version", func(one content) { p.commentMarks = append(p.commentMarks, commentMark(one)) })
	slices.Sort(p.commentMarks)
	return err
}

func (c *cloud) page(ctx context.Context, kind, id string) (*page, error) {
	var row pageV2
	if err := c.get(ctx, "api/v2/"+collectionName(kind)+"/"+url.PathEscape(id), url.Values{"body-format": {"storage"}}, &row); err != nil {
		return nil, err
	}
	spaceKey, err := c.spaceKey(ctx, row.SpaceID)
	if err != nil {
		return nil, err
	}
	pages, err := c.completePages(ctx, kind, spaceKey, []pageV2{row})
	if err != nil {
		return nil, err
	}
	return pages[0], nil
}

// spaceKey returns the key of the space with an id.
func (c *cloud) spaceKey(ctx context.Context, id string) (string, error) {
	c.mutex.Lock()
	key := c.spaceKeys[id]
	c.mutex.Unlock()
	if key != "" {
		return key, nil
	}
	var row struct{ ID, Key string }
	if err := c.get(ctx, "api/v2/spaces/"+url.PathEscape(id), nil, &row); err != nil {
		return "", err
	}
	if row.Key == "" || row.ID != id {
		return "", c.ErrInvalid("a space")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.spaceKeys[id] = row.Key
	return row.Key, nil
}

func (c *cloud) pagesTitled(ctx context.Context, in space, kind, title string) ([]*page, error) {
	query := url.Values{"title": {title}, "body-format": {"storage"}, "status": {"current"}}
	if c.include.archived && kind == kindPage {
		query.Set("status", "current,archived")
	}
	rows, err := listAll[pageV2](ctx, c.client, "api/v2/spaces/"+url.PathEscape(in.id)+"/"+collectionName(kind), query)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return c.completePages(ctx, kind, in.key, rows)
}

func (c *cloud) file(ctx context.Context, id string) (*file, error) {
	var row fileV2
	if err := c.get(ctx, "api/v2/attachments/"+url.PathEscape(id), nil, &row); err != nil {
		return nil, err
	}
	if row.Status != "" && row.Status != "current" {
		return nil, connectors.ErrNotFound
	}
	f := c.newFile(row)
	return &f, nil
}

// downloadRequest uses version 1: the link in responses does not accept the
// token of a grant.
func (c *cloud) downloadRequest(f *file) (string, url.Values) {
	return "rest/api/content/" + url.PathEscape(f.page) + "/child/attachment/" + url.PathEscape(f.id) + "/download", url.Values{"version": {strconv.Itoa(f.version)}}
}

// comments uses the search: version 2 lists replies separately for each
// comment.
func (c *cloud) comments(ctx context.Context, p *page) ([]comment, error) {
	return c.readComments(ctx, "rest/api/content/search", url.Values{"cql": {"type=comment and container=" + p.id}})
}

func (c *cloud) names(ctx context.Context, ids []string, names userNames) error {
	return c.eachUser(ctx, ids, func(u user) { names[u.AccountID] = u.displayName() })
}

func (c *cloud) addresses(ctx context.Context, ids []string) (map[string]string, error) {
	addresses := make(map[string]string)
	err := c.eachUser(ctx, ids, func(u user) {
		addresses[u.AccountID] = u.Email
		if u.AccountType == "app" {
			addresses[u.AccountID] = appAccount
		}
	})
	return addresses, err
}

func (c *cloud) eachUser(ctx context.Context, ids []string, yield func(user)) error {
	for part := range slices.Chunk(ids, cloudListSize) {
		var result rows[user]
		body := map[string]any{"accountIds": part}
		if err := c.request(ctx, restapi.Request{Method: http.MethodPost, Path: "api/v2/users-bulk", Body: body}, &result); err != nil {
			return err
		}
		for _, u := range result.Results {
			yield(u)
		}
	}
	return nil
}
