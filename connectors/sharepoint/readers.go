package sharepoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// answersFor is how long the answers of an interrupted call are reused.
const answersFor = 5 * time.Minute

// A permission is who may do what with an item.
type permission struct {
	ID          string       `json:"id"`
	Roles       []string     `json:"roles"`
	Expires     string       `json:"expirationDateTime"`
	HasPassword bool         `json:"hasPassword"`
	To          *grantee     `json:"grantedToV2"`
	ToMany      []grantee    `json:"grantedToIdentitiesV2"`
	OldTo       *grantee     `json:"grantedTo"`
	OldMany     []grantee    `json:"grantedToIdentities"`
	Link        *sharingLink `json:"link"`
}

type sharingLink struct {
	Scope string `json:"scope"`
	Type  string `json:"type"`
}

// A grantee is a person or group, in one or more forms.
type grantee struct {
	User, SiteUser, Group, SiteGroup *identity
}

type identity struct {
	ID          string `json:"id"`
	DisplayName string `json:"displayName"`
	Email       string `json:"email"`
	LoginName   string `json:"loginName"`
	UPN         string `json:"userPrincipalName"`
}

// reads reports whether the roles let somebody read. Limited access, which
// SharePoint gives on the folders above a shared file, does not.
func (p permission) reads() bool {
	if p.Link != nil {
		return !strings.EqualFold(p.Link.Type, "createOnly") && !strings.EqualFold(p.Link.Type, "blocksDownload-none")
	}
	return slices.ContainsFunc(p.Roles, func(role string) bool {
		role = strings.ToLower(strings.TrimPrefix(strings.ToLower(role), "sp."))
		switch role {
		case "read", "write", "owner", "member", "fullcontrol", "full control", "manage", "review", "edit", "contribute", "design", "view only", "restricted view", "read only":
			return true
		}
		return false
	})
}

// isExpired reports whether the permission has ended. The year 1 stands for no end. A
// permission whose end is not understood counts as expired.
func (p permission) isExpired(now time.Time) bool {
	if p.Expires == "" {
		return false
	}
	end, err := time.Parse(time.RFC3339, p.Expires)
	return err != nil || end.Year() > 1 && !end.After(now)
}

// A permissionAnswer is the answer for one item.
type permissionAnswer struct {
	permissions []permission
	// known is false if the item is gone or its permissions are hidden.
	known bool
	// forbidden says that they are hidden from the app.
	forbidden bool
}

// Readers implements [connectors.PermissionLister]. It asks for the permissions of
// each item, inherited ones included: neither a delta nor an item says reliably
// that it has permissions of its own.
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	readers := make(map[string]connectors.Readers, len(items))
	if len(items) == 0 {
		return readers, nil
	}
	selected, err := s.selectParts(ctx)
	if err != nil {
		return nil, err
	}
	byPath := map[string][]string{} // ids of items
	partByPath := map[string]part{}
	for _, item := range items {
		id, ok := parseID(item.ID)
		if !ok {
			continue
		}
		p, err := selected.partOf(id.kind, id.site, id.of)
		if err != nil {
			continue // nobody, until its site can be read
		}
		at, err := s.permissionsPath(ctx, p, item, id)
		if err != nil {
			return nil, err
		}
		if at != "" {
			byPath[at] = append(byPath[at], item.ID)
			partByPath[at] = p
		}
	}
	answers, err := s.permissionsOf(ctx, byPath)
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(byPath)) {
		answer := answers[at]
		if !answer.known {
			continue
		}
		r, err := s.readersOf(ctx, partByPath[at], answer.permissions)
		if err != nil {
			return nil, err
		}
		for _, id := range byPath[at] {
			readers[id] = r
		}
	}
	return readers, nil
}

// permissionsPath returns the path of the permissions of an item, or "" if they
// cannot be read: Graph has none for entries of lists.
func (s *source) permissionsPath(ctx context.Context, p part, item connectors.Item, id itemID) (string, error) {
	switch p.kind {
	case partDrive:
		return "drives/" + segment(p.id) + "/items/" + segment(id.id) + "/permissions", nil
	case partPages:
		drive, err := s.pageDrive(ctx, p)
		name := path.Base(item.Path)
		if err != nil || drive == "" || item.Path == "" {
			return "", err
		}
		return "drives/" + segment(drive) + "/root:/" + escapePath(name) + ":/permissions", nil
	}
	return "", nil
}

// pageDrive returns the id of the library in which a site keeps its pages, "" if it
// has none that can be read.
func (s *source) pageDrive(ctx context.Context, p part) (string, error) {
	s.mutex.Lock()
	drive, cached := s.pageDrives[p.siteID]
	s.mutex.Unlock()
	if cached {
		return drive, nil
	}
	lists, err := list[graphList](ctx, s.graph, "the lists", "sites/"+segment(p.siteID)+"/lists", url.Values{"$select": {"id,name,displayName,webUrl,list,system"}})
	if restapi.StatusOf(err) != http.StatusForbidden && isNoQuery(err) {
		lists, err = nil, nil // nobody finds the pages
	}
	if err != nil {
		return "", needsRight(err, "read the lists of a site", "the application permission Sites.Read.All or a grant for the site")
	}
	for _, l := range lists {
		address := addressPath(l.WebURL)
		if l.ID == "" || l.List.Template != "webPageLibrary" && l.Name != "SitePages" && !strings.EqualFold(address[strings.LastIndexByte(address, '/')+1:], "SitePages") {
			continue
		}
		found, err := s.driveAt(ctx, listPath(p.siteID, l.ID)+"/drive")
		if _, hidden := isUnavailable(err); hidden {
			continue
		}
		if err != nil {
			return "", err
		}
		drive = found.ID
		break
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pageDrives[p.siteID] = drive
	return drive, nil
}

// permissionsOf returns the permissions at paths. If some cannot be read now, those
// that were read are kept for the next call.
func (s *source) permissionsOf(ctx context.Context, paths map[string][]string) (map[string]permissionAnswer, error) {
	answers := map[string]permissionAnswer{}
	s.mutex.Lock()
	if s.now().Sub(s.answersFrom) < answersFor {
		for at := range paths {
			if answer, kept := s.answers[at]; kept {
				answers[at] = answer
			}
		}
	}
	clear(s.answers)
	s.mutex.Unlock()
	var missing []string
	for at := range paths {
		if _, kept := answers[at]; !kept {
			missing = append(missing, at)
		}
	}
	slices.Sort(missing)
	var failed error
	for batch := range slices.Chunk(missing, batchSize) {
		if failed = s.readBatch(ctx, batch, answers); failed != nil {
			break
		}
	}
	if failed == nil {
		return answers, nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answers, s.answersFrom = answers, s.now()
	return nil, failed
}

// readBatch adds the answers of a batch of requests.
func (s *source) readBatch(ctx context.Context, paths []string, answers map[string]permissionAnswer) error {
	err := s.batch(ctx, paths, func(index, status int, header http.Header, body json.RawMessage) error {
		answer, err := s.readAnswer(ctx, status, header, body)
		if err == nil {
			answers[paths[index]] = answer
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read permissions: %w", err)
	}
	return nil
}

// readAnswer reads one response of a batch.
func (s *source) readAnswer(ctx context.Context, status int, header http.Header, body json.RawMessage) (permissionAnswer, error) {
	switch status {
	case http.StatusOK:
		var page listPage[permission]
		if !bytes.Contains(body, []byte(`"value"`)) || json.Unmarshal(body, &page) != nil {
			return permissionAnswer{}, errInvalid("permissions")
		}
		answer := permissionAnswer{permissions: page.Value, known: true}
		if page.NextLink == "" {
			return answer, nil
		}
		next, err := s.graph.relativeLink(page.NextLink)
		if err != nil {
			return permissionAnswer{}, err
		}
		more, err := list[permission](ctx, s.graph, "the permissions", next, nil)
		answer.permissions = append(answer.permissions, more...)
		return answer, err
	case http.StatusNotFound, http.StatusGone, http.StatusLocked, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return permissionAnswer{}, nil // nobody, as for an item without permissions of its own
	case http.StatusForbidden:
		return permissionAnswer{forbidden: true}, nil // nobody may read it
	}
	return permissionAnswer{}, batchError("permissions", status, header, body)
}

// readersOf returns the readers that permissions name.
func (s *source) readersOf(ctx context.Context, p part, permissions []permission) (connectors.Readers, error) {
	var readers connectors.Readers
	groups := map[string]string{} // names by id
	for _, granted := range permissions {
		if !granted.reads() || granted.isExpired(s.now()) {
			continue
		}
		if granted.Link != nil && !strings.EqualFold(granted.Link.Scope, "users") && !strings.EqualFold(granted.Link.Scope, "existingAccess") && granted.Link.Scope != "" {
			// Only who has the link may read.
			if s.linkIsPublic && !granted.HasPassword && (strings.EqualFold(granted.Link.Scope, "anonymous") || strings.EqualFold(granted.Link.Scope, "organization")) {
				return connectors.Readers{Everyone: true}, nil
			}
			continue
		}
		for _, to := range granted.grantees() {
			more, err := s.principals(ctx, p, to, groups)
			if err != nil {
				return connectors.Readers{}, err
			}
			if more.Everyone {
				return more, nil
			}
			readers.Principals = append(readers.Principals, more.Principals...)
		}
	}
	slices.Sort(readers.Principals)
	readers.Principals = slices.Compact(readers.Principals)
	return readers, s.saveGroups(ctx, groups)
}

// grantees returns those to whom a permission is given. The old fields are read only
// if the new ones are absent.
func (p permission) grantees() []grantee {
	var all []grantee
	if p.To != nil && *p.To != (grantee{}) {
		all = append(all, *p.To)
	} else if p.OldTo != nil {
		all = append(all, *p.OldTo)
	}
	many := p.ToMany
	if len(many) == 0 {
		many = p.OldMany
	}
	return append(all, many...)
}

// principals returns the principals of a grantee, and adds Entra groups to groups.
func (s *source) principals(ctx context.Context, p part, to grantee, groups map[string]string) (connectors.Readers, error) {
	for _, who := range []*identity{to.User, to.SiteUser, to.Group, to.SiteGroup} {
		if who != nil && isEveryone(who.LoginName) {
			return connectors.Readers{Everyone: true}, nil
		}
	}
	var found []string
	addGroup := func(id, name string) {
		if id = strings.ToLower(id); id != "" {
			groups[id] = name
			found = append(found, "group:"+id)
		}
	}
	for _, who := range []*identity{to.User, to.SiteUser, to.Group} {
		if who == nil {
			continue
		}
		if group := claimedGroup(who.LoginName); group != "" {
			addGroup(group, who.DisplayName)
			return connectors.Readers{Principals: found}, nil
		}
	}
	switch {
	case to.Group != nil && to.Group.ID != "":
		addGroup(to.Group.ID, to.Group.DisplayName)
	case to.SiteGroup != nil && to.SiteGroup.ID != "":
		return s.siteGroupReaders(ctx, p, *to.SiteGroup, groups)
	default:
		for _, who := range []*identity{to.User, to.SiteUser} {
			if who == nil {
				continue
			}
			if address := who.address(); address != "" {
				found = append(found, "user:"+address)
				break
			}
			if who == to.User && who.ID != "" && to.SiteUser.address() == "" {
				address, err := s.userAddress(ctx, who.ID)
				if err != nil {
					return connectors.Readers{}, err
				}
				if address != "" {
					found = append(found, "user:"+address)
				}
				break
			}
		}
	}
	return connectors.Readers{Principals: found}, nil
}

// isEveryone reports whether a login name is the claim of everybody, with or without
// guests.
func isEveryone(login string) bool {
	login = strings.ToLower(login)
	return login == "c:0(.s|true" || strings.HasPrefix(login, "c:0-.f|rolemanager|spo-grid-all-users/") || login == "c:0!.s|windows"
}

// claimedGroup returns the id of the Entra group that a login name claims, with "_o"
// for the owners of a Microsoft 365 group, or "".
func claimedGroup(login string) string {
	match := regexp.MustCompile(`^c:0(?:t\.c\|tenant|o\.c\|federateddirectoryclaimprovider|-\.f\|rolemanager|u\.c\|tenant)\|([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:_o)?)$`).FindStringSubmatch(strings.ToLower(login))
	if match == nil {
		return ""
	}
	return match[1]
}

// address returns the mail address of a person, or "".
func (i *identity) address() string {
	if i == nil {
		return ""
	}
	login := i.LoginName
	if at := strings.LastIndexByte(login, '|'); at >= 0 {
		login = login[at+1:]
	}
	for _, text := range []string{i.Email, i.UPN, login} {
		if address := personAddress(text); address != "" {
			return address
		}
	}
	return ""
}

// personAddress returns a sign-in name or mail address as an address in lower case.
// That of a guest, ada_acme.com#EXT#@host.onmicrosoft.com, is ada@acme.com.
func personAddress(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if local, _, guest := strings.Cut(text, "#ext#"); guest {
		at := strings.LastIndexByte(local, '_') // a domain has no underscore
		if at <= 0 {
			return ""
		}
		text = local[:at] + "@" + local[at+1:]
	}
	name, domain, found := strings.Cut(text, "@")
	if !found || name == "" || domain == "" || strings.ContainsAny(text, " \t/|,;") || strings.Contains(domain, "@") {
		return ""
	}
	return text
}

// userAddress returns the address of a person of the directory, "" if there is none.
func (s *source) userAddress(ctx context.Context, id string) (string, error) {
	var user graphUser
	err := s.graph.get(ctx, "users/"+segment(id), url.Values{"$select": {"id,mail,userPrincipalName"}}, &user, "id")
	if _, hidden := isUnavailable(err); hidden || restapi.StatusOf(err) == http.StatusBadRequest {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return cmp.Or(personAddress(user.Mail), personAddress(user.UserPrincipalName)), nil
}
