package embed

import "github.com/magpie-search/magpie/internal/model/embed/static"

// A Vocabulary is an Embedder that knows some words and not others. Vectors of
// other models are taken to depend on every word.
type Vocabulary interface {
	// Knows returns the share of a word that the model has a vector for: 1 for a word
	// that it has learned, 0 for one that it embeds by its letters alone, and between
	// them for a compound of both.
	Knows(word string) float64
}

// Knows implements Vocabulary.
func (b *Builtin) Knows(word string) float64 {
	pool := b.pools.Get().(*static.Pool)
	defer b.pools.Put(pool)
	return pool.Knows(word)
}
