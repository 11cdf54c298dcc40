// Package analytics keeps what was asked and what came of it: a log of searches
// and chat questions, written behind the requests; clicks and feedback that
// clients send; and the counts that the dashboard shows of both. It keeps no
// person, address or device, and of texts only what Scrub leaves.
//
// Reads and events take a viewer.Scope. The log is written for all workspaces
// at once, each row under the workspace that its request was of.
//
// The package may import pgx, google/uuid and the leaves internal/apierr,
// internal/viewer and internal/request/requestid.
package analytics
