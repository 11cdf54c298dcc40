package confluence

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// place is one of the two deployments.
type place interface {
	// spaces are those of some keys, or all that the account sees.
	spaces(ctx context.Context, keys []string) ([]space, error)
	// list gives pages or blog posts of a space in a lasting order, from a cursor
	// on; next is "" at the end.
	list(ctx context.Context, of space, kind, cursor string) (pages []*page, next string, err error)
	// one is the page with an id, titled those with a title in a space.
	one(ctx context.Context, kind, id string) (*page, error)
	titled(ctx context.Context, of space, kind, title string) ([]*page, error)
	// file is the attachment with an id, download where its content is.
	file(ctx context.Context, id string) (*file, error)
	download(f *file) (path string, query url.Values)
	comments(ctx context.Context, p *page) ([]comment, error)
	// names are what people are called.
	names(ctx context.Context, ids []string, known people) error

	// readersOf are the people and groups that may see a space.
	readersOf(ctx context.Context, of space) (restriction, error)
	// groups gives the groups from a place in their order on, and the next place; -1 at the end.
	groups(ctx context.Context, start int) (found []group, next int, err error)
	members(ctx context.Context, g group, start int) (found []user, next int, err error)
	mails(ctx context.Context, ids []string) (map[string]string, error)
}

// wants is what is asked for with each page.
type wants struct{ files, comments, restrictions, archived bool }

const listed = 200 // entries of one answer, where nothing large is in it

// expansions are those of version 1.
func (w wants) expansions(body bool, more ...string) string {
	list := append([]string{"version", "history", "metadata.labels"}, more...)
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

// all reads a list of version 1 to its end.
func (a *api) all(ctx context.Context, path string, query url.Values, take func(content)) error {
	query = cloned(query)
	query.Set("limit", strconv.Itoa(listed))
	var trail restapi.LoopDetector
	for start := 0; ; {
		var answer contents
		if err := a.get(ctx, path, query, &answer); err != nil {
			return err
		}
		var ids strings.Builder
		for _, c := range answer.Results {
			if c.ID == "" {
				return improper("an entry of a list")
			}
			take(c)
			ids.WriteString(c.ID + " ")
		}
		start += len(answer.Results)
		next, cursor := following(answer.paging)
		if !next || len(answer.Results) == 0 {
			return nil
		}
		if err := trail.Visit("Confluence", path, firstOf(cursor, ids.String())); err != nil {
			return err
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		} else {
			query.Set("start", strconv.Itoa(start))
		}
	}
}

func cloned(query url.Values) url.Values {
	made := make(url.Values, len(query))
	for name, values := range query {
		made[name] = slices.Clone(values)
	}
	return made
}

// following reports whether a list goes on, and its cursor where it has one.
func following(p paging) (next bool, cursor string) {
	if p.Links.Next == "" {
		return false, ""
	}
	address, err := url.Parse(p.Links.Next)
	if err != nil {
		return true, ""
	}
	return true, address.Query().Get("cursor")
}

// search finds content by Confluence's query language.
func (a *api) search(ctx context.Context, cql, expand string, take func(content)) error {
	query := url.Values{"cql": {cql}}
	if expand != "" {
		query.Set("expand", expand)
	}
	return a.all(ctx, "rest/api/content/search", query, take)
}

// matching are those of some pages that meet a clause.
func (a *api) matching(ctx context.Context, pages []*page, clause string) (map[string]bool, error) {
	found := make(map[string]bool)
	for part := range slices.Chunk(pages, 100) {
		if err := a.search(ctx, "id in ("+idsOf(part)+") and ("+clause+")", "", func(c content) { found[c.ID] = true }); err != nil {
			if connectors.IsFatal(err) {
				return nil, connectors.Fatal(errors.New("config." + optionCQL + ": " + err.Error()))
			}
			return nil, err
		}
	}
	return found, nil
}

func idsOf(pages []*page) string {
	ids := make([]string, len(pages))
	for i, p := range pages {
		ids[i] = p.id
	}
	return strings.Join(ids, ",")
}

// detail adds to a page what version 1 tells of it. It returns whether there
// are more files, comments and readers than were told.
func (w wants) detail(base string, p *page, c content) (moreFiles, moreMarks, moreReaders bool) {
	p.labels = nil
	for _, l := range c.Metadata.Labels.Results {
		if l.Prefix == "" || l.Prefix == "global" {
			p.labels = append(p.labels, l.Name)
		}
	}
	slices.Sort(p.labels)
	p.author = firstOf(c.History.CreatedBy.name(), p.author)
	if w.files && c.Children.Attachment != nil {
		p.files = nil
		for _, f := range c.Children.Attachment.Results {
			p.files = append(p.files, fileOf(base, p.id, f))
		}
		moreFiles, _ = following(c.Children.Attachment.paging)
	} else {
		moreFiles = w.files // not told, which is not none
	}
	if w.comments && c.Descendants.Comment != nil {
		p.marks = nil
		for _, one := range c.Descendants.Comment.Results {
			p.marks = append(p.marks, markOf(one))
		}
		slices.Sort(p.marks)
		moreMarks, _ = following(c.Descendants.Comment.paging)
	} else {
		moreMarks = w.comments
	}
	if w.restrictions && c.Restrictions.Read != nil && c.Restrictions.Read.told() {
		made := restrictionOf(c.Restrictions.Read)
		p.restriction = &made
		moreReaders = c.Restrictions.Read.full()
	}
	return moreFiles, moreMarks, moreReaders
}

func markOf(c content) string { return c.ID + "." + strconv.Itoa(c.Version.Number) }

func fileOf(base, page string, c content) file {
	f := file{
		id: c.ID, page: page, title: c.Title, number: c.Version.Number, size: c.Extensions.FileSize, download: c.Links.Download,
		media:  firstOf(c.Extensions.MediaType, c.Metadata.MediaType),
		author: firstOf(c.History.CreatedBy.name(), c.Version.By.name()), created: c.History.CreatedDate.Time, modified: c.Version.When.Time,
	}
	if c.Links.WebUI != "" {
		f.url = base + c.Links.WebUI
	}
	return f
}

// commentsOf reads comments with their bodies, in the order in which they were made.
func (a *api) commentsOf(ctx context.Context, path string, query url.Values) ([]comment, error) {
	var found []comment
	query.Set("expand", "body.storage,version,history,extensions.resolution,extensions.inlineProperties")
	err := a.all(ctx, path, query, func(c content) {
		made := comment{
			id: c.ID, author: c.History.CreatedBy.name(), created: c.History.CreatedDate.Time, number: c.Version.Number,
			resolved: c.Extensions.Resolution.Status == "resolved",
		}
		if c.Extensions.Location == "inline" {
			made.on = strings.Join(strings.Fields(c.Extensions.InlineProperties.OriginalSelection), " ")
		}
		if c.Body.Storage != nil {
			made.body = c.Body.Storage.Value
		}
		found = append(found, made)
	})
	slices.SortStableFunc(found, func(a, b comment) int {
		if order := a.created.Compare(b.created); order != 0 {
			return order
		}
		return compareIDs(a.id, b.id)
	})
	return found, err
}

// compareIDs orders ids as the numbers that they are.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
