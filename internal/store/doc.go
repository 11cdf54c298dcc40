// Package store opens the database: one connection pool under the application's
// role, the ent client over it, and the rule that a row may only be linked to
// rows its writer can see. It imports ent, internal/audit, ent/gid and
// internal/apierr.
package store
