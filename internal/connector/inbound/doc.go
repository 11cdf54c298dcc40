// Package inbound receives webhook deliveries. It finds the connectors that a
// delivery is for, verifies the signature with their secrets, stores the delivery
// once in PostgreSQL, and starts few syncs of the changed items only. A delivery is
// acknowledged when its row is stored, so it survives a time without workers. The
// row is done when a sync of its items has completed.
//
// Allowed imports: ent, connectors, pgx, and internal/{viewer, apierr, secret,
// syncjob}.
package inbound
