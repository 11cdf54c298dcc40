package googledrive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	permissionFields   = "id,type,role,emailAddress,domain,deleted,allowFileDiscovery,expirationTime,view"
	maxPermissionPages = 200
	maxAccessEntries   = 50_000

	// drivePrefix and the id of a shared drive are the group of its members, so that
	// a new member needs no walk.
	drivePrefix = "drive:"
	groupsKey   = "groups/"
)

// A permission is an entry of an access list.
type permission struct {
	ID, Type, Role, EmailAddress, Domain, View, ExpirationTime string
	Deleted                                                    bool
	AllowFileDiscovery                                         *bool
}

// isValid reports whether the permission lets somebody read now. Views are for
// published copies and for the names of folders.
func (p permission) isValid(now time.Time) bool {
	if p.Deleted || p.View != "" || !slices.Contains([]string{"reader", "commenter", "writer", "fileOrganizer", "organizer", "owner"}, p.Role) {
		return false
	}
	if p.ExpirationTime == "" {
		return true
	}
	expires := parseTime(p.ExpirationTime)
	return !expires.IsZero() && now.Before(expires)
}

// needsLink reports whether only those with the link can open the file. A share with
// everyone that does not say so counts as one with the link.
func (p permission) needsLink() bool {
	if p.AllowFileDiscovery != nil {
		return !*p.AllowFileDiscovery
	}
	return p.Type == "anyone"
}

// person returns the mail address of the person whom a valid permission is for.
func (p permission) person(now time.Time) (string, bool) {
	address := strings.ToLower(strings.TrimSpace(p.EmailAddress))
	return address, p.Type == "user" && p.isValid(now) && strings.Contains(address, "@")
}

// access is what the readers of a file depend on.
type access struct {
	drive, parent string
	// shared says that a file of a shared drive has readers of its own.
	shared      bool
	permissions []permission
	isComplete  bool // permissions has all
}

// remember keeps the access of a file for Readers.
func (s *source) remember(f *file) access {
	a := access{
		drive: f.DriveID, parent: f.parent(), permissions: f.Permissions,
		shared:     f.HasAugmentedPermissions == nil || *f.HasAugmentedPermissions || f.InheritedPermissionsDisabled,
		isComplete: len(f.Permissions) > 0 && len(f.PermissionIDs) <= len(f.Permissions),
	}
	if !s.importsPermissions {
		return a
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.access) >= maxAccessEntries {
		clear(s.access)
	}
	s.access[f.ID] = a
	return a
}

// Readers implements [connectors.PermissionLister].
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	units, err := s.knownUnits(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]connectors.Readers, len(items))
	for _, item := range items {
		readers, ok, err := s.readersOf(ctx, units, item)
		if err != nil {
			return nil, err
		}
		if ok {
			all[item.ID] = readers
		}
	}
	return all, nil
}

// readersOf returns the readers of an item. It reports false if they are unknown,
// so that nobody may read it.
func (s *source) readersOf(ctx context.Context, units []unit, item connectors.Item) (readers connectors.Readers, ok bool, err error) {
	i := slices.IndexFunc(units, func(u unit) bool { return u.key() == item.Container })
	if i < 0 || !idPattern.MatchString(item.ID) {
		return readers, false, nil
	}
	u := units[i]
	s.mutex.Lock()
	a, cached := s.access[item.ID]
	s.mutex.Unlock()
	if !cached {
		f, err := s.fileByID(ctx, u.Subject, item.ID)
		if isInvisible(err) {
			return readers, false, nil
		}
		if err != nil {
			return readers, false, err
		}
		a = s.remember(f)
	}
	permissions := a.permissions
	switch {
	case a.drive != "":
		var inherits bool
		if permissions, inherits, err = s.drivePermissions(ctx, u, item.ID, a); inherits {
			return connectors.Readers{Principals: []string{"group:" + drivePrefix + a.drive}}, true, nil
		}
	case !a.isComplete:
		permissions, err = s.listPermissions(ctx, u.Subject, item.ID)
	}
	if isInvisible(err) {
		s.addWarning("The account may not read who may open some files, because it may not share them. Nobody finds these files.")
		return readers, false, nil
	}
	if err != nil {
		return readers, false, fmt.Errorf("read permissions: %w", err)
	}
	readers, err = s.readers(ctx, permissions)
	return readers, err == nil, err
}

// drivePermissions returns the permissions of a file of a shared drive: its own,
// or those of the nearest folder that has some. inherits reports that neither has.
func (s *source) drivePermissions(ctx context.Context, u unit, id string, a access) (permissions []permission, inherits bool, err error) {
	if a.shared {
		permissions, err = s.listPermissions(ctx, u.Subject, id)
		return permissions, false, err
	}
	t, err := s.currentTree(ctx, u)
	if err != nil {
		return nil, false, err
	}
	above := a.parent
	for range maxDepth {
		if above == a.drive {
			return nil, true, nil
		}
		f, known := t.folder(above)
		if !known && above != u.ID {
			break
		}
		if f.Shared || above == u.ID { // the folders above the unit are unknown
			permissions, err = s.folderPermissions(ctx, u, above)
			return permissions, false, err
		}
		above = f.Parent
	}
	permissions, err = s.listPermissions(ctx, u.Subject, id)
	return permissions, false, err
}

// folderPermissions is listPermissions for a folder, which many files ask for.
func (s *source) folderPermissions(ctx context.Context, u unit, id string) ([]permission, error) {
	s.mutex.Lock()
	permissions, cached := s.inherited[id]
	s.mutex.Unlock()
	if cached {
		return permissions, nil
	}
	permissions, err := s.listPermissions(ctx, u.Subject, id)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.inherited[id] = permissions
	return permissions, nil
}

// driveMembers returns the permissions of a shared drive, with an administrator's
// rights if there are any.
func (s *source) driveMembers(ctx context.Context, subject, id string) ([]permission, error) {
	if s.adminAccess() {
		all, err := s.readPermissions(ctx, s.admin(), id, true)
		if err == nil || !isInvisible(err) && restapi.StatusOf(err) != http.StatusBadRequest {
			return all, err
		}
	}
	return s.readPermissions(ctx, subject, id, false)
}

// listPermissions returns the permissions of a file or folder, inherited ones
// included.
func (s *source) listPermissions(ctx context.Context, subject, id string) ([]permission, error) {
	return s.readPermissions(ctx, subject, id, false)
}

func (s *source) readPermissions(ctx context.Context, subject, id string, asAdmin bool) (all []permission, err error) {
	err = restapi.AllPages("Google", "the permissions of a file", maxPermissionPages, func(token string) (string, error) {
		query := url.Values{"pageSize": {"100"}, "supportsAllDrives": {"true"}, "fields": {"nextPageToken,permissions(" + permissionFields + ")"}}
		if token != "" {
			query.Set("pageToken", token)
		}
		if asAdmin {
			query.Set("useDomainAdminAccess", "true")
		}
		var page struct {
			NextPageToken string
			Permissions   []permission
		}
		if err := s.api.list(ctx, subject, "files/"+id+"/permissions", query, "permissions", &page); err != nil {
			return "", err
		}
		for _, p := range page.Permissions {
			if p.Type == "" {
				return "", errInvalid("a permission")
			}
		}
		all = append(all, page.Permissions...)
		return page.NextPageToken, nil
	})
	return all, err
}

// readers returns the readers that permissions name.
func (s *source) readers(ctx context.Context, permissions []permission) (connectors.Readers, error) {
	var readers connectors.Readers
	for _, p := range permissions {
		if !p.isValid(s.now()) || (p.Type == "anyone" || p.Type == "domain") && p.needsLink() && !s.settings.Boolean(optionLinks) {
			continue
		}
		address, domain := strings.ToLower(strings.TrimSpace(p.EmailAddress)), strings.ToLower(strings.TrimSpace(p.Domain))
		switch {
		case p.Type == "anyone":
			readers.Everyone = true
		case p.Type == "user" && strings.Contains(address, "@"):
			readers.Principals = append(readers.Principals, "user:"+address)
		case p.Type == "group" && strings.Contains(address, "@"):
			readers.Principals = append(readers.Principals, "group:"+address)
			if err := s.rememberGroup(ctx, address); err != nil {
				return connectors.Readers{}, err
			}
		case p.Type == "domain" && domain != "":
			readers.Principals = append(readers.Principals, "domain:"+domain)
		}
	}
	slices.Sort(readers.Principals)
	readers.Principals = slices.Compact(readers.Principals)
	return readers, nil
}

// rememberGroup keeps the address of a group, whose members Groups lists.
func (s *source) rememberGroup(ctx context.Context, address string) error {
	sum := sha256.Sum256([]byte(address))
	key := groupsKey + hex.EncodeToString(sum[:12])
	have, err := s.state.Get(ctx, key)
	if err == nil && string(have) != address {
		err = s.state.Put(ctx, key, []byte(address))
	}
	if err != nil {
		return fmt.Errorf("remember a group: %w", err)
	}
	return nil
}
