package googledrive

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	groupsPerPage   = 20
	maxMemberPages  = 5000
	maxNestedGroups = 1000
)

// A groupCursor is a position in the list of shared drives or, after them, in the
// list of groups that files are shared with.
type groupCursor struct {
	Groups bool   `json:"g,omitempty"`
	After  string `json:"a,omitempty"`
}

// Groups implements [connectors.GroupLister]: the members of the shared drives, and
// of the groups that files and drives are shared with.
func (s *source) Groups(ctx context.Context, text string) (connectors.GroupPage, error) {
	if err := s.checkOpen(ctx); err != nil {
		return connectors.GroupPage{}, err
	}
	var at groupCursor
	if text != "" {
		if err := connectors.ParseCursor(text, &at); err != nil {
			return connectors.GroupPage{}, err
		}
	}
	var page connectors.GroupPage
	var err error
	if at.Groups {
		page.Groups, at, page.Done, err = s.directoryGroups(ctx, at)
	} else {
		page.Groups, at, err = s.driveGroups(ctx, at)
	}
	if err != nil {
		return connectors.GroupPage{}, err
	}
	if !page.Done {
		page.Next = connectors.FormatCursor(at)
	}
	page.Warnings = s.takeWarnings()
	return page, nil
}

// driveGroups returns the members of the next shared drives.
func (s *source) driveGroups(ctx context.Context, at groupCursor) ([]connectors.Group, groupCursor, error) {
	units, err := s.knownUnits(ctx)
	if err != nil {
		return nil, at, err
	}
	names, subjects := map[string]string{}, map[string]string{}
	for _, u := range units {
		if id := u.driveID(); id != "" && id > at.After {
			subjects[id] = u.Subject
			if names[id] == "" || u.Type == unitDrive {
				names[id] = u.Name
			}
		}
	}
	ids := sortedKeys(names)
	var groups []connectors.Group
	for _, id := range ids[:min(groupsPerPage, len(ids))] {
		permissions, err := s.driveMembers(ctx, subjects[id], id)
		if isInvisible(err) {
			s.addWarning("The account may not read the members of the shared drive \"" + names[id] + "\". They do not find its files.")
		} else if err != nil {
			return nil, at, fmt.Errorf("read the members of a shared drive: %w", err)
		}
		readers, err := s.readers(ctx, permissions)
		if err != nil {
			return nil, at, err
		}
		members := slices.DeleteFunc(readers.Principals, func(p string) bool { return strings.HasPrefix(p, "domain:") })
		groups = append(groups, connectors.Group{Principal: "group:" + drivePrefix + id, Name: names[id], Members: members})
		at.After = id
	}
	if len(ids) <= groupsPerPage {
		at = groupCursor{Groups: true}
	}
	return groups, at, nil
}

// directoryGroups returns the next groups that files are shared with. A group whose
// members cannot be read has none.
func (s *source) directoryGroups(ctx context.Context, at groupCursor) (groups []connectors.Group, next groupCursor, done bool, err error) {
	keys, err := s.state.Keys(ctx, groupsKey)
	if err != nil {
		return nil, at, false, fmt.Errorf("read the groups: %w", err)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key <= groupsKey+at.After })
	for _, key := range keys[:min(groupsPerPage, len(keys))] {
		address, err := s.state.Get(ctx, key)
		if err != nil {
			return nil, at, false, fmt.Errorf("read the groups: %w", err)
		}
		members, err := s.membersOf(ctx, string(address))
		if err != nil {
			return nil, at, false, fmt.Errorf("read the members of a group: %w", err)
		}
		groups = append(groups, connectors.Group{Principal: "group:" + string(address), Name: string(address), Members: members})
		at.After = strings.TrimPrefix(key, groupsKey)
	}
	return groups, at, len(keys) <= groupsPerPage, nil
}

// A member is a member of a group in the directory.
type member struct{ ID, Email, Type, Status string }

// membersOf returns the people in a group and in the groups in it.
func (s *source) membersOf(ctx context.Context, address string) ([]string, error) {
	var people []string
	queue := []string{address}
	for n := 0; n < len(queue) && n < maxNestedGroups; n++ {
		members, err := s.listMembers(ctx, queue[n])
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			email := strings.ToLower(strings.TrimSpace(m.Email))
			switch {
			case m.Status == "SUSPENDED" || m.Status == "ARCHIVED":
			case m.Type == "CUSTOMER":
				all, err := s.directoryUsers(ctx)
				if isInvisible(err) {
					s.addWarning("A group has everybody of the organization as members, whom the account may not list. It needs the scope " + scopeUsers + ".")
				} else if err != nil {
					return nil, err
				}
				for _, user := range all {
					people = append(people, "user:"+user)
				}
			case !strings.Contains(email, "@"):
			case m.Type == "GROUP":
				if !slices.Contains(queue, email) {
					queue = append(queue, email)
				}
			default:
				people = append(people, "user:"+email)
			}
		}
	}
	slices.Sort(people)
	return slices.Compact(people), nil
}

// listMembers returns the members of a group, none if the account may not see them.
func (s *source) listMembers(ctx context.Context, address string) (all []member, err error) {
	s.mutex.Lock()
	missing := s.noDirectory
	s.mutex.Unlock()
	if missing {
		return nil, nil
	}
	err = restapi.AllPages("Google", "the members of a group", maxMemberPages, func(token string) (string, error) {
		page, err := s.readMembers(ctx, address, token)
		all = append(all, page.Members...)
		return page.NextPageToken, err
	})
	switch {
	case err == nil:
		return all, nil
	case errors.Is(err, connectors.ErrNotFound), restapi.StatusOf(err) == http.StatusBadRequest: // as for a group of another organization
		s.addWarning("The directory does not know the group " + address + ". Its members find nothing through it.")
		return nil, nil
	case isForbidden(err):
		s.addWarning("The account may not read the members of the group " + address + ". It needs the administrator's right Groups, Read, and the scope " + scopeMembers + ". The members find nothing through the group.")
		return nil, nil
	case connectors.IsNeedsAuth(err):
		s.mutex.Lock()
		s.noDirectory = true
		s.mutex.Unlock()
		s.addWarning("The members of groups cannot be read, so that people find nothing through groups. Grant the scope " + scopeMembers + " and enable the Admin SDK API.")
		return nil, nil
	}
	return nil, err
}

type memberPage struct {
	Kind, Etag, NextPageToken string
	Members                   []member
}

// readMembers reads a page of a group's members, those of the groups in it
// included.
func (s *source) readMembers(ctx context.Context, address, token string) (memberPage, error) {
	query := url.Values{"maxResults": {"200"}, "includeDerivedMembership": {"true"}}
	if token != "" {
		query.Set("pageToken", token)
	}
	var page memberPage
	if err := s.api.getDirectory(ctx, "groups/"+url.PathEscape(address)+"/members", scopeMembers, query, &page); err != nil {
		return memberPage{}, err
	}
	if page.Kind == "" && page.Etag == "" && page.Members == nil { // an empty group has a kind
		return memberPage{}, errInvalid("a group")
	}
	return page, nil
}

// directoryUsers returns the mail addresses of the organization's active people.
func (s *source) directoryUsers(ctx context.Context) (all []string, err error) {
	err = restapi.AllPages("Google", "the users of the directory", maxMemberPages, func(token string) (string, error) {
		query := url.Values{"customer": {"my_customer"}, "maxResults": {"500"}, "projection": {"basic"}, "query": {"isSuspended=false"}}
		if token != "" {
			query.Set("pageToken", token)
		}
		var page struct {
			Kind, NextPageToken string
			Users               []struct {
				PrimaryEmail        string
				Suspended, Archived bool
			}
		}
		if err := s.api.getDirectory(ctx, "users", scopeUsers, query, &page); err != nil {
			return "", err
		}
		if page.Kind == "" && page.Users == nil {
			return "", errInvalid("a list of users")
		}
		for _, user := range page.Users {
			if address := strings.ToLower(user.PrimaryEmail); strings.Contains(address, "@") && !user.Suspended && !user.Archived {
				all = append(all, address)
			}
		}
		return page.NextPageToken, nil
	})
	return all, err
}
