package salesforce

import (
	"slices"
	"strings"
)

// peopleTables read users, roles and groups.
func (r *sharing) peopleTables() []table {
	return []table{
		{query: selection{fields: []string{"Id", "Email", "UserType", "UserRoleId", "ManagerId"}, object: "User", where: []string{"IsActive = true"}}, visit: func(u row) error {
			kind := u.text("UserType")
			if kind == "" {
				return errInvalid("a user")
			}
			if slices.Contains([]string{"Guest", "AutomatedProcess", "CloudIntegrationUser"}, kind) {
				return nil
			}
			found := &user{email: strings.ToLower(strings.TrimSpace(u.text("Email"))), role: u.text("UserRoleId"), manager: u.text("ManagerId"), internal: kind == "Standard"}
			r.users[u.text("Id")] = found
			if found.role != "" {
				r.byRole[found.role] = append(r.byRole[found.role], u.text("Id"))
			}
			return nil
		}},
		{query: selection{fields: []string{"Id", "ParentRoleId", "PortalType"}, object: "UserRole"}, visit: func(role row) error {
			r.roleParent[role.text("Id")] = role.text("ParentRoleId")
			r.portalRoles[role.text("Id")] = role.text("PortalType") != "" && role.text("PortalType") != "None"
			return nil
		}},
		{query: selection{fields: []string{"Id", "Type", "RelatedId", "DoesIncludeBosses"}, object: "Group"}, visit: func(g row) error {
			if g.text("Type") == "" {
				return errInvalid("a group")
			}
			r.groups[g.text("Id")] = group{kind: g.text("Type"), related: g.text("RelatedId"), bosses: g.flag("DoesIncludeBosses")}
			return nil
		}},
		{query: selection{fields: []string{"Id", "GroupId", "UserOrGroupId"}, object: "GroupMember"}, visit: func(m row) error {
			id := m.text("GroupId")
			r.members[id] = append(r.members[id], m.text("UserOrGroupId"))
			return nil
		}},
	}
}

// permissionTables read the permissions for objects, and for the fields of documents.
func (r *sharing) permissionTables(names []string, objects []*object) []table {
	add := func(sets map[string]map[string]bool, key, set string) {
		if sets[key] == nil {
			sets[key] = map[string]bool{}
		}
		sets[key][set] = true
	}
	tables := []table{
		{query: selection{fields: []string{"Id", "PermissionsViewAllData", "HasActivationRequired"}, object: "PermissionSet"}, visit: func(set row) error {
			r.dormantSets[set.text("Id")] = set.flag("HasActivationRequired")
			if set.flag("PermissionsViewAllData") {
				add(r.viewSets, "", set.text("Id"))
			}
			return nil
		}},
		{query: selection{fields: []string{"Id", "AssigneeId", "PermissionSetId"}, object: "PermissionSetAssignment", where: []string{"Assignee.IsActive = true"}}, visit: func(a row) error {
			id := a.text("AssigneeId")
			r.sets[id] = append(r.sets[id], a.text("PermissionSetId"))
			return nil
		}},
		{query: selection{
			fields: []string{"Id", "ParentId", "SobjectType", "PermissionsRead", "PermissionsViewAllRecords"}, object: "ObjectPermissions", where: []string{"PermissionsRead = true", in("SobjectType", names)},
		}, visit: func(p row) error {
			add(r.readSets, p.text("SobjectType"), p.text("ParentId"))
			if p.flag("PermissionsViewAllRecords") {
				add(r.viewSets, p.text("SobjectType"), p.text("ParentId"))
			}
			return nil
		}},
	}
	var fields []string
	for _, o := range objects {
		for i := range o.Fields {
			if f := &o.Fields[i]; f.Permissionable && (f.Name == "Subject" || f.Name == "Status" || slices.ContainsFunc(o.shown, func(s field) bool { return s.Name == f.Name })) {
				fields = append(fields, o.Name+"."+f.Name)
			}
		}
		for _, kind := range o.children {
			fields = append(fields, r.securedFields(kind)...)
		}
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	for part := range slices.Chunk(fields, idsPerQuery) {
		tables = append(tables, table{query: selection{
			fields: []string{"Id", "ParentId", "Field"}, object: "FieldPermissions", where: []string{"PermissionsRead = true", in("Field", part)},
		}, visit: func(p row) error {
			add(r.fieldSets, p.text("Field"), p.text("ParentId"))
			return nil
		}})
	}
	return tables
}

// territoryTables read territories and their users.
func (r *sharing) territoryTables() []table {
	return []table{
		{query: selection{fields: []string{"Id", "ParentTerritory2Id"}, object: "Territory2"}, absent: func() {}, visit: func(t row) error {
			r.territoryParent[t.text("Id")] = t.text("ParentTerritory2Id")
			return nil
		}},
		{query: selection{fields: []string{"Id", "UserId", "Territory2Id"}, object: "UserTerritory2Association", where: []string{"IsActive = true"}}, absent: func() {}, visit: func(a row) error {
			id := a.text("Territory2Id")
			r.byTerritory[id] = append(r.byTerritory[id], a.text("UserId"))
			return nil
		}},
	}
}

// hasSet reports whether a user has one of some permission sets, of which profiles are
// one sort.
func (r *sharing) hasSet(id string, sets map[string]bool) bool {
	return slices.ContainsFunc(r.sets[id], func(set string) bool { return sets[set] && !r.dormantSets[set] })
}

// canRead reports whether a user has the permission to read an object.
func (r *sharing) canRead(id, object string) bool {
	return r.users[id] != nil && (r.hasSet(id, r.readSets[object]) || r.hasSet(id, r.viewSets[""]))
}

// viewsAll reports whether a user reads all records of an object.
func (r *sharing) viewsAll(id, object string) bool {
	return r.hasSet(id, r.viewSets[object]) || r.hasSet(id, r.viewSets[""])
}

// securedFields returns the fields of children that have field-level security, with
// their object.
func (r *sharing) securedFields(kind childKind) []string {
	described := r.children[kind.object]
	if described == nil {
		return nil
	}
	var secured []string
	for _, name := range append(slices.Clone(kind.fields), kind.outside) {
		if f := described.byName[fieldKey(name)]; f != nil && f.Permissionable {
			secured = append(secured, kind.object+"."+f.Name)
		}
	}
	return secured
}

func (u *user) isInside() bool { return u.internal }

func (u *user) isOutside() bool { return !u.internal }

func (*user) isAnybody() bool { return true }

// allSee reports whether all users of a sort who may read records of an object see a
// field of it, or of an object of their children.
func (r *sharing) allSee(object string, of *object, name string, who func(u *user) bool) bool {
	f := of.byName[fieldKey(name)]
	if f == nil || !f.Permissionable {
		return f != nil
	}
	for id, u := range r.users {
		if who(u) && r.canRead(id, object) && !r.hasSet(id, r.fieldSets[of.Name+"."+f.Name]) {
			return false
		}
	}
	return true
}

// usersOf returns the users of a group, at any depth, and those above them in the role
// hierarchy.
func (r *sharing) usersOf(id string, hierarchy bool) map[string]bool {
	found := map[string]bool{}
	r.addUsers(found, map[visit]bool{}, visit{id, hierarchy})
	return found
}

// A visit is a user or group on the way through groups, and whether those above its
// users belong to it: each group on the way must say so.
type visit struct {
	id        string
	hierarchy bool
}

func (r *sharing) addUsers(found map[string]bool, visited map[visit]bool, at visit) {
	if visited[at] {
		return
	}
	visited[at] = true
	if r.users[at.id] != nil {
		r.addWithBosses(found, map[string]bool{at.id: true}, at.hierarchy)
		return
	}
	g := r.groups[at.id] // of no type: a user who is not active, or a group that cannot be read
	own := map[string]bool{}
	switch g.kind {
	case "Regular", "Queue":
		for _, member := range r.members[at.id] {
			r.addUsers(found, visited, visit{member, at.hierarchy && g.bosses})
		}
	case "Role":
		r.addRole(own, g.related, false, false)
		r.addWithBosses(found, own, at.hierarchy)
	case "RoleAndSubordinates", "RoleAndSubordinatesInternal":
		r.addRole(own, g.related, true, g.kind == "RoleAndSubordinates")
		r.addWithBosses(found, own, at.hierarchy)
	case "Organization":
		for id, u := range r.users {
			found[id] = found[id] || u.internal
		}
	case "Manager":
		r.addManagers(found, g.related)
	case "ManagerAndSubordinatesInternal":
		r.addSubordinates(found, g.related)
	case "Territory", "TerritoryAndSubordinates":
		r.addTerritory(found, g.related, g.kind == "TerritoryAndSubordinates")
	}
}

// addWithBosses adds users and, with the hierarchy, those above them.
func (r *sharing) addWithBosses(found, users map[string]bool, hierarchy bool) {
	if hierarchy {
		r.addBosses(users)
	}
	for id, isMember := range users {
		found[id] = found[id] || isMember
	}
}

const maxDepth = 500 // of roles, territories and managers

// ancestors returns those above an entry of a tree.
func ancestors(parents map[string]string, id string) []string {
	var above []string
	for id = parents[id]; id != "" && !slices.Contains(above, id) && len(above) < maxDepth; id = parents[id] {
		above = append(above, id)
	}
	return above
}

// addRole adds the users of a role, and of those below it.
func (r *sharing) addRole(found map[string]bool, role string, below, portal bool) {
	for other, users := range r.byRole {
		if other != role && (!below || (r.portalRoles[other] && !portal) || !slices.Contains(ancestors(r.roleParent, other), role)) {
			continue
		}
		for _, id := range users {
			found[id] = true
		}
	}
}

// addBosses adds everybody with a role above the role of one of some users.
func (r *sharing) addBosses(found map[string]bool) {
	roles := map[string]bool{}
	for id, isMember := range found {
		if isMember && r.users[id] != nil {
			for _, role := range ancestors(r.roleParent, r.users[id].role) {
				roles[role] = true
			}
		}
	}
	for role := range roles {
		for _, id := range r.byRole[role] {
			found[id] = true
		}
	}
}

// addManagers adds the managers of a user, direct and indirect ones.
func (r *sharing) addManagers(found map[string]bool, id string) {
	above := map[string]bool{}
	for range maxDepth {
		u := r.users[id]
		if u == nil || u.manager == "" || above[u.manager] {
			return
		}
		id = u.manager
		above[id] = true
		found[id] = found[id] || r.users[id] != nil
	}
}

// addSubordinates adds a user and all internal users below them.
func (r *sharing) addSubordinates(found map[string]bool, manager string) {
	found[manager] = found[manager] || r.users[manager] != nil
	for id, u := range r.users {
		above := map[string]bool{}
		if r.addManagers(above, id); u.internal && above[manager] {
			found[id] = true
		}
	}
}

func (r *sharing) addTerritory(found map[string]bool, territory string, below bool) {
	for other, users := range r.byTerritory {
		if other != territory && (!below || !slices.Contains(ancestors(r.territoryParent, other), territory)) {
			continue
		}
		for _, id := range users {
			found[id] = found[id] || r.users[id] != nil
		}
	}
}
