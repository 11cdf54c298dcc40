package sharepoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	// groupsKey is the prefix of the keys of the state for Entra groups that
	// permissions name, siteGroupsKey for groups of sites.
	groupsKey     = "group/"
	siteGroupsKey = "sitegroup/"
	groupsPerPage = 20
)

// A savedGroup is a group that permissions name.
type savedGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Site is the address of the site of a site group.
	Site string `json:"site,omitempty"`
}

// saveGroups remembers Entra groups, so that Groups lists them.
func (s *source) saveGroups(ctx context.Context, names map[string]string) error {
	for id, name := range names {
		if err := s.saveGroup(ctx, groupsKey+hashKey(id), savedGroup{ID: id, Name: name}); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) saveGroup(ctx context.Context, key string, group savedGroup) error {
	s.mutex.Lock()
	saved := s.savedGroups[key]
	s.mutex.Unlock()
	if saved {
		return nil
	}
	if group.Name == "" {
		// Members of a site's group may have no name; one that is known stays.
		var known savedGroup
		if _, err := connectors.GetJSON(ctx, s.state, key, &known); err != nil || known.ID != "" {
			return err
		}
	}
	if err := connectors.PutJSON(ctx, s.state, key, group); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.savedGroups[key] = group.Name != ""
	return nil
}

// A groupCursor is a position in the list of saved groups.
type groupCursor struct {
	After string `json:"a"`
}

// Groups implements [connectors.GroupLister]. It lists the groups that permissions
// name. Members of nested groups are listed as members, as Graph resolves them.
func (s *source) Groups(ctx context.Context, text string) (connectors.GroupPage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.GroupPage{}, err
	}
	var at groupCursor
	if text != "" {
		if err := connectors.ParseCursor(text, &at); err != nil {
			return connectors.GroupPage{}, err
		}
	}
	var keys []string
	for _, prefix := range []string{groupsKey, siteGroupsKey} {
		names, err := s.state.Keys(ctx, prefix)
		if err != nil {
			return connectors.GroupPage{}, fmt.Errorf("read the connector's state: %w", err)
		}
		keys = append(keys, names...)
	}
	slices.Sort(keys)
	keys = slices.DeleteFunc(keys, func(key string) bool { return key <= at.After })
	page := connectors.GroupPage{Done: len(keys) <= groupsPerPage}
	for _, key := range keys[:min(len(keys), groupsPerPage)] {
		var group savedGroup
		if ok, err := connectors.GetJSON(ctx, s.state, key, &group); err != nil {
			return connectors.GroupPage{}, err
		} else if !ok {
			continue
		}
		listed, warning, err := s.groupWithMembers(ctx, group)
		if err != nil {
			return connectors.GroupPage{}, err
		}
		page.Groups = append(page.Groups, listed)
		if warning != "" && !slices.Contains(page.Warnings, warning) {
			page.Warnings = append(page.Warnings, warning)
		}
		page.Next = connectors.FormatCursor(groupCursor{After: key})
	}
	if page.Done {
		page.Next = ""
	}
	return page, nil
}

// groupWithMembers returns a group with its members. If they cannot be read, it has
// none, and the warning says why.
func (s *source) groupWithMembers(ctx context.Context, group savedGroup) (listed connectors.Group, warning string, err error) {
	if group.Site != "" {
		return s.listSiteGroup(ctx, group)
	}
	listed = connectors.Group{Principal: "group:" + group.ID, Name: group.Name}
	id, owners := strings.CutSuffix(group.ID, "_o")
	path := "groups/" + segment(id) + "/transitiveMembers"
	if owners {
		path = "groups/" + segment(id) + "/owners"
	}
	members, err := list[directoryObject](ctx, s.graph, "the members of a group", path, url.Values{"$select": {"id,mail,userPrincipalName"}, "$top": {"999"}})
	switch status := restapi.StatusOf(err); {
	case status == http.StatusForbidden:
		return listed, "The app may not read the members of groups; people find nothing that they may read by a group only. Give it the application permission GroupMember.Read.All.", nil
	case status == http.StatusNotFound || status == http.StatusGone || status == http.StatusBadRequest:
		return listed, "", nil // the group was deleted
	case err != nil:
		return listed, "", fmt.Errorf("read the members of a group: %w", err)
	}
	for _, member := range members {
		if member.ID == "" && member.Mail == "" && member.UserPrincipalName == "" {
			return listed, "", errInvalid("a member of a group without an id")
		}
		if !member.isUser() {
			continue
		}
		for _, text := range []string{member.Mail, member.UserPrincipalName} {
			if address := personAddress(text); address != "" {
				listed.Members = append(listed.Members, "user:"+address)
				break
			}
		}
	}
	slices.Sort(listed.Members)
	listed.Members = slices.Compact(listed.Members)
	return listed, "", nil
}

// A directoryObject is a member of a group.
type directoryObject struct {
	Type string `json:"@odata.type"`
	graphUser
}

// isUser reports whether the object is a person. Nested groups, whose members are
// listed as well, have a mail address, too.
func (o directoryObject) isUser() bool {
	return o.Type == "" && (o.UserPrincipalName != "" || o.Mail != "") || strings.EqualFold(o.Type, "#microsoft.graph.user")
}

// A restClient sends requests to SharePoint's own interface at a host, which accepts
// apps with a certificate only.
type restClient struct{ client *restapi.Client }

// siteClient returns the client of a site's host.
func (s *source) siteClient(siteURL string) (*restClient, error) {
	parsed, err := url.Parse(siteURL)
	if err != nil || parsed.Host == "" {
		return nil, connectors.Fatal(fmt.Errorf("a site has no address"))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.sites[parsed.Host]; known != nil {
		return known, nil
	}
	origin := parsed.Scheme + "://" + parsed.Host
	client, err := restapi.New(origin, s.dial, restapi.Options{
		Platform: "SharePoint", Wait: s.settings.Wait, Authorize: s.auth.authorize(origin + "/.default"), Advice: "the site's address",
		Header: http.Header{"User-Agent": {userAgent}}, ErrorMessage: restMessage,
	})
	if err != nil {
		return nil, err
	}
	s.sites[parsed.Host] = &restClient{client: client}
	return s.sites[parsed.Host], nil
}

func restMessage(body []byte) string {
	var failure struct {
		Error json.RawMessage `json:"odata.error"`
		Text  string          `json:"error_description"`
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	var inner struct {
		Message struct{ Value string } `json:"message"`
	}
	if json.Unmarshal(failure.Error, &inner) == nil && inner.Message.Value != "" {
		return inner.Message.Value
	}
	return failure.Text
}

// canReadSiteGroups reports whether groups of a site can be read: with a
// certificate, at a host of SharePoint.
func (s *source) canReadSiteGroups(siteURL string) bool {
	parsed, err := url.Parse(siteURL)
	if err != nil || s.auth.key == nil || s.suffix == "" {
		return false
	}
	host, suffix := strings.ToLower(parsed.Host), strings.ToLower(strings.TrimPrefix(s.suffix, "."))
	return host == suffix || strings.HasSuffix(host, "."+suffix)
}

// A siteGroupList is who is in a group of a site.
type siteGroupList struct {
	everyone bool
	members  []string
	groups   map[string]string // Entra groups among them
	hidden   bool
}

type siteGroupMember struct {
	ID            int    `json:"Id"`
	LoginName     string `json:"LoginName"`
	Email         string `json:"Email"`
	UPN           string `json:"UserPrincipalName"`
	Title         string `json:"Title"`
	PrincipalType int    `json:"PrincipalType"`
}

// siteGroupReaders returns the readers by a group of a site. Groups of two sites are
// different ones, even if they have the same name and number.
func (s *source) siteGroupReaders(ctx context.Context, p part, group identity, groups map[string]string) (connectors.Readers, error) {
	site := strings.TrimRight(p.siteURL, "/")
	if site == "" {
		return connectors.Readers{}, nil
	}
	number, err := strconv.Atoi(group.ID)
	if err != nil {
		return connectors.Readers{}, nil //nolint:nilerr // not a group whose members can be read
	}
	saved := savedGroup{ID: group.ID, Name: group.DisplayName, Site: site}
	if err := s.saveGroup(ctx, siteGroupsKey+hashKey(site+"|"+group.ID), saved); err != nil {
		return connectors.Readers{}, err
	}
	members, err := s.siteGroup(ctx, site, number)
	if err != nil {
		return connectors.Readers{}, err
	}
	for id, name := range members.groups {
		groups[id] = name
	}
	return connectors.Readers{Everyone: members.everyone, Principals: []string{siteGroupPrincipal(saved)}}, nil
}

func siteGroupPrincipal(group savedGroup) string {
	return "group:" + strings.ToLower(group.Site) + "#" + group.ID
}

// siteGroup returns who is in a group of a site.
func (s *source) siteGroup(ctx context.Context, site string, number int) (siteGroupList, error) {
	key := strings.ToLower(site) + "#" + strconv.Itoa(number)
	s.mutex.Lock()
	known, cached := s.siteGroups[key]
	s.mutex.Unlock()
	if cached {
		return known, nil
	}
	found, err := s.readSiteGroup(ctx, site, number)
	if err != nil {
		return siteGroupList{}, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.siteGroups[key] = found
	return found, nil
}

func (s *source) readSiteGroup(ctx context.Context, site string, number int) (siteGroupList, error) {
	found := siteGroupList{groups: map[string]string{}}
	if !s.canReadSiteGroups(site) {
		found.hidden = true
		return found, nil
	}
	client, err := s.siteClient(site)
	if err != nil {
		return found, err
	}
	var answer struct {
		Value []siteGroupMember `json:"value"`
	}
	_, err = client.client.JSON(ctx, restapi.Request{
		Path: site + "/_api/web/sitegroups/getbyid(" + strconv.Itoa(number) + ")/users", Header: http.Header{"Accept": {"application/json;odata=nometadata"}}, RequiredFields: []string{"value"},
	}, &answer)
	switch status := restapi.StatusOf(err); {
	case status == http.StatusNotFound || status == http.StatusGone:
		return found, nil // the group was deleted
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		found.hidden = true
		return found, nil
	case err != nil:
		return found, fmt.Errorf("read a group of a site: %w", err)
	}
	for _, member := range answer.Value {
		if member.LoginName == "" {
			return found, errInvalid("a member of a site's group without a login name")
		}
		who := identity{LoginName: member.LoginName, Email: member.Email, UPN: member.UPN}
		switch {
		case isEveryone(member.LoginName):
			found.everyone = true
		case claimedGroup(member.LoginName) != "":
			id := claimedGroup(member.LoginName)
			found.groups[id] = member.Title
			found.members = append(found.members, "group:"+id)
		case who.address() != "":
			found.members = append(found.members, "user:"+who.address())
		}
	}
	slices.Sort(found.members)
	found.members = slices.Compact(found.members)
	return found, nil
}

// listSiteGroup returns a group of a site with its members.
func (s *source) listSiteGroup(ctx context.Context, group savedGroup) (listed connectors.Group, warning string, err error) {
	listed = connectors.Group{Principal: siteGroupPrincipal(group), Name: group.Name}
	number, err := strconv.Atoi(group.ID)
	if err != nil {
		return listed, "", nil //nolint:nilerr // not a group whose members can be read
	}
	members, err := s.readSiteGroup(ctx, group.Site, number)
	if err != nil {
		return listed, "", err
	}
	if members.hidden {
		warning = "The groups of sites cannot be read; people find nothing that they may read by such a group only. Microsoft lets only apps with a certificate " +
			"and the permission Sites.FullControl.All of SharePoint read them."
	}
	listed.Members = members.members
	return listed, warning, s.saveGroups(ctx, members.groups)
}
