package connectors

import "context"

// A PermissionLister is a [Source] that knows who may read its items. Its kind
// sets [Kind].Permissions.
type PermissionLister interface {
	// Readers returns the readers of items, by item id. The items come from a walk,
	// at most MaxPageItems in one call. Nobody may read an item that is missing
	// from the result or has no reader.
	Readers(ctx context.Context, items []Item) (map[string]Readers, error)
}

// Readers are the people and groups that may read an item at the source.
type Readers struct {
	// Everyone says that everybody with access to the source may read the item.
	// Principals is ignored then.
	Everyone bool
	// Principals are people and groups: "user:ada@example.com" with a lower-case
	// address, "group:" with the source's id of the group, and "domain:example.com"
	// for everybody with a verified address in a lower-case domain.
	Principals []string
}

// A GroupLister is a [PermissionLister] that knows the members of the groups
// that [Readers] name.
type GroupLister interface {
	// Groups returns the page of groups at a cursor. "" is the start.
	Groups(ctx context.Context, cursor string) (GroupPage, error)
}

// A GroupPage is one step of a listing of groups.
type GroupPage struct {
	Groups []Group
	Next   string // the cursor of the next page, without meaning if Done is true
	Done   bool
	// Warnings are messages for the people who may edit the connector. Equal
	// warnings are shown once.
	Warnings []string
}

// A Group is a group of people at the source.
type Group struct {
	// Principal is the group's principal in Readers: "group:" and the source's id.
	Principal string
	// Name is the group's name for people.
	Name string
	// Members are principals of people ("user:ada@example.com") and groups.
	Members []string
}
