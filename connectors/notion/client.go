package notion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A client sends requests to Notion.
type client struct {
	*restapi.Client
	dial    connectors.Dial
	clock   atomic.Int64 // Notion's time in the last response, in Unix seconds
	noTrash atomic.Bool  // the search does not know the trash
}

func newClient(dial connectors.Dial, s connectors.Settings) (*client, error) {
	base := strings.TrimRight(s.String(optionAPI), "/")
	if base == "" {
		base = defaultAPI
	}
	if !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	c := &client{dial: dial}
	var err error
	c.Client, err = restapi.New(base, dial, restapi.Options{
		Platform: "Notion", Wait: s.Wait, Authorize: restapi.Bearer(s, s.Credentials[credentialToken]), ErrorMessage: errorMessage, Advice: "config." + optionAPI,
		Header: http.Header{"Notion-Version": {Version}}, GoneEndsAPI: true,
	})
	return c, err
}

// errorMessage returns the message of an unsuccessful response.
func errorMessage(body []byte) string {
	var failure struct{ Code, Message string }
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	if failure.Code == "restricted_resource" {
		return failure.Message + " (the integration lacks a capability: it needs \"Read content\", and \"Read comments\" for comments)"
	}
	return failure.Message
}

// get requests an object.
func (c *client) get(ctx context.Context, out any, query url.Values, path ...string) error {
	return c.request(ctx, restapi.Request{Path: joined(path), Query: query}, out)
}

// post requests a list.
func (c *client) post(ctx context.Context, body, out any, path ...string) error {
	return c.request(ctx, restapi.Request{Method: http.MethodPost, Path: joined(path), Body: body}, out)
}

func joined(path []string) string {
	escaped := make([]string, len(path))
	for i, part := range path {
		escaped[i] = url.PathEscape(part)
	}
	return strings.Join(escaped, "/")
}

func (c *client) request(ctx context.Context, r restapi.Request, out any) error {
	header, err := c.JSON(ctx, r, out)
	if now, parseErr := http.ParseTime(header.Get("Date")); parseErr == nil {
		c.clock.Store(now.Unix())
	}
	return err
}

// now returns Notion's time as of the last response.
func (c *client) now() time.Time {
	if seconds := c.clock.Load(); seconds != 0 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Now().UTC()
}

func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("Notion answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", what, optionAPI), 0) //nolint:staticcheck // a name
}

// page returns the page with an id. The error is ErrNotFound for a page in the
// trash.
func (c *client) page(ctx context.Context, id string) (*object, error) {
	var found object
	if err := c.get(ctx, &found, nil, "pages", id); err != nil {
		return nil, err
	}
	if bare(found.ID) != bare(id) || !found.isValid() {
		return nil, errInvalid("a page")
	}
	if found.isGone() {
		return nil, fmt.Errorf("the page is in the trash: %w", connectors.ErrNotFound)
	}
	return &found, nil
}

// object returns an object of which a list only has the id and the kind.
func (c *client) object(ctx context.Context, partial object) (*object, error) {
	if partial.Object == "data_source" {
		return c.dataSource(ctx, partial.ID)
	}
	return c.page(ctx, partial.ID)
}

// isAbsent reports whether Notion does not have a part of the API, or not for an
// object.
func isAbsent(err error) bool {
	switch restapi.StatusOf(err) {
	case http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		return true
	}
	return false
}

// dataSource returns the data source with an id.
func (c *client) dataSource(ctx context.Context, id string) (*object, error) {
	var found object
	if err := c.get(ctx, &found, nil, "data_sources", id); err != nil {
		return nil, err
	}
	if bare(found.ID) != bare(id) {
		return nil, errInvalid("a data source")
	}
	found.Object = "data_source"
	if found.Edited.IsZero() {
		found.Edited = found.Created
	}
	return &found, nil
}

// dataSources returns the data sources of a database. The id may also be that of a
// data source.
func (c *client) dataSources(ctx context.Context, id string) ([]*object, error) {
	var database struct {
		Object, ID  string
		Parent      *parent
		Title       []richText
		InTrash     bool  `json:"in_trash"`
		Created     stamp `json:"created_time"`
		Edited      stamp `json:"last_edited_time"`
		URL         string
		DataSources []struct{ ID, Name string } `json:"data_sources"`
	}
	err := c.request(ctx, restapi.Request{Path: joined([]string{"databases", id}), RequiredFields: []string{"id", "object"}}, &database)
	if errors.Is(err, connectors.ErrNotFound) {
		source, err := c.dataSource(ctx, id)
		return []*object{source}, err
	}
	if err != nil {
		return nil, err
	}
	if database.DataSources == nil {
		// In versions before 2025-09-03, a database is its own data source.
		if database.Object != "database" || database.Edited.IsZero() {
			return nil, errInvalid("a database")
		}
		database.DataSources = []struct{ ID, Name string }{{ID: database.ID}}
	}
	var all []*object
	for _, entry := range database.DataSources {
		if !isID(entry.ID) {
			return nil, errInvalid("a database")
		}
		title := []richText{{PlainText: entry.Name}}
		if entry.Name == "" {
			title = database.Title
		}
		all = append(all, &object{
			Object: "data_source", ID: entry.ID, Title: title, Created: database.Created, Edited: database.Edited, InTrash: database.InTrash, URL: database.URL,
			Parent: &parent{Type: "database_id", DatabaseID: database.ID}, DatabaseParent: database.Parent,
		})
	}
	return all, nil
}

// listBody is a request for a page of a list.
func listBody(cursor string, more map[string]any) map[string]any {
	body := map[string]any{"page_size": pageSize}
	if cursor != "" {
		body["start_cursor"] = cursor
	}
	for name, value := range more {
		body[name] = value
	}
	return body
}

const pageSize = 100

// search returns a page of the pages or data sources that are shared with the
// integration, in the order of their edits.
func (c *client) search(ctx context.Context, kind, direction, cursor string) (found list[object], err error) {
	err = c.post(ctx, listBody(cursor, map[string]any{
		"filter": map[string]any{"property": "object", "value": kind}, "sort": map[string]any{"timestamp": "last_edited_time", "direction": direction},
	}), &found, "search")
	if kind == "data_source" && restapi.StatusOf(err) == http.StatusBadRequest {
		// In versions before 2025-09-03, a database is its own data source.
		found, err = c.search(ctx, "database", direction, cursor)
		for i := range found.Results {
			if o := &found.Results[i]; o.Object == "database" {
				o.Object, o.DatabaseParent, o.Parent = kind, o.Parent, &parent{Type: "database_id", DatabaseID: o.ID}
			}
		}
		return found, err
	}
	if err == nil {
		err = found.check(cursor)
	}
	return found, err
}

// trash returns a page of the pages or data sources in the trash, the newest edits
// first, or nothing if Notion does not search the trash.
func (c *client) trash(ctx context.Context, kind, cursor string) (found list[object], err error) {
	if c.noTrash.Load() {
		return found, nil
	}
	err = c.post(ctx, listBody(cursor, map[string]any{
		"filter": map[string]any{"property": "object", "value": kind, "in_trash": true}, "sort": map[string]any{"timestamp": "last_edited_time", "direction": descending},
	}), &found, "search")
	if isAbsent(err) {
		c.noTrash.Store(true)
		return list[object]{}, nil
	}
	if err == nil {
		err = found.check(cursor)
	}
	return found, err
}

// rows returns a page of the rows of a data source, in the order of their creation,
// that were created at a time or later.
func (c *client) rows(ctx context.Context, id string, from time.Time, cursor string) (found list[object], err error) {
	more := map[string]any{"sorts": []any{map[string]any{"timestamp": "created_time", "direction": "ascending"}}}
	if !from.IsZero() {
		more["filter"] = map[string]any{"timestamp": "created_time", "created_time": map[string]any{"on_or_after": from.Format(time.RFC3339)}}
	}
	err = c.post(ctx, listBody(cursor, more), &found, "data_sources", id, "query")
	if status := restapi.StatusOf(err); status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		// In versions before 2025-09-03, a database is its own data source.
		if c.post(ctx, listBody(cursor, more), &found, "databases", id, "query") == nil {
			err = nil
		}
	}
	if err == nil {
		err = found.check(cursor)
	}
	return found, err
}

// check checks the entries and the cursor of a list of objects.
func (l *list[T]) check(cursor string) error {
	switch {
	case l.HasMore && l.NextCursor == "":
		return errInvalid("a list without its end")
	case l.HasMore && l.NextCursor == cursor:
		return restapi.LoopError("Notion", "a list", cursor)
	}
	for i := range l.Results {
		if o, ok := any(&l.Results[i]).(*object); ok && !isID(o.ID) {
			return errInvalid("an entry of a list")
		}
	}
	return nil
}

// children calls yield with all blocks below a block or page.
func (c *client) children(ctx context.Context, id string, yield func(block) error) error {
	return restapi.AllPages("Notion", "the blocks of a page", maxBlockPages, func(cursor string) (string, error) {
		var found list[block]
		query := url.Values{"page_size": {fmt.Sprint(pageSize)}}
		if cursor != "" {
			query.Set("start_cursor", cursor)
		}
		if err := c.get(ctx, &found, query, "blocks", id, "children"); err != nil {
			return "", err
		}
		if err := found.check(cursor); err != nil {
			return "", err
		}
		for _, b := range found.Results {
			if b.ID == "" {
				return "", errInvalid("a block")
			}
			if b.Type == "" {
				continue // Notion only tells the id of some blocks
			}
			if err := yield(b); err != nil {
				return "", err
			}
		}
		if !found.HasMore {
			return "", nil
		}
		return found.NextCursor, nil
	})
}

const maxBlockPages = 2000

// comments returns the open comments on a page.
func (c *client) comments(ctx context.Context, id string) ([]comment, error) {
	var all []comment
	err := restapi.AllPages("Notion", "the comments on a page", maxBlockPages, func(cursor string) (string, error) {
		var found list[comment]
		query := url.Values{"block_id": {id}, "page_size": {fmt.Sprint(pageSize)}}
		if cursor != "" {
			query.Set("start_cursor", cursor)
		}
		if err := c.get(ctx, &found, query, "comments"); err != nil {
			return "", err
		}
		if err := found.check(cursor); err != nil {
			return "", err
		}
		for _, entry := range found.Results {
			if entry.ID == "" {
				return "", errInvalid("a comment")
			}
		}
		all = append(all, found.Results...)
		if !found.HasMore {
			return "", nil
		}
		return found.NextCursor, nil
	})
	return all, err
}

type comment struct {
	ID          string
	Created     stamp      `json:"created_time"`
	RichText    []richText `json:"rich_text"`
	DisplayName struct {
		ResolvedName string `json:"resolved_name"`
	} `json:"display_name"`
	CreatedBy struct{ Name string } `json:"created_by"`
}
