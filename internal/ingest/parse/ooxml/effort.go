package ooxml

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/safetext"
)

// effort is what reading one file has cost so far, and what of the file could not be read.
type effort struct {
	ctx     context.Context
	maxText int
	steps   int
	cost    int // bytes of text and what blocks and cells count for beside it
	damage  []string
}

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

// tolerate keeps note of a part that cannot be read. The error is what cannot be tolerated: a limit, the end of time.
func (e *effort) tolerate(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case e.ctx.Err() != nil:
		return fmt.Errorf("parse: %w", e.ctx.Err())
	}
	if _, ok := errors.AsType[*document.LimitError](err); ok {
		return err
	}
	if damaged, ok := errors.AsType[*document.DamagedError](err); ok {
		what += " (" + damaged.Detail + ")"
	}
	if len(e.damage) < maxDamage {
		e.damage = append(e.damage, what)
	}
	return nil
}

// maxDamage is how many broken parts are named.
const maxDamage = 20

// report says in a draft what is missing of it.
func (e *effort) report(draft *document.Draft) {
	if len(e.damage) > 0 {
		draft.Extra["damaged"] = safetext.TruncateBytes(strings.Join(e.damage, "; "), 500)
	}
}
