package connectortest

import (
	"context"
	"slices"
	"strconv"

	"github.com/magpie-search/magpie/connectors"
)

// Belongs says who belongs to a group; nobody takes the group away.
func (f *Fake) Belongs(group string, members ...string) {
	f.Lock()
	defer f.Unlock()
	f.groups = slices.DeleteFunc(f.groups, func(g connectors.Group) bool { return g.Principal == group })
	if len(members) > 0 {
		f.groups = append(f.groups, connectors.Group{Principal: group, Name: group, Members: members})
	}
}

// DirectoryFails makes every reading of groups end in an error, at its last
// page; nil ends that.
func (f *Fake) DirectoryFails(err error) {
	f.Lock()
	defer f.Unlock()
	f.directory = err
}

// Groups implements [connectors.Directory], with a group on each page.
func (l fakeLister) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	f := l.of.fake
	f.Lock()
	defer f.Unlock()
	at, _ := strconv.Atoi(cursor)
	if f.directory != nil && at+1 >= len(f.groups) {
		return connectors.GroupPage{}, f.directory
	}
	if at >= len(f.groups) {
		return connectors.GroupPage{Done: true}, nil
	}
	return connectors.GroupPage{Groups: f.groups[at : at+1], Next: strconv.Itoa(at + 1), Done: at+1 == len(f.groups)}, ctx.Err()
}
