package connectortest

import (
	"context"
	"slices"
	"strconv"

	"github.com/magpie-search/magpie/connectors"
)

// SetGroup sets the members of a group. Without members, the group is removed.
func (f *Fake) SetGroup(group string, members ...string) {
	f.Lock()
	defer f.Unlock()
	f.groups = slices.DeleteFunc(f.groups, func(g connectors.Group) bool { return g.Principal == group })
	if len(members) > 0 {
		f.groups = append(f.groups, connectors.Group{Principal: group, Name: group, Members: members})
	}
}

// SetGroupsError makes the last page of groups fail until it is set to nil.
func (f *Fake) SetGroupsError(err error) {
	f.Lock()
	defer f.Unlock()
	f.groupsError = err
}

// Groups implements [connectors.GroupLister], with one group on each page.
func (l fakeLister) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	f := l.of.fake
	f.Lock()
	defer f.Unlock()
	at, _ := strconv.Atoi(cursor)
	if f.groupsError != nil && at+1 >= len(f.groups) {
		return connectors.GroupPage{}, f.groupsError
	}
	if at >= len(f.groups) {
		return connectors.GroupPage{Done: true}, nil
	}
	return connectors.GroupPage{Groups: f.groups[at : at+1], Next: strconv.Itoa(at + 1), Done: at+1 == len(f.groups)}, ctx.Err()
}
