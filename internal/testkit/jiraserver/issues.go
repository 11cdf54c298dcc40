package jiraserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"time"
)

const timeFormat = "2006-01-02T15:04:05.000-0700"

type searchBody struct {
	JQL             string   `json:"jql"`
	Fields          []string `json:"fields"`
	StartAt         int      `json:"startAt"`
	MaxResults      int      `json:"maxResults"`
	NextPageToken   string   `json:"nextPageToken"`
	ReconcileIssues []int64  `json:"reconcileIssues"`
	ValidateQuery   *bool    `json:"validateQuery"`
	IDs             []string `json:"issueIdsOrKeys"`
}

func (c *call) body() (searchBody, bool) {
	var body searchBody
	if c.r.Method != http.MethodPost {
		c.refuse(http.StatusMethodNotAllowed, "Method Not Allowed")
		return body, false
	}
	if err := json.NewDecoder(c.r.Body).Decode(&body); err != nil {
		c.refuse(http.StatusBadRequest, "Invalid request payload. Refer to the REST API documentation and try again.")
		return body, false
	}
	return body, true
}

func (c *call) search() {
	body, ok := c.body()
	if !ok {
		return
	}
	match, order, err := c.parse(body.JQL, c.who.Zone)
	if err != nil {
		c.refuse(http.StatusBadRequest, err.Error())
		return
	}
	if before, _, _ := strings.Cut(body.JQL, "ORDER BY"); c.cloud && strings.TrimSpace(before) == "" {
		c.refuse(http.StatusBadRequest, "Unbounded JQL queries are not allowed here. Please add a search restriction to your query.")
		return
	}
	limit := body.MaxResults
	if limit <= 0 {
		limit = 50
	}
	most := 1000
	if c.cloud {
		if most = 100; len(body.Fields) == 0 || len(body.Fields) == 1 && (body.Fields[0] == "id" || body.Fields[0] == "key") {
			most = 5000
		}
	}
	if c.MaxPage > 0 {
		most = min(most, c.MaxPage)
	}
	limit = min(limit, most)
	var found []*Issue
	if body.NextPageToken != "" {
		ids, known := c.tokens[body.NextPageToken]
		if !known {
			c.refuse(http.StatusBadRequest, "The provided next page token is invalid or expired.")
			return
		}
		for _, id := range ids {
			if i := c.issues[id]; i != nil {
				found = append(found, i)
			}
		}
	} else {
		for _, i := range c.sorted() {
			if match(i) && (!i.Unindexed || slices.Contains(body.ReconcileIssues, int64(number(i.ID)))) {
				found = append(found, i)
			}
		}
		if err := sortBy(found, order); err != nil {
			c.refuse(http.StatusBadRequest, err.Error())
			return
		}
	}
	if !c.cloud {
		start := max(0, min(body.StartAt, len(found)))
		c.answer(object{"startAt": body.StartAt, "maxResults": limit, "total": len(found), "issues": c.rows(found[start:min(start+limit, len(found))], body.Fields)})
		return
	}
	answer := object{"issues": c.rows(found[:min(limit, len(found))], body.Fields), "isLast": len(found) <= limit}
	if len(found) > limit {
		var ids []string
		for _, i := range found[limit:] {
			ids = append(ids, i.ID)
		}
		hash := fnv.New64a()
		_, _ = fmt.Fprint(hash, body.JQL, body.Fields, body.NextPageToken, ids)
		token := newToken(fmt.Sprintf("%x", hash.Sum64()))
		c.tokens[token] = ids
		answer["nextPageToken"] = token
	}
	c.answer(answer)
}

// count counts all issues that match, also those that the index does not list yet.
func (c *call) count() {
	body, ok := c.body()
	if !ok {
		return
	}
	match, _, err := c.parse(body.JQL, c.who.Zone)
	if err != nil {
		c.refuse(http.StatusBadRequest, err.Error())
		return
	}
	count := 0
	for _, i := range c.sorted() {
		if match(i) {
			count++
		}
	}
	c.answer(object{"count": count})
}

func (c *call) rows(issues []*Issue, fields []string) []any {
	rows := []any{}
	for _, i := range issues {
		rows = append(rows, c.issueRow(i, fields, true))
	}
	return rows
}

func (c *call) bulkFetch() {
	body, ok := c.body()
	if !ok {
		return
	}
	if len(body.IDs) > 100 {
		c.refuse(http.StatusBadRequest, "The number of issues must be at most 100.")
		return
	}
	rows := []any{}
	for _, id := range body.IDs {
		if i := c.issue(id); i != nil {
			rows = append(rows, c.issueRow(i, body.Fields, true))
		}
	}
	c.answer(object{"expand": "", "issues": rows, "issueErrors": []any{}})
}

func (c *call) serveIssue() {
	var i *Issue
	if len(c.path) > 1 {
		i = c.issue(c.path[1])
	}
	switch {
	case i == nil:
		c.refuse(http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
	case c.is("issue", "*"):
		var fields []string
		if text := c.query.Get("fields"); text != "" {
			fields = strings.Split(text, ",")
		}
		c.answer(c.issueRow(i, fields, false))
	case c.is("issue", "*", "comment"):
		rows := []any{}
		for _, comment := range i.Comments {
			rows = append(rows, c.commentRow(comment))
		}
		c.limited(rows, "comments", 5000)
	default:
		http.NotFound(c.w, c.r)
	}
}

// issueRow returns an issue with some fields. Cloud cuts off comments.
func (c *call) issueRow(i *Issue, names []string, inList bool) object {
	row := object{"expand": "operations,versionedRepresentations,editmeta,changelog,renderedFields", "id": i.ID, "key": i.Key, "self": c.URL + "/rest/api/issue/" + i.ID}
	if len(names) == 0 && inList && c.cloud {
		return object{"id": i.ID}
	}
	var list []any
	for _, comment := range i.Comments {
		list = append(list, c.commentRow(comment))
	}
	total := len(list)
	if c.cloud {
		list = list[:min(total, c.MaxComments)]
	}
	files := []any{}
	for _, f := range i.Files {
		files = append(files, c.fileRow(f))
	}
	all := object{
		"summary": i.Summary, "description": i.Description, "status": object{"name": i.Status, "id": "3"}, "issuetype": object{"name": i.Type, "id": "10001"},
		"priority": object{"name": "Medium", "id": "3"}, "resolution": nil, "project": c.projectRow(c.project(i.Project)), "assignee": c.personRow(i.Assignee),
		"reporter": c.personRow(i.Reporter), "creator": c.personRow(i.Reporter), "created": i.Created.In(c.zone()).Format(timeFormat), "updated": i.Updated.In(c.zone()).Format(timeFormat),
		"duedate": nil, "labels": append([]string{}, i.Labels...), "components": []any{}, "fixVersions": []any{}, "security": nil,
		"comment": object{"comments": append([]any{}, list...), "maxResults": len(list), "total": total, "startAt": 0}, "attachment": files,
	}
	if i.Level != "" {
		all["security"] = object{"id": i.Level, "name": "Level " + i.Level}
	}
	for name, value := range i.Fields {
		all[name] = value
	}
	fields := object{}
	for name, value := range all {
		if len(names) == 0 || slices.Contains(names, name) || slices.Contains(names, "*all") {
			fields[name] = value
		}
	}
	if len(names) > 0 && (slices.Equal(names, []string{"id"}) || slices.Equal(names, []string{"key"})) {
		return row
	}
	row["fields"] = fields
	return row
}

func (c *call) zone() *time.Location {
	if c.who == nil || c.who.Zone == nil {
		return time.UTC
	}
	return c.who.Zone
}

func (c *call) commentRow(comment Comment) object {
	row := object{"id": comment.ID, "author": c.personRow(comment.Author), "updateAuthor": c.personRow(comment.Author), "body": comment.Body,
		"created": comment.Created.In(c.zone()).Format(timeFormat), "updated": comment.Created.In(c.zone()).Format(timeFormat), "jsdPublic": true}
	if comment.Group != "" {
		row["visibility"] = object{"type": "group", "value": comment.Group, "identifier": comment.Group}
	}
	return row
}

func (c *call) fileRow(f File) object {
	content := c.URL + "/rest/api/3/attachment/content/" + f.ID
	if !c.cloud {
		content = c.URL + "/secure/attachment/" + f.ID + "/file"
	}
	return object{"id": f.ID, "filename": f.Name, "author": c.personRow(f.Author), "created": f.Created.In(c.zone()).Format(timeFormat), "size": len(f.Data),
		"mimeType": f.Media, "content": content, "self": c.URL + "/rest/api/attachment/" + f.ID}
}
