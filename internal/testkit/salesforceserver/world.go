package salesforceserver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// instant is a time in milliseconds since 1970.
type instant int64

const timeLayout = "2006-01-02T15:04:05.000-0700"

func moment(text string) instant {
	for _, layout := range []string{timeLayout, time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return instant(at.UnixMilli())
		}
	}
	return 0
}

func stamp(at time.Time) string { return at.UTC().Format(timeLayout) }

// newID returns an id of 18 characters: a prefix, a number, and three characters that
// say which of the others are capitals.
func newID(prefix string, serial int) string {
	id := fmt.Sprintf("%s%012d", prefix, serial)
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
	for part := range 3 {
		bits := 0
		for i := range 5 {
			if c := id[part*5+i]; c >= 'A' && c <= 'Z' {
				bits |= 1 << i
			}
		}
		id += string(letters[bits])
	}
	return id
}

// tick advances the clock by a second and returns the time. The caller holds the mutex.
func (s *Server) tick() string {
	s.clock = s.clock.Add(time.Second)
	return stamp(s.clock)
}

// Define adds an object.
func (s *Server) Define(o Object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects[o.Name] = &o
	if o.SharedBy == "" {
		return
	}
	level := "AccessLevel"
	if o.SharedBy != "ParentId" {
		level = o.Name + "AccessLevel"
	}
	shares := Object{
		Name: o.ShareName(), Prefix: "0S" + string(rune('A'+len(s.objects)%26)), Fields: slices.Concat(common(), []Field{reference(o.SharedBy, o.Name), reference("UserOrGroupId", "User", "Group")},
			fields("picklist", level, "RowCause")),
	}
	if o.Name == "Account" {
		shares.Fields = append(shares.Fields, fields("picklist", "ContactAccessLevel", "OpportunityAccessLevel", "CaseAccessLevel")...)
	}
	s.objects[shares.Name] = &shares
}

// Alter changes the description of an object.
func (s *Server) Alter(name string, change func(o *Object)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s.objects[name])
}

// Add adds a record and returns its id. Times that it does not have are the present.
func (s *Server) Add(object string, values Row) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.add(object, values)
}

func (s *Server) add(object string, values Row) string {
	o := s.objects[object]
	if o == nil {
		panic("salesforceserver: there is no object " + object)
	}
	s.serial++
	now := s.tick()
	made := Row{"CreatedDate": now, "LastModifiedDate": now, "SystemModstamp": now, "IsDeleted": false}
	if o.field("OwnerId") != nil {
		made["OwnerId"] = s.Reader
	}
	made["CreatedById"] = s.Reader
	switch object { // the defaults of new rows
	case "CaseComment":
		made["IsPublished"] = false
	case "EmailMessage":
		made["IsExternallyVisible"] = true
	case "Task":
		made["IsVisibleInSelfService"] = false
	}
	if object == "Case" {
		made["CaseNumber"] = fmt.Sprintf("%08d", s.serial)
	}
	maps.Copy(made, values)
	for name := range made {
		if o.field(name) == nil {
			panic("salesforceserver: " + object + " has no field " + name)
		}
	}
	id := newID(o.Prefix, s.serial)
	made["Id"] = id
	s.tables[object] = append(s.tables[object], made)
	s.index[id] = indexed{object, made}
	return id
}

// find returns a row by its id, nil for none.
func (s *Server) find(id string) (object string, found Row) {
	at := s.index[id]
	return at.object, at.row
}

// Change changes fields of a record.
func (s *Server) Change(id string, values Row) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, r := s.find(id)
	maps.Copy(r, values)
	r["SystemModstamp"] = s.tick()
	r["LastModifiedDate"] = r["SystemModstamp"]
}

// Remove puts a record into the recycle bin, or takes a row without one away.
func (s *Server) Remove(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	object, r := s.find(id)
	r["IsDeleted"], r["SystemModstamp"] = true, s.tick()
	s.deleted[object] = append(s.deleted[object], deletion{id, s.clock})
	for _, link := range s.tables["ContentDocumentLink"] {
		if link["ContentDocumentId"] == id || link["LinkedEntityId"] == id {
			link["IsDeleted"] = true
		}
	}
}

// Restore takes a record out of the recycle bin.
func (s *Server) Restore(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, r := s.find(id)
	r["IsDeleted"], r["SystemModstamp"] = false, s.tick()
}

// EmptyBin takes away what is in the recycle bin.
func (s *Server) EmptyBin() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for name, rows := range s.tables {
		s.tables[name] = slices.DeleteFunc(rows, func(r Row) bool {
			if r["IsDeleted"] == true {
				delete(s.index, text(r["Id"]))
			}
			return r["IsDeleted"] == true
		})
	}
}

// PurgeLog forgets the deletions before now.
func (s *Server) PurgeLog() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.deleted = map[string][]deletion{}
	s.logStart = s.clock
}

// AddUser adds an active user with a mail address and a role, "" for none.
func (s *Server) AddUser(email, role string) string {
	values := Row{"Name": strings.Split(email, "@")[0], "Username": email, "Email": email, "IsActive": true, "UserType": "Standard"}
	if role != "" {
		values["UserRoleId"] = role
	}
	return s.Add("User", values)
}

// AddRole adds a role below another, "" for none, and the groups of the role.
func (s *Server) AddRole(name, above string) string {
	values := Row{"Name": name, "PortalType": "None"}
	if above != "" {
		values["ParentRoleId"] = above
	}
	id := s.Add("UserRole", values)
	for _, kind := range []string{"Role", "RoleAndSubordinates", "RoleAndSubordinatesInternal"} {
		s.Add("Group", Row{"Name": name, "Type": kind, "RelatedId": id, "DoesIncludeBosses": false})
	}
	return id
}

// GroupOf returns the group of a type for a role, territory or user.
func (s *Server) GroupOf(related, kind string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, g := range s.tables["Group"] {
		if g["RelatedId"] == related && g["Type"] == kind {
			return text(g["Id"])
		}
	}
	panic("salesforceserver: there is no group " + kind)
}

// AddGroup adds a group of a type with members.
func (s *Server) AddGroup(kind string, bosses bool, members ...string) string {
	id := s.Add("Group", Row{"Name": kind, "Type": kind, "DoesIncludeBosses": bosses})
	for _, member := range members {
		s.Add("GroupMember", Row{"GroupId": id, "UserOrGroupId": member})
	}
	return id
}

// AddPermissionSet adds a permission set that lets users read objects and all their
// restricted fields.
func (s *Server) AddPermissionSet(users []string, objects ...string) string {
	id := s.Add("PermissionSet", Row{"Name": "Set", "PermissionsViewAllData": false, "HasActivationRequired": false})
	for _, name := range objects {
		s.Add("ObjectPermissions", Row{"ParentId": id, "SobjectType": name, "PermissionsRead": true, "PermissionsViewAllRecords": false})
		for _, f := range s.objects[name].Fields {
			if f.Restricted {
				s.Add("FieldPermissions", Row{"ParentId": id, "SobjectType": name, "Field": name + "." + f.Name, "PermissionsRead": true})
			}
		}
	}
	for _, user := range users {
		s.Add("PermissionSetAssignment", Row{"AssigneeId": user, "PermissionSetId": id})
	}
	return id
}

// AddFieldPermissions adds a permission set that lets users see fields, such as
// Task.Subject.
func (s *Server) AddFieldPermissions(users []string, names ...string) string {
	id := s.AddPermissionSet(users)
	for _, name := range names {
		object, _, _ := strings.Cut(name, ".")
		s.Add("FieldPermissions", Row{"ParentId": id, "SobjectType": object, "Field": name, "PermissionsRead": true})
	}
	return id
}

// SetDefault sets the organization-wide defaults of an object.
func (s *Server) SetDefault(object, internal, external string) {
	s.Alter(object, func(o *Object) { o.Internal, o.External = internal, external })
}

// Share shares a record with a user or group, and returns the id of the share. more has
// further fields.
func (s *Server) Share(record, with string, more Row) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name, _ := s.find(record)
	o := s.objects[name]
	level := "AccessLevel"
	if o.SharedBy != "ParentId" {
		level = name + "AccessLevel"
	}
	values := Row{o.SharedBy: record, "UserOrGroupId": with, level: "Read", "RowCause": "Manual"}
	maps.Copy(values, more)
	return s.add(o.ShareName(), values)
}

// AddFile adds a file to records and returns the id of its document.
func (s *Server) AddFile(name string, content []byte, records ...string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	title, extension := name, ""
	if at := strings.LastIndex(name, "."); at > 0 && at < len(name)-1 && !strings.ContainsAny(name[at+1:], " .") {
		title, extension = name[:at], name[at+1:]
	}
	id := s.add("ContentDocument", Row{"Title": title, "FileExtension": extension, "FileType": strings.ToUpper(cmp.Or(extension, "UNKNOWN"))})
	s.addVersion(id, content)
	for _, record := range records {
		s.add("ContentDocumentLink", Row{"ContentDocumentId": id, "LinkedEntityId": record, "ShareType": "I", "Visibility": "AllUsers"})
	}
	return id
}

// ReplaceFile adds a version of a file.
func (s *Server) ReplaceFile(document string, content []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.addVersion(document, content)
}

func (s *Server) addVersion(document string, content []byte) {
	for _, v := range s.tables["ContentVersion"] {
		if v["ContentDocumentId"] == document {
			v["IsLatest"] = false
		}
	}
	id := s.add("ContentVersion", Row{"ContentDocumentId": document, "IsLatest": true})
	s.contents[id] = slices.Clone(content)
	_, d := s.find(document)
	d["LatestPublishedVersionId"], d["ContentSize"] = id, len(content)
	d["ContentModifiedDate"], d["SystemModstamp"] = s.tick(), stamp(s.clock)
}

// Find returns the ids of the records of an object that have a value.
func (s *Server) Find(object, field, value string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var ids []string
	for _, r := range s.tables[object] {
		if r[field] == value && r["IsDeleted"] == false {
			ids = append(ids, text(r["Id"]))
		}
	}
	return ids
}

// Value returns a value of a record as a text.
func (s *Server) Value(id, field string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, r := s.find(id)
	return text(r[field])
}

// AddGroupOf adds the group of a type for a territory or user.
func (s *Server) AddGroupOf(kind, related string) string {
	return s.Add("Group", Row{"Type": kind, "RelatedId": related, "DoesIncludeBosses": false})
}

// OrganizationID returns the id of the organization.
func (s *Server) OrganizationID() string { return s.Find("Organization", "Name", "Acme")[0] }

// Emails returns the addresses of users, by id, in lower case.
func (s *Server) Emails() map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	emails := map[string]string{}
	for _, u := range s.tables["User"] {
		emails[text(u["Id"])] = strings.ToLower(text(u["Email"]))
	}
	return emails
}
