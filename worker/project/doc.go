// Package project keeps a distributed search engine in step with PostgreSQL. It reads the
// changes of each collection that is to be in the engine, in pages in the order of
// the change numbers, sends their passages as objects, and removes the objects of older
// versions. Then it asks every replica whether it has them. How far both have got is in
// PostgreSQL (index.Projection): a killed process loses a page at most, and only
// what every replica has counts as confirmed, which is what searches rely on.
//
// A projection belongs to one process for the time of a lease. No call of the engine
// outlasts the lease, so that a process that was held up cannot overwrite objects of
// another. Changes are sent once they are on the disk of PostgreSQL.
//
// Collections whose objects belong to another model, generation of changes or history of
// the database get a new class. Classes that no projection names are dropped.
//
// Allowed imports: internal/search/engine, internal/index and the leaves.
package project
