package sharepointserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (c *call) siteObject(site *Site) object {
	return object{
		"id": site.ID, "name": site.Path[strings.LastIndexByte(site.Path, '/')+1:], "displayName": site.Name, "webUrl": strings.TrimRight(c.URL+"/"+site.Path, "/"),
		"isPersonalSite": site.Personal, "createdDateTime": "2026-03-01T08:00:00Z",
	}
}

func (c *call) driveObject(d *Drive) object {
	kind := "business"
	if c.site(d.owner) != nil {
		kind = "documentLibrary"
	}
	return object{"id": d.ID, "name": d.Name, "webUrl": d.URL, "driveType": kind}
}

func (c *call) serveSites(rest string) {
	if rest == "getAllSites" || rest == "" {
		c.listSites(rest)
		return
	}
	if host, at, found := strings.Cut(rest, ":/"); found {
		if unescape(host) != c.Host() {
			c.refuse(http.StatusBadRequest, "invalidRequest", "Invalid hostname for this tenancy")
			return
		}
		at, action, _ := strings.Cut(unescape(at), ":/")
		c.serveSite(c.siteAt(at), action)
		return
	}
	id, action, _ := strings.Cut(rest, "/")
	if id = unescape(id); id == c.Host() || id == "root" {
		c.serveSite(c.siteAt(""), action)
		return
	}
	c.serveSite(c.site(id), action)
}

func (c *call) siteAt(at string) *Site {
	for _, site := range c.sites {
		if strings.EqualFold(site.Path, strings.Trim(at, "/")) {
			return site
		}
	}
	return nil
}

// listSites lists the sites of the organisation.
func (c *call) listSites(form string) {
	if form == "getAllSites" && c.token.user != "" {
		c.refuse(http.StatusForbidden, "accessDenied", "This operation is not supported with delegated permissions.")
		return
	}
	if c.NoSiteList || !c.allows("Sites.Read.All", "Sites.FullControl.All") {
		if c.NoSiteList {
			c.refuse(http.StatusForbidden, "accessDenied", "Access denied")
		}
		return
	}
	var all []any
	for _, site := range c.sites {
		o := c.siteObject(site)
		names := strings.ToLower(fmt.Sprint(o["name"], " ", o["displayName"]))
		if wanted := c.r.URL.Query().Get("search"); wanted == "" || wanted == "*" || strings.Contains(names, strings.ToLower(wanted)) {
			all = append(all, o)
		}
	}
	c.page(all, c.path)
}

func (c *call) serveSite(site *Site, action string) {
	if site == nil {
		c.notFound()
		return
	}
	if status := c.siteLock(site); status != 0 {
		c.locked(status)
		return
	}
	parts := strings.Split(action, "/")
	for i := range parts {
		parts[i] = unescape(parts[i])
	}
	const pageType = "microsoft.graph.sitePage"
	switch {
	case action == "":
		c.answer(http.StatusOK, c.siteObject(site))
	case action == "drives":
		var all []any
		for _, id := range site.drives {
			all = append(all, c.driveObject(c.drives[id]))
		}
		c.page(all, c.path)
	case action == "lists":
		c.lists(site)
	case parts[0] == "pages" && len(parts) == 2 && parts[1] == pageType:
		var all []any
		for _, p := range site.pages {
			all = append(all, c.pageObject(site, p))
		}
		c.page(all, c.path)
	case parts[0] == "pages" && len(parts) == 3 && parts[2] == pageType:
		at := slices.IndexFunc(site.pages, func(p *Page) bool { return p.ID == parts[1] })
		if at < 0 {
			c.notFound()
			return
		}
		out := c.pageObject(site, site.pages[at])
		if strings.Contains(c.query.Get("$expand"), "canvasLayout") {
			out["canvasLayout"] = site.pages[at].canvas()
		}
		c.answer(http.StatusOK, out)
	case parts[0] == "lists" && len(parts) > 1:
		c.serveList(site, parts[1], parts[2:])
	default:
		c.refuse(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '"+action+"'.")
	}
}

func (c *call) pageObject(site *Site, p *Page) object {
	level, version := "published", strconv.Itoa(p.version)+".0"
	if p.Draft {
		level, version = "draft", "0."+strconv.Itoa(p.version)
	}
	return object{
		"@odata.type": "#microsoft.graph.sitePage", "id": p.ID, "name": p.Name, "title": p.Title, "eTag": fmt.Sprintf("\"{%s},%d\"", p.ID, p.version),
		"webUrl": c.URL + "/" + site.Path + "/SitePages/" + p.Name, "createdDateTime": timeText(p.created), "lastModifiedDateTime": timeText(p.modified),
		"pageLayout": "article", "publishingState": object{"level": level, "versionId": version}, "createdBy": object{"user": object{"displayName": "Ada Lovelace"}},
	}
}

func (p *Page) canvas() any {
	if p.Canvas != nil {
		return p.Canvas
	}
	return object{"horizontalSections": []any{object{"layout": "oneColumn", "id": "1", "emphasis": "none", "columns": []any{object{"id": "1", "width": 12, "webparts": []any{
		object{"@odata.type": "#microsoft.graph.textWebPart", "id": "6f9230af-2a98-4952-b205-9ede4f9ef548", "innerHtml": p.Text},
	}}}}}, "verticalSection": nil}
}

func (c *call) lists(site *Site) {
	all := []any{
		object{"id": "lib-" + site.ID, "name": "Shared Documents", "displayName": "Documents", "webUrl": c.URL + "/" + site.Path + "/Shared%20Documents", "list": object{"template": "documentLibrary", "hidden": false}},
		object{"id": "pages-" + site.ID, "name": "SitePages", "displayName": pagesName, "webUrl": c.URL + "/" + site.Path + "/SitePages", "list": object{"template": "webPageLibrary", "hidden": false}},
	}
	for _, l := range site.lists {
		all = append(all, object{
			"id": l.ID, "name": l.Name, "displayName": l.Name, "webUrl": c.URL + "/" + site.Path + "/Lists/" + l.Name, "list": object{"template": l.Template, "hidden": false},
		})
	}
	c.page(all, c.path)
}

func (c *call) serveList(site *Site, id string, parts []string) {
	if id == "pages-"+site.ID && len(parts) == 1 && parts[0] == "drive" {
		c.answer(http.StatusOK, c.driveObject(c.drives[site.pageDrive]))
		return
	}
	l := c.list(id)
	if l == nil || len(parts) != 2 || parts[0] != "items" {
		c.notFound()
		return
	}
	if parts[1] == "delta" {
		c.listDelta(site, l)
		return
	}
	for _, e := range l.entries {
		if e.ID == parts[1] && !e.deleted {
			c.answer(http.StatusOK, c.entryObject(site, l, e))
			return
		}
	}
	c.notFound()
}

func (c *call) entryObject(site *Site, l *List, e *Entry) object {
	out := object{
		"id": e.ID, "eTag": fmt.Sprintf("\"%s,%d\"", l.ID+e.ID, e.version), "webUrl": c.URL + "/" + site.Path + "/Lists/" + l.Name + "/" + e.ID + "_.000",
		"createdDateTime": timeText(e.created), "lastModifiedDateTime": timeText(e.modified), "contentType": object{"id": "0x0100", "name": "Item"},
		"createdBy": object{"user": object{"displayName": "Ada Lovelace"}}, "parentReference": object{"siteId": site.ID},
	}
	if strings.Contains(c.query.Get("$expand"), "fields") {
		fields := object{"@odata.etag": out["eTag"], "id": e.ID, "ContentType": "Item", "_UIVersionString": "1.0", "AuthorLookupId": "6"}
		for name, value := range e.Fields {
			fields[name] = value
		}
		out["fields"] = fields
	}
	return out
}

func (c *call) listDelta(site *Site, l *List) {
	t, ok := c.deltaPosition(c.serial)
	if !ok {
		return
	}
	all := slices.Clone(l.entries)
	number := func(e *Entry) int { n, _ := strconv.Atoi(e.ID); return n }
	if t.mode == "c" {
		number = func(e *Entry) int { return e.seq }
		slices.SortFunc(all, func(a, b *Entry) int { return a.seq - b.seq })
	}
	var entries []object
	var numbers []int
	for _, e := range all {
		switch {
		case number(e) <= t.after || e.deleted && t.mode != "c":
			continue
		case e.deleted:
			entries = append(entries, object{"id": e.ID, "deleted": object{"state": "deleted"}})
		default:
			entries = append(entries, c.entryObject(site, l, e))
		}
		numbers = append(numbers, number(e))
	}
	c.sendDelta(t, c.serial, entries, numbers)
}

// siteGroupUsers answers SharePoint's own interface, which refuses apps that signed
// in with a secret.
func (c *call) siteGroupUsers() {
	if !c.authenticate(c.URL) {
		return
	}
	if !c.token.certificate {
		c.answer(http.StatusUnauthorized, object{"error_description": "Unsupported app only token."})
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	at, call, _ := strings.Cut(strings.TrimPrefix(unescape(c.r.URL.EscapedPath()), "/"), "_api/web/sitegroups/getbyid(")
	text, _, _ := strings.Cut(call, ")")
	number, _ := strconv.Atoi(text)
	site := c.siteAt(at)
	if site == nil || !c.token.app.Rights["Sites.FullControl.All"] {
		c.answer(http.StatusForbidden, object{"odata.error": object{"code": "-2147024891, System.UnauthorizedAccessException", "message": object{"lang": "en-US", "value": "Access denied."}}})
		return
	}
	members, known := site.groups[number]
	if !known {
		c.answer(http.StatusNotFound, object{"odata.error": object{"code": "-2146232832", "message": object{"lang": "en-US", "value": "Group cannot be found."}}})
		return
	}
	var out []object
	for i, m := range members {
		out = append(out, object{"Id": i + 10, "LoginName": m.LoginName, "Email": m.Email, "Title": m.Title, "PrincipalType": m.Type})
	}
	c.answer(http.StatusOK, object{"value": append([]object{}, out...)})
}
