package sharepoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A driveItem is a file or folder.
type driveItem struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	ETag     string     `json:"eTag"`
	CTag     string     `json:"cTag"`
	Size     *int64     `json:"size"`
	WebURL   string     `json:"webUrl"`
	Created  timestamp  `json:"createdDateTime"`
	Modified timestamp  `json:"lastModifiedDateTime"`
	File     *fileFacet `json:"file"`
	Folder   *struct{}  `json:"folder"`
	Root     *struct{}  `json:"root"`
	Deleted  *struct{}  `json:"deleted"`
	Package  *struct {
		Type string `json:"type"`
	} `json:"package"`
	RemoteItem *struct{} `json:"remoteItem"`
	Malware    *struct{} `json:"malware"`
	Shared     *struct{} `json:"shared"`
	// SharedChanged marks a change of permissions in a delta.
	SharedChanged any `json:"@microsoft.graph.sharedChanged"`
	Parent        struct {
		ID string `json:"id"`
		// Path is absent in deltas, since it changes with the folders above.
		Path string `json:"path"`
	} `json:"parentReference"`
	CreatedBy   identitySet `json:"createdBy"`
	DownloadURL string      `json:"@microsoft.graph.downloadUrl"`
}

// A fileFacet says that an item is a file.
type fileFacet struct {
	MimeType string `json:"mimeType"`
}

type identitySet struct {
	User struct {
		DisplayName string `json:"displayName"`
	} `json:"user"`
}

// hasSharedChanged reports whether a delta says that the item's permissions changed.
func (i driveItem) hasSharedChanged() bool {
	return strings.EqualFold(fmt.Sprint(i.SharedChanged), "true")
}

func (i driveItem) isFolder() bool {
	return i.Folder != nil && i.File == nil && i.Package == nil || i.Root != nil
}

// version returns the version of the content. The tag of the content changes with
// the content only.
func (i driveItem) version() string {
	if tag := cmp.Or(i.CTag, i.ETag); tag != "" {
		return tag
	}
	size := int64(-1)
	if i.Size != nil {
		size = *i.Size
	}
	return i.Modified.UTC().Format(time.RFC3339Nano) + "/" + strconv.FormatInt(size, 10)
}

// hasVersion reports whether the item still has a version. That of an item in a
// delta is the tag of the item, since deltas of SharePoint omit that of the content.
func (i driveItem) hasVersion(version string) bool {
	if version == i.version() || version == i.CTag || version == i.ETag {
		return true
	}
	i.CTag, i.ETag = "", ""
	return version == i.version()
}

// The reasons why an item has no content.
func (i driveItem) skipReason() string {
	switch {
	case i.Malware != nil:
		return "Microsoft found malware in it, and does not give it out"
	case i.Package != nil && strings.EqualFold(i.Package.Type, "oneNote"):
		return "OneNote notebooks are not read"
	case i.Package != nil:
		return "packages of the type " + connectors.PathSegment(i.Package.Type) + " are not read"
	case i.RemoteItem != nil:
		return "it is a shortcut to another library; its target is indexed with that library"
	case i.File == nil:
		return "it is no file"
	}
	return ""
}

const (
	itemSelect = "id,name,file,folder,root,package,remoteItem,malware,deleted,shared,parentReference,eTag,cTag,size,webUrl,createdDateTime,lastModifiedDateTime,createdBy"
	deltaTop   = 200
	// deltaPrefer asks for all changes of permissions, which Graph grants to apps with
	// the right Sites.FullControl.All; others get what they may see.
	deltaPrefer = "deltashowremovedasdeleted, deltatraversepermissiongaps, deltashowsharingchanges, hierarchicalsharing"
)

// A deltaPage is a page of a delta of any type.
type deltaPage[T any] struct {
	Value     []T    `json:"value"`
	NextLink  string `json:"@odata.nextLink"`
	DeltaLink string `json:"@odata.deltaLink"`
}

// errResync says that the platform no longer knows a delta link.
var errResync = errors.New("the delta has to be read from its start")

// readDelta reads a page of a delta: the start of path, or a link. done says that
// next is the link of the next sync.
func readDelta[T any](ctx context.Context, g *graph, path string, query url.Values, link string) (entries []T, next string, done bool, err error) {
	request := restapi.Request{Path: g.base + "/" + path, Query: query, Header: http.Header{"Prefer": {deltaPrefer}}, RequiredList: "value"}
	if link != "" {
		request.Path, request.Query = g.base+"/"+link, nil
	}
	var page deltaPage[T]
	if _, err := g.client.JSON(ctx, request, &page); err != nil {
		if status := restapi.StatusOf(err); link != "" && (status == http.StatusGone || status == http.StatusBadRequest) {
			return nil, "", false, errResync
		}
		return nil, "", false, err
	}
	switch {
	case page.NextLink != "":
		next, err = g.relativeLink(page.NextLink)
	case page.DeltaLink != "":
		next, err = g.relativeLink(page.DeltaLink)
		done = true
	default:
		err = errInvalid("a page of changes without a link to the next one")
	}
	return page.Value, next, done, err
}

// driveDelta reads a page of the delta of a library. latest asks for the link of
// the present alone.
func (s *source) driveDelta(ctx context.Context, p part, link string, latest bool) (items []driveItem, next string, done bool, err error) {
	query := url.Values{"$select": {itemSelect}, "$top": {strconv.Itoa(deltaTop)}}
	if latest {
		query = url.Values{"token": {"latest"}, "$select": {itemSelect}}
	}
	items, next, done, err = readDelta[driveItem](ctx, s.graph, "drives/"+segment(p.id)+"/root/delta", query, link)
	if err != nil {
		return nil, "", false, err
	}
	// Entries of folders that the app may not see have no name.
	items = slices.DeleteFunc(items, func(i driveItem) bool {
		return i.ID != "" && i.Name == "" && i.Deleted == nil && i.Root == nil && i.File == nil
	})
	last := map[string]int{}
	for i, item := range items {
		if item.ID == "" || item.Deleted == nil && item.Root == nil && item.Name == "" {
			return nil, "", false, errInvalid("a file without an id or name")
		}
		last[item.ID] = i
	}
	// The last entry of an item on a page is the valid one.
	kept := items[:0]
	for i, item := range items {
		if last[item.ID] == i {
			kept = append(kept, item)
		}
	}
	return kept, next, done, nil
}

// entry returns the item's entry in the record.
func (i driveItem) entry() recordEntry {
	e := recordEntry{ID: i.ID, Parent: i.Parent.ID, Deleted: i.Deleted != nil}
	if i.isFolder() {
		e.Name, e.Root, e.Shared = i.Name, i.Root != nil, i.Shared != nil
	}
	if e.Root {
		e.Parent, e.Name = "", ""
	}
	return e
}

// folderPath returns the path of an item's folder below the root of the library. It
// asks the platform for folders that the record does not have.
func (s *source) folderPath(ctx context.Context, p part, r *record, i driveItem) (string, error) {
	id := i.Parent.ID
	if id == "" {
		return i.parentPath(), nil
	}
	if err := r.loadFolders(ctx); err != nil {
		return "", err
	}
	var names []string
	for range maxDepth {
		e, known := r.folders[id]
		if !known {
			item, err := s.driveItem(ctx, p.id, id)
			if _, hidden := isUnavailable(err); hidden || errors.Is(err, connectors.ErrNotFound) || isNoQuery(err) {
				// The app sees what is in the folder, not the folder.
				if len(names) == 0 {
					return i.parentPath(), nil
				}
				break
			}
			if err != nil {
				return "", err
			}
			if e = item.entry(); e.Root || e.Parent == "" {
				e.Root = true
			}
			if err := r.add(ctx, []recordEntry{e}, nil); err != nil {
				return "", err
			}
		}
		if e.Root || e.Parent == "" {
			break
		}
		names = append(names, connectors.PathSegment(e.Name))
		id = e.Parent
	}
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return strings.Join(names, "/"), nil
}

// parentPath returns the path of the item's folder as the item tells it, or "".
func (i driveItem) parentPath() string {
	_, path, found := strings.Cut(i.Parent.Path, "root:")
	if !found {
		return ""
	}
	var names []string
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		names = append(names, connectors.PathSegment(name))
	}
	return strings.Join(names, "/")
}

// driveItem returns a file or folder of a library.
func (s *source) driveItem(ctx context.Context, drive, id string) (driveItem, error) {
	return s.driveItemAt(ctx, "drives/"+segment(drive)+"/items/"+segment(id), itemSelect)
}

func (s *source) driveItemAt(ctx context.Context, path, fields string) (driveItem, error) {
	var item driveItem
	if err := s.graph.get(ctx, path, url.Values{"$select": {fields}}, &item, "id"); err != nil {
		return driveItem{}, err
	}
	if item.ID == "" || item.Name == "" && item.Root == nil {
		return driveItem{}, errInvalid("a file without an id or name")
	}
	if item.Deleted != nil {
		return driveItem{}, connectors.ErrNotFound
	}
	return item, nil
}

// newDriveItem returns the item of a file.
func (s *source) newDriveItem(ctx context.Context, p part, r *record, i driveItem) (connectors.Item, error) {
	folder, err := s.folderPath(ctx, p, r, i)
	if err != nil {
		return connectors.Item{}, fmt.Errorf("read the folder of a file: %w", err)
	}
	item := connectors.Item{
		ID: driveItemID(p.id, i.ID), Path: joinPath(p.prefix, folder, connectors.PathSegment(i.Name)), Version: i.version(),
		Title: i.Name, URL: i.WebURL, Author: i.CreatedBy.User.DisplayName, Container: p.container, Size: -1,
		CreatedAt: utc(i.Created.Time), ModifiedAt: utc(i.Modified.Time), Metadata: map[string]string{"library": p.name},
	}
	if i.File != nil {
		item.MediaType = i.File.MimeType
	}
	if i.Size != nil && *i.Size >= 0 && i.skipReason() == "" {
		item.Size = *i.Size
	}
	if len(item.Path) > connectors.MaxIDBytes {
		item.Path = joinPath(p.prefix, i.ID+path.Ext(i.Name))
	}
	return item, nil
}

// driveItemID returns the id of a file. parseID is its inverse.
func driveItemID(drive, id string) string { return string(partDrive) + ":" + drive + "/" + id }

// itemID returns the id of the item with an id in the part.
func (p part) itemID(id string) string {
	switch p.kind {
	case partPages:
		return string(partPages) + ":" + p.siteID + "/" + id
	case partList:
		return listItemID(p, id)
	}
	return driveItemID(p.id, id)
}

// An itemID is a parsed [connectors.Item].ID.
type itemID struct {
	kind partKind
	// site is set for pages and list entries; of is the drive or list.
	site, of, id string
}

// parseID parses an id of an item.
func parseID(text string) (itemID, bool) {
	kind, rest, found := strings.Cut(text, ":")
	parts := strings.Split(rest, "/")
	if !found || len(text) > connectors.MaxIDBytes || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd || strings.ContainsRune(`?#%\`, r) }) {
		return itemID{}, false
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return itemID{}, false
		}
	}
	switch {
	case partKind(kind) == partDrive && len(parts) == 2:
		return itemID{kind: partDrive, of: parts[0], id: parts[1]}, true
	case partKind(kind) == partPages && len(parts) == 2:
		return itemID{kind: partPages, site: parts[0], id: parts[1]}, true
	case partKind(kind) == partList && len(parts) == 3:
		return itemID{kind: partList, site: parts[0], of: parts[1], id: parts[2]}, true
	}
	return itemID{}, false
}
