package viewer

import (
	"slices"

	"github.com/google/uuid"
)

// Group is a group of operations, with the names of the schema's @group directive.
type Group string

// GroupBasic is the group that every token has.
const GroupBasic Group = "BASIC"

// MayUse reports whether v may use the operations of a group. Only tokens are limited
// to groups.
func (v Viewer) MayUse(g Group) bool {
	return v.Token == uuid.Nil || v.AllGroups || g == GroupBasic || slices.Contains(v.Groups, g)
}

// Min returns the lower one of two roles.
func Min(a, b Role) Role {
	if a.rank() < b.rank() {
		return a
	}
	return b
}
