package gitlabserver

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// A Hook is a webhook of a project.
type Hook struct {
	ID         int64
	URL, Token string
	// Events are the events that it is for, sorted: push_events, issues_events.
	Events []string
}

// hooks answers requests for the webhooks of a project, which maintainers may make, and
// change with the scope api.
func (c call) hooks(p *Project, parts []string) {
	level := 0
	for _, m := range c.server.inProject(p) {
		if m.User == c.token.User {
			level = m.Level
		}
	}
	show := func(h Hook) any { return map[string]any{"id": h.ID, "url": h.URL, "project_id": p.ID} }
	if level < 40 {
		c.refuse(http.StatusForbidden, "403 Forbidden")
		return
	}
	if c.r.Method == http.MethodGet {
		all := []any{}
		for _, h := range p.Hooks {
			all = append(all, show(h))
		}
		c.list(all, false)
		return
	}
	if !slices.Contains(c.token.Scopes, "api") {
		c.insufficientScope("api")
		return
	}
	var body map[string]any
	_ = json.NewDecoder(c.r.Body).Decode(&body) // checked below
	made := Hook{}
	made.URL, _ = body["url"].(string)
	made.Token, _ = body["token"].(string)
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if body[name] == true && name != "enable_ssl_verification" {
			made.Events = append(made.Events, name)
		}
	}
	if c.r.Method == http.MethodPost {
		if made.URL == "" {
			c.refuse(http.StatusBadRequest, "url is missing")
			return
		}
		c.server.deliveries++
		made.ID = int64(c.server.deliveries)
		p.Hooks = append(p.Hooks, made)
		c.w.WriteHeader(http.StatusCreated)
		c.json(show(made))
		return
	}
	id, _ := strconv.ParseInt(parts[len(parts)-1], 10, 64)
	at := slices.IndexFunc(p.Hooks, func(h Hook) bool { return h.ID == id })
	switch {
	case at < 0:
		c.refuse(http.StatusNotFound, "404 Not found")
	case c.r.Method == http.MethodDelete:
		p.Hooks = slices.Delete(p.Hooks, at, at+1)
		c.w.WriteHeader(http.StatusNoContent)
	case c.r.Method == http.MethodPut && made.URL != "":
		made.ID = id
		p.Hooks[at] = made
		c.json(show(made))
	default:
		c.refuse(http.StatusMethodNotAllowed, "405 Not Allowed")
	}
}
