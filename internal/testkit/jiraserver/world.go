package jiraserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a user of the site.
type User struct {
	// ID is the account ID on Cloud and the user key on Data Center. Name is the login
	// name on Data Center.
	ID, Name, Display, Email string
	// Hidden hides the email address. App marks the account of an app, Inactive a
	// deactivated one.
	Hidden, App, Inactive bool
	// Token is the API token or personal access token. ScopedToken works at the gateway
	// only.
	Token, ScopedToken, Password string
	// Zone is the time zone of dates in the user's JQL. The default is UTC.
	Zone *time.Location
}

// Group is a group of users, which are identified by ID.
type Group struct {
	ID, Name string
	Members  []string
}

// Holder holds a permission or belongs to a security level. Type is one of Jira's:
// anyone, applicationRole, assignee, group, groupCustomField, projectLead,
// projectRole, reporter, user, userCustomField. Parameter is the ID or name.
type Holder struct{ Type, Parameter string }

// Project is a project. Browse holds the permission BROWSE_PROJECTS. Roles have
// holders of the types user and group by the ID of the role.
type Project struct {
	ID, Key, Name, Lead string
	Browse              []Holder
	Roles               map[string][]Holder
	// Levels are the members of the project's security levels, by level.
	Levels map[string][]Holder
	// Invisible hides the project from all accounts, Public shows it to visitors.
	Invisible, Public bool
}

// Issue is an issue. Description is a node of the Atlassian Document Format on
// Cloud and a string on Data Center.
type Issue struct {
	ID, Key, Project, Summary, Type, Status string
	Description                             any
	Reporter, Assignee                      string
	Labels                                  []string
	Level                                   string // of security, "" for none
	Created, Updated                        time.Time
	Comments                                []Comment
	Files                                   []File
	// Fields are further fields, such as customfield_10010.
	Fields map[string]any
	// Unindexed keeps the issue out of searches that do not reconcile it.
	Unindexed bool
}

// Comment is a comment. Group restricts it to a group.
type Comment struct {
	ID, Author, Group string
	Body              any
	Created           time.Time
}

// File is an attachment.
type File struct {
	ID, Name, Media, Author string
	Data                    []byte
	Created                 time.Time
}

func (s *Server) next() string {
	s.serial++
	return strconv.Itoa(10_000 + s.serial)
}

func (s *Server) now() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

// Advance moves the site's clock.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = s.clock.Add(by)
}

// SetClock sets the site's clock and the time zone of all users.
func (s *Server) SetClock(at time.Time, zone *time.Location) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = at
	for _, u := range s.users {
		u.Zone = zone
	}
}

// AddUser adds a user. Empty fields get unique values.
func (s *Server) AddUser(u User) User {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if u.Name == "" {
		u.Name = "user" + s.next()
	}
	if u.ID == "" {
		u.ID = "JIRAUSER" + s.next()
		if s.cloud {
			u.ID = "5b10a2844c20165700ede" + s.next()
		}
	}
	if u.Display == "" {
		u.Display = u.Name
	}
	if u.Token == "" {
		u.Token = "token-of-" + u.Name
	}
	if u.Zone == nil {
		u.Zone = time.UTC
	}
	s.users = append(s.users, &u)
	return u
}

// ChangeUser changes a user.
func (s *Server) ChangeUser(id string, change func(*User)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if u := s.user(func(u *User) bool { return u.ID == id }); u != nil {
		change(u)
	}
}

// AddGroup adds a group and returns its ID, which is the name on Data Center.
func (s *Server) AddGroup(name string, members ...string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	g := &Group{ID: name, Name: name, Members: members}
	if s.cloud {
		g.ID = "276f955c-63d7-42c8-9520-" + s.next()
	}
	s.groups = append(s.groups, g)
	return g.ID
}

// SetMembers replaces the members of a group.
func (s *Server) SetMembers(id string, members ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if g := s.group(id); g != nil {
		g.Members = members
	}
}

func (s *Server) group(id string) *Group {
	for _, g := range s.groups {
		if g.ID == id || !s.cloud && strings.EqualFold(g.Name, id) {
			return g
		}
	}
	return nil
}

// SetApplication sets the groups that may use an application.
func (s *Server) SetApplication(key string, groups ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.applications[key] = groups
}

// AddProject adds a project and returns its ID.
func (s *Server) AddProject(p Project) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p.ID = s.next()
	if p.Name == "" {
		p.Name = p.Key
	}
	s.projects = append(s.projects, &p)
	return p.ID
}

// ChangeProject changes a project.
func (s *Server) ChangeProject(key string, change func(*Project)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if p := s.project(key); p != nil {
		change(p)
	}
}

func (s *Server) project(name string) *Project {
	for _, p := range s.projects {
		if strings.EqualFold(p.Key, name) || p.ID == name {
			return p
		}
	}
	return nil
}

// Add adds an issue to the project with its key and returns the ID. Comments and
// files without an ID are new.
func (s *Server) Add(i Issue) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.project(i.Project)
	if p == nil {
		panic(fmt.Sprintf("there is no project %q", i.Project))
	}
	i.ID, i.Project = s.next(), p.ID
	s.numbers[p.ID]++
	i.Key = p.Key + "-" + strconv.Itoa(s.numbers[p.ID])
	if i.Type == "" {
		i.Type = "Task"
	}
	if i.Status == "" {
		i.Status = "To Do"
	}
	if i.Created.IsZero() {
		i.Created = s.now()
	}
	if i.Updated.IsZero() {
		i.Updated = i.Created
	}
	s.complete(&i)
	s.issues[i.ID] = &i
	return i.ID
}

// complete gives new comments and files their IDs and times.
func (s *Server) complete(i *Issue) {
	for n := range i.Comments {
		if c := &i.Comments[n]; c.ID == "" {
			c.ID, c.Created = s.next(), s.clock
		}
	}
	for n := range i.Files {
		if f := &i.Files[n]; f.ID == "" {
			f.ID, f.Created = s.next(), s.clock
		}
	}
}

// Change changes an issue, which is updated now.
func (s *Server) Change(id string, change func(*Issue)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := s.issues[id]
	i.Updated = s.now()
	change(i)
	s.complete(i)
}

// Move moves an issue to another project, where it gets another key.
func (s *Server) Move(id, project string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i, p := s.issues[id], s.project(project)
	s.numbers[p.ID]++
	i.Project, i.Key, i.Updated = p.ID, p.Key+"-"+strconv.Itoa(s.numbers[p.ID]), s.now()
}

// Remove deletes an issue.
func (s *Server) Remove(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.issues, id)
}

// Find returns a copy of the issue with a key.
func (s *Server) Find(key string) (Issue, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, i := range s.issues {
		if i.Key == key {
			return *i, true
		}
	}
	return Issue{}, false
}

func (s *Server) issue(name string) *Issue {
	for _, i := range s.issues {
		if i.ID == name || strings.EqualFold(i.Key, name) {
			if p := s.project(i.Project); p == nil || p.Invisible {
				return nil
			}
			return i
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

// sorted returns the visible issues in the order of their IDs.
func (s *Server) sorted() []*Issue {
	all := make([]*Issue, 0, len(s.issues))
	for _, i := range s.issues {
		if p := s.project(i.Project); p != nil && !p.Invisible {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *Issue) int { return number(a.ID) - number(b.ID) })
	return all
}

func number(id string) int {
	n, _ := strconv.Atoi(id)
	return n
}

// Text returns a document of one paragraph for a description or comment, in the
// format of the deployment.
func (s *Server) Text(text string) any {
	if !s.cloud {
		return text
	}
	return map[string]any{"type": "doc", "version": 1, "content": []any{
		map[string]any{"type": "paragraph", "content": []any{map[string]any{"type": "text", "text": text}}},
	}}
}

// AddSample fills the site with some content: projects, people and issues.
func (s *Server) AddSample() {
	ada := s.AddUser(User{Name: "ada", Display: "Ada Lovelace", Email: "ada@example.com"})
	bo := s.AddUser(User{Name: "bo", Display: "Bo Diddley", Email: "bo@example.com"})
	staff := s.AddGroup("staff", ada.ID, bo.ID)
	s.SetApplication("jira-software", staff)
	s.AddProject(Project{Key: "OPS", Name: "Operations", Lead: ada.ID, Browse: []Holder{{"group", staff}}})
	s.AddProject(Project{Key: "WEB", Name: "Web site", Lead: bo.ID, Browse: []Holder{{"applicationRole", ""}}})
	s.Add(Issue{
		Project: "OPS", Summary: "Rotate the certificates", Reporter: ada.ID, Assignee: bo.ID, Status: "In Progress", Labels: []string{"tls"},
		Description: s.Text("The certificates of the gateway end in March. Rotate them with the tool, and restart the gateway afterwards."),
		Comments:    []Comment{{Author: bo.ID, Body: s.Text("The staging gateway is done.")}},
		Files:       []File{{Name: "hosts.csv", Media: "text/csv", Author: ada.ID, Data: []byte("host,expires\ngateway-1,2027-03-01\n")}},
	})
	s.Add(Issue{Project: "OPS", Summary: "Backup of the archive fails", Type: "Bug", Reporter: bo.ID, Description: s.Text("The job ends with exit status 3 since Monday.")})
	s.Add(Issue{Project: "WEB", Summary: "Search does not find umlauts", Type: "Bug", Status: "Done", Reporter: ada.ID, Description: s.Text("A search for Müller finds nothing.")})
}
