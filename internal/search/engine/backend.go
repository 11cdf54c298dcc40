package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// ErrUnavailable is wrapped by errors of a Backend that another node or a later call may
// not have: the engine, or the part of it that a call needs, cannot be reached.
var ErrUnavailable = errors.New("the search engine cannot be reached")

// ErrNoClass is wrapped by errors of calls that name a class which does not exist.
var ErrNoClass = errors.New("the search engine has no such class")

// A Backend is the client of a distributed engine. It keeps objects in classes. All
// methods may be called concurrently, and all but Search any number of times with the
// same effect.
type Backend interface {
	// Create creates a class. A class that exists is left as it is.
	Create(ctx context.Context, c Class) error
	// Drop removes a class and its objects. A class that does not exist is no error.
	Drop(ctx context.Context, class string) error
	// Classes returns the names of the classes that start with the prefix, in any order.
	Classes(ctx context.Context, prefix string) ([]string, error)
	// Put stores objects. One with the passage of an earlier object replaces it. When Put
	// returns without an error, every object is stored in the replicas that are alive. With a
	// RefusedError every other object is.
	Put(ctx context.Context, class string, objects []Object) error
	// Delete removes the objects of the documents whose Change is below before.
	Delete(ctx context.Context, class string, documents []uuid.UUID, before int64) error
	// Missing returns the passages of which a replica has no object with at least the
	// given change. It asks every replica that the class was created with, and fails with
	// ErrUnavailable if one of them does not answer.
	Missing(ctx context.Context, class string, passages []uuid.UUID, change int64) ([]uuid.UUID, error)
	// Search returns passages, best first. It asks one replica of each shard.
	Search(ctx context.Context, class string, q *Query) ([]Found, error)
	// Nodes returns the nodes of the engine, ordered by name.
	Nodes(ctx context.Context) ([]Node, error)
	// Close releases the connections.
	Close() error
}

// A RefusedError says which objects a backend refuses for what they are, so that it will not
// store them later either.
type RefusedError struct {
	Reasons map[uuid.UUID]string // by passage
}

// Error names one of the passages.
func (e *RefusedError) Error() string {
	var first uuid.UUID
	for passage := range e.Reasons {
		if first == uuid.Nil || bytes.Compare(passage[:], first[:]) < 0 {
			first = passage
		}
	}
	return fmt.Sprintf("the search engine refuses %d objects, among them passage %s: %s", len(e.Reasons), first, e.Reasons[first])
}

// A Class is a set of objects that are searched together: one collection with one model,
// one analysis and one number of shards.
type Class struct {
	Name       string // an upper-case letter, then letters, digits and underscores
	Dimensions int    // of the vectors, 0 for none
	Shards     int    // 0 lets the backend choose by the number of its nodes
	Replicas   int    // of each shard, 1 at least
}

// An Object is one passage of a document as the engine stores it.
type Object struct {
	Passage, Document uuid.UUID
	// Change is the change number up to which the object is current.
	Change int64
	// Fields are the terms of each field, in the order of their positions, as often as they
	// occur. The backend does not analyze them.
	Fields [index.FieldCount][]string
	// Vector is of unit length, nil for none.
	Vector []float32
	// Values are those of the document by facet, without empty ones.
	Values [rank.FacetCount][]string
	Time   time.Time // zero for none
	// Readers are the principals that may find the document: nil for everyone, empty for
	// nobody. A reader must also be among Restriction, nil for no restriction.
	Readers, Restriction []string
}

// A Query asks for passages by words or by a vector.
type Query struct {
	// Terms are the words; the best passages by BM25 over the fields, weighted as in package
	// rank, of those that have a term. Nil if the query has a vector.
	Terms []string
	// Vector asks for the passages with the most similar vectors. Nil if the query has terms.
	Vector []float32
	Limit  int
	// Filter is applied before anything is found. A backend may let pass more than Phrases
	// and Excluded select, which depend on positions, but nothing that another field of the
	// filter rejects.
	Filter *rank.Filter
}

// Found is a passage that a query found.
type Found struct{ Passage, Document uuid.UUID }

// A Node is one process of the engine.
type Node struct {
	Name, Version string
	Healthy       bool
}
