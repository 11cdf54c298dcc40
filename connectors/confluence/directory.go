package confluence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	groupStep   = 25  // groups of one page of the directory
	derivedStep = 100 // derived groups of one page
)

// directoryCursor is where a reading of the directory is: at a group, by its
// place in the list, or behind a derived group.
type directoryCursor struct {
	Start   int    `json:"n,omitempty"`
	Derived bool   `json:"d,omitempty"`
	After   string `json:"a,omitempty"`
	Trail   string `json:"t,omitempty"` // of the groups that were listed
}

func (c *cloud) groups(ctx context.Context, start int) ([]group, int, error) {
	return c.groupList(ctx, start)
}

func (c *center) groups(ctx context.Context, start int) ([]group, int, error) {
	return c.groupList(ctx, start)
}

func (a *api) groupList(ctx context.Context, start int) ([]group, int, error) {
	var answer rows[group]
	query := url.Values{"start": {strconv.Itoa(start)}, "limit": {strconv.Itoa(groupStep)}}
	if err := a.get(ctx, "rest/api/group", query, &answer); err != nil {
		return nil, 0, err
	}
	if next, _ := following(answer.paging); !next || len(answer.Results) == 0 {
		return answer.Results, -1, nil
	}
	return answer.Results, start + len(answer.Results), nil
}

func (c *cloud) members(ctx context.Context, g group, start int) ([]user, int, error) {
	return c.memberList(ctx, "rest/api/group/"+url.PathEscape(g.ID)+"/membersByGroupId", start)
}

func (c *center) members(ctx context.Context, g group, start int) ([]user, int, error) {
	return c.memberList(ctx, "rest/api/group/"+url.PathEscape(firstOf(g.Name, g.ID))+"/member", start)
}

func (a *api) memberList(ctx context.Context, path string, start int) ([]user, int, error) {
	var answer rows[user]
	query := url.Values{"start": {strconv.Itoa(start)}, "limit": {strconv.Itoa(listed)}}
	if err := a.get(ctx, path, query, &answer); err != nil {
		return nil, 0, err
	}
	if next, _ := following(answer.paging); !next || len(answer.Results) == 0 {
		return answer.Results, -1, nil
	}
	return answer.Results, start + len(answer.Results), nil
}

// Groups implements [connectors.GroupLister]: the groups of the site, and then
// those that stand for who is on several lists.
func (s *source) Groups(ctx context.Context, text string) (connectors.GroupPage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.GroupPage{}, err
	}
	var at directoryCursor
	if text != "" {
		if json.Unmarshal([]byte(text), &at) != nil || at.Start < 0 {
			return connectors.GroupPage{}, errCursor
		}
	}
	if err := s.account(ctx); err != nil {
		return connectors.GroupPage{}, err
	}
	if text == "" {
		s.mutex.Lock()
		s.membersOf = map[string][]string{}
		s.mutex.Unlock()
	}
	var made connectors.GroupPage
	var next directoryCursor
	var err error
	if at.Derived {
		made.Groups, next, err = s.derivedGroups(ctx, at)
		made.Done = next.After == ""
	} else {
		made.Groups, next, err = s.siteGroups(ctx, at)
	}
	if err != nil {
		return connectors.GroupPage{}, err
	}
	if !made.Done {
		encoded, _ := json.Marshal(next) // numbers and strings
		made.Next = string(encoded)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made.Warnings, s.warnings = s.warnings, nil
	return made, nil
}

func (s *source) siteGroups(ctx context.Context, at directoryCursor) ([]connectors.Group, directoryCursor, error) {
	found, start, err := s.place.groups(ctx, at.Start)
	if err != nil {
		return nil, at, err
	}
	trail, _ := restapi.ParseLoopDetector(at.Trail)
	made := make([]connectors.Group, 0, len(found))
	var ids strings.Builder
	for _, g := range found {
		if groupID(g) == "" {
			return nil, at, improper("a group")
		}
		ids.WriteString(groupID(g) + " ")
	}
	if start >= 0 {
		if err := trail.Visit("Confluence", "the groups", ids.String()); err != nil {
			return nil, at, err
		}
	}
	for _, g := range found {
		ids, err := s.inGroup(ctx, g)
		if err != nil {
			return nil, at, err
		}
		people, err := s.addresses(ctx, ids)
		if err != nil {
			return nil, at, err
		}
		made = append(made, connectors.Group{Principal: "group:" + groupID(g), Name: g.Name, Members: people})
	}
	if start < 0 {
		return made, directoryCursor{Derived: true}, nil
	}
	return made, directoryCursor{Start: start, Trail: trail.String()}, nil
}

// inGroup are the ids of a group's members.
func (s *source) inGroup(ctx context.Context, g group) ([]string, error) {
	id := groupID(g)
	s.mutex.Lock()
	known, ok := s.membersOf[id]
	s.mutex.Unlock()
	if ok {
		return known, nil
	}
	ids := []string{}
	var trail restapi.LoopDetector
	for start := 0; start >= 0; {
		users, next, err := s.place.members(ctx, g, start)
		if errors.Is(err, connectors.ErrNotFound) {
			break // a group that lists still name though it is gone has no members
		}
		if err != nil {
			return nil, fmt.Errorf("read the members of a group: %w", err)
		}
		var page strings.Builder
		for _, u := range users {
			page.WriteString(u.id() + " ")
		}
		if next >= 0 {
			if err := trail.Visit("Confluence", "the members of a group", page.String()); err != nil {
				return nil, err
			}
		}
		s.mutex.Lock()
		for _, u := range users {
			if u.id() == "" || u.AccountType == "app" {
				continue
			}
			ids = append(ids, u.id())
			if mail := strings.ToLower(strings.TrimSpace(u.Email)); mail != "" {
				s.mailOf[u.id()] = mail
			}
		}
		s.mutex.Unlock()
		start = next
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.membersOf[id] = ids
	return ids, nil
}

func (s *source) derivedGroups(ctx context.Context, at directoryCursor) ([]connectors.Group, directoryCursor, error) {
	if s.notes == nil {
		return nil, directoryCursor{}, nil
	}
	names, err := s.notes.Keys(ctx, derivedNotes)
	if err != nil {
		return nil, at, err
	}
	from, exact := slices.BinarySearch(names, at.After)
	if exact {
		from++
	}
	names = names[from:]
	more := len(names) > derivedStep
	var made []connectors.Group
	for _, name := range names[:min(len(names), derivedStep)] {
		text, err := s.notes.Get(ctx, name)
		if err != nil {
			return nil, at, err
		}
		var lists []restriction
		if json.Unmarshal(text, &lists) != nil || len(lists) == 0 {
			continue
		}
		people, err := s.intersection(ctx, lists)
		if err != nil {
			return nil, at, err
		}
		made = append(made, connectors.Group{
			Principal: "group:" + derivedPrefix + strings.TrimPrefix(name, derivedNotes), Name: "Readers of restricted pages", Members: people,
		})
		at.After = name
	}
	if !more {
		return made, directoryCursor{}, nil
	}
	return made, directoryCursor{Derived: true, After: at.After}, nil
}

// intersection are the people who are on all of some lists.
func (s *source) intersection(ctx context.Context, lists []restriction) ([]string, error) {
	var left map[string]bool
	for _, list := range lists {
		on := make(map[string]bool)
		for _, u := range list.Users {
			on[u] = u != nobody
		}
		for _, id := range list.Groups {
			if id == nobody {
				continue
			}
			ids, err := s.inGroup(ctx, group{ID: id})
			if err != nil {
				return nil, err
			}
			for _, u := range ids {
				on[u] = true
			}
		}
		for u := range left {
			on[u] = on[u] && left[u]
		}
		if left != nil {
			for u := range on {
				on[u] = on[u] && left[u]
			}
		}
		left = on
	}
	var ids []string
	for u, both := range left {
		if both {
			ids = append(ids, u)
		}
	}
	slices.Sort(ids)
	return s.addresses(ctx, ids)
}
