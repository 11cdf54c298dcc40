package githubserver

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (c *call) user(login string) any {
	if login == "-" {
		return nil // a deleted account
	}
	return c.server.account(login)
}

func (c *call) threadJSON(r *repo, t *thread, asPull, listed bool) map[string]any {
	number := strconv.Itoa(t.number)
	labels := []any{}
	for _, label := range t.Labels {
		labels = append(labels, map[string]any{"name": label})
	}
	word := "issues"
	if t.Pull {
		word = "pull"
	}
	var merged any
	if t.Merged {
		merged = stamp(t.UpdatedAt)
	}
	var body any
	if t.Body != "" {
		body = t.Body
	}
	out := map[string]any{
		"number": t.number, "title": t.Title, "body": body, "state": t.State, "state_reason": nil, "user": c.user(t.Author), "labels": labels,
		"created_at": stamp(t.CreatedAt), "updated_at": stamp(t.UpdatedAt), "html_url": c.server.URL + "/" + r.fullName() + "/" + word + "/" + number,
		"url": c.server.API + "/repos/" + r.fullName() + "/issues/" + number, "locked": false, "milestone": nil, "draft": t.Draft,
	}
	if asPull {
		out["merged_at"] = merged
		if !listed {
			out["comments"], out["review_comments"] = len(t.Comments), len(t.ReviewComments)
		}
		return out
	}
	out["comments"] = len(t.Comments)
	if t.Pull {
		out["pull_request"] = map[string]any{"url": c.server.API + "/repos/" + r.fullName() + "/pulls/" + number, "merged_at": merged}
	}
	return out
}

// threads serves issues, pull requests and their comments.
func (c *call) threads(r *repo, p []string) *refusal {
	pulls := p[0] == "pulls"
	if !pulls && !r.issues && len(p) < 3 {
		return refuse(http.StatusGone, "Issues has been disabled in this repository.")
	}
	if len(p) == 1 {
		return c.threadList(r, pulls)
	}
	number, _ := strconv.Atoi(p[1])
	t := r.threads[number]
	switch {
	case t == nil && !pulls && number > 0 && number < r.next && r.talks[number] == nil:
		return refuse(http.StatusGone, "This issue was deleted")
	case t == nil || pulls && !t.Pull:
		return notFound()
	case t.MovedTo != "":
		address := c.server.API + "/repos/" + t.MovedTo + "/issues/1"
		c.w.Header().Set("Location", address)
		return &refusal{status: http.StatusMovedPermanently, body: map[string]any{"message": "Moved Permanently", "url": address}}
	case len(p) == 2:
		return c.answer(http.StatusOK, c.threadJSON(r, t, pulls, false))
	case len(p) != 3:
		return notFound()
	}
	var list []Comment
	switch {
	case p[2] == "comments" && pulls:
		list = t.ReviewComments
	case p[2] == "comments":
		list = t.Comments
	case p[2] == "reviews" && pulls:
		list = t.Reviews
	default:
		return notFound()
	}
	all := []any{}
	for _, one := range list {
		comment := map[string]any{"id": one.ID, "body": one.Body, "user": c.user(one.Author)}
		switch {
		case p[2] == "reviews":
			comment["state"], comment["submitted_at"] = one.State, stamp(one.At)
		case pulls:
			comment["path"], comment["created_at"], comment["diff_hunk"] = one.Path, stamp(one.At), "@@ -1 +1 @@"
		default:
			comment["created_at"] = stamp(one.At)
		}
		all = append(all, comment)
	}
	return c.answer(http.StatusOK, page(c, all))
}

func (c *call) threadList(r *repo, pulls bool) *refusal {
	query := c.r.URL.Query()
	numbers := slices.Sorted(maps.Keys(r.threads))
	if query.Get("direction") != "asc" {
		slices.Reverse(numbers)
	}
	since, _ := time.Parse(time.RFC3339, query.Get("since"))
	all := []any{}
	for _, number := range numbers {
		t := r.threads[number]
		state := query.Get("state")
		if state == "" {
			state = "open"
		}
		if t.MovedTo != "" || pulls && !t.Pull || state != "all" && t.State != state || !pulls && t.UpdatedAt.Before(since) {
			continue
		}
		all = append(all, c.threadJSON(r, t, pulls, true))
	}
	return c.answer(http.StatusOK, page(c, all))
}

// graphql serves the queries of discussions, which it distinguishes by their
// variables.
func (c *call) graphql() {
	text, _ := c.body["query"].(string)
	variables, _ := c.body["variables"].(map[string]any)
	fail := func(kind, message string, path ...any) {
		_ = c.answer(http.StatusOK, map[string]any{
			"data": map[string]any{"repository": nil}, "errors": []any{map[string]any{"type": kind, "path": path, "message": message}},
		})
	}
	word := func(name string) string { value, _ := variables[name].(string); return value }
	if strings.Contains(text, "node(id:$id)") {
		c.replyPage(word("id"), word("after"), first(text, "replies"))
		return
	}
	name := word("owner") + "/" + word("name")
	r := c.server.repo(name)
	if id, ok := c.server.moved[strings.ToLower(name)]; ok && r == nil {
		at := slices.IndexFunc(c.server.repos, func(r *repo) bool { return r.id == id })
		r = c.server.repos[at]
	}
	switch {
	case r == nil || !c.token.canAccess(r):
		fail("NOT_FOUND", "Could not resolve to a Repository with the name '"+name+"'.", "repository")
		return
	case c.require("discussions", "read", r) != nil:
		fail("FORBIDDEN", "Resource not accessible by personal access token", "repository", "discussions")
		return
	}
	if strings.Contains(text, "discussion(number:$number)") {
		number, _ := variables["number"].(float64)
		d := r.talks[int(number)]
		if d == nil {
			fail("NOT_FOUND", "Could not resolve to a Discussion with the number of "+strconv.Itoa(int(number))+".", "repository", "discussion")
			return
		}
		_ = c.answer(http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{
			"discussion": c.discussionJSON(r, int(number), d, word("after"), text),
		}}})
		return
	}
	numbers := slices.Sorted(maps.Keys(r.talks))
	after, _ := strconv.Atoi(word("after"))
	nodes, end, more := []any{}, "", false
	for _, number := range numbers {
		if number <= after {
			continue
		}
		if len(nodes) == first(text, "discussions") {
			more = true
			break
		}
		nodes, end = append(nodes, c.discussionJSON(r, number, r.talks[number], "", text)), strconv.Itoa(number)
	}
	_ = c.answer(http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{
		"discussions": map[string]any{"pageInfo": map[string]any{"hasNextPage": more, "endCursor": end}, "nodes": nodes},
	}}})
}

func (c *call) login(login string) any {
	if login == "-" {
		return nil
	}
	return map[string]any{"login": login}
}

// first returns the requested length of a list in a query; 50 by default.
func first(query, list string) int {
	match := regexp.MustCompile(list + `\(first:(\d+)`).FindStringSubmatch(query)
	if match == nil {
		return 50
	}
	n, _ := strconv.Atoi(match[1])
	return n
}

func (c *call) discussionJSON(r *repo, number int, d *Discussion, after, query string) any {
	start, _ := strconv.Atoi(after)
	end := min(start+first(query, "comments"), len(d.Comments))
	nodes := []any{}
	for i := start; i < end; i++ {
		one := d.Comments[i]
		nodes = append(nodes, map[string]any{
			"id":   strconv.FormatInt(r.id, 10) + "-" + strconv.Itoa(number) + "-" + strconv.Itoa(i),
			"body": one.Body, "createdAt": stamp(one.At), "isAnswer": one.Answer, "author": c.login(one.Author), "replies": c.replies(one.Replies, 0, first(query, "replies")),
		})
	}
	return map[string]any{
		"number": number, "title": d.Title, "body": d.Body, "url": c.server.URL + "/" + r.fullName() + "/discussions/" + strconv.Itoa(number),
		"createdAt": stamp(d.CreatedAt), "updatedAt": stamp(d.UpdatedAt), "closed": d.Closed, "author": c.login(d.Author), "category": map[string]any{"name": d.Category},
		"comments": map[string]any{
			"totalCount": len(d.Comments), "nodes": nodes, "pageInfo": map[string]any{"hasNextPage": end < len(d.Comments), "endCursor": strconv.Itoa(end)},
		},
	}
}

func (c *call) replies(all []Comment, start, size int) any {
	end := min(start+size, len(all))
	nodes := []any{}
	for _, one := range all[min(start, end):end] {
		nodes = append(nodes, map[string]any{"body": one.Body, "createdAt": stamp(one.At), "author": c.login(one.Author)})
	}
	return map[string]any{"nodes": nodes, "pageInfo": map[string]any{"hasNextPage": end < len(all), "endCursor": strconv.Itoa(end)}}
}

func (c *call) replyPage(id, after string, size int) {
	parts := strings.Split(id, "-")
	start, _ := strconv.Atoi(after)
	if len(parts) == 3 {
		for _, r := range c.server.repos {
			number, _ := strconv.Atoi(parts[1])
			at, _ := strconv.Atoi(parts[2])
			if d := r.talks[number]; strconv.FormatInt(r.id, 10) == parts[0] && d != nil && at < len(d.Comments) && c.token.canAccess(r) {
				_ = c.answer(http.StatusOK, map[string]any{"data": map[string]any{"node": map[string]any{"replies": c.replies(d.Comments[at].Replies, start, size)}}})
				return
			}
		}
	}
	_ = c.answer(http.StatusOK, map[string]any{"data": map[string]any{"node": nil}, "errors": []any{map[string]any{"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of '" + id + "'"}}})
}
