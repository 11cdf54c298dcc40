package jira

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	groupsPerPage = 25   // of a listing of groups
	centerGroups  = 1000 // Data Center lists groups once
)

type group struct{ Name, GroupID string }

// id returns the same id of a group in lists of readers and of groups. Data Center
// has names only, in upper or lower case.
func (g group) id() string {
	if g.GroupID != "" {
		return g.GroupID
	}
	return strings.ToLower(g.Name)
}

// groups returns groups from a position, and the next position, -1 at the end.
func (a *api) groups(ctx context.Context, start int) ([]group, int, error) {
	if !a.Site.Cloud {
		var page struct {
			Groups []group
			Total  int
		}
		query := url.Values{"maxResults": {strconv.Itoa(centerGroups)}}
		err := a.Request(ctx, restapi.Request{Path: a.path("groups", "picker"), Query: query, RequiredList: "groups"}, &page)
		return page.Groups, -1, err
	}
	var page struct {
		Values []group
		IsLast *bool
		Total  int
	}
	query := url.Values{"startAt": {strconv.Itoa(start)}, "maxResults": {strconv.Itoa(groupsPerPage)}}
	if err := a.Request(ctx, restapi.Request{Path: a.path("group", "bulk"), Query: query, RequiredList: "values"}, &page); err != nil {
		return nil, 0, err
	}
	more := start+len(page.Values) < page.Total
	if page.IsLast != nil {
		more = !*page.IsLast
	}
	if !more || len(page.Values) == 0 {
		return page.Values, -1, nil
	}
	return page.Values, start + len(page.Values), nil
}

// groupNamed returns the group with a name on Cloud, the zero group for none.
func (a *api) groupNamed(ctx context.Context, name string) (group, error) {
	var page struct{ Values []group }
	query := url.Values{"groupName": {name}}
	if err := a.Request(ctx, restapi.Request{Path: a.path("group", "bulk"), Query: query, RequiredList: "values"}, &page); err != nil {
		return group{}, err
	}
	if i := slices.IndexFunc(page.Values, func(g group) bool { return strings.EqualFold(g.Name, name) }); i >= 0 {
		return page.Values[i], nil
	}
	return group{}, nil
}

// Groups implements [connectors.GroupLister]: the groups of the site, and then the
// derived groups.
func (s *source) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	return s.readers.Groups(ctx, cursor, atlassian.GroupDirectory{Begin: s.beginGroups, List: s.siteGroups, Warnings: s.takeWarnings})
}

// beginGroups checks the account before a page of groups. A new listing forgets the
// members of the last one.
func (s *source) beginGroups(ctx context.Context, first bool) error {
	if err := s.checkAccount(ctx); err != nil || !first {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.membersOf = map[string][]string{}
	return nil
}

func (s *source) siteGroups(ctx context.Context, c atlassian.GroupCursor) ([]connectors.Group, atlassian.GroupCursor, error) {
	found, start, err := s.api.groups(ctx, c.Start)
	if c.Start == 0 && isUnreadable(err) {
		s.addWarning("Jira does not list its groups; people who may read an issue because of a group do not find it. The account needs the permission \"Browse users and groups\".")
		return nil, atlassian.GroupCursor{Derived: true}, nil
	}
	if err != nil {
		return nil, c, err
	}
	loop, _ := restapi.ParseLoopDetector(c.Loop)
	var ids strings.Builder
	for _, g := range found {
		if g.id() == "" {
			return nil, c, s.api.ErrInvalid("a group")
		}
		ids.WriteString(g.id() + " ")
	}
	if start >= 0 {
		if err := loop.Visit("Jira", "the groups", ids.String()); err != nil {
			return nil, c, err
		}
	}
	groups := make([]connectors.Group, 0, len(found))
	for _, g := range found {
		ids, err := s.members(ctx, g.id())
		if err != nil {
			return nil, c, err
		}
		people, err := s.people(ctx, ids)
		if err != nil {
			return nil, c, err
		}
		groups = append(groups, connectors.Group{Principal: "group:" + g.id(), Name: g.Name, Members: people})
	}
	if start < 0 {
		return groups, atlassian.GroupCursor{Derived: true}, nil
	}
	return groups, atlassian.GroupCursor{Start: start, Loop: loop.String()}, nil
}

// members returns the ids of the members of a group.
func (s *source) members(ctx context.Context, id string) ([]string, error) {
	s.mutex.Lock()
	known, ok := s.membersOf[id]
	s.mutex.Unlock()
	if ok {
		return known, nil
	}
	ids := []string{}
	err := restapi.AllOffsets("Jira", "the members of a group", func(offset int) (page []string, more bool, err error) {
		var found struct {
			Values []user
			IsLast *bool
			Total  int
		}
		query := url.Values{"startAt": {strconv.Itoa(offset)}, "maxResults": {strconv.Itoa(membersAPage)}}
		if s.api.Site.Cloud {
			query.Set("groupId", id)
		} else {
			query.Set("groupname", id)
		}
		err = s.api.Request(ctx, restapi.Request{Path: s.api.path("group", "member"), Query: query, RequiredList: "values"}, &found)
		if errors.Is(err, connectors.ErrNotFound) {
			return nil, false, nil // a deleted group is still in schemes
		}
		if isUnreadable(err) {
			s.addWarning("Jira does not list the members of some groups; they do not find what they read because of the group.")
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the members of a group: %w", err)
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for i := range found.Values {
			u := &found.Values[i]
			if u.id() == "" {
				return nil, false, s.api.ErrInvalid("a member of a group")
			}
			page = append(page, u.id())
			if !isPerson(u) {
				continue
			}
			ids = append(ids, u.id())
			if address := strings.ToLower(strings.TrimSpace(u.EmailAddress)); address != "" {
				s.addressOf[u.id()] = address
			}
		}
		more = offset+len(page) < found.Total
		if found.IsLast != nil {
			more = !*found.IsLast
		}
		return page, more, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.membersOf[id] = ids
	return ids, nil
}

// isPerson reports whether an account is that of a person who may log in.
func isPerson(u *user) bool {
	return u.AccountType != "app" && (u.Active == nil || *u.Active)
}

// nobody replaces the mail address of an account that is not a person's, or was
// deleted.
const nobody = "-"

// people returns the principals of the users whose addresses are visible.
func (s *source) people(ctx context.Context, ids []string) ([]string, error) {
	s.mutex.Lock()
	var missing []string
	for _, id := range ids {
		if _, known := s.addressOf[id]; !known && id != atlassian.UnknownEntry {
			missing = append(missing, id)
		}
	}
	s.mutex.Unlock()
	if len(missing) > 0 {
		found, err := s.api.users(ctx, missing)
		if isUnreadable(err) {
			found, err = map[string]*user{}, nil
			for _, id := range missing {
				found[id] = &user{AccountID: id} // with a hidden address
			}
		}
		if err != nil {
			return nil, err
		}
		s.mutex.Lock()
		for _, id := range missing {
			switch u := found[id]; {
			case u == nil || !isPerson(u):
				s.addressOf[id] = nobody
			default:
				s.addressOf[id] = strings.ToLower(strings.TrimSpace(u.EmailAddress))
			}
		}
		s.mutex.Unlock()
	}
	var principals []string
	hidden := false
	s.mutex.Lock()
	for _, id := range ids {
		switch address := s.addressOf[id]; {
		case id == atlassian.UnknownEntry || address == nobody:
		case strings.Contains(address, "@"):
			principals = append(principals, "user:"+address)
		default:
			hidden = true
		}
	}
	s.mutex.Unlock()
	if hidden {
		s.addWarning(hiddenAddresses)
	}
	slices.Sort(principals)
	return slices.Compact(principals), nil
}

const hiddenAddresses = "Jira hides the mail addresses of some people from the account; they find nothing that is not for everyone until their profiles show the address."

// users returns the users with some ids, as far as they exist.
func (a *api) users(ctx context.Context, ids []string) (map[string]*user, error) {
	found := map[string]*user{}
	if !a.Site.Cloud {
		for _, id := range ids {
			u, err := a.centerUser(ctx, id)
			if err != nil {
				return nil, err
			}
			found[id] = u
		}
		return found, nil
	}
	for batch := range slices.Chunk(ids, addressesAPage) {
		var page struct{ Values []user }
		query := url.Values{"accountId": batch, "maxResults": {strconv.Itoa(len(batch))}}
		if err := a.Request(ctx, restapi.Request{Path: a.path("user", "bulk"), Query: query, RequiredList: "values"}, &page); err != nil {
			return nil, fmt.Errorf("read mail addresses: %w", err)
		}
		for i := range page.Values {
			if page.Values[i].AccountID == "" {
				return nil, a.ErrInvalid("a user")
			}
			found[page.Values[i].AccountID] = &page.Values[i]
		}
	}
	return found, nil
}

// centerUser returns the user of Data Center with a key or name, nil for none.
func (a *api) centerUser(ctx context.Context, id string) (*user, error) {
	for _, name := range []string{"key", "username"} {
		var u user
		err := a.Get(ctx, a.path("user"), url.Values{name: {id}}, &u)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read a mail address: %w", err)
		case u.id() == "":
			return nil, a.ErrInvalid("a user")
		default:
			return &u, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}
