package jiraserver

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// personRow returns the user with an ID, or null.
func (c *call) personRow(id string) any {
	if u := c.user(func(u *User) bool { return u.ID == id }); u != nil {
		return c.userRow(u)
	}
	return nil
}

func (c *call) userRow(u *User) object {
	row := object{"displayName": u.Display, "active": !u.Inactive, "timeZone": u.Zone.String()}
	if c.cloud {
		row["accountId"], row["accountType"] = u.ID, "atlassian"
		if u.App {
			row["accountType"] = "app"
		}
	} else {
		row["key"], row["name"] = u.ID, u.Name
	}
	if !u.Hidden {
		row["emailAddress"] = u.Email
	}
	return row
}

func (c *call) projectRow(p *Project) object {
	return object{"id": p.ID, "key": p.Key, "name": p.Name, "projectTypeKey": "software", "simplified": false, "self": c.URL + "/rest/api/project/" + p.ID}
}

func (c *call) serveProject() {
	rows := []any{}
	for _, p := range c.projects {
		if keys := c.query["keys"]; !p.Invisible && (len(keys) == 0 || slices.Contains(keys, p.Key)) {
			rows = append(rows, c.projectRow(p))
		}
	}
	switch {
	case c.is("project"):
		c.answer(rows)
		return
	case c.is("project", "search") && c.cloud:
		c.limited(rows, "values", 50)
		return
	}
	p := c.project(c.path[1])
	switch {
	case p == nil || p.Invisible:
		c.refuse(http.StatusNotFound, "No project could be found with key '"+c.path[1]+"'.")
	case c.is("project", "*"):
		row := c.projectRow(p)
		row["lead"] = c.personRow(p.Lead)
		c.answer(row)
	case c.NoPermissions:
		c.refuse(http.StatusForbidden, "You do not have the administer project permission.")
	case c.is("project", "*", "permissionscheme"):
		permissions := []any{object{"id": 1, "permission": "ADMINISTER_PROJECTS", "holder": object{"type": "projectLead"}}}
		for n, h := range p.Browse {
			permissions = append(permissions, object{"id": 10 + n, "permission": "BROWSE_PROJECTS", "holder": c.holderRow(h)})
		}
		c.answer(object{"id": 10000, "name": "Scheme of " + p.Key, "permissions": permissions})
	case c.is("project", "*", "role", "*"):
		c.role(p, c.path[3])
	case c.is("project", "*", "issuesecuritylevelscheme"):
		if p.Levels == nil {
			c.refuse(http.StatusNotFound, "The project has no issue security scheme.")
			return
		}
		levels := []any{}
		for _, level := range slices.Sorted(maps.Keys(p.Levels)) {
			levels = append(levels, object{"id": level, "name": "Level " + level})
		}
		c.answer(object{"id": number(p.ID), "name": "Security of " + p.Key, "levels": levels})
	default:
		http.NotFound(c.w, c.r)
	}
}

func (c *call) holderRow(h Holder) object {
	row := object{"type": h.Type, "expand": h.Type}
	if h.Parameter == "" {
		return row
	}
	row["parameter"] = h.Parameter
	if c.cloud {
		row["value"] = h.Parameter
	}
	if g := c.group(h.Parameter); h.Type == "group" && g != nil {
		row["parameter"] = g.Name
		if c.cloud {
			row["value"] = g.ID
		}
	}
	return row
}

func (c *call) role(p *Project, id string) {
	holders, exists := p.Roles[id]
	if !exists {
		c.refuse(http.StatusNotFound, "Can not retrieve a role actor for a null project role.")
		return
	}
	actors := []any{}
	for n, h := range holders {
		if g := c.group(h.Parameter); h.Type == "group" && g != nil {
			actor := object{"id": n, "displayName": g.Name, "type": "atlassian-group-role-actor", "name": g.Name}
			if c.cloud {
				actor["actorGroup"] = object{"name": g.Name, "displayName": g.Name, "groupId": g.ID}
			}
			actors = append(actors, actor)
			continue
		}
		actor := object{"id": n, "displayName": h.Parameter, "type": "atlassian-user-role-actor"}
		if c.cloud {
			actor["actorUser"] = object{"accountId": h.Parameter}
		} else if u := c.user(func(u *User) bool { return u.ID == h.Parameter }); u != nil {
			actor["name"] = u.Name
		}
		actors = append(actors, actor)
	}
	c.answer(object{"id": number(id), "name": "Role " + id, "actors": actors})
}

func (c *call) servePeople() {
	switch {
	case c.is("issuesecurityschemes", "*", "members") && c.cloud:
		c.levelMembers(c.path[1])
	case c.is("applicationrole"):
		c.applicationRoles()
	case c.is("group", "bulk") && c.cloud:
		rows := []any{}
		for _, g := range c.groups {
			if names := c.query["groupName"]; len(names) == 0 || slices.Contains(names, g.Name) {
				rows = append(rows, object{"name": g.Name, "groupId": g.ID})
			}
		}
		c.limited(rows, "values", 50)
	case c.is("groups", "picker") && !c.cloud:
		rows := []any{}
		for _, g := range c.groups {
			rows = append(rows, object{"name": g.Name, "html": g.Name})
		}
		c.answer(object{"header": "Showing " + strconv.Itoa(len(rows)) + " of " + strconv.Itoa(len(rows)) + " matching groups", "total": len(rows), "groups": rows})
	case c.is("group", "member"):
		name := c.query.Get("groupId")
		if !c.cloud {
			name = c.query.Get("groupname")
		}
		g := c.group(name)
		if g == nil {
			c.refuse(http.StatusNotFound, "The group '"+name+"' does not exist.")
			return
		}
		rows := []any{}
		for _, id := range g.Members {
			if u := c.user(func(u *User) bool { return u.ID == id }); u != nil && (!u.Inactive || c.query.Get("includeInactiveUsers") == "true") {
				rows = append(rows, c.userRow(u))
			}
		}
		c.limited(rows, "values", 50)
	case c.is("user", "bulk") && c.cloud:
		rows := []any{}
		for _, id := range c.query["accountId"] {
			if row := c.personRow(id); row != nil {
				rows = append(rows, row)
			}
		}
		c.limited(rows, "values", 10)
	case c.is("user") && !c.cloud:
		u := c.user(func(u *User) bool {
			return u.ID == c.query.Get("key") || c.query.Has("username") && strings.EqualFold(u.Name, c.query.Get("username"))
		})
		if u == nil {
			c.refuse(http.StatusNotFound, "The user does not exist.")
			return
		}
		c.answer(c.userRow(u))
	default:
		http.NotFound(c.w, c.r)
	}
}

func (c *call) levelMembers(scheme string) {
	p := c.project(scheme)
	if p == nil || c.NoPermissions {
		c.refuse(http.StatusForbidden, "Only Jira administrators can access issue security schemes.")
		return
	}
	rows := []any{}
	for _, level := range slices.Sorted(maps.Keys(p.Levels)) {
		if wanted := c.query["issueSecurityLevelId"]; len(wanted) > 0 && !slices.Contains(wanted, level) {
			continue
		}
		for n, h := range p.Levels[level] {
			rows = append(rows, object{"id": level + strconv.Itoa(n), "issueSecurityLevelId": level, "issueSecuritySchemeId": scheme, "holder": c.holderRow(h)})
		}
	}
	c.limited(rows, "values", 50)
}

func (c *call) applicationRoles() {
	if c.NoPermissions || c.NoApplications {
		c.refuse(http.StatusForbidden, "Only Jira administrators can access application roles.")
		return
	}
	rows := []any{}
	for _, key := range slices.Sorted(maps.Keys(c.applications)) {
		names, details := []string{}, []any{}
		for _, id := range c.applications[key] {
			if g := c.group(id); g != nil {
				names = append(names, g.Name)
				details = append(details, object{"name": g.Name, "groupId": g.ID})
			}
		}
		row := object{"key": key, "name": key, "groups": names, "defined": true}
		if c.cloud {
			row["groupDetails"] = details
		}
		rows = append(rows, row)
	}
	c.answer(rows)
}
