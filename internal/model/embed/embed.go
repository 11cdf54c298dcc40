package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Purpose is the use of a text. Some models embed questions and passages differently.
type Purpose uint8

// The purposes of an embedding.
const (
	Passage Purpose = iota // a text that searches find
	Query                  // the text of a search
)

// An Embedder is an embedding model.
type Embedder interface {
	// Model returns the name of the model. Only vectors of the same name are comparable.
	Model() string
	// Dimensions returns the length of every vector.
	Dimensions() int
	// Embed returns one vector of unit length for each text, in order, or an error. It stops when the context ends.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}

// A Registry has the embedders of an installation by model name. It is immutable.
type Registry struct {
	names   []string
	byName  map[string]Embedder
	primary Embedder
}

// NewRegistry returns a registry. The first embedder is the default. Names must be unique and not empty.
func NewRegistry(embedders ...Embedder) (*Registry, error) {
	if len(embedders) == 0 {
		return nil, errors.New("embedders: at least one is required")
	}
	r := &Registry{byName: make(map[string]Embedder, len(embedders)), primary: embedders[0]}
	for _, embedder := range embedders {
		name := embedder.Model()
		if name == "" {
			return nil, errors.New("embedders: a model has no name")
		}
		if _, found := r.byName[name]; found {
			return nil, fmt.Errorf("embedders: duplicate model %q", name)
		}
		r.byName[name] = embedder
		r.names = append(r.names, name)
	}
	return r, nil
}

// Lookup returns the embedder of a model.
func (r *Registry) Lookup(name string) (Embedder, bool) {
	embedder, found := r.byName[name]
	return embedder, found
}

// Default returns the embedder of collections without a model.
func (r *Registry) Default() Embedder { return r.primary }

// Names returns the names of all models, the default first.
func (r *Registry) Names() []string { return slices.Clone(r.names) }
