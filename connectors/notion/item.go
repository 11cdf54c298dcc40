package notion

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// The prefixes of ids. A file's id has its page and its block, or its property and
// the number in it.
const (
	prefixPage = "page:"
	prefixFile = "file:"
)

// A fileRef is a file of a page.
type fileRef struct {
	// Key is the id of a block, or "property/number".
	Key     string `json:"k"`
	Name    string `json:"n"`
	Version string `json:"v"`
}

// parseItemID parses an item's id. key is "" for a page, and page is "" if the id is
// invalid.
func parseItemID(id string) (page, key string) {
	if text, found := strings.CutPrefix(id, prefixPage); found {
		if isID(text) {
			return text, ""
		}
	}
	if text, found := strings.CutPrefix(id, prefixFile); found {
		page, key, _ := strings.Cut(text, "/")
		if isID(page) && (isID(key) || strings.Contains(key, "/")) {
			return page, key
		}
	}
	return "", ""
}

// markComments ends the version of a page that is read with its comments, so that the
// pages are read again when the option changes.
const markComments = "+c"

func pageItem(t *tree, n node) connectors.Item {
	item := connectors.Item{
		ID: prefixPage + n.ID, Path: t.path(n), Version: n.version(), Title: n.Title, URL: n.URL, MediaType: "text/markdown", Size: -1,
		Container: t.container(n), ModifiedAt: time.Unix(n.Edited, 0).UTC(), Metadata: map[string]string{},
	}
	if item.Title == "" {
		item.Title = "Untitled"
	}
	if n.Created != 0 {
		item.CreatedAt = time.Unix(n.Created, 0).UTC()
	}
	if parent, ok := t.above(n); ok && parent.Source {
		item.Metadata["database"] = segment(parent.Title)
	}
	return item
}

func fileItems(t *tree, n node, files []fileRef) []connectors.Item {
	of := pageItem(t, n)
	names := map[string]bool{}
	var items []connectors.Item
	for _, f := range files {
		name := segment(f.Name)
		extension := path.Ext(name)
		if !regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`).MatchString(extension) {
			extension = ""
		}
		if names[name] || len(of.Path)+len(name) >= connectors.MaxIDBytes {
			stem := strings.TrimSuffix(name, extension)
			if len(stem) > 150 {
				stem = strings.ToValidUTF8(stem[:150], "")
			}
			name = fmt.Sprintf("%s (%s)%s", stem, strings.ReplaceAll(bare(f.Key), "/", "∕"), extension)
		}
		names[name] = true
		items = append(items, connectors.Item{
			ID: prefixFile + n.ID + "/" + f.Key, Path: of.Path + "/" + name, Version: f.Version, Title: f.Name, URL: n.URL, Size: -1, Container: of.Container,
			CreatedAt: of.CreatedAt, Metadata: map[string]string{},
		})
	}
	return items
}
