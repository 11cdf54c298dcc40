package sharepoint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A listItem is an entry of a list.
type listItem struct {
	ID          string         `json:"id"`
	ETag        string         `json:"eTag"`
	WebURL      string         `json:"webUrl"`
	Created     timestamp      `json:"createdDateTime"`
	Modified    timestamp      `json:"lastModifiedDateTime"`
	CreatedBy   identitySet    `json:"createdBy"`
	Deleted     *struct{}      `json:"deleted"`
	Fields      map[string]any `json:"fields"`
	ContentType struct {
		Name string `json:"name"`
	} `json:"contentType"`
}

func (i listItem) isFolder() bool { return strings.EqualFold(i.ContentType.Name, "Folder") }

func (i listItem) title() string {
	for _, name := range []string{"Title", "LinkTitle", "FileLeafRef"} {
		if text, ok := i.Fields[name].(string); ok && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return "Entry " + i.ID
}

func (i listItem) version() string {
	return cmp.Or(i.ETag, i.Modified.UTC().Format(time.RFC3339Nano))
}

func listPath(site, id string) string { return "sites/" + segment(site) + "/lists/" + segment(id) }

// readEntries reads a page of the delta of a list or, where there is none, of all its
// entries. These have no link for the next sync: it reads them from the start.
func (s *source) readEntries(ctx context.Context, p part, link string) (entries []listItem, next string, done bool, err error) {
	path, query := listPath(p.siteID, p.id)+"/items", url.Values{"$expand": {"fields"}, "$top": {"200"}}
	if link == "" || strings.Contains(link, "/items/delta") {
		entries, next, done, err = readDelta[listItem](ctx, s.graph, path+"/delta", query, link)
		if link != "" || !isNoQuery(err) {
			return entries, next, done, err
		}
	}
	entries, next, err = readPage[listItem](ctx, s.graph, path, query, link)
	if status := restapi.StatusOf(err); link != "" && (status == http.StatusGone || status == http.StatusBadRequest) {
		err = errResync
	}
	return entries, next, err == nil && next == "", err
}

// readListItems reads a page of the entries of a list.
func (s *source) readListItems(ctx context.Context, p part, link string) (partPage, error) {
	entries, next, done, err := s.readEntries(ctx, p, link)
	if err != nil {
		return partPage{}, err
	}
	read := partPage{next: next, done: done}
	byID := map[string]listItem{}
	var order []string
	for _, entry := range entries {
		if entry.ID == "" {
			return partPage{}, errInvalid("an entry of a list without an id")
		}
		if _, twice := byID[entry.ID]; !twice {
			order = append(order, entry.ID)
		}
		byID[entry.ID] = entry // the last one is valid
	}
	var items []connectors.Item
	for _, id := range order {
		entry := byID[id]
		switch {
		case entry.Deleted != nil:
			read.gone = append(read.gone, listItemID(p, id))
			read.files = append(read.files, recordEntry{ID: id, Deleted: true})
		case entry.isFolder():
		case entry.Fields == nil:
			return partPage{}, errInvalid("an entry of a list without its fields")
		default:
			read.files = append(read.files, recordEntry{ID: id})
			if item := newListItem(p, entry); !s.excludes(item.Path) {
				items = append(items, item)
			}
		}
	}
	read.items = func(context.Context, *record) ([]connectors.Item, error) { return items, nil }
	return read, nil
}

func listItemID(p part, id string) string {
	return string(partList) + ":" + p.siteID + "/" + p.id + "/" + id
}

// newListItem returns the item of an entry of a list, with its content.
func newListItem(p part, entry listItem) connectors.Item {
	title := entry.title()
	name := connectors.PathSegment(title) + " (" + entry.ID + ").md"
	item := connectors.Item{
		ID: listItemID(p, entry.ID), Path: joinPath(p.prefix, name), Version: entry.version(), Title: title, URL: entry.WebURL, MediaType: "text/markdown",
		Author: entry.CreatedBy.User.DisplayName, Container: p.container, Size: -1, CreatedAt: utc(entry.Created.Time), ModifiedAt: utc(entry.Modified.Time),
		Metadata: map[string]string{"library": p.name}, Content: renderListItem(entry),
	}
	if len(item.Path) > connectors.MaxIDBytes {
		item.Path = joinPath(p.prefix, entry.ID+".md")
	}
	return item
}

// listItemByID returns an entry of a list.
func (s *source) listItemByID(ctx context.Context, p part, id string) (listItem, error) {
	var entry listItem
	if err := s.graph.get(ctx, listPath(p.siteID, p.id)+"/items/"+segment(id), url.Values{"$expand": {"fields"}}, &entry, "id", "fields"); err != nil {
		return entry, err
	}
	if entry.ID == "" {
		return entry, errInvalid("an entry of a list without an id")
	}
	return entry, nil
}

// renderListItem returns the fields of an entry as Markdown. Fields that SharePoint
// adds to every entry are left out.
func renderListItem(entry listItem) []byte {
	var b strings.Builder
	b.WriteString("# " + oneLine(entry.title()) + "\n\n")
	var names []string
	for name := range entry.Fields {
		if !isSystemField(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if text := fieldText(entry.Fields[name]); text != "" {
			b.WriteString("**" + oneLine(strings.ReplaceAll(name, "_x0020_", " ")) + "**: " + text + "\n\n")
		}
	}
	return []byte(b.String())
}

func isSystemField(name string) bool {
	switch name {
	case "Title", "LinkTitle", "LinkTitleNoMenu", "id", "ContentType", "Modified", "Created", "AuthorLookupId", "EditorLookupId", "Attachments", "Edit", "ItemChildCount",
		"FolderChildCount", "AppAuthorLookupId", "AppEditorLookupId", "DocIcon", "FileLeafRef":
		return true
	}
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "@") || strings.Contains(name, "@odata.")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// fieldText returns the value of a field for people.
func fieldText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(value)
	case map[string]any: // a person, a link or an entry of another list
		for _, name := range []string{"LookupValue", "Description", "Url", "Email", "Label"} {
			if text := fieldText(value[name]); text != "" {
				return text
			}
		}
	case []any:
		var texts []string
		for _, entry := range value {
			if text := fieldText(entry); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, ", ")
	case json.Number, bool:
		return fmt.Sprint(value)
	case float64:
		text, _ := json.Marshal(value)
		return string(text)
	}
	return ""
}
