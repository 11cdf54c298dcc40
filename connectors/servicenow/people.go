package servicenow

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// readPeople reads the active users with their groups and roles. Who is a member of a
// group by another group only meets no criterion that allows, but is one for those that
// refuse.
func (s *source) readPeople(ctx context.Context) ([]*person, error) {
	byID := map[string]*person{}
	err := s.api.all(ctx, "sys_user", "active=true", []string{"email", "company", "department", "location"}, func(r row) error {
		p := &person{address: strings.ToLower(strings.TrimSpace(r["email"].Value)), has: map[string]map[string]bool{"user": {r.id(): true}, ownGroups: {}, allGroups: {}, "role": {}, "role name": {}}}
		for _, field := range []string{"company", "department", "location"} {
			p.has[field] = map[string]bool{r[field].Value: r[field].Value != ""}
		}
		byID[r.id()] = p
		return nil
	})
	if err != nil {
		return nil, tableError(err, "sys_user")
	}
	parents := map[string]string{}
	err = s.api.all(ctx, "sys_user_group", "", []string{"parent"}, func(r row) error {
		parents[r.id()] = r["parent"].Value
		return nil
	})
	if err != nil {
		return nil, tableError(err, "sys_user_group")
	}
	err = s.api.all(ctx, "sys_user_grmember", "", []string{"user", "group"}, func(r row) error {
		if p := byID[r["user"].Value]; p != nil {
			p.has[ownGroups][r["group"].Value] = true
			for id := r["group"].Value; id != "" && !p.has[allGroups][id]; id = parents[id] {
				p.has[allGroups][id] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, tableError(err, "sys_user_grmember")
	}
	err = s.api.all(ctx, "sys_user_has_role", "state=active", []string{"user", "role"}, func(r row) error {
		if p := byID[r["user"].Value]; p != nil {
			p.has["role"][r["role"].Value] = true
			p.has["role name"][r["role"].Display] = true
		}
		return nil
	})
	if err != nil {
		return nil, tableError(err, "sys_user_has_role")
	}
	var people []*person
	for _, p := range byID {
		if at := strings.Index(p.address, "@"); at > 0 {
			people = append(people, p)
		}
	}
	return people, nil
}

// Groups implements [connectors.GroupLister]: the readers of each rule that Readers met.
func (s *source) Groups(ctx context.Context, _ string) (connectors.GroupPage, error) {
	page := connectors.GroupPage{Done: true}
	if s.settings.State == nil {
		return page, ctx.Err()
	}
	keys, err := s.settings.State.Keys(ctx, rulePrefix)
	if err != nil || len(keys) == 0 {
		return page, err
	}
	s.mutex.Lock()
	s.criteria = nil // the members are those of now
	s.mutex.Unlock()
	k, err := s.readCriteria(ctx)
	if err != nil {
		return page, err
	}
	people, err := s.readPeople(ctx)
	if err != nil {
		return page, err
	}
	for _, key := range keys {
		var r rule
		found, err := connectors.GetJSON(ctx, s.settings.State, key, &r)
		if err != nil {
			return connectors.GroupPage{}, err
		}
		if !found {
			continue // it was deleted meanwhile
		}
		group := connectors.Group{Principal: r.group(), Name: "Readers of Knowledge", Members: []string{}}
		for _, p := range people {
			if k.allows(r, p) {
				group.Members = append(group.Members, "user:"+p.address)
			}
		}
		group.Members = sorted(group.Members)
		page.Groups = append(page.Groups, group)
	}
	page.Warnings = s.takeWarnings()
	return page, nil
}
