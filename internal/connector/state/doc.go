// Package state stores what the sources of connectors remember between the pages
// of a walk and between walks (connectors.State).
//
// Allowed imports: connectors, internal/viewer and pgx.
package state
