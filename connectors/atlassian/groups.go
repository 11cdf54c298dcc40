package atlassian

import (
	"context"

	"github.com/magpie-search/magpie/connectors"
)

// A GroupCursor is a position in the list of groups, or after a derived group.
type GroupCursor struct {
	Start   int    `json:"n,omitempty"`
	Derived bool   `json:"d,omitempty"`
	After   string `json:"a,omitempty"`
	Loop    string `json:"t,omitempty"` // of the list of groups
}

// A GroupDirectory lists the groups of a site.
type GroupDirectory struct {
	// Begin is called before each page. first says that a new listing begins.
	Begin func(ctx context.Context, first bool) error
	// List returns the groups of the site at a cursor, and the cursor after them. A
	// Derived one follows the last groups.
	List func(ctx context.Context, c GroupCursor) ([]connectors.Group, GroupCursor, error)
	// Warnings returns the warnings since the last call.
	Warnings func() []string
}

// Groups returns the page of groups at a cursor: the groups of the site, and then the
// derived groups.
func (r *Readers) Groups(ctx context.Context, cursor string, d GroupDirectory) (connectors.GroupPage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.GroupPage{}, err
	}
	var c GroupCursor
	if cursor != "" {
		if err := connectors.ParseCursor(cursor, &c); err != nil || c.Start < 0 {
			return connectors.GroupPage{}, connectors.ErrCursor
		}
	}
	if err := d.Begin(ctx, cursor == ""); err != nil {
		return connectors.GroupPage{}, err
	}
	var page connectors.GroupPage
	var next GroupCursor
	var err error
	if c.Derived {
		next.Derived = true
		page.Groups, next.After, err = r.DerivedGroups(ctx, c.After)
		page.Done = next.After == ""
	} else {
		page.Groups, next, err = d.List(ctx, c)
	}
	if err != nil {
		return connectors.GroupPage{}, err
	}
	if !page.Done {
		page.Next = connectors.FormatCursor(next)
	}
	page.Warnings = d.Warnings()
	return page, nil
}
