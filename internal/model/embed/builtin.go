package embed

import (
	"context"
	_ "embed" // the table
	"fmt"
	"sync"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// BuiltinModel is the name of the builtin embedder's model.
const BuiltinModel = "builtin-static-256"

//go:embed data/static.bin
var builtinTable string

// Builtin embeds texts without a service: it adds up the vectors of their words from a table that ships in the binary
// (package static) and that internal/tools/trainembed made from free documentation and dictionaries. Word order does not
// count. docs/embedding.md says what the vectors are good for.
//
// Texts that share words, related words, or words and their translations are near; a word that the table does not know
// counts by its spelling. All sums are sums of integers: every machine computes the same vectors. A text without a
// single word gets one fixed vector.
//
// Builtin is safe for concurrent use and starts no goroutines.
type Builtin struct {
	pools sync.Pool
}

// NewBuiltin makes the builtin embedder. It does not copy the table.
func NewBuiltin() *Builtin {
	table, err := static.Open(builtinTable)
	if err != nil {
		panic("embed: the builtin table is damaged: " + err.Error()) // it is part of the binary and covered by a test
	}
	analyzer := analysis.New()
	return &Builtin{pools: sync.Pool{New: func() any { return static.NewPool(table, static.NewReader(analyzer)) }}}
}

// Model returns BuiltinModel.
func (b *Builtin) Model() string { return BuiltinModel }

// Dimensions returns 256.
func (b *Builtin) Dimensions() int { return static.Dimensions }

// Embed implements Embedder. It fails only when the context ends. Both purposes give the same vectors.
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
