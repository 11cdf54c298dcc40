package confluence

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// restriction is a list of people and groups, by the site's ids, any of whom
// are let in. It is one of several that somebody has to be on all of.
type restriction struct {
	Users  []string `json:"u,omitempty"`
	Groups []string `json:"g,omitempty"`
}

// nobody stands for somebody on a list who cannot be told: a list of such is
// still a list.
const nobody = "?"

func (r restriction) empty() bool { return len(r.Users)+len(r.Groups) == 0 }

func (r *restriction) tidy() {
	slices.Sort(r.Users)
	slices.Sort(r.Groups)
	r.Users, r.Groups = slices.Compact(r.Users), slices.Compact(r.Groups)
}

// within reports whether each entry of r is one of other too.
func (r restriction) within(other restriction) bool {
	for _, u := range r.Users {
		if !slices.Contains(other.Users, u) {
			return false
		}
	}
	for _, g := range r.Groups {
		if !slices.Contains(other.Groups, g) {
			return false
		}
	}
	return true
}

func (r *restriction) add(users []user, groups []group) {
	for _, u := range users {
		r.Users = append(r.Users, firstOf(u.id(), nobody))
	}
	for _, g := range groups {
		r.Groups = append(r.Groups, firstOf(groupID(g), nobody))
	}
}

// groupID names a group as lists of readers and of groups do alike: Data Center
// has names alone, of which case makes no difference.
func groupID(g group) string {
	if g.ID != "" {
		return g.ID
	}
	return strings.ToLower(g.Name)
}

func restrictionOf(l *restrictionList) restriction {
	var r restriction
	r.add(l.Restrictions.User.Results, l.Restrictions.Group.Results)
	r.tidy()
	return r
}

// full reports lists that may not have come whole.
func (l *restrictionList) full() bool {
	for _, p := range []paging{l.Restrictions.User.paging, l.Restrictions.Group.paging} {
		if p.Links.Next != "" || p.Limit > 0 && p.Size >= p.Limit {
			return true
		}
	}
	return false
}

// restriction reads who may read a page, as far as the page itself says; empty
// for one without a list.
func (a *api) restriction(ctx context.Context, id string) (restriction, error) {
	var found restriction
	query := url.Values{"expand": {"restrictions.user,restrictions.group"}, "limit": {strconv.Itoa(listed)}}
	var trail restapi.LoopDetector
	for start := 0; ; {
		var answer restrictionList
		query.Set("start", strconv.Itoa(start))
		if err := a.get(ctx, "rest/api/content/"+url.PathEscape(id)+"/restriction/byOperation/read", query, &answer); err != nil {
			return restriction{}, err
		}
		users, groups := answer.Restrictions.User.Results, answer.Restrictions.Group.Results
		var page restriction
		page.add(users, groups)
		found.add(users, groups)
		most := max(len(users), len(groups))
		if start += most; most == 0 || !answer.full() {
			found.tidy()
			return found, nil
		}
		if err := trail.Visit("Confluence", "the readers of a page", strings.Join(append(page.Users, page.Groups...), " ")); err != nil {
			return restriction{}, err
		}
	}
}

// anonymous is what both deployments call whoever did not log in.
const anonymous = "anonymous"

var errSpaceReaders = connectors.NeedsAuth(errors.New("the wiki does not tell who may see the space; the account has to be an administrator of the space " +
	"(and Data Center before 9.1 needs its remote API switched on)"))

func (c *cloud) readersOf(ctx context.Context, of space) (restriction, error) {
	type permission struct {
		Principal struct{ Type, ID string }
		Operation struct{ Key, TargetType string }
	}
	rows, err := listAll[permission](ctx, c.api, "api/v2/spaces/"+url.PathEscape(of.id)+"/permissions", nil)
	if err != nil {
		return restriction{}, err
	}
	var found restriction
	for _, r := range rows {
		if r.Operation.Key == "" || r.Principal.Type == "" {
			return restriction{}, improper("rights in a space")
		}
		if r.Operation.Key != "read" || r.Operation.TargetType != "space" {
			continue
		}
		switch strings.ToLower(r.Principal.Type) {
		case "user":
			found.Users = append(found.Users, r.Principal.ID)
		case "group":
			found.Groups = append(found.Groups, r.Principal.ID)
		default: // roles and classes of access cannot be told apart: whether everybody sees the space is asked otherwise
		}
	}
	found.Users = append(found.Users, anonymous) // to be tried
	found.tidy()
	return found, nil
}

func (c *center) readersOf(ctx context.Context, of space) (restriction, error) {
	type permission struct {
		Operation struct{ OperationKey, TargetType string }
		Subject   *struct {
			user
			Name string
		}
	}
	var raw json.RawMessage
	err := c.get(ctx, "rest/api/space/"+url.PathEscape(of.key)+"/permissions", nil, &raw)
	switch status := restapi.StatusOf(err); {
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return c.remoteReaders(ctx, of)
	case err != nil:
		return restriction{}, err
	}
	var rows []permission
	if json.Unmarshal(raw, &rows) != nil {
		var list struct{ Results []permission }
		if json.Unmarshal(raw, &list) != nil || list.Results == nil {
			return restriction{}, improper("rights in a space")
		}
		rows = list.Results
	}
	var found restriction
	for _, r := range rows {
		if r.Operation.OperationKey == "" {
			return restriction{}, improper("rights in a space")
		}
		if r.Operation.OperationKey != "read" || r.Operation.TargetType != "space" {
			continue
		}
		switch {
		case r.Subject == nil || r.Subject.Type == anonymous:
			found.Users = append(found.Users, anonymous)
		case r.Subject.Type == "group":
			found.Groups = append(found.Groups, strings.ToLower(firstOf(r.Subject.Name, r.Subject.DisplayName, nobody)))
		default:
			found.Users = append(found.Users, firstOf(r.Subject.id(), nobody))
		}
	}
	found.tidy()
	return found, nil
}

// remoteReaders asks the older remote interface, which versions before 9.1 have
// in its place.
func (c *center) remoteReaders(ctx context.Context, of space) (restriction, error) {
	var sets []struct {
		Type             string
		SpacePermissions []struct{ UserName, GroupName *string }
	}
	request := restapi.Request{Method: http.MethodPost, Path: "rpc/json-rpc/confluenceservice-v2/getSpacePermissionSets", Body: []string{of.key}}
	if err := c.ask(ctx, request, &sets); err != nil {
		if _, again := connectors.RetryAfterOf(err); again || ctx.Err() != nil {
			return restriction{}, err
		}
		return restriction{}, errSpaceReaders
	}
	var found restriction
	for _, set := range sets {
		if set.Type == "" {
			return restriction{}, improper("rights in a space")
		}
		if set.Type != "VIEWSPACE" {
			continue
		}
		for _, p := range set.SpacePermissions {
			switch {
			case p.GroupName != nil && *p.GroupName != "":
				found.Groups = append(found.Groups, strings.ToLower(*p.GroupName))
			case p.UserName != nil && *p.UserName != "":
				one, err := c.user(ctx, *p.UserName)
				if err != nil && !errors.Is(err, connectors.ErrNotFound) {
					return restriction{}, err
				}
				found.Users = append(found.Users, firstOf(one.id(), nobody))
			default:
				found.Users = append(found.Users, anonymous)
			}
		}
	}
	found.tidy()
	return found, nil
}
