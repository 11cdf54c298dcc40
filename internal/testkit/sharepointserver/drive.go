package sharepointserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// lockOf returns the status with which requests to a library are refused, or 0.
func (c *call) lockOf(d *Drive) int {
	if site := c.site(d.owner); site != nil {
		return c.siteLock(site)
	}
	return 0
}

// siteLock returns the status with which requests to a site are refused, or 0.
func (c *call) siteLock(site *Site) int {
	app := c.token.app
	switch {
	case site.Locked != 0:
		return site.Locked
	case c.token.user != "", app.Rights["Sites.Read.All"], app.Rights["Sites.FullControl.All"], app.Rights["Sites.Selected"] && slices.Contains(app.Sites, site.ID):
		return 0
	}
	return http.StatusForbidden
}

func (c *call) serveDrives(rest string) {
	id, rest, _ := strings.Cut(rest, "/")
	d := c.drives[unescape(id)]
	if d == nil {
		c.notFound()
		return
	}
	if status := c.lockOf(d); status != 0 {
		c.locked(status)
		return
	}
	switch {
	case rest == "root/delta":
		c.delta(d)
		return
	case rest == "root/permissions":
		c.permissions(d, d.root())
		return
	case strings.HasPrefix(rest, "root:/"):
		at, action, _ := strings.Cut(strings.TrimPrefix(rest, "root:/"), ":")
		c.item(d, d.find(unescape(at)), strings.TrimPrefix(action, "/"))
		return
	case strings.HasPrefix(rest, "items/"):
		id, action, _ := strings.Cut(strings.TrimPrefix(rest, "items/"), "/")
		c.item(d, d.items[unescape(id)], action)
		return
	}
	c.refuse(http.StatusBadRequest, "BadRequest", "Resource not found for the segment.")
}

func (c *call) item(d *Drive, i *item, action string) {
	if i == nil || i.hidden || d.isGone(i) {
		c.notFound()
		return
	}
	switch action {
	case "":
		out := c.driveItem(d, i)
		if strings.Contains(c.query.Get("$select"), "@microsoft.graph.downloadUrl") && !i.folder && !c.NoDownloadURL {
			out["@microsoft.graph.downloadUrl"] = c.contentURL(d, i)
		}
		c.answer(http.StatusOK, out)
	case "permissions":
		c.permissions(d, i)
	case "children":
		var children []any
		for _, child := range c.sorted(d) {
			if child.parent == i.id && !child.deleted {
				children = append(children, c.driveItem(d, child))
			}
		}
		c.page(children, c.path)
	case "content":
		if i.folder {
			c.refuse(http.StatusBadRequest, "notSupported", "You cannot get content for a folder")
			return
		}
		c.w.Header().Set("Location", c.contentURL(d, i))
		c.w.WriteHeader(http.StatusFound)
	default:
		c.refuse(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '"+action+"'.")
	}
}

// contentURL returns an address of a content that needs no other authorization.
func (s *Server) contentURL(d *Drive, i *item) string {
	return s.content.URL + "/" + d.ID + "/" + i.id + "?tempauth=v1.eyJzaXRlaWQi"
}

// sorted returns the items of a library in the order of their creation.
func (c *call) sorted(d *Drive) []*item {
	var all []*item
	for _, i := range d.items {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *item) int { return a.serial - b.serial })
	return all
}

func (c *call) driveItem(d *Drive, i *item) object {
	kind := "business"
	if c.site(d.owner) != nil {
		kind = "documentLibrary"
	}
	guid := "{" + strings.ToUpper(i.id) + "}"
	out := object{
		"id": i.id, "name": i.name, "eTag": fmt.Sprintf("\"%s,%d\"", guid, i.version), "cTag": fmt.Sprintf("\"c:%s,%d\"", guid, i.contentVersion),
		"createdDateTime": timeText(i.created), "lastModifiedDateTime": timeText(i.modified), "size": len(i.content), "webUrl": d.URL + "/" + i.name,
		"createdBy":       object{"user": object{"displayName": "Ada Lovelace", "email": "ada@acme.example"}},
		"parentReference": object{"driveId": d.ID, "driveType": kind},
	}
	if parent := d.items[i.parent]; parent != nil {
		out["parentReference"] = object{"driveId": d.ID, "driveType": kind, "id": parent.id}
	}
	switch {
	case i.root:
		out["root"], out["folder"] = object{}, object{"childCount": len(d.items) - 1}
	case i.folder:
		out["folder"] = object{"childCount": 1}
	default:
		out["file"] = object{"mimeType": mimeType(i.name), "hashes": object{"quickXorHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="}}
	}
	if i.permissions != nil {
		out["shared"] = object{"scope": "users"}
	}
	for name, value := range i.facets {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func mimeType(name string) string {
	switch strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]) {
	case "md", "txt":
		return "text/plain"
	case "html":
		return "text/html"
	case "csv":
		return "text/csv"
	}
	return "application/octet-stream"
}

// A deltaToken is a position in a delta: in an enumeration of everything (e) or in
// the changes behind a number (c).
type deltaToken struct {
	mode                string
	epoch, since, after int
}

func (t deltaToken) String() string {
	return fmt.Sprintf("%s.%d.%d.%d", t.mode, t.epoch, t.since, t.after)
}

func parseDeltaToken(text string) (t deltaToken, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return t, false
	}
	t.mode = parts[0]
	var errs [3]error
	t.epoch, errs[0] = strconv.Atoi(parts[1])
	t.since, errs[1] = strconv.Atoi(parts[2])
	t.after, errs[2] = strconv.Atoi(parts[3])
	return t, errs == [3]error{}
}

// resync answers a delta token that is not known any more.
func (c *call) resync() {
	c.w.Header().Set("Location", c.URL+"/v1.0/"+c.path)
	c.refuse(http.StatusGone, "resyncRequired", "Resync required. Replace any local items with the server's version (including deletes) if you're sure that the service was up to date with your local changes when you last sync'd.")
}

// deltaPosition returns the position of a request.
func (c *call) deltaPosition(present int) (t deltaToken, ok bool) {
	switch text := c.query.Get("token"); text {
	case "":
		return deltaToken{mode: "e", epoch: c.epoch, since: present}, true
	case "latest":
		return deltaToken{mode: "c", epoch: c.epoch, since: present, after: present}, true
	default:
		t, ok = parseDeltaToken(text)
		if !ok {
			c.refuse(http.StatusBadRequest, "invalidRequest", "The provided token is not valid.")
			return t, false
		}
		if t.epoch != c.epoch {
			c.resync()
			return t, false
		}
		return t, true
	}
}

// sendDelta sends entries behind a position. number returns the number of an entry.
func (c *call) sendDelta(t deltaToken, present int, entries []object, numbers []int) {
	top := 200
	if asked, err := strconv.Atoi(c.query.Get("$top")); err == nil && asked > 0 {
		top = asked
	}
	if c.MaxPage > 0 {
		top = min(top, c.MaxPage)
	}
	if c.IgnoreTop {
		top = len(entries)
	}
	query := c.query
	body := object{"@odata.context": c.URL + "/v1.0/$metadata#Collection(driveItem)"}
	if len(entries) > top {
		t.after = numbers[top-1]
		query.Set("token", t.String())
		body["value"], body["@odata.nextLink"] = entries[:top], c.URL+"/v1.0/"+c.path+"?"+query.Encode()
	} else {
		end := t.since
		if t.mode == "c" {
			end = present
		}
		query.Set("token", deltaToken{mode: "c", epoch: c.epoch, since: end, after: end}.String())
		body["value"], body["@odata.deltaLink"] = append([]object{}, entries...), c.URL+"/v1.0/"+c.path+"?"+query.Encode()
	}
	c.answer(http.StatusOK, body)
}

// delta answers a request for what is in a library, or has changed in it.
func (c *call) delta(d *Drive) {
	t, ok := c.deltaPosition(d.seq)
	if !ok {
		return
	}
	all := c.sorted(d)
	number := func(i *item) int { return i.serial }
	if t.mode == "c" {
		number = func(i *item) int { return i.seq }
		slices.SortFunc(all, func(a, b *item) int { return a.seq - b.seq })
	}
	sharing := strings.Contains(c.r.Header.Get("Prefer"), "deltashowsharingchanges") && c.token.app.Rights["Sites.FullControl.All"]
	var entries []object
	var numbers []int
	for _, i := range all {
		switch {
		case number(i) <= t.after:
			continue
		case i.deleted && t.mode == "c":
			entries = append(entries, object{"id": i.id, "deleted": object{"state": "deleted"}, "parentReference": object{"driveId": d.ID, "id": i.parent}})
			numbers = append(numbers, number(i))
			continue
		case i.hidden || d.isGone(i):
			continue
		}
		out := c.driveItem(d, i)
		if t.mode == "c" && i.sharedSeq > t.since {
			if !sharing && i.sharedSeq == i.seq {
				continue // a change of permissions alone
			}
			if sharing && (!i.folder || i.root) {
				out["@microsoft.graph.sharedChanged"] = "True"
			}
		}
		entries = append(entries, out)
		numbers = append(numbers, number(i))
	}
	c.sendDelta(t, d.seq, entries, numbers)
}

// permissions answers with the permissions of an item, inherited ones included.
func (c *call) permissions(d *Drive, i *item) {
	var list []Permission
	inherited := false
	for at := i; at != nil; at = d.items[at.parent] {
		if at.permissions != nil {
			list, inherited = at.permissions, at != i
			break
		}
		if at.root {
			list, inherited = d.Permissions, at != i
		}
	}
	var out []any
	for _, p := range list {
		copied := object{}
		for name, value := range p {
			copied[name] = value
		}
		if inherited {
			copied["inheritedFrom"] = object{"driveId": d.ID, "id": d.root().id, "path": "/drives/" + d.ID + "/root:"}
		}
		out = append(out, copied)
	}
	c.page(out, c.path)
}

// serveContent serves the host of contents, whose addresses are their own
// authorization.
func (s *Server) serveContent(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "unexpected credentials", http.StatusUnauthorized)
		return
	}
	drive, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mutex.Lock()
	var content []byte
	found, fault := false, s.contentFault
	if d := s.drives[drive]; d != nil && d.items[id] != nil && !d.isGone(d.items[id]) {
		content, found = d.items[id].content, true
	}
	s.mutex.Unlock()
	if fault != 0 {
		w.WriteHeader(fault)
		return
	}
	if !found || r.URL.Query().Get("tempauth") == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content)
}
