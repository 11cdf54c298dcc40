package gitlabserver

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A User is an account.
type User struct {
	ID                 int64
	Name               string
	Email, PublicEmail string
	// State is "active" if empty.
	State string
	// Unconfirmed says that the email address is not verified.
	Unconfirmed          bool
	Admin, External, Bot bool
}

// A Membership is the role of a user in a project or group.
type Membership struct {
	User  int64
	Level int
	// Expires is a day, "" for never.
	Expires string
}

// A Share invites a group to a project or another group.
type Share struct {
	Group string
	Level int
}

// A Group has members, who are members of its subgroups and projects, too.
type Group struct {
	Path    string
	Members []Membership
	Shares  []Share
}

// A TokenInfo is what an access token may do.
type TokenInfo struct {
	User   int64
	Scopes []string
}

// AddUser adds an account.
func (s *Server) AddUser(u User) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.users[u.ID] = &u
}

// ChangeUser changes an account.
func (s *Server) ChangeUser(id int64, change func(u *User)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s.users[id])
}

// AddGroup adds a group with members. The groups of projects exist without it.
func (s *Server) AddGroup(g Group) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.groups[g.Path] = g
}

// AddToken adds an access token, or changes what it may do.
func (s *Server) AddToken(token string, info TokenInfo) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tokens[token] = info
}

// Revoke makes the server refuse a token.
func (s *Server) Revoke(token string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.tokens, token)
}

// inGroup returns the roles in a group: those of its members, of the members of the
// groups above, and of the members of groups that are invited to one of them.
func (s *Server) inGroup(path string) map[int64]Membership {
	all := map[int64]Membership{}
	for _, one := range above(path) {
		g := s.groups[one]
		raise(all, g.Members, 100)
		for _, share := range g.Shares {
			raise(all, s.groups[share.Group].Members, share.Level)
		}
	}
	return all
}

// above returns a group and the groups above it.
func above(path string) []string {
	all := []string{path}
	for at := strings.LastIndex(path, "/"); at > 0; at = strings.LastIndex(path, "/") {
		path = path[:at]
		all = append(all, path)
	}
	return all
}

func raise(all map[int64]Membership, some []Membership, limit int) {
	for _, m := range some {
		m.Level = min(m.Level, limit)
		if m.Level > all[m.User].Level {
			all[m.User] = m
		}
	}
}

func (s *Server) inProject(p *Project) []Membership {
	all := map[int64]Membership{}
	if at := strings.LastIndex(p.Path, "/"); at > 0 {
		all = s.inGroup(p.Path[:at])
	}
	for _, share := range p.Shares {
		raise(all, slices.Collect(maps.Values(s.inGroup(share.Group))), share.Level)
	}
	raise(all, p.Members, 100)
	return slices.SortedFunc(maps.Values(all), func(a, b Membership) int { return cmp.Compare(a.User, b.User) })
}

// basic returns an account as others see it.
func (c call) basic(id int64) map[string]any {
	u := c.server.users[id]
	if u == nil {
		return nil
	}
	return map[string]any{"id": u.ID, "username": strings.ToLower(u.Name), "name": u.Name, "state": cmp.Or(u.State, "active"), "web_url": c.server.URL + "/" + strings.ToLower(u.Name)}
}

// full returns an account as administrators and the account itself see it.
func (c call) full(u *User, admin bool) map[string]any {
	all := c.basic(u.ID)
	all["public_email"], all["bot"] = u.PublicEmail, u.Bot
	if !admin && c.token.User != u.ID {
		return all
	}
	all["email"], all["external"], all["confirmed_at"] = u.Email, u.External, "2026-01-01T00:00:00Z"
	if u.Unconfirmed {
		all["confirmed_at"] = nil
	}
	if admin {
		all["is_admin"] = u.Admin
	}
	return all
}

// people answers requests for accounts.
func (c call) people(parts []string) {
	me := c.server.users[c.token.User]
	admin := me != nil && me.Admin
	switch {
	case parts[0] == "user" && me != nil:
		c.json(c.full(me, admin))
	case parts[0] == "users" && len(parts) == 1:
		all := []any{}
		for _, id := range slices.Sorted(maps.Keys(c.server.users)) {
			switch u := c.server.users[id]; {
			case u.State != "" && u.State != "active":
			case admin:
				all = append(all, c.full(u, true))
			default:
				all = append(all, c.basic(id))
			}
		}
		c.list(all, true)
	case parts[0] == "users":
		id, _ := strconv.ParseInt(parts[1], 10, 64)
		if u := c.server.users[id]; u != nil {
			c.json(c.full(u, admin))
			return
		}
		c.refuse(http.StatusNotFound, "404 User Not Found")
	default:
		c.refuse(http.StatusNotFound, "404 Not Found")
	}
}

func (c call) members(p *Project) {
	all := []any{}
	for _, m := range c.server.inProject(p) {
		shown := c.basic(m.User)
		if shown == nil {
			continue
		}
		shown["access_level"], shown["created_at"], shown["expires_at"] = m.Level, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil
		if m.Expires != "" {
			shown["expires_at"] = m.Expires
		}
		all = append(all, shown)
	}
	c.list(all, false)
}
