package tools

import "github.com/magpie-search/magpie/internal/apierr"

// errNoDatabase is the result of every database tool while no database is
// attached.
func errNoDatabase() error {
	return apierr.New(apierr.CodeNotFound, "No database is attached to this workspace, so there is nothing to query. Say so.")
}
