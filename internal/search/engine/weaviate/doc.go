// Package weaviate is an engine.Backend whose engine is Weaviate, version 1.39 or a later
// one of the same major version. It searches, writes and deletes over gRPC, and handles
// classes and nodes over REST.
//
// A passage is an object with its id. The terms of each field are one text, which the
// engine splits at white space and changes no further; encode makes every term a word
// without white space. Other strings are stored whole. See class.go for the properties.
//
// A class has its shards as tenants (shard.go), and a search asks for each. Then one that
// no node can answer for is an error.
//
// The scores of the engine are those of BM25 for each field, by the frequencies of one
// shard, and added up by the weights of the fields. They choose candidates; package rank
// computes the scores that count.
//
// The messages are written and read by their field numbers (wire.go). They are few, and
// the module that has them generated is the whole server.
//
// The package may import internal/index, internal/search/engine, internal/search/rank,
// google/uuid, google.golang.org/grpc, google.golang.org/protobuf/encoding/protowire,
// golang.org/x/sync/errgroup and the standard library.
package weaviate
