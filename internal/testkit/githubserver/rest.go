package githubserver

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// rest serves the REST API.
func (c *call) rest() *refusal {
	p := c.parts
	switch {
	case len(p) == 1 && p[0] == "user":
		return c.answer(http.StatusOK, c.server.account(c.token.Login))
	case len(p) == 2 && p[0] == "user" && p[1] == "repos":
		affiliation := c.r.URL.Query().Get("affiliation")
		return c.repoList(func(r *repo) bool {
			own := strings.EqualFold(r.owner, c.token.Login)
			return strings.Contains(affiliation, "owner") && own || strings.Contains(affiliation, "collaborator") && !own && r.private
		})
	case len(p) == 2 && p[0] == "users":
		if _, ok := c.server.owners[strings.ToLower(p[1])]; !ok {
			return notFound()
		}
		return c.answer(http.StatusOK, c.server.account(p[1]))
	case len(p) == 3 && p[0] == "users" && p[2] == "repos":
		return c.repoList(func(r *repo) bool { return strings.EqualFold(r.owner, p[1]) && !r.private })
	case len(p) == 3 && p[0] == "orgs" && p[2] == "repos":
		if c.server.owners[strings.ToLower(p[1])].kind != "Organization" {
			return notFound()
		}
		return c.repoList(func(r *repo) bool { return strings.EqualFold(r.owner, p[1]) })
	case len(p) >= 3 && p[0] == "orgs" && p[2] == "hooks":
		if err := c.require("webhooks", "write", &repo{owner: p[1], name: "*"}); err != nil {
			return err
		}
		key := strings.ToLower(p[1])
		hooks := c.server.orgHooks[key]
		err := c.hooks(&hooks, p[3:])
		c.server.orgHooks[key] = hooks
		return err
	case len(p) == 2 && p[0] == "installation" && p[1] == "repositories":
		if !c.token.app {
			return refuse(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
		}
		var mine []any
		for _, r := range c.server.repos {
			// An installation lists its own repositories, not all public ones.
			if slices.Contains(c.token.Repos, r.fullName()) && !r.gone {
				mine = append(mine, c.server.repoJSON(r))
			}
		}
		return c.answer(http.StatusOK, map[string]any{"total_count": len(mine), "repositories": page(c, mine)})
	case len(p) == 4 && p[0] == "app" && p[1] == "installations" && p[3] == "access_tokens" && c.r.Method == http.MethodPost:
		return c.mint(p[2])
	case len(p) >= 2 && p[0] == "repositories":
		id, _ := strconv.ParseInt(p[1], 10, 64)
		return c.inRepo(func(r *repo) bool { return r.id == id }, p[2:])
	case len(p) >= 3 && p[0] == "repos":
		name := p[1] + "/" + p[2]
		if id, ok := c.server.moved[strings.ToLower(name)]; ok && c.server.repo(name) == nil {
			address := c.server.API + "/repositories/" + strconv.FormatInt(id, 10)
			if rest := strings.SplitN(c.r.URL.EscapedPath(), "/", 7); len(rest) == 7 {
				address += "/" + rest[6]
			}
			if c.r.URL.RawQuery != "" {
				address += "?" + c.r.URL.RawQuery
			}
			c.w.Header().Set("Location", address)
			return &refusal{status: http.StatusMovedPermanently, body: map[string]any{"message": "Moved Permanently", "url": address}}
		}
		return c.inRepo(func(r *repo) bool { return strings.EqualFold(r.fullName(), name) }, p[3:])
	}
	return notFound()
}

func (s *Server) account(login string) map[string]any {
	if o, ok := s.owners[strings.ToLower(login)]; ok {
		return map[string]any{"login": o.login, "id": o.id, "type": o.kind}
	}
	return map[string]any{"login": login, "id": 1, "type": "User"}
}

func (s *Server) repoJSON(r *repo) any {
	return map[string]any{
		"id": r.id, "node_id": "R_" + strconv.FormatInt(r.id, 10), "name": r.name, "full_name": r.fullName(), "private": r.private, "owner": s.account(r.owner),
		"html_url": s.URL + "/" + r.fullName(), "description": nil, "fork": r.fork, "url": s.API + "/repos/" + r.fullName(),
		"default_branch": r.defaultBranch, "archived": r.archived, "disabled": false, "size": len(r.branches),
		"has_issues": r.issues, "has_wiki": r.wiki, "has_discussions": r.discussions,
		"visibility": map[bool]string{true: "private", false: "public"}[r.private],
	}
}

func (c *call) repoList(has func(r *repo) bool) *refusal {
	all := []any{}
	for _, r := range c.server.repos {
		if has(r) && c.token.canAccess(r) {
			all = append(all, c.server.repoJSON(r))
		}
	}
	return c.answer(http.StatusOK, page(c, all))
}

// mint creates an installation token for a request with the app's signature.
func (c *call) mint(installation string) *refusal {
	a := c.server.apps[installation]
	if a == nil {
		return notFound()
	}
	claims := jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(tokenOf(c.r), &claims, func(*jwt.Token) (any, error) { return a.Key, nil }, jwt.WithValidMethods([]string{"RS256"}), jwt.WithExpirationRequired())
	switch {
	case err != nil:
		return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case claims.Issuer != a.ID:
		return refuse(http.StatusUnauthorized, "Integration not found")
	case claims.ExpiresAt.After(time.Now().Add(10*time.Minute + 5*time.Second)):
		return refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	c.server.minted++
	text := "ghs_" + installation + "_" + strconv.Itoa(c.server.minted)
	token := a.Token
	token.app = true
	c.server.tokens[text] = &token
	life := cmp.Or(a.Lifetime, time.Hour)
	return c.answer(http.StatusCreated, map[string]any{
		"token": text, "expires_at": time.Now().Add(life).UTC().Format(time.RFC3339), "permissions": a.Token.Permissions, "repository_selection": "selected",
	})
}

func (c *call) inRepo(is func(r *repo) bool, p []string) *refusal {
	at := slices.IndexFunc(c.server.repos, func(r *repo) bool { return is(r) && !r.gone })
	if at < 0 || !c.token.canAccess(c.server.repos[at]) {
		return notFound()
	}
	r := c.server.repos[at]
	if len(p) == 0 {
		return c.answer(http.StatusOK, c.server.repoJSON(r))
	}
	what := map[string]string{"issues": "issues", "pulls": "pull_requests", "hooks": "webhooks"}[p[0]]
	if what == "" {
		what = "contents"
	}
	level := "read"
	if what == "webhooks" {
		level = "write"
	}
	if err := c.require(what, level, r); err != nil {
		return err
	}
	switch {
	case p[0] == "branches" && len(p) > 1:
		return c.branch(r, strings.Join(p[1:], "/"))
	case p[0] == "commits" && len(p) == 1:
		if len(r.branches) == 0 {
			return refuse(http.StatusConflict, "Git Repository is empty.")
		}
		return c.answer(http.StatusOK, []any{map[string]any{"sha": r.commit(r.defaultBranch)}})
	case p[0] == "git" && len(p) == 3 && p[1] == "trees":
		return c.tree(r, p[2])
	case p[0] == "contents" && len(p) > 1:
		return c.contents(r, strings.Join(p[1:], "/"))
	case p[0] == "issues" || p[0] == "pulls":
		return c.threads(r, p)
	case p[0] == "hooks":
		return c.hooks(&r.hooks, p[1:])
	}
	return notFound()
}

func (c *call) branch(r *repo, name string) *refusal {
	if r.branches[name] == nil {
		return refuse(http.StatusNotFound, "Branch not found")
	}
	sha := r.commit(name)
	return c.answer(http.StatusOK, map[string]any{
		"name": name, "protected": false,
		"commit": map[string]any{"sha": sha, "commit": map[string]any{"tree": map[string]any{"sha": r.tree(name)}, "message": "A change"}},
	})
}

func (c *call) tree(r *repo, sha string) *refusal {
	if len(r.branches) == 0 {
		return refuse(http.StatusConflict, "Git Repository is empty.")
	}
	_, recursive := c.r.URL.Query()["recursive"]
	entries, ok := r.treeEntries(sha, recursive)
	if !ok {
		return notFound()
	}
	truncated := r.truncateAt > 0 && len(entries) > r.truncateAt
	if truncated {
		entries = entries[:r.truncateAt]
	}
	return c.answer(http.StatusOK, map[string]any{"sha": sha, "url": c.server.API, "tree": entries, "truncated": truncated})
}

// contents serves a file or the entries of a folder.
func (c *call) contents(r *repo, path string) *refusal {
	branch := c.r.URL.Query().Get("ref")
	if branch == "" {
		branch = r.defaultBranch
	}
	files, ok := r.branches[branch]
	if !ok {
		return refuse(http.StatusNotFound, "No commit found for the ref "+branch)
	}
	f, ok := files[path]
	if !ok {
		var inside []any
		for name, f := range files {
			if rest, below := strings.CutPrefix(name, path+"/"); below && !strings.Contains(rest, "/") {
				inside = append(inside, map[string]any{"type": "file", "path": name, "name": rest, "sha": f.Hash, "size": len(f.Content)})
			}
		}
		if inside == nil {
			return notFound()
		}
		return c.answer(http.StatusOK, inside)
	}
	if !strings.Contains(c.r.Header.Get("Accept"), "raw") {
		return c.answer(http.StatusOK, map[string]any{
			"type": "file", "encoding": "base64", "size": len(f.Content), "path": path, "sha": f.Hash, "content": base64.StdEncoding.EncodeToString(f.Content),
		})
	}
	c.rateHeaders()
	c.w.Header().Set("Content-Type", "application/vnd.github.raw+json; charset=utf-8")
	c.w.Header().Set("ETag", `W/"`+f.Hash+`"`)
	// A slow client must not block other requests.
	c.server.mutex.Unlock()
	defer c.server.mutex.Lock()
	_, _ = c.w.Write(f.Content)
	return nil
}

// hooks lists, creates, changes and deletes webhooks.
func (c *call) hooks(hooks *[]*Hook, p []string) *refusal {
	show := func(h *Hook) any {
		return map[string]any{
			"type": "Repository", "id": h.ID, "name": "web", "active": h.Active, "events": h.Events,
			"config": map[string]any{"url": h.URL, "content_type": h.ContentType, "insecure_ssl": "0", "secret": "********"},
		}
	}
	read := func(h *Hook) *refusal {
		config, _ := c.body["config"].(map[string]any)
		if url, _ := config["url"].(string); url != "" {
			h.URL = url
			h.Secret, _ = config["secret"].(string)
			h.ContentType, _ = config["content_type"].(string)
		}
		if list, ok := c.body["events"].([]any); ok {
			h.Events = nil
			for _, e := range list {
				h.Events = append(h.Events, e.(string))
			}
		}
		if active, ok := c.body["active"].(bool); ok {
			h.Active = active
		}
		if h.URL == "" {
			return &refusal{status: http.StatusUnprocessableEntity, body: map[string]any{
				"message": "Validation Failed", "errors": []any{map[string]any{"resource": "Hook", "code": "custom", "message": "Config must contain URL for webhooks"}},
			}}
		}
		return nil
	}
	if len(p) == 0 {
		switch c.r.Method {
		case http.MethodGet:
			all := []any{}
			for _, h := range *hooks {
				all = append(all, show(h))
			}
			return c.answer(http.StatusOK, page(c, all))
		case http.MethodPost:
			c.server.nextID++
			h := &Hook{ID: c.server.nextID}
			if err := read(h); err != nil {
				return err
			}
			if slices.ContainsFunc(*hooks, func(other *Hook) bool { return other.URL == h.URL }) {
				return &refusal{status: http.StatusUnprocessableEntity, body: map[string]any{
					"message": "Validation Failed", "errors": []any{map[string]any{"resource": "Hook", "code": "custom", "message": "Hook already exists on this repository"}},
				}}
			}
			*hooks = append(*hooks, h)
			return c.answer(http.StatusCreated, show(h))
		}
		return notFound()
	}
	at := slices.IndexFunc(*hooks, func(h *Hook) bool { return strconv.FormatInt(h.ID, 10) == p[0] })
	if at < 0 {
		return notFound()
	}
	switch c.r.Method {
	case http.MethodPatch:
		if err := read((*hooks)[at]); err != nil {
			return err
		}
		return c.answer(http.StatusOK, show((*hooks)[at]))
	case http.MethodDelete:
		*hooks = slices.Delete(*hooks, at, at+1)
		c.rateHeaders()
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return c.answer(http.StatusOK, show((*hooks)[at]))
}
