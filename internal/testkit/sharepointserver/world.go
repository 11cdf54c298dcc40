package sharepointserver

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// A User is a person of the directory. UPN is the sign-in name.
type User struct{ ID, DisplayName, Mail, UPN string }

// A Group is a group of the directory. Members are ids of users and groups.
type Group struct {
	ID, Name string
	Members  []string
	Owners   []string
}

// A Permission is a permission in Graph's form.
type Permission = map[string]any

// ToUser is a permission of a person.
func ToUser(u User, roles ...string) Permission {
	return Permission{"id": "u-" + u.ID, "roles": orRead(roles), "grantedToV2": object{
		"user":     object{"id": u.ID, "displayName": u.DisplayName, "email": u.Mail},
		"siteUser": object{"id": "7", "displayName": u.DisplayName, "email": u.Mail, "loginName": "i:0#.f|membership|" + u.UPN},
	}}
}

// ToGroup is a permission of a group of the directory.
func ToGroup(g Group, roles ...string) Permission {
	return Permission{"id": "g-" + g.ID, "roles": orRead(roles), "grantedToV2": object{"group": object{"id": g.ID, "displayName": g.Name}}}
}

// ToSiteGroup is a permission of a group of a site.
func ToSiteGroup(number int, name string, roles ...string) Permission {
	return Permission{"id": "s-" + name, "roles": orRead(roles), "grantedToV2": object{"siteGroup": object{"id": fmt.Sprint(number), "displayName": name, "loginName": name}}}
}

// ToClaim is a permission of a claim, such as everyone except external users.
func ToClaim(login string, roles ...string) Permission {
	return Permission{"id": "c-" + login, "roles": orRead(roles), "grantedToV2": object{"siteUser": object{"id": "9", "displayName": "Everyone", "loginName": login}}}
}

// ToLink is a sharing link of a scope: anonymous, organization or users.
func ToLink(scope string, users ...User) Permission {
	var to []any
	for _, u := range users {
		to = append(to, object{"user": object{"id": u.ID, "displayName": u.DisplayName, "email": u.Mail}})
	}
	return Permission{"id": "l-" + scope, "roles": []any{"read"}, "link": object{"scope": scope, "type": "view", "webUrl": "https://acme.sharepoint.com/:t:/s/x"}, "grantedToIdentitiesV2": to}
}

func orRead(roles []string) []any {
	if len(roles) == 0 {
		roles = []string{"read"}
	}
	var all []any
	for _, role := range roles {
		all = append(all, role)
	}
	return all
}

// A Site is a site. Locked is the status of its responses while it is not 0.
type Site struct {
	ID, Path, Name string
	Personal       bool
	Locked         int
	drives         []string
	pages          []*Page
	lists          []*List
	pageDrive      string
	groups         map[int][]SiteMember
}

// A SiteMember is a member of a group of a site.
type SiteMember struct {
	LoginName, Email, Title string
	Type                    int
}

// A Page is a page of a site. Canvas is its canvasLayout; if it is nil, it has one
// text.
type Page struct {
	ID, Name, Title, Text string
	Draft                 bool
	Canvas                any
	version               int
	created, modified     time.Time
}

// A List is a list of a site.
type List struct {
	ID, Name string
	Template string
	entries  []*Entry
}

// An Entry is an entry of a list.
type Entry struct {
	ID                string
	Fields            map[string]any
	seq, version      int
	deleted           bool
	created, modified time.Time
}

// A Drive is a document library or OneDrive.
type Drive struct {
	ID, Name, URL string
	owner         string // the site's or user's id
	Permissions   []Permission
	seq           int
	items         map[string]*item
}

// An item is a file or folder.
type item struct {
	id, name, parent  string
	folder, root      bool
	serial, seq       int
	content           []byte
	version           int // of the metadata
	contentVersion    int
	deleted           bool
	permissions       []Permission // nil for inherited ones
	sharedSeq         int          // of the last change of permissions
	facets            map[string]any
	hidden            bool
	created, modified time.Time
}

// AddUser adds a person. Empty fields get values.
func (s *Server) AddUser(u User) User {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if u.ID == "" {
		u.ID = fmt.Sprintf("11111111-0000-4000-8000-%012d", s.next())
	}
	if u.UPN == "" {
		u.UPN = u.Mail
	}
	s.users = append(s.users, &u)
	return u
}

// RemoveUser deletes a person from the directory.
func (s *Server) RemoveUser(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.users = slices.DeleteFunc(s.users, func(u *User) bool { return u.ID == id })
}

// AddGroup adds a group of the directory.
func (s *Server) AddGroup(name string, members ...string) Group {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	g := &Group{ID: fmt.Sprintf("22222222-0000-4000-8000-%012d", s.next()), Name: name, Members: members}
	s.groups = append(s.groups, g)
	return *g
}

// SetMembers replaces the members of a group.
func (s *Server) SetMembers(id string, members ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, g := range s.groups {
		if g.ID == id {
			g.Members = members
		}
	}
}

// AddSite adds a site at a path, such as "sites/eng", with the library "Documents".
// It returns the id of the site and that of the library.
func (s *Server) AddSite(at, name string) (site, drive string) {
	s.mutex.Lock()
	n := s.next()
	made := &Site{
		ID: fmt.Sprintf("%s,33333333-0000-4000-8000-%012d,44444444-0000-4000-8000-%012d", strings.ReplaceAll(s.Host(), ":", "-"), n, n), Path: at, Name: name,
		Personal: strings.HasPrefix(at, "personal/"), groups: map[int][]SiteMember{},
	}
	s.sites = append(s.sites, made)
	s.mutex.Unlock()
	drive = s.AddLibrary(made.ID, "Documents", "Shared Documents")
	pages := s.AddLibrary(made.ID, pagesName, "SitePages")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made.pageDrive = pages
	made.drives = slices.DeleteFunc(made.drives, func(id string) bool { return id == pages })
	return made.ID, drive
}

const pagesName = "Site Pages"

// AddLibrary adds a library to a site and returns its id.
func (s *Server) AddLibrary(site, name, folder string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	at := s.site(site)
	id := s.addDrive(name, s.URL+"/"+at.Path+"/"+strings.ReplaceAll(folder, " ", "%20"), site)
	at.drives = append(at.drives, id)
	return id
}

// RemoveLibrary deletes a library.
func (s *Server) RemoveLibrary(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.drives, id)
	for _, site := range s.sites {
		site.drives = slices.DeleteFunc(site.drives, func(d string) bool { return d == id })
	}
}

// AddOneDrive adds the OneDrive of a person and returns its id.
func (s *Server) AddOneDrive(user User) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := strings.NewReplacer("@", "_", ".", "_").Replace(user.UPN)
	return s.addDrive("OneDrive", s.URL+"/personal/"+name+"/Documents", user.ID)
}

func (s *Server) addDrive(name, address, owner string) string {
	n := s.next()
	d := &Drive{ID: fmt.Sprintf("b!%040d", n), Name: name, URL: address, owner: owner, items: map[string]*item{}}
	root := &item{id: fmt.Sprintf("01ROOT%026d", n), name: "root", root: true, folder: true, created: s.now()}
	s.touch(d, root)
	root.serial = n
	d.items[root.id] = root
	s.drives[d.ID] = d
	return d.ID
}

func (s *Server) touch(d *Drive, i *item) {
	d.seq++
	i.seq = d.seq
	i.modified = s.now()
	i.version++
}

func (s *Server) site(id string) *Site {
	for _, site := range s.sites {
		if site.ID == id {
			return site
		}
	}
	return nil
}

// ChangeSite changes a site.
func (s *Server) ChangeSite(id string, change func(*Site)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s.site(id))
}

// SetSiteGroup sets the members of a group of a site.
func (s *Server) SetSiteGroup(site string, number int, members ...SiteMember) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.site(site).groups[number] = members
}

func (d *Drive) root() *item {
	for _, i := range d.items {
		if i.root {
			return i
		}
	}
	return nil
}

func (d *Drive) child(parent, name string) *item {
	for _, i := range d.items {
		if i.parent == parent && !i.deleted && strings.EqualFold(i.name, name) {
			return i
		}
	}
	return nil
}

// find returns the item at a path, "" for the root.
func (d *Drive) find(at string) *item {
	i := d.root()
	for name := range strings.SplitSeq(at, "/") {
		if name == "" {
			if at == "" {
				return i
			}
			return nil
		}
		if i = d.child(i.id, name); i == nil {
			return nil
		}
	}
	return i
}

// Put writes a file, with the folders above it, and returns its id.
func (s *Server) Put(drive, at string, content []byte) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.drives[drive]
	parent := d.root()
	if folder := path.Dir(at); folder != "." {
		parent = s.mkdir(d, folder)
	}
	i := d.child(parent.id, path.Base(at))
	if i == nil {
		i = s.addItem(d, parent, path.Base(at), false)
	}
	i.content = slices.Clone(content)
	i.contentVersion++
	s.touch(d, i)
	s.touchFolders(d, i)
	return i.id
}

// touchFolders changes the folders above an item, as SharePoint does when something
// in them changes.
func (s *Server) touchFolders(d *Drive, i *item) {
	for at := d.items[i.parent]; at != nil; at = d.items[at.parent] {
		d.seq++
		at.seq = d.seq
	}
}

func (s *Server) addItem(d *Drive, parent *item, name string, folder bool) *item {
	n := s.next()
	i := &item{id: fmt.Sprintf("01ITEM%026d", n), name: name, parent: parent.id, folder: folder, serial: n, created: s.now()}
	d.items[i.id] = i
	s.touch(d, i)
	return i
}

func (s *Server) mkdir(d *Drive, at string) *item {
	folder := d.root()
	for name := range strings.SplitSeq(at, "/") {
		next := d.child(folder.id, name)
		if next == nil {
			next = s.addItem(d, folder, name, true)
		}
		folder = next
	}
	return folder
}

// Change changes the facets of the item at a path, such as "package".
func (s *Server) Change(drive, at string, facets map[string]any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.drives[drive]
	i := d.find(at)
	i.facets = facets
	s.touch(d, i)
}

// Hide hides the folder at a path from the app, not what is in it.
func (s *Server) Hide(drive, at string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.drives[drive].find(at).hidden = true
}

// Move moves or renames the item at a path. As in SharePoint, the items in a folder
// do not change.
func (s *Server) Move(drive, from, to string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.drives[drive]
	i := d.find(from)
	parent := d.root()
	if folder := path.Dir(to); folder != "." {
		parent = s.mkdir(d, folder)
	}
	i.parent, i.name = parent.id, path.Base(to)
	s.touch(d, i)
	s.touchFolders(d, i)
}

// Delete deletes the item at a path. Of a folder, the delta names the folder alone.
func (s *Server) Delete(drive, at string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.drives[drive]
	i := d.find(at)
	if i == nil {
		return
	}
	i.deleted = true
	s.touch(d, i)
	s.touchFolders(d, i)
}

// isGone reports whether an item or a folder above it was deleted.
func (d *Drive) isGone(i *item) bool {
	for at := i; at != nil; at = d.items[at.parent] {
		if at.deleted {
			return true
		}
	}
	return false
}

// Share gives the item at a path permissions of its own; nil inherits them again.
func (s *Server) Share(drive, at string, permissions ...Permission) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.drives[drive]
	i := d.find(at)
	i.permissions = permissions
	s.touch(d, i)
	i.sharedSeq = i.seq
}

// ShareDrive sets the permissions of a library.
func (s *Server) ShareDrive(drive string, permissions ...Permission) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	d := s.drives[drive]
	d.Permissions = permissions
	s.touch(d, d.root())
	d.root().sharedSeq = d.root().seq
}

// PutPage adds or replaces a page of a site, by its name.
func (s *Server) PutPage(site string, page Page) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	at := s.site(site)
	for _, known := range at.pages {
		if known.Name == page.Name {
			page.ID, page.version, page.created = known.ID, known.version+1, known.created
			page.modified = s.now()
			*known = page
			return page.ID
		}
	}
	page.ID = fmt.Sprintf("55555555-0000-4000-8000-%012d", s.next())
	page.version, page.created = 1, s.now()
	page.modified = page.created
	at.pages = append(at.pages, &page)
	library := s.drives[at.pageDrive]
	s.addItem(library, library.root(), page.Name, false)
	return page.ID
}

// RemovePage deletes a page of a site.
func (s *Server) RemovePage(site, name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	at := s.site(site)
	at.pages = slices.DeleteFunc(at.pages, func(p *Page) bool { return p.Name == name })
}

// SharePage gives a page permissions of its own.
func (s *Server) SharePage(site, name string, permissions ...Permission) {
	s.mutex.Lock()
	drive := s.site(site).pageDrive
	s.mutex.Unlock()
	s.Share(drive, name, permissions...)
}

// AddList adds a list to a site and returns its id.
func (s *Server) AddList(site, name, template string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	l := &List{ID: fmt.Sprintf("66666666-0000-4000-8000-%012d", s.next()), Name: name, Template: template}
	at := s.site(site)
	at.lists = append(at.lists, l)
	return l.ID
}

func (s *Server) list(id string) *List {
	for _, site := range s.sites {
		for _, l := range site.lists {
			if l.ID == id {
				return l
			}
		}
	}
	return nil
}

// PutEntry adds an entry to a list or, with an id, replaces its fields.
func (s *Server) PutEntry(list, id string, fields map[string]any) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	l := s.list(list)
	for _, e := range l.entries {
		if e.ID == id {
			e.Fields, e.seq, e.modified = fields, s.next(), s.now()
			e.version++
			return id
		}
	}
	e := &Entry{ID: fmt.Sprint(len(l.entries) + 1), Fields: fields, seq: s.next(), version: 1, created: s.now()}
	e.modified = e.created
	l.entries = append(l.entries, e)
	return e.ID
}

// RemoveEntry deletes an entry of a list.
func (s *Server) RemoveEntry(list, id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, e := range s.list(list).entries {
		if e.ID == id {
			e.deleted, e.seq = true, s.next()
		}
	}
}

// AddDriveTo lists a OneDrive among the libraries of a site.
func (s *Server) AddDriveTo(site, drive string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	at := s.site(site)
	at.drives = append(at.drives, drive)
}
