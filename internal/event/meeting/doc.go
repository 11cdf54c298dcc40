// Package meeting has the providers of meetings, and the reader of transcripts.
//
// Allowed imports: connectors, go-oidc, golang-jwt, internal/event, internal/safetext.
package meeting
