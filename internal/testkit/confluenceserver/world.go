package confluenceserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a user of the site.
type User struct {
	// ID is the account ID on Cloud and the user key on Data Center. Name is the
	// login name on Data Center.
	ID, Name, Display, Email string
	// Hidden hides the email address. App marks the account of an app.
	Hidden, App bool
	// Token is the API token or personal access token.
	Token, Password string
}

// Group is a group of users, which are identified by ID.
type Group struct {
	ID, Name string
	Members  []string
}

// Space is a space. Users, Groups and Anonymous may view it.
type Space struct {
	ID, Key, Name     string
	Personal, Archive bool
	Users, Groups     []string
	Anonymous         bool
}

// Content is a page, blog post, folder, attachment or comment.
type Content struct {
	ID, Type, Space, Parent, Title, Status, Body string
	Number                                       int
	Author                                       string
	Created, Modified                            time.Time
	Labels                                       []string
	// Users and Groups are the read restriction. Both empty means no restriction.
	Users, Groups []string
	// Container is the ID of the page of an attachment or comment.
	Container string
	Data      []byte
	Media     string
	Inline    string // the selected text of an inline comment
	Resolved  bool
	Unindexed bool // not in the search index yet
}

func (s *Server) next() string {
	s.serial++
	return strconv.Itoa(100_000 + s.serial)
}

func (s *Server) now() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

// AddUser adds a user. Empty fields get unique values.
func (s *Server) AddUser(u User) User {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if u.ID == "" {
		u.ID = "5b10a2844c20165700ede" + s.next()
	}
	if u.Name == "" {
		u.Name = "user" + s.next()
	}
	if u.Display == "" {
		u.Display = u.Name
	}
	if u.Token == "" {
		u.Token = "token-of-" + u.Name
	}
	s.users = append(s.users, &u)
	return u
}

// AddGroup adds a group and returns its ID, which is empty on Data Center.
func (s *Server) AddGroup(name string, members ...string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	g := &Group{Name: name, Members: members}
	if s.cloud {
		g.ID = "e4d1b1c3-0000-4000-8000-" + s.next()
	}
	s.groups = append(s.groups, g)
	if g.ID == "" {
		return name
	}
	return g.ID
}

// SetMembers replaces the members of a group.
func (s *Server) SetMembers(id string, members ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.group(id).Members = members
}

func (s *Server) group(id string) *Group {
	for _, g := range s.groups {
		if g.ID == id || g.ID == "" && strings.EqualFold(g.Name, id) {
			return g
		}
	}
	return &Group{}
}

// AddSpace adds a space.
func (s *Server) AddSpace(space Space) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	space.ID = s.next()
	if space.Name == "" {
		space.Name = space.Key
	}
	s.spaces = append(s.spaces, &space)
}

// ChangeSpace changes a space.
func (s *Server) ChangeSpace(key string, change func(*Space)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, space := range s.spaces {
		if space.Key == key {
			change(space)
		}
	}
}

// DropSpace deletes a space with its content.
func (s *Server) DropSpace(key string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.spaces = slices.DeleteFunc(s.spaces, func(space *Space) bool { return space.Key == key })
	for id, c := range s.content {
		if c.Space == key {
			delete(s.content, id)
		}
	}
}

// Add adds a content in its first version and returns its ID. The default type is
// page. The space is that of the parent or container.
func (s *Server) Add(c Content) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c.ID = s.next(); c.Type == "attachment" {
		c.ID = "att" + c.ID
	}
	if c.Type == "" {
		c.Type = "page"
	}
	for _, above := range []string{c.Parent, c.Container} {
		if of := s.content[above]; of != nil {
			c.Space = of.Space
		}
	}
	if s.space(c.Space) == nil {
		panic(fmt.Sprintf("there is no space %q", c.Space))
	}
	c.Status, c.Number, c.Created = "current", 1, s.now()
	c.Modified = c.Created
	s.content[c.ID] = &c
	return c.ID
}

// Change changes a content. With edited, it becomes a new version.
func (s *Server) Change(id string, edited bool, change func(*Content)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c := s.content[id]
	change(c)
	if edited {
		c.Number++
		c.Modified = s.now()
	}
}

// Remove deletes a content permanently, with its attachments and comments. Child
// pages move up.
func (s *Server) Remove(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	gone := s.content[id]
	delete(s.content, id)
	for other, c := range s.content {
		if c.Container == id {
			delete(s.content, other)
		}
		if c.Parent == id && gone != nil {
			c.Parent = gone.Parent
		}
	}
}

// Find returns the ID of the current content with a type and title in a container
// or space, or "".
func (s *Server) Find(kind, in, title string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for id, c := range s.content {
		if c.Type == kind && c.Title == title && (c.Container == in || c.Space == in) && c.Status == "current" {
			return id
		}
	}
	return ""
}

func (s *Server) space(key string) *Space {
	for _, space := range s.spaces {
		if space.Key == key {
			return space
		}
	}
	return nil
}

func (s *Server) user(match func(*User) bool) *User {
	for _, u := range s.users {
		if match(u) {
			return u
		}
	}
	return nil
}

func (s *Server) isIn(who *User, users, groups []string) bool {
	if who == nil {
		return false
	}
	return slices.Contains(users, who.ID) || slices.ContainsFunc(groups, func(id string) bool { return slices.Contains(s.group(id).Members, who.ID) })
}

func (s *Server) canViewSpace(who *User, space *Space) bool {
	return space != nil && (space.Anonymous && !s.NoAnonymous || s.isIn(who, space.Users, space.Groups))
}

// canView reports whether a user may view a content by the permissions of its
// space and the restrictions of the content and its ancestors.
func (s *Server) canView(who *User, c *Content) bool {
	if c == nil || !s.canViewSpace(who, s.space(c.Space)) {
		return false
	}
	if c.Container != "" {
		return s.canView(who, s.content[c.Container])
	}
	for at := c; at != nil; at = s.content[at.Parent] {
		if len(at.Users)+len(at.Groups) > 0 && !s.isIn(who, at.Users, at.Groups) {
			return false
		}
	}
	return true
}

// find returns the matching content that a user may view, ordered by ID.
func (s *Server) find(who *User, match func(*Content) bool) []*Content {
	var found []*Content
	for _, c := range s.content {
		if match(c) && s.canView(who, c) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *Content) int { return number(a.ID) - number(b.ID) })
	return found
}

func number(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "att"))
	return n
}

// ancestors returns the ancestors of a page, the root first.
func (s *Server) ancestors(c *Content) []*Content {
	var list []*Content
	for at := s.content[c.Parent]; at != nil; at = s.content[at.Parent] {
		list = append([]*Content{at}, list...)
	}
	return list
}

// children returns the attachments or comments of a page.
func (s *Server) children(who *User, page, kind string) []*Content {
	return s.find(who, func(c *Content) bool { return c.Container == page && c.Type == kind && c.Status == "current" })
}
