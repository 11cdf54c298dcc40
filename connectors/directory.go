package connectors

import "context"

// Directory is an optional ability of a [Source] that tells permissions: who
// belongs to the groups that [Readers] name.
type Directory interface {
	// Groups returns the page of groups at a cursor, "" being the start.
	Groups(ctx context.Context, cursor string) (GroupPage, error)
}

// GroupPage is one step through a directory.
type GroupPage struct {
	Groups []Group
	Next   string // only meaningful when Done is false
	Done   bool
	// Warnings are what the people who may edit the connector should know of the
	// groups, each said once.
	Warnings []string
}

// Group is a group of people at the source.
type Group struct {
	// Principal names it as Readers do: "group:" and the source's id.
	Principal string
	// Name is for people.
	Name string
	// Members are principals: people ("user:ada@example.com") and groups.
	Members []string
}
