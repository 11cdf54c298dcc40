// Package whynot says why a document is not among the results of a search, and what
// would have to change.
//
// Allowed imports: ent, internal/identity/authn, internal/identity/principal,
// internal/search, internal/store/transaction, and the leaves.
package whynot
