package tools

import "magpie/internal/apierr"

// noDatabase is what every database tool answers while none is attached.
func noDatabase() error {
	return apierr.New(apierr.CodeNotFound, "No database is attached to this workspace, so there is nothing to query. Say so.")
}
