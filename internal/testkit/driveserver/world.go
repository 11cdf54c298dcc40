package driveserver

import (
	"crypto/md5" //nolint:gosec // the checksum of the API
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The media types of Google's own files.
const (
	Folder   = "application/vnd.google-apps.folder"
	Shortcut = "application/vnd.google-apps.shortcut"
	Document = "application/vnd.google-apps.document"
	Sheet    = "application/vnd.google-apps.spreadsheet"
	Slides   = "application/vnd.google-apps.presentation"
	Form     = "application/vnd.google-apps.form"
)

// A Permission is an entry of an access list.
type Permission struct {
	// Type is user, group, domain or anyone, Role reader unless it is set.
	Type, Role, Email, Domain, View string
	// Discoverable says that search finds the file; otherwise the link is needed.
	Discoverable, Deleted bool
	Expires               time.Time
}

func (p Permission) id() string {
	return "p" + hash(p.Type + p.Email + p.Domain + p.View)[:12]
}

// A File is a file or folder.
type File struct {
	// ID is made if it is empty. Parent is the id of a folder, a shared drive, or ""
	// for the My Drive of the owner.
	ID, Name, MimeType, Parent string
	// Owner is a user's address. A file in a shared drive has none.
	Owner   string
	Content []byte
	// Exports are the contents by media type, for Google's own files. LargeExports
	// says that only export links give them.
	Exports      map[string][]byte
	LargeExports bool
	Permissions  []Permission
	// NoInheritance says that a folder of a shared drive is limited to its own
	// permissions.
	NoInheritance bool
	Target        string // of a shortcut
	Locked        bool   // downloads are disabled
	Abusive       bool
	Trashed       bool

	serial            int
	version           int
	created, modified time.Time
	driveID           string
}

// A Member is a member of a group: a user's or group's address, or "*" for
// everybody of the organization.
type Member struct {
	Email     string
	Suspended bool
}

type sharedDrive struct {
	id, name string
	members  []Permission
}

type user struct{ email, root string }

func hash(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // for ids
	return hex.EncodeToString(sum[:])
}

// AddUser adds a user with a My Drive, and returns the id of its root.
func (s *Server) AddUser(email string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	root := "0A" + hash("root " + email)[:17]
	s.users = append(s.users, user{email, root})
	return root
}

// AddDrive adds a shared drive and returns its id.
func (s *Server) AddDrive(name string, members ...Permission) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.serial++
	id := "0D" + hash(fmt.Sprint("drive ", s.serial))[:17]
	s.drives = append(s.drives, &sharedDrive{id, name, members})
	return id
}

// ChangeDrive renames a shared drive and replaces its members. An empty name
// deletes it.
func (s *Server) ChangeDrive(id, name string, members ...Permission) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if name == "" {
		s.drives = slices.DeleteFunc(s.drives, func(d *sharedDrive) bool { return d.id == id })
	} else if d := s.drive(id); d != nil {
		d.name, d.members = name, members
	}
	s.entries = append(s.entries, entry{drive: id})
}

// AddGroup adds a group of the directory, or replaces its members.
func (s *Server) AddGroup(email string, members ...Member) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.groups[email] = members
}

// Add adds a file and returns its id.
func (s *Server) Add(f File) string {
	s.mutex.Lock()
	s.serial++
	f.serial, f.version = s.serial, 1
	if f.ID == "" {
		f.ID = "1" + hash(fmt.Sprint("file ", s.serial))
	}
	if f.MimeType == "" {
		f.MimeType = "text/plain"
	}
	s.clock = s.clock.Add(time.Second)
	f.created, f.modified = s.clock, s.clock
	s.place(&f)
	s.files[f.ID] = &f
	s.order = append(s.order, f.ID)
	notify := s.record(f.ID, footprint{})
	s.mutex.Unlock()
	notify()
	return f.ID
}

// place sets the drive of a file, and a My Drive as its parent.
func (s *Server) place(f *File) {
	f.driveID = ""
	if f.Parent == "" {
		for _, u := range s.users {
			if u.email == f.Owner {
				f.Parent = u.root
			}
		}
		return
	}
	if s.drive(f.Parent) != nil {
		f.driveID = f.Parent
	} else if above := s.files[f.Parent]; above != nil {
		f.driveID = above.driveID
	}
}

// Change changes a file. A change of the content must be said, so that the checksum
// and the time change with it. Only this file gets an entry in the feed, not the
// files in a folder.
func (s *Server) Change(id string, content bool, change func(f *File)) {
	s.mutex.Lock()
	f := s.files[id]
	before := s.footprint(f)
	change(f)
	f.version++
	if content {
		s.clock = s.clock.Add(time.Second)
		f.modified = s.clock
	}
	s.place(f)
	for _, other := range s.files {
		if slices.Contains(s.above(other), f.ID) {
			other.driveID = f.driveID
		}
	}
	notify := s.record(id, before)
	s.mutex.Unlock()
	notify()
}

// Remove deletes a file or folder, with everything in it.
func (s *Server) Remove(id string) {
	s.mutex.Lock()
	var inside []string
	for _, other := range s.files {
		if slices.Contains(s.above(other), id) {
			inside = append(inside, other.ID)
		}
	}
	for _, id := range inside {
		delete(s.files, id)
	}
	before := s.footprint(s.files[id])
	delete(s.files, id)
	notify := s.record(id, before)
	s.mutex.Unlock()
	notify()
}

// Find returns the id of the file with a name in a folder, "" for none.
func (s *Server) Find(parent, name string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, f := range s.files {
		if f.Parent == parent && f.Name == name && !f.Trashed {
			return f.ID
		}
	}
	return ""
}

func (s *Server) drive(id string) *sharedDrive {
	for _, d := range s.drives {
		if d.id == id {
			return d
		}
	}
	return nil
}

// above returns the ids of the folders above a file, the nearest first.
func (s *Server) above(f *File) (ids []string) {
	for id := f.Parent; id != ""; {
		ids = append(ids, id)
		next := s.files[id]
		if next == nil || len(ids) > 500 {
			break
		}
		id = next.Parent
	}
	return ids
}

// isTrashed reports whether a file or a folder above it is in the trash.
func (s *Server) isTrashed(f *File) bool {
	return f.Trashed || slices.ContainsFunc(s.above(f), func(id string) bool { return s.files[id] != nil && s.files[id].Trashed })
}

// permissions returns the effective permissions of a file: its own, those of the
// folders above it, and those of its shared drive.
func (s *Server) permissions(f *File) []Permission {
	var all []Permission
	if f.Owner != "" && f.driveID == "" {
		all = append(all, Permission{Type: "user", Role: "owner", Email: f.Owner})
	}
	all = append(all, f.Permissions...)
	limited := f.NoInheritance
	for _, id := range s.above(f) {
		if limited {
			break
		}
		if above := s.files[id]; above != nil {
			all = append(all, above.Permissions...)
			limited = above.NoInheritance
		} else if d := s.drive(id); d != nil {
			all = append(all, d.members...)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(p Permission) bool {
		twice := seen[p.id()]
		seen[p.id()] = true
		return twice
	})
}

// visible reports whether a user may read a file, other than by a link.
func (s *Server) visible(email string, f *File) bool {
	return slices.ContainsFunc(s.permissions(f), func(p Permission) bool { return s.admits(p, email) })
}

func (s *Server) admits(p Permission, email string) bool {
	switch {
	case p.Deleted || p.View != "" || !p.Expires.IsZero() && p.Expires.Before(time.Now()):
		return false
	case p.Type == "user":
		return p.Email == email
	case p.Type == "group":
		return s.inGroup(p.Email, email, 0)
	case p.Type == "domain":
		return p.Discoverable && strings.HasSuffix(email, "@"+p.Domain)
	}
	return false
}

func (s *Server) inGroup(group, email string, depth int) bool {
	return depth < 20 && slices.ContainsFunc(s.groups[group], func(m Member) bool {
		return m.Email == email || m.Email == "*" || s.inGroup(m.Email, email, depth+1)
	})
}
