package jira

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A grant is a permission or the membership in a security level.
type grant struct {
	Permission string
	Holder     *holder
}

type holder struct {
	Type, Parameter, Value string
	Group                  *struct{ Name, GroupID string }
}

func (s *source) readBrowsers(ctx context.Context, p project) (*holders, error) {
	var scheme struct {
		ID          identifier
		Permissions []grant
	}
	expand := url.Values{"expand": {"permissions,user,group,projectRole,field"}}
	if err := s.api.Request(ctx, restapi.Request{Path: s.api.path("project", string(p.ID), "permissionscheme"), Query: expand, RequiredFields: []string{"id"}}, &scheme); err != nil {
		return nil, err
	}
	if scheme.Permissions == nil {
		// The published example of the answer does not have them.
		request := restapi.Request{Path: s.api.path("permissionscheme", string(scheme.ID), "permission"), Query: expand, RequiredList: "permissions"}
		if err := s.api.Request(ctx, request, &scheme); err != nil {
			return nil, err
		}
	}
	h := &holders{}
	for _, g := range scheme.Permissions {
		if g.Permission == "" || g.Holder == nil || g.Holder.Type == "" {
			return nil, s.api.ErrInvalid("a permission")
		}
		if g.Permission != "BROWSE_PROJECTS" {
			continue
		}
		if err := s.addReadable(ctx, h, p, *g.Holder); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// addReadable is addHolder. A holder that the account may not look up holds nothing,
// and the others do.
func (s *source) addReadable(ctx context.Context, h *holders, p project, given holder) error {
	err := s.addHolder(ctx, h, p, given)
	if !isUnreadable(err) {
		return err
	}
	s.addWarning("Jira does not tell everybody who may browse the project " + p.Key + " (" + given.Type + "); some people may not find its issues.")
	h.list.Users = append(h.list.Users, atlassian.UnknownEntry)
	h.list.Normalize()
	return nil
}

// errLevelsNotTold says that Data Center has no request for the members of security
// levels.
var errLevelsNotTold = errors.New("Data Center does not tell who belongs to a security level") //nolint:staticcheck // a name

// levelHolders returns the members of a security level.
func (s *source) levelHolders(ctx context.Context, p project, level string) (*holders, error) {
	return s.cached(func() map[string]*holders { return s.levels }, string(p.ID)+"/"+level, func() (*holders, error) {
		h, err := s.readLevel(ctx, p, level)
		if isUnreadable(err) || errors.Is(err, errLevelsNotTold) {
			s.addWarning("Jira does not tell who belongs to the security levels of the project " + p.Key +
				"; nobody finds issues with a level. On Cloud, the account needs the permission \"Administer Jira\"; Data Center tells nobody.")
			return &holders{unknown: true}, nil
		}
		return h, err
	})
}

func (s *source) readLevel(ctx context.Context, p project, level string) (*holders, error) {
	if !s.api.Site.Cloud {
		return nil, errLevelsNotTold
	}
	var scheme struct{ ID identifier }
	request := restapi.Request{Path: s.api.path("project", string(p.ID), "issuesecuritylevelscheme"), RequiredFields: []string{"id"}}
	s.mutex.Lock()
	scheme.ID = identifier(s.schemes[string(p.ID)])
	s.mutex.Unlock()
	if scheme.ID == "" {
		if err := s.api.Request(ctx, request, &scheme); err != nil {
			return nil, err
		}
		s.mutex.Lock()
		s.schemes[string(p.ID)] = string(scheme.ID)
		s.mutex.Unlock()
	}
	h := &holders{}
	err := restapi.AllOffsets("Jira", "the members of a security level", func(offset int) (ids []string, more bool, err error) {
		var page struct {
			Values []struct {
				ID                   identifier
				IssueSecurityLevelID identifier
				Holder               *holder
			}
			IsLast *bool
			Total  int
		}
		query := map[string][]string{"startAt": {fmt.Sprint(offset)}, "maxResults": {fmt.Sprint(membersAPage)}, "issueSecurityLevelId": {level}}
		request := restapi.Request{Path: s.api.path("issuesecurityschemes", string(scheme.ID), "members"), Query: query, RequiredList: "values"}
		if err := s.api.Request(ctx, request, &page); err != nil {
			return nil, false, err
		}
		for _, member := range page.Values {
			if member.Holder == nil || member.Holder.Type == "" {
				return nil, false, s.api.ErrInvalid("a member of a security level")
			}
			ids = append(ids, string(member.ID)+member.Holder.Type+member.Holder.Parameter)
			if member.IssueSecurityLevelID != "" && string(member.IssueSecurityLevelID) != level {
				continue
			}
			if err := s.addReadable(ctx, h, p, *member.Holder); err != nil {
				return nil, false, err
			}
		}
		more = offset+len(ids) < page.Total
		if page.IsLast != nil {
			more = !*page.IsLast
		}
		return ids, more, nil
	})
	return h, err
}

// addHolder adds a holder of a permission in a project. Kinds of holders that are
// not known hold nothing.
func (s *source) addHolder(ctx context.Context, h *holders, p project, given holder) error {
	switch given.Type {
	case "user":
		h.list.Users = append(h.list.Users, orUnknown(given.Parameter, given.Value))
	case "group":
		id := given.Value
		if given.Group != nil && given.Group.GroupID != "" {
			id = given.Group.GroupID
		}
		return s.addGroup(ctx, h, given.Parameter, id)
	case "projectRole":
		role, err := s.roleActors(ctx, p, orUnknown(given.Parameter, given.Value))
		if err != nil {
			return err
		}
		h.list.Users, h.list.Groups = append(h.list.Users, role.list.Users...), append(h.list.Groups, role.list.Groups...)
	case "projectLead":
		full, err := s.api.project(ctx, string(p.ID))
		if err != nil {
			return err
		}
		h.list.Users = append(h.list.Users, orUnknown(full.Lead.id()))
	case "reporter":
		h.reporter = true
	case "assignee":
		h.assignee = true
	case "userCustomField", "groupCustomField":
		if name := orUnknown(given.Value, given.Parameter); strings.HasPrefix(name, "customfield_") {
			h.fields = append(h.fields, name)
		}
	case "anyone":
		public, err := s.isPublic(ctx, p)
		if err != nil {
			return err
		}
		if h.everyone = h.everyone || public; public {
			return nil
		}
		return s.addApplication(ctx, h, "")
	case "applicationRole":
		return s.addApplication(ctx, h, given.Parameter)
	}
	h.list.Normalize()
	return nil
}

func orUnknown(ids ...string) string {
	for _, id := range ids {
		if id != "" {
			return id
		}
	}
	return atlassian.UnknownEntry
}

// isPublic reports whether the site shows a project to visitors without an account:
// the site's settings can forbid what a scheme allows.
func (s *source) isPublic(ctx context.Context, p project) (bool, error) {
	s.mutex.Lock()
	public, known := s.public[string(p.ID)]
	s.mutex.Unlock()
	if known {
		return public, nil
	}
	public, err := s.api.IsPublic(ctx, s.api.path("project", p.Key), p.Key)
	if err != nil {
		return false, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.public[string(p.ID)] = public
	return public, nil
}

// roleActors returns the people and groups that have a role in a project.
func (s *source) roleActors(ctx context.Context, p project, role string) (*holders, error) {
	return s.cached(func() map[string]*holders { return s.roles }, string(p.ID)+"/"+role, func() (*holders, error) {
		var found struct {
			Actors []struct {
				Type, Name string
				ActorUser  *struct {
					user
					UserID string `json:"user_id"` // as the published example has it
				}
				ActorGroup *struct{ Name, GroupID string }
			}
		}
		request := restapi.Request{Path: s.api.path("project", string(p.ID), "role", role), RequiredList: "actors"}
		if err := s.api.Request(ctx, request, &found); err != nil {
			return nil, err
		}
		h := &holders{}
		for _, actor := range found.Actors {
			switch {
			case actor.Type == "":
				return nil, s.api.ErrInvalid("a role")
			case strings.Contains(actor.Type, "group"):
				name, id := actor.Name, ""
				if actor.ActorGroup != nil {
					name, id = orUnknown(actor.ActorGroup.Name, name), actor.ActorGroup.GroupID
				}
				if err := s.addGroup(ctx, h, name, id); err != nil {
					return nil, err
				}
			default:
				id := actor.Name
				if u := actor.ActorUser; u != nil {
					id = orUnknown(u.id(), u.UserID, id)
				}
				h.list.Users = append(h.list.Users, orUnknown(id))
			}
		}
		return h, nil
	})
}

// addGroup adds a group by its id or, on Data Center, which has names only, by its
// name.
func (s *source) addGroup(ctx context.Context, h *holders, name, id string) error {
	switch {
	case !s.api.Site.Cloud:
		id = strings.ToLower(orUnknown(name, id))
	case name == "" && id == "": // a group that is gone
		id = atlassian.UnknownEntry
	case id == "" || id == name:
		found, err := s.api.groupNamed(ctx, name)
		if err != nil {
			return err
		}
		id = orUnknown(found.GroupID)
	}
	h.list.Groups = append(h.list.Groups, id)
	h.list.Normalize()
	return nil
}

// addApplication adds the groups of those who may use an application or, without a
// name, any of them.
func (s *source) addApplication(ctx context.Context, h *holders, name string) error {
	all, err := s.applicationGroups(ctx)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	groups := all.list.Groups
	if name != "" {
		groups = s.byApplication[name]
	}
	h.list.Groups = append(h.list.Groups, groups...)
	if all.unknown {
		// A list that only names everybody with an account is not empty.
		h.list.Users = append(h.list.Users, atlassian.UnknownEntry)
	}
	h.list.Normalize()
	return nil
}

// applicationGroups returns the groups of all applications.
func (s *source) applicationGroups(ctx context.Context) (*holders, error) {
	s.mutex.Lock()
	known := s.applications
	s.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	var roles []struct {
		Key          string
		Groups       []string
		GroupDetails []struct{ Name, GroupID string }
	}
	h, byApplication := &holders{}, map[string][]string{}
	switch err := s.api.Get(ctx, s.api.path("applicationrole"), nil, &roles); {
	case isUnreadable(err):
		s.addWarning("Jira does not tell who has an account; people who may browse a project only because they have one find nothing there. The account needs the permission \"Administer Jira\".")
		h.unknown = true
	case err != nil:
		return nil, err
	}
	for _, role := range roles {
		if role.Key == "" {
			return nil, s.api.ErrInvalid("an application")
		}
		of := &holders{}
		for _, g := range role.GroupDetails {
			if err := s.addGroup(ctx, of, g.Name, g.GroupID); err != nil {
				return nil, err
			}
		}
		if len(role.GroupDetails) == 0 {
			for _, name := range role.Groups {
				if err := s.addGroup(ctx, of, name, ""); err != nil {
					return nil, err
				}
			}
		}
		byApplication[role.Key] = of.list.Groups
		h.list.Groups = append(h.list.Groups, of.list.Groups...)
	}
	h.list.Normalize()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.applications, s.byApplication = h, byApplication
	return h, nil
}
