// Package store opens the database: one connection pool under the application's
// role, the ent client, and the check that a row is linked only to rows that its
// writer can see. It also has the pools of replicas, the clock of the database and the
// check of the schema.
//
// Allowed imports: ent, internal/audit, internal/apierr, internal/store/replica.
package store
