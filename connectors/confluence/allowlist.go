package confluence

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// An allowList is a list of people and groups that may read.
type allowList = atlassian.AllowList

func addReaders(list *allowList, users []user, groups []group) {
	for _, u := range users {
		list.Users = append(list.Users, cmp.Or(u.id(), atlassian.UnknownEntry))
	}
	for _, g := range groups {
		list.Groups = append(list.Groups, cmp.Or(groupID(g), atlassian.UnknownEntry))
	}
}

// groupID returns the same id of a group in lists of readers and of groups.
// Data Center has names only, in upper or lower case.
func groupID(g group) string {
	if g.ID != "" {
		return g.ID
	}
	return strings.ToLower(g.Name)
}

func newAllowList(l *restrictionList) allowList {
	var list allowList
	addReaders(&list, l.Restrictions.User.Results, l.Restrictions.Group.Results)
	list.Normalize()
	return list
}

// mayBeTruncated reports whether the lists may have more entries.
func (l *restrictionList) mayBeTruncated() bool {
	for _, p := range []paging{l.Restrictions.User.paging, l.Restrictions.Group.paging} {
		if p.Links.Next != "" || p.Limit > 0 && p.Size >= p.Limit {
			return true
		}
	}
	return false
}

// readRestriction returns the page's own list of readers, empty for a page
// without one.
func (c *client) readRestriction(ctx context.Context, id string) (allowList, error) {
	var list allowList
	query := url.Values{"expand": {"restrictions.user,restrictions.group"}, "limit": {strconv.Itoa(maxListEntries)}}
	err := restapi.AllOffsets("Confluence", "the readers of a page", func(offset int) (ids []string, more bool, err error) {
		var result restrictionList
		query.Set("start", strconv.Itoa(offset))
		if err := c.get(ctx, "rest/api/content/"+url.PathEscape(id)+"/restriction/byOperation/read", query, &result); err != nil {
			return nil, false, err
		}
		var page allowList
		addReaders(&page, result.Restrictions.User.Results, result.Restrictions.Group.Results)
		list.Users, list.Groups = append(list.Users, page.Users...), append(list.Groups, page.Groups...)
		// The offset counts the longer of the two lists.
		ids = page.Users
		if len(page.Groups) > len(ids) {
			ids = page.Groups
		}
		return ids, result.mayBeTruncated(), nil
	})
	list.Normalize()
	return list, err
}

// anonymous is the name of visitors without an account, in both deployments.
const anonymous = "anonymous"

var errSpaceReaders = connectors.NeedsAuth(errors.New("the wiki does not tell who may see the space; the account has to be an administrator of the space " +
	"(and Data Center before 9.1 needs its remote API switched on)"))

func (c *cloud) spaceReaders(ctx context.Context, sp space) (allowList, error) {
	type permission struct {
		Principal struct{ Type, ID string }
		Operation struct{ Key, TargetType string }
	}
	rows, err := listAll[permission](ctx, c.client, "api/v2/spaces/"+url.PathEscape(sp.id)+"/permissions", nil)
	if err != nil {
		return allowList{}, err
	}
	var list allowList
	for _, r := range rows {
		if r.Operation.Key == "" || r.Principal.Type == "" {
			return allowList{}, c.ErrInvalid("rights in a space")
		}
		if r.Operation.Key != "read" || r.Operation.TargetType != "space" {
			continue
		}
		switch strings.ToLower(r.Principal.Type) {
		case "user":
			list.Users = append(list.Users, r.Principal.ID)
		case "group":
			list.Groups = append(list.Groups, r.Principal.ID)
		default: // roles and classes of access are ambiguous; isPublic tests public access
		}
	}
	list.Users = append(list.Users, anonymous) // isPublic tests it
	list.Normalize()
	return list, nil
}

func (c *dataCenter) spaceReaders(ctx context.Context, sp space) (allowList, error) {
	type permission struct {
		Operation struct{ OperationKey, TargetType string }
		Subject   *struct {
			user
			Name string
		}
	}
	var raw json.RawMessage
	err := c.get(ctx, "rest/api/space/"+url.PathEscape(sp.key)+"/permissions", nil, &raw)
	switch status := restapi.StatusOf(err); {
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return c.legacySpaceReaders(ctx, sp)
	case err != nil:
		return allowList{}, err
	}
	var rows []permission
	if json.Unmarshal(raw, &rows) != nil {
		var list struct{ Results []permission }
		if json.Unmarshal(raw, &list) != nil || list.Results == nil {
			return allowList{}, c.ErrInvalid("rights in a space")
		}
		rows = list.Results
	}
	var list allowList
	for _, r := range rows {
		if r.Operation.OperationKey == "" {
			return allowList{}, c.ErrInvalid("rights in a space")
		}
		if r.Operation.OperationKey != "read" || r.Operation.TargetType != "space" {
			continue
		}
		switch {
		case r.Subject == nil || r.Subject.Type == anonymous:
			list.Users = append(list.Users, anonymous)
		case r.Subject.Type == "group":
			list.Groups = append(list.Groups, strings.ToLower(cmp.Or(r.Subject.Name, r.Subject.DisplayName, atlassian.UnknownEntry)))
		default:
			list.Users = append(list.Users, cmp.Or(r.Subject.id(), atlassian.UnknownEntry))
		}
	}
	list.Normalize()
	return list, nil
}

// legacySpaceReaders uses the remote API of versions before 9.1.
func (c *dataCenter) legacySpaceReaders(ctx context.Context, sp space) (allowList, error) {
	var sets []struct {
		Type             string
		SpacePermissions []struct{ UserName, GroupName *string }
	}
	request := restapi.Request{Method: http.MethodPost, Path: "rpc/json-rpc/confluenceservice-v2/getSpacePermissionSets", Body: []string{sp.key}}
	if err := c.request(ctx, request, &sets); err != nil {
		if _, retryable := connectors.RetryAfterOf(err); retryable || ctx.Err() != nil {
			return allowList{}, err
		}
		return allowList{}, errSpaceReaders
	}
	var list allowList
	for _, set := range sets {
		if set.Type == "" {
			return allowList{}, c.ErrInvalid("rights in a space")
		}
		if set.Type != "VIEWSPACE" {
			continue
		}
		for _, p := range set.SpacePermissions {
			switch {
			case p.GroupName != nil && *p.GroupName != "":
				list.Groups = append(list.Groups, strings.ToLower(*p.GroupName))
			case p.UserName != nil && *p.UserName != "":
				u, err := c.lookUpUser(ctx, *p.UserName)
				if err != nil && !errors.Is(err, connectors.ErrNotFound) {
					return allowList{}, err
				}
				list.Users = append(list.Users, cmp.Or(u.id(), atlassian.UnknownEntry))
			default:
				list.Users = append(list.Users, anonymous)
			}
		}
	}
	list.Normalize()
	return list, nil
}
