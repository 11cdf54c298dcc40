// Package analytics keeps a log of searches and chat questions, the clicks and feedback
// that clients send, and the counts that the dashboard shows. The log is written after
// the requests. It contains no person, address or device, and its texts are scrubbed.
//
// Reads and events need a viewer.Scope. The log is written for all workspaces at once,
// each row in the workspace of its request.
//
// The package may import pgx, google/uuid and the leaves internal/apierr, internal/safetext,
// internal/viewer and internal/request/requestid.
package analytics
