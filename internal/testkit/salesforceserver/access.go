package salesforceserver

import (
	"cmp"
	"slices"
	"strings"
)

// CanRead reports whether a user may read a record: by the permissions for the object,
// and by its sharing. Who may read a record may read its comments, mails, tasks and the
// links to its files; users outside only those that are for them.
func (s *Server) CanRead(user, record string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name, r := s.find(record)
	parent, isOpen := "", false
	switch name {
	case "CaseComment":
		parent, isOpen = text(r["ParentId"]), r["IsPublished"] == true
	case "EmailMessage":
		parent, isOpen = text(r["ParentId"]), r["IsExternallyVisible"] == true
		if parent == "" {
			parent, isOpen = text(r["RelatedToId"]), false
		}
	case "Task":
		parent, isOpen = cmp.Or(text(r["WhatId"]), text(r["WhoId"])), r["IsVisibleInSelfService"] == true
	case "ContentDocumentLink":
		parent, isOpen = text(r["LinkedEntityId"]), r["Visibility"] == "AllUsers"
	default:
		return s.canRead(user, record)
	}
	_, u := s.find(user)
	return s.canRead(user, parent) && (isOpen || u["UserType"] == "Standard")
}

func (s *Server) canRead(user, record string) bool {
	name, r := s.find(record)
	if r == nil || s.objects[name].Internal == "" {
		return false
	}
	return s.mayRead(user, name) && (s.mayViewAll(user, name) || s.isShared(user, name, r))
}

// sets returns the permission sets of a user that count.
func (s *Server) sets(user string) []string {
	var ids []string
	if _, u := s.find(user); u == nil || u["IsActive"] != true {
		return nil
	}
	for _, a := range s.tables["PermissionSetAssignment"] {
		id := text(a["PermissionSetId"])
		if _, set := s.find(id); a["AssigneeId"] == user && a["IsDeleted"] == false && set["HasActivationRequired"] != true {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *Server) mayRead(user, object string) bool {
	sets := s.sets(user)
	return s.viewsEverything(sets) || slices.ContainsFunc(s.tables["ObjectPermissions"], func(p Row) bool {
		return p["SobjectType"] == object && p["PermissionsRead"] == true && slices.Contains(sets, text(p["ParentId"]))
	})
}

func (s *Server) viewsEverything(sets []string) bool {
	return slices.ContainsFunc(sets, func(id string) bool { _, set := s.find(id); return set["PermissionsViewAllData"] == true })
}

func (s *Server) mayViewAll(user, object string) bool {
	sets := s.sets(user)
	return s.viewsEverything(sets) || slices.ContainsFunc(s.tables["ObjectPermissions"], func(p Row) bool {
		return p["SobjectType"] == object && p["PermissionsViewAllRecords"] == true && slices.Contains(sets, text(p["ParentId"]))
	})
}

// isShared judges by the default, the owner, the shares and the parent.
func (s *Server) isShared(user, object string, r Row) bool {
	o := s.objects[object]
	model := o.Internal
	if _, u := s.find(user); u["UserType"] != "Standard" {
		model = o.External
	}
	if strings.HasPrefix(model, "Read") {
		return true
	}
	if model == "ControlledByParent" {
		for _, f := range o.Fields {
			if f.Master || object == "Contact" && f.Name == "AccountId" {
				if parent := text(r[f.Name]); parent != "" {
					return s.canRead(user, parent)
				}
			}
		}
		return text(r["OwnerId"]) == user
	}
	if s.reaches(user, text(r["OwnerId"]), o.Hierarchy, nil) {
		return true
	}
	for _, share := range s.tables[o.ShareName()] {
		if share["IsDeleted"] == false && share[o.SharedBy] == r["Id"] && s.reaches(user, text(share["UserOrGroupId"]), o.Hierarchy, nil) {
			return true
		}
	}
	if o.field("AccountId") == nil || !slices.Contains([]string{"Contact", "Opportunity", "Case"}, object) {
		return false
	}
	for _, share := range s.tables["AccountShare"] { // access to an account can include that to its records
		level := text(share[object+"AccessLevel"])
		if share["IsDeleted"] == false && share["AccountId"] == r["AccountId"] && (level == "Read" || level == "Edit") && s.reaches(user, text(share["UserOrGroupId"]), o.Hierarchy, nil) {
			return true
		}
	}
	return false
}

// isAbove reports whether a user has a role above that of another.
func (s *Server) isAbove(user, other string) bool {
	_, boss := s.find(user)
	_, below := s.find(other)
	if boss == nil || below == nil || text(boss["UserRoleId"]) == "" {
		return false
	}
	_, role := s.find(text(below["UserRoleId"]))
	for range 100 {
		if role == nil {
			return false
		}
		if role["ParentRoleId"] == boss["UserRoleId"] {
			return true
		}
		_, role = s.find(text(role["ParentRoleId"]))
	}
	return false
}

// reaches reports whether access that a user or group has is also a user's.
func (s *Server) reaches(user, with string, hierarchy bool, visited []string) bool {
	if user == with {
		return true
	}
	name, r := s.find(with)
	if slices.Contains(visited, with) {
		return false
	}
	visited = append(visited, with)
	switch name {
	case "User":
		return hierarchy && r["IsActive"] == true && s.isAbove(user, with)
	case "Group":
	default:
		return false
	}
	related := text(r["RelatedId"])
	_, u := s.find(user)
	switch kind := r["Type"]; kind {
	case "Organization":
		return u["UserType"] == "Standard"
	case "Role", "RoleAndSubordinates", "RoleAndSubordinatesInternal":
		return s.inRole(user, related, text(kind), hierarchy)
	case "Territory", "TerritoryAndSubordinates":
		return s.inTerritory(user, related, kind == "TerritoryAndSubordinates")
	case "Manager":
		return s.manages(user, related)
	case "ManagerAndSubordinatesInternal":
		return user == related || s.manages(related, user)
	case "Regular", "Queue":
		for _, m := range s.tables["GroupMember"] {
			if m["GroupId"] == with && m["IsDeleted"] == false && s.reaches(user, text(m["UserOrGroupId"]), hierarchy && r["DoesIncludeBosses"] == true, visited) {
				return true
			}
		}
	}
	return false
}

func (s *Server) inRole(user, role, kind string, hierarchy bool) bool {
	_, u := s.find(user)
	own := text(u["UserRoleId"])
	if own == role {
		return true
	}
	above := func(of, wanted string) bool {
		for range 100 {
			_, r := s.find(of)
			if r == nil {
				return false
			}
			if of = text(r["ParentRoleId"]); of == wanted && of != "" {
				return true
			}
		}
		return false
	}
	if kind != "Role" && above(own, role) {
		_, r := s.find(own)
		return kind == "RoleAndSubordinates" || r["PortalType"] == "None"
	}
	if !hierarchy || own == "" {
		return false
	}
	for _, other := range s.tables["User"] { // the bosses of somebody with the role
		if other["IsActive"] == true && other["UserRoleId"] == role && above(role, own) {
			return true
		}
	}
	return false
}

func (s *Server) inTerritory(user, territory string, below bool) bool {
	for _, a := range s.tables["UserTerritory2Association"] {
		if a["UserId"] != user || a["IsActive"] != true || a["IsDeleted"] != false {
			continue
		}
		at := text(a["Territory2Id"])
		for range 100 {
			if at == territory {
				return true
			}
			_, t := s.find(at)
			if at = text(t["ParentTerritory2Id"]); !below || at == "" {
				break
			}
		}
	}
	return false
}

// manages reports whether a user is a manager of another, directly or not.
func (s *Server) manages(user, other string) bool {
	for range 100 {
		_, u := s.find(other)
		if u == nil {
			return false
		}
		if other = text(u["ManagerId"]); other == user && other != "" {
			return true
		}
	}
	return false
}
