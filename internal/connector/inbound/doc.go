// Package inbound takes what platforms tell of changes: it finds the connectors
// that a delivery is for, verifies it with their secrets, keeps it in PostgreSQL
// once, and turns what was kept into few syncs of just what changed. A delivery
// is answered when its row is stored, so that nothing is lost while no worker is
// there; a row is done when a sync that looked at its items has ended.
//
// Allowed imports: ent, connectors, pgx, and internal/{viewer, apierr, secret,
// syncjob}.
package inbound
