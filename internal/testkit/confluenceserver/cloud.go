package confluenceserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (c *call) serveV2() {
	kinds := map[string]string{"pages": "page", "blogposts": "blogpost", "folders": "folder", "whiteboards": "whiteboard"}
	path := c.path[2:]
	kind := kinds[path[0]]
	switch {
	case path[0] == "spaces" && len(path) == 1:
		c.listV2(c.spaceRows())
	case path[0] == "spaces":
		c.spaceV2(path, kinds)
	case kind == "page" && len(path) == 1:
		ids := c.listed("id")
		c.listV2(c.rowsV2(c.find(c.who, func(one *Content) bool {
			return one.Type == "page" && (len(ids) == 0 || slices.Contains(ids, one.ID)) && c.hasStatus(one)
		})))
	case kind != "" && len(path) >= 2:
		one := c.content[path[1]]
		if one == nil || one.Type != kind || !c.canView(c.who, one) {
			c.refuseV2(http.StatusNotFound, "NOT_FOUND", "Not Found")
			return
		}
		c.underV2(one, path)
	case path[0] == "attachments" && len(path) == 2:
		one := c.content[path[1]]
		if one == nil || one.Type != "attachment" || !c.canView(c.who, one) {
			c.refuseV2(http.StatusNotFound, "NOT_FOUND", "Not Found")
			return
		}
		c.answer(c.fileV2(one))
	case path[0] == "users-bulk" && c.r.Method == http.MethodPost:
		c.usersBulk()
	default:
		c.refuseV2(http.StatusNotFound, "NOT_FOUND", "Not Found")
	}
}

func (c *call) spaceRows() []row {
	keys, status := c.listed("keys"), c.query.Get("status")
	var rows []row
	for _, s := range c.spaces {
		made := object{"id": s.ID, "key": s.Key, "name": s.Name, "type": "global", "status": "current", "_links": object{"webui": "/spaces/" + s.Key}}
		if s.Personal {
			made["type"] = "personal"
		}
		if s.Archive {
			made["status"] = "archived"
		}
		if c.canViewSpace(c.who, s) && (len(keys) == 0 || slices.Contains(keys, s.Key)) && (status == "" || status == made["status"]) {
			rows = append(rows, row{s.ID, made})
		}
	}
	return rows
}

func (c *call) spaceV2(path []string, kinds map[string]string) {
	var of *Space
	for _, s := range c.spaces {
		if s.ID == path[1] && c.canViewSpace(c.who, s) {
			of = s
		}
	}
	switch {
	case of == nil:
		c.refuseV2(http.StatusNotFound, "NOT_FOUND", "Not Found")
	case len(path) == 2:
		c.answer(object{"id": of.ID, "key": of.Key, "name": of.Name})
	case path[2] == "permissions":
		var rows []row
		for i, id := range slices.Concat(of.Users, of.Groups) {
			kind := "user"
			if i >= len(of.Users) {
				kind = "group"
			}
			for j, operation := range []object{{"key": "read", "targetType": "space"}, {"key": "create", "targetType": "page"}} {
				number := strconv.Itoa(1000 + 10*i + j)
				rows = append(rows, row{number, object{"id": number, "principal": object{"type": kind, "id": id}, "operation": operation}})
			}
		}
		// A user who may write but not read.
		rows = append(rows, row{"9000", object{"id": "9000", "principal": object{"type": "group", "id": "writers-only"}, "operation": object{"key": "create", "targetType": "page"}}})
		c.listV2(rows)
	case kinds[path[2]] != "":
		title := c.query.Get("title")
		c.listV2(c.rowsV2(c.find(c.who, func(one *Content) bool {
			return one.Type == kinds[path[2]] && one.Space == of.Key && c.hasStatus(one) && (title == "" || strings.EqualFold(one.Title, title))
		})))
	default:
		c.refuseV2(http.StatusNotFound, "NOT_FOUND", "Not Found")
	}
}

func (c *call) underV2(one *Content, path []string) {
	if len(path) == 2 {
		c.answer(c.pageV2(one))
		return
	}
	var rows []row
	switch path[2] {
	case "labels":
		for i, name := range one.Labels {
			rows = append(rows, row{strconv.Itoa(i + 1), object{"id": strconv.Itoa(i + 1), "name": name, "prefix": "global"}})
		}
	case "attachments":
		for _, f := range c.children(c.who, one.ID, "attachment") {
			rows = append(rows, row{f.ID, c.fileV2(f)})
		}
	default:
		c.refuseV2(http.StatusNotFound, "NOT_FOUND", "Not Found")
		return
	}
	c.listV2(rows)
}

// listed returns the values of a parameter, which may be repeated or separated by
// commas.
func (c *call) listed(name string) []string {
	var list []string
	for _, value := range c.query[name] {
		list = append(list, strings.Split(value, ",")...)
	}
	return list
}

func (c *call) hasStatus(one *Content) bool {
	status := c.listed("status")
	if len(status) == 0 {
		status = []string{"current", "archived"}
	}
	return slices.Contains(status, one.Status)
}

type row struct {
	id    string
	value object
}

func (c *call) rowsV2(found []*Content) []row {
	rows := make([]row, 0, len(found))
	for _, one := range found {
		rows = append(rows, row{one.ID, c.pageV2(one)})
	}
	return rows
}

// listV2 serves the page after the cursor, which is the ID of the last row.
func (c *call) listV2(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return number(a.id) - number(b.id) })
	if text := c.query.Get("cursor"); text != "" {
		var at struct{ ID string }
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || json.Unmarshal(raw, &at) != nil {
			c.refuseV2(http.StatusBadRequest, "INVALID_REQUEST_PARAMETER", "Provided value {"+text+"} for 'cursor' is not the correct type. Expected type is cursor")
			return
		}
		rows = slices.DeleteFunc(rows, func(r row) bool { return number(r.id) <= number(at.ID) })
	}
	limit := c.limit(25, 250)
	links := object{"base": c.URL}
	if len(rows) > limit {
		rows = rows[:limit]
		raw, _ := json.Marshal(object{"id": rows[limit-1].id, "contentOrder": "id"})
		query := c.query
		query.Set("cursor", base64.StdEncoding.EncodeToString(raw))
		links["next"] = c.context + "/" + strings.Join(c.path, "/") + "?" + query.Encode()
		c.w.Header().Set("Link", fmt.Sprintf("<%s>; rel=\"next\"", links["next"]))
	}
	values := make([]object, 0, len(rows))
	for _, r := range rows {
		values = append(values, r.value)
	}
	c.answer(object{"results": values, "_links": links})
}

func (c *call) pageV2(one *Content) object {
	made := object{
		"id": one.ID, "status": one.Status, "title": one.Title, "spaceId": c.space(one.Space).ID, "parentId": nil, "parentType": nil,
		"authorId": one.Author, "ownerId": one.Author, "createdAt": one.Created.Format("2006-01-02T15:04:05.000Z"), "position": 1,
		"version": object{"number": one.Number, "createdAt": one.Modified.Format("2006-01-02T15:04:05.000Z"), "authorId": one.Author, "minorEdit": false, "message": ""},
		"body":    object{},
		"_links":  object{"webui": "/spaces/" + one.Space + "/pages/" + one.ID, "editui": "/pages/resumedraft.action?draftId=" + one.ID, "tinyui": "/x/" + one.ID},
	}
	if above := c.content[one.Parent]; above != nil {
		made["parentId"], made["parentType"] = above.ID, above.Type
	}
	if c.query.Get("body-format") == "storage" {
		made["body"] = object{"storage": object{"representation": "storage", "value": one.Body}}
	}
	return made
}

func (c *call) fileV2(f *Content) object {
	made := object{
		"id": f.ID, "status": f.Status, "title": f.Title, "createdAt": f.Created.Format(time.RFC3339), "mediaType": f.Media, "fileSize": len(f.Data),
		"webuiLink":    "/pages/viewpageattachments.action?pageId=" + f.Container + "&preview=" + f.ID,
		"downloadLink": "/download/attachments/" + f.Container + "/" + f.Title + "?version=" + strconv.Itoa(f.Number),
		"version":      object{"number": f.Number, "createdAt": f.Modified.Format(time.RFC3339)}, "pageId": f.Container,
	}
	if of := c.content[f.Container]; of != nil && of.Type == "blogpost" {
		delete(made, "pageId")
		made["blogPostId"] = f.Container
	}
	return made
}

func (c *call) usersBulk() {
	var asked struct{ AccountIDs []string }
	if json.NewDecoder(c.r.Body).Decode(&asked) != nil || len(asked.AccountIDs) > 250 {
		c.refuseV2(http.StatusBadRequest, "INVALID_REQUEST_PARAMETER", "Bad accountIds")
		return
	}
	found := []object{}
	for _, u := range c.users {
		if slices.Contains(asked.AccountIDs, u.ID) {
			made := c.userOf(u)
			delete(made, "type")
			found = append(found, made)
		}
	}
	c.answer(object{"results": found})
}
