// Package replica chooses the server of a read: a streaming replica that has replayed
// what the read must see, else the primary. A read on a replica says itself whether the
// replica has come far enough (ErrBehind), in the transaction in which it reads. A read
// that a replica cancels or loses is repeated once on the primary.
//
// The package may import pgx and the standard library.
package replica
