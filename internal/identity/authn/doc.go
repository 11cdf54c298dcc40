// Package authn proves who is asking: people by password and session tokens,
// programs by API keys and request signatures. It makes viewers and nothing
// else; what a viewer may do is decided by the policies in ent/rule.
// It imports ent, internal/viewer, internal/apierr, ent/gid, internal/ratelimit,
// internal/store/ttlcache and internal/store/transaction.
package authn
