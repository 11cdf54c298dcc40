package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Purpose says what the texts are for: some models embed a question unlike the passage that answers it.
type Purpose uint8

// The purposes of an embedding.
const (
	Passage Purpose = iota // a text to be found
	Query                  // a text to find others by
)

// Embedder is one embedding model.
type Embedder interface {
	// Model names the model. Vectors are comparable only under the same name.
	Model() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed returns one vector of unit length for each text, in order. It gives all vectors or an error. It stops when
	// the context ends. No texts give no vectors.
	Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}

// Registry holds the embedders of an installation by model name. It does not change after NewRegistry.
type Registry struct {
	names   []string
	byName  map[string]Embedder
	primary Embedder
}

// NewRegistry makes a registry whose default is the first embedder. Names must not be empty or repeat.
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
			return nil, fmt.Errorf("embedders: model %q is there twice", name)
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

// Default returns the embedder for collections that name no model.
func (r *Registry) Default() Embedder { return r.primary }

// Names returns the names of all models, the default first.
func (r *Registry) Names() []string { return slices.Clone(r.names) }
