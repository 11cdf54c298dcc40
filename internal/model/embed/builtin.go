package embed

import (
	"context"
	_ "embed" // the table
	"fmt"
	"sync"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// BuiltinModel is the model name of the builtin embedder.
const BuiltinModel = "builtin-static-256-2"

//go:embed data/static.bin
var builtinTable string

// A Builtin embeds texts without a service. It adds the vectors of their words from a table in the binary (package static),
// which internal/tools/trainembed trains on free documentation and dictionaries. It ignores the order of words.
// docs/embedding.md describes the quality of the vectors.
//
// Texts with the same words, related words or translations are near each other. Unknown words are embedded by their
// spelling. All sums are over integers, so that every machine computes the same vectors. All texts without words have the
// same vector.
//
// A Builtin is safe for concurrent use and starts no goroutines.
type Builtin struct {
	pools sync.Pool
}

// NewBuiltin returns the builtin embedder. It does not copy the table.
func NewBuiltin() *Builtin {
	table, err := static.Open(builtinTable)
	if err != nil {
		panic("embed: the builtin table is damaged: " + err.Error()) // it is part of the binary and tested
	}
	analyzer := analysis.New()
	return &Builtin{pools: sync.Pool{New: func() any { return static.NewPool(table, static.NewReader(analyzer)) }}}
}

// Model returns BuiltinModel.
func (b *Builtin) Model() string { return BuiltinModel }

// Dimensions returns 256.
func (b *Builtin) Dimensions() int { return static.Dimensions }

// Embed implements Embedder. It fails only if the context ends. Both purposes have the same vectors.
func (b *Builtin) Embed(ctx context.Context, texts []string, _ Purpose) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	values := make([]float32, len(texts)*static.Dimensions)
	pool := b.pools.Get().(*static.Pool)
	defer b.pools.Put(pool)
	for i, text := range texts {
		if i%32 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("embed: %w", err)
			}
		}
		vectors[i] = values[i*static.Dimensions : (i+1)*static.Dimensions : (i+1)*static.Dimensions]
		pool.Embed(vectors[i], text)
	}
	return vectors, nil
}
