// Package note keeps what the sources of connectors have to remember between
// the steps of a walk and from one walk to the next (connectors.State).
//
// It may import the standard library, pgx, internal/apierr and internal/viewer.
package note
