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

// The types of units.
const (
	unitUser   = "user"
	unitDrive  = "drive"
	unitFolder = "folder"
)

const (
	unitsKey      = "units"
	maxDrivePages = 1000
	maxDepth      = 200 // of folders
	// maxMembersTried is how many members of a shared drive are tried.
	maxMembersTried = 10
)

// A unit is a part of Drive that a walk lists on its own: the files of a user, a
// shared drive, or a folder with all folders in it.
type unit struct {
	Type string `json:"t"`
	// ID is the id of the drive or folder, "" for a user.
	ID string `json:"i,omitempty"`
	// Name is the name of the drive or folder.
	Name string `json:"n,omitempty"`
	// Subject is the person in whose name the unit is read, "" for the account.
	Subject string `json:"s,omitempty"`
	// Drive is the shared drive that a folder is in.
	Drive string `json:"d,omitempty"`
	// Root is the id of a user's My Drive, "" if it is unknown.
	Root string `json:"r,omitempty"`
}

// key returns the id of the unit, which is the container of its items.
func (u unit) key() string {
	id := u.ID
	if u.Type == unitUser {
		id = u.Subject
	}
	if id == "" {
		return u.Type
	}
	return u.Type + ":" + id
}

// driveID returns the shared drive of the unit, "" for files of users.
func (u unit) driveID() string {
	if u.Type == unitDrive {
		return u.ID
	}
	return u.Drive
}

// stream returns the feed of changes that the unit's files are in.
func (u unit) stream() string {
	if drive := u.driveID(); drive != "" {
		return unitDrive + ":" + drive
	}
	return unit{Type: unitUser, Subject: u.Subject}.key()
}

// prefix returns the first segment of the unit's paths. Two drives with the same
// name share it.
func (u unit) prefix() string {
	switch {
	case u.Type != unitUser:
		return segment(u.Name)
	case u.Subject != "":
		return segment(u.Subject)
	}
	return "My Drive"
}

// sharedPrefix is the first segment of the paths of files that were shared with
// somebody.
const sharedPrefix = "Shared with me"

// delegates reports whether the service account acts for people.
func (s *source) delegates() bool { return s.admin() != "" }

func (s *source) admin() string { return strings.ToLower(s.settings.Credentials[credentialAdmin]) }

// includesShared reports whether files that were shared with the account are read.
// A service account that acts for nobody has no other files.
func (s *source) includesShared() bool {
	return s.settings.Boolean(optionSharedWithMe) || s.settings.Token == nil && !s.delegates()
}

// listUnits asks Google for the units of the config, sorted by key. What cannot
// change without notice is taken from the known units.
func (s *source) listUnits(ctx context.Context, known []unit) ([]unit, error) {
	var units []unit
	folders, named := s.settings.Strings(optionFolders), s.settings.Strings(optionDrives)
	subjects, err := s.subjects(ctx)
	if err != nil {
		return nil, err
	}
	var unknown []string // people
	if len(folders) == 0 && (s.settings.Boolean(optionMyDrive) || s.includesShared()) {
		for _, subject := range subjects {
			u := unit{Type: unitUser, Subject: subject}
			if i := slices.IndexFunc(known, func(other unit) bool { return other.key() == u.key() && other.Root != "" }); i >= 0 {
				u.Root = known[i].Root
			} else if u.Root, err = s.rootOf(ctx, subject); isUnknownPerson(err) {
				s.warnPerson(subject)
				unknown = append(unknown, subject)
			} else if err != nil {
				return nil, err
			}
			units = append(units, u)
		}
		if len(unknown) == len(subjects) && len(unknown) > 0 {
			return nil, err
		}
	}
	if s.settings.Boolean(optionSharedDrives) && (len(named) > 0 || len(folders) == 0) {
		drives, err := s.listDrives(ctx, known)
		if status := restapi.StatusOf(err); len(named) == 0 && len(units) > 0 && (isForbidden(err) || status == http.StatusNotFound || status == http.StatusBadRequest || status == http.StatusNotImplemented) {
			s.addWarning("The account may not list shared drives. Only those that were read before, and My Drive, are read.")
			drives, err = s.drivesBefore(ctx)
		}
		if err != nil {
			return nil, err
		}
		units = append(units, drives...)
	}
	inFolders, err := s.listFolders(ctx, folders, subjects, units)
	if err != nil {
		return nil, err
	}
	units = append(units, inFolders...)
	if len(units) == 0 {
		return nil, connectors.NeedsAuth(errors.New("the account sees no shared drive; make it a member of those that are to be found"))
	}
	slices.SortFunc(units, func(a, b unit) int { return strings.Compare(a.key(), b.key()) })
	return slices.CompactFunc(units, func(a, b unit) bool { return a.key() == b.key() }), nil
}

// subjects returns the people whose files are read, and "" for the account itself.
func (s *source) subjects(ctx context.Context) ([]string, error) {
	if !s.delegates() {
		return []string{""}, nil
	}
	var subjects []string
	for _, user := range s.settings.Strings(optionUsers) {
		if user != allUsers {
			subjects = append(subjects, strings.ToLower(strings.TrimSpace(user)))
			continue
		}
		all, err := s.directoryUsers(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the users of the directory: %w", err)
		}
		subjects = append(subjects, all...)
	}
	if len(subjects) == 0 {
		subjects = []string{s.admin()}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects), nil
}

// rootOf returns the id of a subject's My Drive, "" if Google does not tell it.
func (s *source) rootOf(ctx context.Context, subject string) (string, error) {
	var root file
	err := s.api.get(ctx, subject, "files/root", url.Values{"fields": {"id"}}, "id", &root)
	if (isInvisible(err) || restapi.StatusOf(err) == http.StatusBadRequest) && !isUnknownPerson(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read My Drive: %w", err)
	}
	return root.ID, nil
}

// A drive is a shared drive of the API.
type drive struct {
	ID, Name string
	Hidden   bool
}

// listDrives returns the units of the shared drives that the config selects. A
// named drive that is not visible is a unit too, so that the walk can say so.
func (s *source) listDrives(ctx context.Context, known []unit) ([]unit, error) {
	var drives []drive
	seen := map[string]bool{}
	err := restapi.AllPages("Google", "the shared drives", maxDrivePages, func(cursor string) (string, error) {
		query := url.Values{"pageSize": {"100"}, "fields": {"nextPageToken,drives(id,name)"}}
		if cursor != "" {
			query.Set("pageToken", cursor)
		}
		if s.adminAccess() {
			query.Set("useDomainAdminAccess", "true")
		}
		var page struct {
			NextPageToken string
			Drives        []drive
		}
		if err := s.api.list(ctx, s.admin(), "drives", query, "drives", &page); err != nil {
			return "", err
		}
		for _, d := range page.Drives {
			if !idPattern.MatchString(d.ID) {
				return "", errInvalid("a shared drive")
			}
			if !seen[d.ID] {
				seen[d.ID] = true
				drives = append(drives, d)
			}
		}
		return page.NextPageToken, nil
	})
	if s.adminAccess() && err != nil && (isForbidden(err) || restapi.StatusOf(err) == 400) {
		s.mutex.Lock()
		s.noAdmin = true // the person is no administrator
		s.mutex.Unlock()
		return s.listDrives(ctx, known)
	}
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, connectors.Fatal(fmt.Errorf("there is no Drive API at config.%s; correct the address: %w", optionAPI, err))
	}
	if err != nil {
		return nil, fmt.Errorf("list the shared drives: %w", err)
	}
	named := s.settings.Strings(optionDrives)
	var units []unit
	for _, text := range named {
		id, _ := placeID(text)
		at := slices.IndexFunc(drives, func(d drive) bool { return d.ID == id })
		if at < 0 {
			at = slices.IndexFunc(drives, func(d drive) bool { return strings.EqualFold(d.Name, strings.TrimSpace(text)) })
		}
		if at < 0 && !idPattern.MatchString(id) {
			return nil, connectors.NeedsAuth(fmt.Errorf("the account sees no shared drive with the name %q; share it with the account, or correct config.%s", text, optionDrives))
		}
		u := unit{Type: unitDrive, ID: id, Name: id}
		if at >= 0 {
			u.ID, u.Name = drives[at].ID, drives[at].Name
		} else {
			var d drive
			if err := s.api.get(ctx, s.admin(), "drives/"+id, url.Values{"fields": {"id,name"}}, "id", &d); err == nil {
				u.Name = d.Name
			} else if !isInvisible(err) {
				return nil, err
			}
		}
		units = append(units, u)
	}
	if len(named) == 0 {
		for _, d := range drives {
			units = append(units, unit{Type: unitDrive, ID: d.ID, Name: d.Name})
		}
	}
	for i := range units {
		if at := slices.IndexFunc(known, func(other unit) bool { return other.key() == units[i].key() }); at >= 0 {
			units[i].Subject = known[at].Subject
		} else if units[i].Subject, err = s.driveSubject(ctx, units[i].ID); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// drivesBefore returns the shared drives of the last walk.
func (s *source) drivesBefore(ctx context.Context) ([]unit, error) {
	var units []unit
	_, err := connectors.GetJSON(ctx, s.state, unitsKey, &units)
	return slices.DeleteFunc(units, func(u unit) bool { return u.Type != unitDrive }), err
}

// adminAccess reports whether drives are listed with an administrator's rights.
func (s *source) adminAccess() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.delegates() && !s.noAdmin
}

// driveSubject returns the person in whose name a shared drive is read. The
// administrator sees all drives, but only members can read their files.
func (s *source) driveSubject(ctx context.Context, id string) (string, error) {
	if !s.delegates() {
		return "", nil
	}
	s.mutex.Lock()
	subject, known := s.driveSubjects[id]
	s.mutex.Unlock()
	if known {
		return subject, nil
	}
	subject = s.admin()
	isMember, err := s.readsDrive(ctx, subject, id)
	if err != nil {
		return "", err
	}
	if !isMember {
		if subject, err = s.memberOf(ctx, id); err != nil {
			return "", err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.driveSubjects[id] = subject
	return subject, nil
}

// memberOf returns a member of a shared drive whom the service account may act for,
// or the administrator if there is none.
func (s *source) memberOf(ctx context.Context, id string) (string, error) {
	permissions, err := s.driveMembers(ctx, s.admin(), id)
	if err != nil && !isInvisible(err) {
		return "", err
	}
	tried := 0
	for _, p := range permissions {
		address, ok := p.person(s.now())
		if !ok || !sameDomain(address, s.admin()) || tried == maxMembersTried {
			continue
		}
		tried++
		isMember, err := s.readsDrive(ctx, address, id)
		switch {
		case isMember:
			return address, nil
		case err != nil && !connectors.IsNeedsAuth(err):
			return "", err
		}
	}
	return s.admin(), nil
}

// readsDrive reports whether a person is a member of a shared drive.
func (s *source) readsDrive(ctx context.Context, subject, id string) (bool, error) {
	var d drive
	err := s.api.get(ctx, subject, "drives/"+id, url.Values{"fields": {"id,name"}}, "id", &d)
	if isInvisible(err) {
		return false, nil
	}
	return err == nil, err
}

func sameDomain(a, b string) bool {
	_, first, _ := strings.Cut(a, "@")
	_, second, _ := strings.Cut(b, "@")
	return strings.EqualFold(first, second)
}

// listFolders returns the units of the named folders, without those that another
// unit contains.
func (s *source) listFolders(ctx context.Context, named, subjects []string, others []unit) ([]unit, error) {
	ids := map[string]bool{}
	for _, text := range named {
		id, _ := placeID(text)
		ids[id] = true
	}
	var units []unit
	for id := range ids {
		folder, subject, err := s.anyFile(ctx, subjects, id)
		if isInvisible(err) {
			units = append(units, unit{Type: unitFolder, ID: id, Name: id, Subject: subjects[0]})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the folder %s: %w", id, err)
		}
		if !folder.isFolder() {
			return nil, connectors.Fatal(fmt.Errorf("%q in config.%s is not a folder", id, optionFolders))
		}
		if folder.DriveID == id { // the address of a shared drive
			units = append(units, unit{Type: unitDrive, ID: id, Name: folder.Name, Subject: subject})
			continue
		}
		inside := slices.ContainsFunc(others, func(u unit) bool { return u.Type == unitDrive && u.ID == folder.DriveID })
		above := folder
		for depth := 0; !inside && above.parent() != "" && depth < maxDepth; depth++ {
			id := above.parent()
			if inside = ids[id]; inside {
				break
			}
			if above, err = s.fileByID(ctx, subject, id); err != nil {
				if !isInvisible(err) {
					return nil, err
				}
				break
			}
		}
		if !inside {
			units = append(units, unit{Type: unitFolder, ID: id, Name: folder.Name, Subject: subject, Drive: folder.DriveID})
		}
	}
	return units, nil
}

// anyFile returns a file, and the first subject who sees it.
func (s *source) anyFile(ctx context.Context, subjects []string, id string) (f *file, subject string, err error) {
	for _, subject = range subjects {
		if f, err = s.fileByID(ctx, subject, id); err == nil || !isInvisible(err) {
			return f, subject, err
		}
	}
	return nil, "", err
}

func (s *source) fileByID(ctx context.Context, subject, id string) (*file, error) {
	if !idPattern.MatchString(id) {
		return nil, fmt.Errorf("look up a file: %w", connectors.ErrNotFound)
	}
	var f file
	query := url.Values{"fields": {s.fields() + ",exportLinks"}, "supportsAllDrives": {"true"}}
	if err := s.api.get(ctx, subject, "files/"+id, query, "id", &f); err != nil {
		return nil, err
	}
	if f.ID != id {
		return nil, errInvalid("another file")
	}
	return &f, nil
}

// fields returns the fields of a file that are needed.
func (s *source) fields() string {
	fields := "id,name,mimeType,md5Checksum,version,modifiedTime,createdTime,size,parents,driveId,webViewLink,owners(displayName,emailAddress),ownedByMe," +
		"trashed,shortcutDetails(targetId,targetMimeType),capabilities(canDownload)"
	if s.importsPermissions {
		fields += ",permissionIds,permissions(" + permissionFields + "),hasAugmentedPermissions,inheritedPermissionsDisabled"
	}
	return fields
}

// knownUnits returns the units of the last walk.
func (s *source) knownUnits(ctx context.Context) ([]unit, error) {
	s.mutex.Lock()
	units := s.units
	s.mutex.Unlock()
	if units != nil {
		return units, nil
	}
	if ok, err := connectors.GetJSON(ctx, s.state, unitsKey, &units); err != nil || ok {
		s.setUnits(units)
		return units, err
	}
	return s.renewUnits(ctx)
}

// renewUnits lists the units and saves them.
func (s *source) renewUnits(ctx context.Context) ([]unit, error) {
	units, err := s.listUnits(ctx, nil)
	if err != nil {
		return nil, err
	}
	if units == nil {
		units = []unit{}
	}
	if err := connectors.PutJSON(ctx, s.state, unitsKey, units); err != nil {
		return nil, err
	}
	s.setUnits(units)
	return units, nil
}

func (s *source) setUnits(units []unit) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.units = units
}

// isListedByOwner reports whether a file that somebody else owns is listed with the
// files of its owner.
func (s *source) isListedByOwner(u unit, f *file) bool {
	s.mutex.Lock()
	units := s.units
	s.mutex.Unlock()
	return u.Subject != "" && slices.ContainsFunc(units, func(other unit) bool {
		return other.Type == unitUser && other.Subject != u.Subject && len(f.Owners) > 0 && strings.EqualFold(f.Owners[0].EmailAddress, other.Subject)
	})
}
