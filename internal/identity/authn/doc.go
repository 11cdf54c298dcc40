// Package authn authenticates people by password and session tokens, and programs
// by API keys and request signatures. It returns viewers; the policies in ent/rule
// decide what a viewer may do.
//
// Allowed imports: ent, ent/gid, internal/apierr, internal/patch, internal/ratelimit,
// internal/safetext, internal/store and internal/viewer.
package authn
