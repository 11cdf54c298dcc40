package sharepoint

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/connectors"
)

const (
	// pagesFolder is the folder of pages in the paths of items, and listsFolder that of
	// lists.
	pagesFolder = "Site Pages"
	listsFolder = "Lists"
	pageSelect  = "id,name,title,description,eTag,webUrl,createdDateTime,lastModifiedDateTime,createdBy,publishingState"
)

// A sitePage is a page of a site.
type sitePage struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	ETag        string      `json:"eTag"`
	ODataETag   string      `json:"@odata.etag"`
	WebURL      string      `json:"webUrl"`
	Created     timestamp   `json:"createdDateTime"`
	Modified    timestamp   `json:"lastModifiedDateTime"`
	CreatedBy   identitySet `json:"createdBy"`
	Publishing  struct {
		Level     string `json:"level"`
		VersionID string `json:"versionId"`
	} `json:"publishingState"`
	Canvas *canvasLayout `json:"canvasLayout"`
}

type canvasLayout struct {
	Horizontal []struct {
		Columns []struct {
			WebParts []webPart `json:"webparts"`
		} `json:"columns"`
	} `json:"horizontalSections"`
	Vertical *struct {
		WebParts []webPart `json:"webparts"`
	} `json:"verticalSection"`
}

// A webPart is a part of a page: a text, or another one with texts for the search.
type webPart struct {
	InnerHTML string `json:"innerHtml"`
	Data      struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Content     struct {
			Texts []struct {
				Key   string `json:"key"`
				Value string `json:"value"`
			} `json:"searchablePlainTexts"`
			HTML []struct {
				Value string `json:"value"`
			} `json:"htmlStrings"`
			Links []struct {
				Key   string `json:"key"`
				Value string `json:"value"`
			} `json:"links"`
		} `json:"serverProcessedContent"`
	} `json:"data"`
}

// isDraft reports whether a page was never published.
func (p sitePage) isDraft() bool {
	return strings.EqualFold(p.Publishing.Level, "draft") && strings.HasPrefix(p.Publishing.VersionID, "0.")
}

func (p sitePage) version() string {
	if tag := cmp.Or(p.ETag, p.ODataETag); tag != "" {
		return tag
	}
	return p.Modified.UTC().Format(time.RFC3339Nano)
}

func pagesPath(site string) string { return "sites/" + segment(site) + "/pages" }

const sitePageType = "/microsoft.graph.sitePage"

// readPages reads a page of the list of a site's pages.
func (s *source) readPages(ctx context.Context, p part, link string) (partPage, error) {
	pages, next, err := readPage[sitePage](ctx, s.graph, pagesPath(p.siteID)+sitePageType, url.Values{"$select": {pageSelect}, "$top": {"200"}}, link)
	if err != nil {
		return partPage{}, err
	}
	read := partPage{next: next, done: next == ""}
	var items []connectors.Item
	for _, page := range pages {
		if page.ID == "" || page.Name == "" {
			return partPage{}, errInvalid("a page without an id or name")
		}
		if page.isDraft() {
			continue
		}
		// The entry's version in the place of the folder.
		read.files = append(read.files, recordEntry{ID: page.ID, Parent: page.version()})
		if item := newPageItem(p, page); !s.excludes(item.Path) {
			items = append(items, item)
		}
	}
	read.items = func(context.Context, *record) ([]connectors.Item, error) { return items, nil }
	return read, nil
}

// hasNoPages reports whether an error says that a site has no library of pages, as
// sites of old templates.
func hasNoPages(err error) bool {
	return isNoQuery(err)
}

// newPageItem returns the item of a page.
func newPageItem(p part, page sitePage) connectors.Item {
	item := connectors.Item{
		ID: string(partPages) + ":" + p.siteID + "/" + page.ID, Path: joinPath(p.prefix, connectors.PathSegment(page.Name)), Version: page.version(),
		Title: cmp.Or(page.Title, page.Name), MediaType: "text/html", Author: page.CreatedBy.User.DisplayName, Container: p.container, Size: -1,
		CreatedAt: utc(page.Created.Time), ModifiedAt: utc(page.Modified.Time), Metadata: map[string]string{"library": p.name},
	}
	switch {
	case strings.Contains(page.WebURL, "://"):
		item.URL = page.WebURL
	case page.WebURL != "" && p.siteURL != "": // Graph gives it below the site
		item.URL = strings.TrimRight(p.siteURL, "/") + "/" + strings.TrimLeft(page.WebURL, "/")
	}
	if len(item.Path) > connectors.MaxIDBytes {
		item.Path = joinPath(p.prefix, page.ID+".aspx")
	}
	return item
}

// sitePageByID returns a page with its content.
func (s *source) sitePageByID(ctx context.Context, site, id string) (sitePage, error) {
	var page sitePage
	query := url.Values{"$expand": {"canvasLayout"}}
	if err := s.graph.get(ctx, pagesPath(site)+"/"+segment(id)+sitePageType, query, &page, "id", "name"); err != nil {
		return page, err
	}
	if page.ID == "" || page.Name == "" {
		return page, errInvalid("a page without an id or name")
	}
	return page, nil
}

// renderPage returns a page as HTML.
func renderPage(page sitePage) []byte {
	var b strings.Builder
	title := html.EscapeString(cmp.Or(page.Title, page.Name))
	b.WriteString("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>" + title + "</title></head><body><main>\n<h1>" + title + "</h1>\n")
	if page.Description != "" {
		b.WriteString("<p>" + html.EscapeString(page.Description) + "</p>\n")
	}
	if page.Canvas != nil {
		for _, section := range page.Canvas.Horizontal {
			for _, column := range section.Columns {
				writeWebParts(&b, column.WebParts)
			}
		}
		if page.Canvas.Vertical != nil {
			writeWebParts(&b, page.Canvas.Vertical.WebParts)
		}
	}
	b.WriteString("</main></body></html>\n")
	return []byte(b.String())
}

func writeWebParts(b *strings.Builder, parts []webPart) {
	for _, p := range parts {
		if p.InnerHTML != "" {
			b.WriteString(sanitize(p.InnerHTML) + "\n")
			continue
		}
		for _, text := range p.Data.Content.Texts {
			if text.Value == "" {
				continue
			}
			tag := "p"
			if strings.HasSuffix(strings.ToLower(text.Key), "title") {
				tag = "h2"
			}
			b.WriteString("<" + tag + ">" + html.EscapeString(text.Value) + "</" + tag + ">\n")
		}
		for _, text := range p.Data.Content.HTML {
			b.WriteString(sanitize(text.Value) + "\n")
		}
		for _, link := range p.Data.Content.Links {
			if strings.Contains(link.Value, "://") {
				address := html.EscapeString(link.Value)
				b.WriteString(`<p><a href="` + address + `">` + address + "</a></p>\n")
			}
		}
	}
}

// sanitize returns a fragment of HTML that is well-formed, so that it cannot end the
// document around it, and has no scripts.
func sanitize(fragment string) string {
	nodes, err := html.ParseFragment(strings.NewReader(fragment), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		return html.EscapeString(fragment)
	}
	var b strings.Builder
	for _, n := range nodes {
		if isProgram(n) {
			continue
		}
		removePrograms(n)
		if err := html.Render(&b, n); err != nil {
			return html.EscapeString(fragment)
		}
	}
	return b.String()
}

func isProgram(n *html.Node) bool {
	return n.Type == html.ElementNode && (n.DataAtom == atom.Script || n.DataAtom == atom.Style || n.DataAtom == atom.Iframe || n.DataAtom == atom.Noscript)
}

// removePrograms removes scripts and styles below a node.
func removePrograms(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if isProgram(child) {
			n.RemoveChild(child)
		} else {
			removePrograms(child)
		}
		child = next
	}
}
