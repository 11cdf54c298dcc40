// Package engine is the tier for collections that outgrow one PostgreSQL: a distributed
// engine finds candidates, and PostgreSQL decides about them. A Backend is the client of
// such an engine. It gets objects made of a collection's changes (index.Entry), and
// answers with ids of passages: the best by words, and those with the most similar
// vectors. PostgreSQL then applies the filter again, counts words and compares vectors in
// the transaction of the search, so that order, scores and permissions are those of the
// other tiers, whatever the engine says.
//
// An engine lags. What it is known to have, in every replica, is a change number, the
// watermark. Documents that changed after it are searched in an overlay in memory, so that a
// search sees each finished sync at once. What the engine finds of them are candidates like
// others: PostgreSQL leaves out passages that are gone, and scores those that are left as
// they are now, so that a replica with old data cannot answer with it.
//
// An answer must have the passages that PostgreSQL knows of: for a query without a filter as
// many as its most frequent term has, and with one at least something, if the filter selects
// something. PostgreSQL searches instead if it does not.
//
// The package may import internal/index, internal/search/rank, internal/search/resident,
// internal/request/breaker, internal/store/ttlcache, internal/viewer, google/uuid and the
// standard library.
package engine
