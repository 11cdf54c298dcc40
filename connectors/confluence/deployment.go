package confluence

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A deployment is Confluence Cloud or Data Center.
type deployment interface {
	// spaces returns the spaces with some keys, or all that the account sees.
	spaces(ctx context.Context, keys []string) ([]space, error)
	// list returns pages or blog posts of a space in a stable order from a
	// cursor. next is "" at the end.
	list(ctx context.Context, of space, kind, cursor string) (pages []*page, next string, err error)
	// page returns the page with an id.
	page(ctx context.Context, kind, id string) (*page, error)
	// pagesTitled returns the pages with a title in a space.
	pagesTitled(ctx context.Context, of space, kind, title string) ([]*page, error)
	// file returns the attachment with an id, downloadRequest the path of its
	// content.
	file(ctx context.Context, id string) (*file, error)
	downloadRequest(f *file) (path string, query url.Values)
	comments(ctx context.Context, p *page) ([]comment, error)
	// names adds the names of users.
	names(ctx context.Context, ids []string, known userNames) error

	// spaceReaders returns the people and groups that may read a space.
	spaceReaders(ctx context.Context, of space) (allowList, error)
	// groups returns groups from a position, and the next position, -1 at the
	// end.
	groups(ctx context.Context, start int) (found []group, next int, err error)
	members(ctx context.Context, g group, start int) (found []user, next int, err error)
	// addresses returns the mail addresses of users, by id.
	addresses(ctx context.Context, ids []string) (map[string]string, error)
}

// inclusions says what is requested with each page.
type inclusions struct{ files, comments, restrictions, archived bool }

const maxListEntries = 200 // entries of one response, for small entries

// expansions returns the parameter expand of version 1.
func (w inclusions) expansions(body bool, extra ...string) string {
	list := append([]string{"version", "history", "metadata.labels"}, extra...)
	if body {
		list = append(list, "body.storage")
	}
	if w.files {
		list = append(list, "children.attachment.version", "children.attachment.history")
	}
	if w.comments {
		list = append(list, "descendants.comment.version")
	}
	if w.restrictions {
		list = append(list, "restrictions.read.restrictions.user", "restrictions.read.restrictions.group")
	}
	return strings.Join(list, ",")
}

// all reads all pages of a list of version 1.
func (c *client) all(ctx context.Context, path string, query url.Values, yield func(content)) error {
	query = cloneQuery(query)
	query.Set("limit", strconv.Itoa(maxListEntries))
	var loop restapi.LoopDetector
	for start := 0; ; {
		var page contents
		if err := c.get(ctx, path, query, &page); err != nil {
			return err
		}
		var ids strings.Builder
		for _, entry := range page.Results {
			if entry.ID == "" {
				return c.ErrInvalid("an entry of a list")
			}
			yield(entry)
			ids.WriteString(entry.ID + " ")
		}
		start += len(page.Results)
		next, cursor := nextPage(page.paging)
		if !next || len(page.Results) == 0 {
			return nil
		}
		if err := loop.Visit("Confluence", path, cmp.Or(cursor, ids.String())); err != nil {
			return err
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		} else {
			query.Set("start", strconv.Itoa(start))
		}
	}
}

func cloneQuery(query url.Values) url.Values {
	clone := make(url.Values, len(query))
	for name, values := range query {
		clone[name] = slices.Clone(values)
	}
	return clone
}

// nextPage reports whether a list has another page, and returns its cursor, if
// any.
func nextPage(p paging) (next bool, cursor string) {
	if p.Links.Next == "" {
		return false, ""
	}
	address, err := url.Parse(p.Links.Next)
	if err != nil {
		return true, ""
	}
	return true, address.Query().Get("cursor")
}

// search finds content with CQL, Confluence's query language.
func (c *client) search(ctx context.Context, cql, expand string, yield func(content)) error {
	query := url.Values{"cql": {cql}}
	if expand != "" {
		query.Set("expand", expand)
	}
	return c.all(ctx, "rest/api/content/search", query, yield)
}

// matchCQL returns the ids of the pages that match a clause.
func (c *client) matchCQL(ctx context.Context, pages []*page, clause string) (map[string]bool, error) {
	matches := make(map[string]bool)
	for batch := range slices.Chunk(pages, 100) {
		if err := c.search(ctx, "id in ("+joinIDs(batch)+") and ("+clause+")", "", func(found content) { matches[found.ID] = true }); err != nil {
			if connectors.IsFatal(err) {
				return nil, connectors.Fatal(errors.New("config." + optionCQL + ": " + err.Error()))
			}
			return nil, err
		}
	}
	return matches, nil
}

func joinIDs(pages []*page) string {
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.id
	}
	return strings.Join(ids, ",")
}

// addDetails adds the details in a response of version 1. It reports whether
// there are more files, comments and readers than in the response.
func (w inclusions) addDetails(base string, p *page, c content) (moreFiles, moreComments, moreReaders bool) {
	p.labels = nil
	for _, l := range c.Metadata.Labels.Results {
		if l.Prefix == "" || l.Prefix == "global" {
			p.labels = append(p.labels, l.Name)
		}
	}
	slices.Sort(p.labels)
	p.author = cmp.Or(c.History.CreatedBy.displayName(), p.author)
	if w.files && c.Children.Attachment != nil {
		p.files = nil
		for _, f := range c.Children.Attachment.Results {
			p.files = append(p.files, newFile(base, p.id, f))
		}
		moreFiles, _ = nextPage(c.Children.Attachment.paging)
	} else {
		moreFiles = w.files // unknown, which is not none
	}
	if w.comments && c.Descendants.Comment != nil {
		p.commentMarks = nil
		for _, found := range c.Descendants.Comment.Results {
			p.commentMarks = append(p.commentMarks, commentMark(found))
		}
		slices.Sort(p.commentMarks)
		moreComments, _ = nextPage(c.Descendants.Comment.paging)
	} else {
		moreComments = w.comments
	}
	if w.restrictions && c.Restrictions.Read != nil && c.Restrictions.Read.isComplete() {
		list := newAllowList(c.Restrictions.Read)
		p.restriction = &list
		moreReaders = c.Restrictions.Read.mayBeTruncated()
	}
	return moreFiles, moreComments, moreReaders
}

func commentMark(c content) string { return c.ID + "." + strconv.Itoa(c.Version.Number) }

func newFile(base, page string, c content) file {
	f := file{
		id: c.ID, page: page, title: c.Title, version: c.Version.Number, size: c.Extensions.FileSize, download: c.Links.Download,
		media:  cmp.Or(c.Extensions.MediaType, c.Metadata.MediaType),
		author: cmp.Or(c.History.CreatedBy.displayName(), c.Version.By.displayName()), created: c.History.CreatedDate.Time, modified: c.Version.When.Time,
	}
	if c.Links.WebUI != "" {
		f.url = base + c.Links.WebUI
	}
	return f
}

// readComments returns comments with their bodies, sorted by time.
func (c *client) readComments(ctx context.Context, path string, query url.Values) ([]comment, error) {
	var comments []comment
	query.Set("expand", "body.storage,version,history,extensions.resolution,extensions.inlineProperties")
	err := c.all(ctx, path, query, func(c content) {
		found := comment{
			id: c.ID, author: c.History.CreatedBy.displayName(), created: c.History.CreatedDate.Time, version: c.Version.Number,
			resolved: c.Extensions.Resolution.Status == "resolved",
		}
		if c.Extensions.Location == "inline" {
			found.selection = strings.Join(strings.Fields(c.Extensions.InlineProperties.OriginalSelection), " ")
		}
		if c.Body.Storage != nil {
			found.body = c.Body.Storage.Value
		}
		comments = append(comments, found)
	})
	slices.SortStableFunc(comments, func(a, b comment) int {
		if order := a.created.Compare(b.created); order != 0 {
			return order
		}
		return compareIDs(a.id, b.id)
	})
	return comments, err
}

// compareIDs compares ids as numbers.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
