package ole

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// effort is what reading one file has cost so far, and what of the file could not be read.
type effort struct {
	ctx     context.Context
	maxText int
	steps   int
	cost    int // bytes of text and what blocks and cells count for beside it
	damage  []string
}

// What a block and a cell count for beside their text.
const (
	blockCost = 32
	cellCost  = 16
)

// step counts the steps of reading. It ends it with the context, or when the text is longer than a document's may be.
func (e *effort) step() error {
	e.steps++
	if e.steps%512 == 0 && e.ctx.Err() != nil {
		return fmt.Errorf("parse: %w", e.ctx.Err())
	}
	if e.cost > e.maxText {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", e.maxText)}
	}
	return nil
}

// maxEntries bounds how many notes, comments, authors or objects of a file count.
const maxEntries = 200_000

// missing keeps note of something that cannot be read, once.
func (e *effort) missing(what string) {
	if len(e.damage) < maxDamage && !slices.Contains(e.damage, what) {
		e.damage = append(e.damage, what)
	}
}

// maxDamage is how many broken parts are named.
const maxDamage = 20

// report says in a draft what is missing of it.
func (e *effort) report(draft *document.Draft) {
	if len(e.damage) > 0 {
		draft.Extra["damaged"] = strings.Join(e.damage, "; ")
	}
}
