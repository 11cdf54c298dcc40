package confluence

import (
	"cmp"
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

const groupsPerPage = 25 // of a listing of groups

func (c *cloud) groups(ctx context.Context, start int) ([]group, int, error) {
	return c.groupList(ctx, start)
}

func (c *dataCenter) groups(ctx context.Context, start int) ([]group, int, error) {
	return c.groupList(ctx, start)
}

func (c *client) groupList(ctx context.Context, start int) ([]group, int, error) {
	var result rows[group]
	query := url.Values{"start": {strconv.Itoa(start)}, "limit": {strconv.Itoa(groupsPerPage)}}
	if err := c.get(ctx, "rest/api/group", query, &result); err != nil {
		return nil, 0, err
	}
	if next, _ := nextPage(result.paging); !next || len(result.Results) == 0 {
		return result.Results, -1, nil
	}
	return result.Results, start + len(result.Results), nil
}

func (c *cloud) members(ctx context.Context, g group, start int) ([]user, int, error) {
	return c.memberList(ctx, "rest/api/group/"+url.PathEscape(g.ID)+"/membersByGroupId", start)
}

func (c *dataCenter) members(ctx context.Context, g group, start int) ([]user, int, error) {
	return c.memberList(ctx, "rest/api/group/"+url.PathEscape(cmp.Or(g.Name, g.ID))+"/member", start)
}

func (c *client) memberList(ctx context.Context, path string, start int) ([]user, int, error) {
	var result rows[user]
	query := url.Values{"start": {strconv.Itoa(start)}, "limit": {strconv.Itoa(maxListEntries)}}
	if err := c.get(ctx, path, query, &result); err != nil {
		return nil, 0, err
	}
	if next, _ := nextPage(result.paging); !next || len(result.Results) == 0 {
		return result.Results, -1, nil
	}
	return result.Results, start + len(result.Results), nil
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
	s.membersByGroup = map[string][]string{}
	return nil
}

func (s *source) siteGroups(ctx context.Context, c atlassian.GroupCursor) ([]connectors.Group, atlassian.GroupCursor, error) {
	siteGroups, start, err := s.deployment.groups(ctx, c.Start)
	if err != nil {
		return nil, c, err
	}
	loop, _ := restapi.ParseLoopDetector(c.Loop)
	groups := make([]connectors.Group, 0, len(siteGroups))
	var ids strings.Builder
	for _, g := range siteGroups {
		if groupID(g) == "" {
			return nil, c, s.client.ErrInvalid("a group")
		}
		ids.WriteString(groupID(g) + " ")
	}
	if start >= 0 {
		if err := loop.Visit("Confluence", "the groups", ids.String()); err != nil {
			return nil, c, err
		}
	}
	for _, g := range siteGroups {
		ids, err := s.groupMembers(ctx, g)
		if err != nil {
			return nil, c, err
		}
		people, err := s.addresses(ctx, ids)
		if err != nil {
			return nil, c, err
		}
		groups = append(groups, connectors.Group{Principal: "group:" + groupID(g), Name: g.Name, Members: people})
	}
	if start < 0 {
		return groups, atlassian.GroupCursor{Derived: true}, nil
	}
	return groups, atlassian.GroupCursor{Start: start, Loop: loop.String()}, nil
}

// groupMembers returns the ids of a group's members.
func (s *source) groupMembers(ctx context.Context, g group) ([]string, error) {
	id := groupID(g)
	s.mutex.Lock()
	known, ok := s.membersByGroup[id]
	s.mutex.Unlock()
	if ok {
		return known, nil
	}
	ids := []string{}
	err := restapi.AllOffsets("Confluence", "the members of a group", func(offset int) (page []string, more bool, err error) {
		users, next, err := s.deployment.members(ctx, g, offset)
		if errors.Is(err, connectors.ErrNotFound) {
			return nil, false, nil // a deleted group is still in lists
		}
		if err != nil {
			return nil, false, fmt.Errorf("read the members of a group: %w", err)
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for _, u := range users {
			page = append(page, u.id())
			if u.id() == "" || u.AccountType == "app" {
				continue
			}
			ids = append(ids, u.id())
			if address := strings.ToLower(strings.TrimSpace(u.Email)); address != "" {
				s.addressOf[u.id()] = address
			}
		}
		return page, next >= 0, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.membersByGroup[id] = ids
	return ids, nil
}
