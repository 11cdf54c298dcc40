package confluenceserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func (c *call) serveV1() {
	path := c.path[2:]
	switch {
	case c.is("rest", "api", "user", "current"):
		if c.who == nil {
			c.answer(object{"type": "anonymous", "displayName": "Anonymous"})
			return
		}
		c.answer(c.userOf(c.who))
	case c.is("rest", "api", "user"):
		u := c.user(func(u *User) bool { return u.ID == c.query.Get("key") || u.Name == c.query.Get("username") })
		if u == nil || c.who == nil {
			c.refuse(http.StatusNotFound, "No user found with key: "+c.query.Get("key"))
			return
		}
		c.answer(c.userOf(u))
	case c.is("rest", "api", "space"):
		c.spacesV1()
	case path[0] == "space" && len(path) >= 2:
		c.spaceV1(path)
	case path[0] == "group":
		c.groupsV1(path)
	case c.is("rest", "api", "content", "search"):
		c.searchV1()
	case c.is("rest", "api", "content", "scan") && !c.NoScan:
		c.scanV1()
	case c.is("rest", "api", "content"):
		title, kind, key := c.query.Get("title"), c.query.Get("type"), c.query.Get("spaceKey")
		if kind == "" {
			kind = "page"
		}
		c.listV1(c.find(c.who, func(one *Content) bool {
			return one.Type == kind && one.Space == key && one.Status == "current" && (title == "" || one.Title == title)
		}))
	case path[0] == "content" && len(path) >= 2:
		c.oneV1(path)
	default:
		http.NotFound(c.w, c.r)
	}
}

func (c *call) oneV1(path []string) {
	one := c.content[path[1]]
	if one == nil || !c.canView(c.who, one) || one.Status != "current" && one.Status != "archived" {
		c.notFound(path[1])
		return
	}
	rest := strings.Join(path[2:], "/")
	switch {
	case rest == "":
		c.answer(c.render(one, c.expansions()))
	case rest == "restriction/byOperation/read":
		start, limit := c.start(), c.limit(100, 200)
		c.answer(c.readers(one, start, limit))
	case rest == "child/attachment":
		c.listV1(c.children(c.who, one.ID, "attachment"))
	case rest == "descendant/comment" || rest == "child/comment":
		c.listV1(c.children(c.who, one.ID, "comment"))
	case len(path) == 6 && path[2] == "child" && path[3] == "attachment" && path[5] == "download":
		f := c.content[path[4]]
		if f == nil || f.Container != one.ID {
			c.notFound(path[4])
			return
		}
		http.Redirect(c.w, c.r, c.media.URL+"/file/"+f.ID+"?token=signed", http.StatusFound)
	default:
		http.NotFound(c.w, c.r)
	}
}

func (c *call) start() int {
	start, _ := strconv.Atoi(c.query.Get("start"))
	return max(start, 0)
}

// expansions returns the values of the parameter expand: "a.b" is b within a.
func (c *call) expansions() []string {
	var list []string
	for _, value := range c.query["expand"] {
		list = append(list, strings.Split(value, ",")...)
	}
	return list
}

// within returns the expansions below an expansion, and whether it is in the list.
func within(list []string, name string) (inner []string, found bool) {
	for _, one := range list {
		if one == name {
			found = true
		}
		if below, ok := strings.CutPrefix(one, name+"."); ok {
			found, inner = true, append(inner, below)
		}
	}
	return inner, found
}

// most returns the maximum length of a page, which depends on the expansions.
func (c *call) most() int {
	list := c.expansions()
	if _, body := within(list, "body"); body {
		return 50
	}
	if len(list) > 0 {
		return 200
	}
	return 1000
}

func (c *call) listV1(found []*Content) {
	start, limit := c.start(), c.limit(25, c.most())
	part := found[min(start, len(found)):]
	links := object{"base": c.URL, "context": c.context}
	if len(part) > limit {
		part = part[:limit]
		query := c.query
		query.Set("start", strconv.Itoa(start+limit))
		links["next"] = "/" + strings.Join(c.path, "/") + "?" + query.Encode()
	}
	c.answer(object{"results": c.rendered(part), "start": start, "limit": limit, "size": len(part), "_links": links})
}

func (c *call) rendered(found []*Content) []object {
	list := c.expansions()
	made := make([]object, 0, len(found))
	for _, one := range found {
		made = append(made, c.render(one, list))
	}
	return made
}

// scanV1 serves the pages after a cursor.
func (c *call) scanV1() {
	key, after := c.query.Get("spaceKey"), 0
	if cursor := c.query.Get("cursor"); cursor != "" {
		id, found := strings.CutPrefix(cursor, "content:false:")
		if after = number(id); !found || after == 0 {
			c.refuse(http.StatusBadRequest, "com.atlassian.confluence.api.service.exceptions.BadRequestException: Cannot parse the cursor")
			return
		}
	}
	found := c.find(c.who, func(one *Content) bool {
		return one.Type == "page" && one.Space == key && one.Status == "current" && number(one.ID) > after
	})
	limit := c.limit(25, c.most())
	links, answer := object{"base": c.URL, "context": c.context}, object{"limit": limit, "cursor": c.query.Get("cursor")}
	if len(found) > limit {
		found = found[:limit]
		next := "content:false:" + found[limit-1].ID
		query := c.query
		query.Set("cursor", next)
		answer["nextCursor"], links["next"] = next, "/rest/api/content/scan?"+query.Encode()
	}
	answer["results"], answer["size"], answer["_links"] = c.rendered(found), len(found), links
	c.answer(answer)
}

// searchV1 searches the index, which may not have new content yet. Cloud pages by
// cursor, Data Center by offset.
func (c *call) searchV1() {
	match, err := parseCQL(c.Server, c.query.Get("cql"))
	if err != nil {
		c.refuse(http.StatusBadRequest, "com.atlassian.confluence.api.service.exceptions.BadRequestException: Could not parse cql : "+c.query.Get("cql"))
		return
	}
	found := c.find(c.who, func(one *Content) bool { return one.Status != "trashed" && !one.Unindexed && match(one) })
	if c.cloud {
		if raw, err := base64.StdEncoding.DecodeString(c.query.Get("cursor")); err == nil && len(raw) > 0 {
			c.query.Set("start", string(raw))
		}
	}
	start, limit := c.start(), c.limit(25, c.most())
	part := found[min(start, len(found)):]
	links := object{"base": c.URL, "context": c.context}
	if len(part) > limit {
		part = part[:limit]
		query := url.Values{"cql": c.query["cql"], "limit": {strconv.Itoa(limit)}}
		if c.cloud {
			query.Set("cursor", base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(start+limit))))
		} else {
			query.Set("start", strconv.Itoa(start+limit))
		}
		links["next"] = "/rest/api/content/search?" + query.Encode()
	}
	c.answer(object{"results": c.rendered(part), "start": start, "limit": limit, "size": len(part), "_links": links})
}

const stamp = "2006-01-02T15:04:05.000-07:00"

func (c *call) userOf(u *User) object {
	if c.cloud {
		made := object{"type": "known", "accountId": u.ID, "accountType": "atlassian", "email": u.Email, "publicName": u.Display, "displayName": u.Display}
		if u.Hidden {
			made["email"] = ""
		}
		if u.App {
			made["accountType"], made["email"] = "app", ""
		}
		return made
	}
	return object{"type": "known", "username": u.Name, "userKey": u.ID, "displayName": u.Display}
}

func (c *call) author(id string) object {
	if u := c.user(func(u *User) bool { return u.ID == id }); u != nil {
		return c.userOf(u)
	}
	return object{"type": "anonymous", "displayName": "Anonymous"}
}

// render returns the JSON of a content with its expansions, and the names of the
// other expandable fields.
func (c *call) render(one *Content, list []string) object {
	unasked := object{}
	links := object{"webui": "/display/" + one.Space + "/" + url.QueryEscape(one.Title), "self": c.URL + "/rest/api/content/" + one.ID}
	made := object{"id": one.ID, "type": one.Type, "status": one.Status, "title": one.Title, "extensions": object{"position": 0}, "_links": links, "_expandable": unasked}
	add := func(name string, value func(inner []string) any) {
		if inner, asked := within(list, name); asked {
			made[name] = value(inner)
		} else {
			unasked[name] = ""
		}
	}
	switch one.Type {
	case "attachment":
		links["webui"] = "/pages/viewpageattachments.action?pageId=" + one.Container + "&preview=%2F" + one.ID
		links["download"] = "/download/attachments/" + one.Container + "/" + url.PathEscape(one.Title) + "?version=" + strconv.Itoa(one.Number) + "&api=v2"
		made["extensions"] = object{"mediaType": one.Media, "fileSize": len(one.Data)}
		made["metadata"] = object{"mediaType": one.Media}
	case "comment":
		extensions := object{"location": "footer", "_expandable": object{"resolution": ""}}
		if one.Inline != "" {
			extensions["location"] = "inline"
			if _, asked := within(list, "extensions.inlineProperties"); asked {
				extensions["inlineProperties"] = object{"originalSelection": one.Inline}
			}
			if _, asked := within(list, "extensions.resolution"); asked {
				extensions["resolution"] = object{"status": map[bool]string{true: "resolved", false: "open"}[one.Resolved]}
			}
		}
		made["extensions"] = extensions
	}
	add("space", func([]string) any { return object{"key": one.Space, "name": c.space(one.Space).Name, "type": "global"} })
	add("version", func([]string) any {
		return object{"by": c.author(one.Author), "when": one.Modified.Format(stamp), "number": one.Number, "minorEdit": false}
	})
	add("history", func([]string) any {
		return object{"latest": true, "createdBy": c.author(one.Author), "createdDate": one.Created.Format(stamp)}
	})
	add("ancestors", func([]string) any {
		above := []object{}
		for _, a := range c.ancestors(one) {
			above = append(above, c.render(a, nil))
		}
		return above
	})
	add("container", func([]string) any {
		if of := c.content[one.Container]; of != nil {
			return c.render(of, nil)
		}
		return object{"key": one.Space}
	})
	add("body", func(inner []string) any {
		if _, asked := within(inner, "storage"); !asked {
			return object{}
		}
		return object{"storage": object{"value": one.Body, "representation": "storage"}}
	})
	if _, asked := within(list, "metadata.labels"); asked {
		labels := []object{}
		for i, name := range one.Labels {
			labels = append(labels, object{"prefix": "global", "name": name, "id": strconv.Itoa(i), "label": name})
		}
		made["metadata"] = object{"labels": object{"results": labels, "start": 0, "limit": 200, "size": len(labels)}}
	}
	if inner, asked := within(list, "children.attachment"); asked {
		made["children"] = object{"attachment": c.inside(one, "attachment", "child", inner)}
	}
	if inner, asked := within(list, "descendants.comment"); asked {
		made["descendants"] = object{"comment": c.inside(one, "comment", "descendant", inner)}
	}
	if _, asked := within(list, "restrictions.read.restrictions"); asked {
		made["restrictions"] = object{"read": c.readers(one, 0, 200)}
	} else {
		unasked["restrictions"] = "/rest/api/content/" + one.ID + "/restriction/byOperation"
	}
	return made
}

// inside returns a list within a content: its first 25 entries.
func (c *call) inside(one *Content, kind, as string, inner []string) object {
	found, links := c.children(c.who, one.ID, kind), object{}
	const most = 25
	if len(found) > most {
		found, links["next"] = found[:most], "/rest/api/content/"+one.ID+"/"+as+"/"+kind+"?limit=25&start=25"
	}
	rows := make([]object, 0, len(found))
	for _, f := range found {
		rows = append(rows, c.render(f, inner))
	}
	return object{"results": rows, "start": 0, "limit": most, "size": len(rows), "_links": links}
}

func (c *call) readers(one *Content, start, limit int) object {
	users, groups := []object{}, []object{}
	for _, id := range one.Users {
		users = append(users, c.author(id))
	}
	for _, id := range one.Groups {
		g := c.group(id)
		made := object{"type": "group", "name": g.Name}
		if g.ID != "" {
			made["id"] = g.ID
		}
		groups = append(groups, made)
	}
	part := func(list []object) object {
		list = list[min(start, len(list)):]
		list = list[:min(limit, len(list))]
		return object{"results": list, "start": start, "limit": limit, "size": len(list)}
	}
	return object{"operation": "read", "restrictions": object{"user": part(users), "group": part(groups)}}
}

func (c *call) spacesV1() {
	status, keys := c.query.Get("status"), c.query["spaceKey"]
	var found []object
	for _, s := range c.spaces {
		if c.canViewSpace(c.who, s) && (status == "" || (status == "archived") == s.Archive) && (len(keys) == 0 || slices.Contains(keys, s.Key)) {
			kind := "global"
			if s.Personal {
				kind = "personal"
			}
			id, _ := strconv.Atoi(s.ID)
			found = append(found, object{"id": id, "key": s.Key, "name": s.Name, "type": kind, "_links": object{"webui": "/display/" + s.Key}})
		}
	}
	c.objects(found, c.limit(25, 200))
}

// objects serves a list of other objects than content.
func (c *call) objects(found []object, limit int) {
	start := c.start()
	part, links := found[min(start, len(found)):], object{"base": c.URL}
	if len(part) > limit {
		query := c.query
		query.Set("start", strconv.Itoa(start+limit))
		part, links["next"] = part[:limit], "/"+strings.Join(c.path, "/")+"?"+query.Encode()
	}
	if part == nil {
		part = []object{}
	}
	c.answer(object{"results": part, "start": start, "limit": limit, "size": len(part), "_links": links})
}

func (c *call) spaceV1(path []string) {
	s := c.space(path[1])
	if !c.canViewSpace(c.who, s) {
		c.refuse(http.StatusNotFound, "No space found with key : "+path[1])
		return
	}
	switch {
	case len(path) == 2:
		c.answer(object{"key": s.Key, "name": s.Name})
	case path[2] == "permissions" && !c.NoPermissions:
		rows := []object{}
		add := func(subject object) {
			for _, key := range []string{"read", "export"} {
				rows = append(rows, object{"operation": object{"operationKey": key, "targetType": "space"}, "subject": subject, "spaceKey": s.Key})
			}
		}
		for _, id := range s.Users {
			add(c.author(id))
		}
		for _, id := range s.Groups {
			add(object{"type": "group", "name": c.group(id).Name, "displayName": c.group(id).Name})
		}
		if s.Anonymous {
			add(object{"type": "anonymous", "displayName": "Anonymous"})
		}
		c.answer(rows)
	default:
		http.NotFound(c.w, c.r)
	}
}

func (c *call) remotePermissions() {
	var keys []string
	if json.NewDecoder(c.r.Body).Decode(&keys) != nil || len(keys) != 1 || c.space(keys[0]) == nil {
		c.answer(object{"error": object{"code": 500, "message": "RemoteException: no such space"}})
		return
	}
	s, rows := c.space(keys[0]), []object{}
	for _, id := range s.Users {
		u := c.user(func(u *User) bool { return u.ID == id })
		rows = append(rows, object{"type": "VIEWSPACE", "userName": u.Name, "groupName": nil})
	}
	for _, id := range s.Groups {
		rows = append(rows, object{"type": "VIEWSPACE", "userName": nil, "groupName": c.group(id).Name})
	}
	if s.Anonymous {
		rows = append(rows, object{"type": "VIEWSPACE", "userName": nil, "groupName": nil})
	}
	c.answer([]object{{"type": "VIEWSPACE", "spacePermissions": rows}, {"type": "EDITSPACE", "spacePermissions": []object{{"type": "EDITSPACE", "userName": "writer", "groupName": nil}}}})
}

func (c *call) groupsV1(path []string) {
	var found []object
	switch {
	case c.who == nil:
		c.refuse(http.StatusForbidden, "Not permitted to view the groups")
		return
	case len(path) == 1:
		for _, g := range c.groups {
			made := object{"type": "group", "name": g.Name}
			if g.ID != "" {
				made["id"] = g.ID
			}
			found = append(found, made)
		}
	case len(path) == 3 && (c.cloud && path[2] == "membersByGroupId" || !c.cloud && path[2] == "member"):
		g := c.group(path[1])
		if g.Name == "" {
			c.refuse(http.StatusNotFound, "No group found")
			return
		}
		for _, id := range g.Members {
			found = append(found, c.author(id))
		}
	default:
		http.NotFound(c.w, c.r)
		return
	}
	c.objects(found, c.limit(200, 200))
}

func (c *call) downloadCenter() {
	for _, f := range c.children(c.who, c.path[2], "attachment") {
		if f.Title == c.path[3] {
			c.w.Header().Set("Content-Type", "application/octet-stream")
			c.w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
			_, _ = c.w.Write(f.Data)
			return
		}
	}
	http.NotFound(c.w, c.r)
}
