package wordmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Work accounts for the reading of one file: what it has cost so far, and what of the file could not be read.
type Work struct {
	// Cost is the text so far in bytes, plus an allowance for blocks and cells.
	Cost int
	// Damage names the parts that could not be read.
	Damage []string

	ctx     context.Context
	maxText int
	steps   int
}

// NewWork returns the account of a file whose text may have maxText bytes.
func NewWork(ctx context.Context, maxText int) Work { return Work{ctx: ctx, maxText: maxText} }

// Context returns the context of the reading.
func (w *Work) Context() context.Context { return w.ctx }

// Step returns an error if the context has ended, or a *document.LimitError if the text has become too large. Readers call it
// for each piece of a file. It looks at the context once in 512 calls.
func (w *Work) Step() error {
	w.steps++
	if w.steps&511 == 0 || w.Cost > w.maxText {
		return w.check()
	}
	return nil
}

func (w *Work) check() error {
	if w.ctx.Err() != nil {
		return fmt.Errorf("parse: %w", w.ctx.Err())
	}
	if w.Cost > w.maxText {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", w.maxText)}
	}
	return nil
}

// maxDamage is how many damaged parts are named.
const maxDamage = 20

// Missing notes that a part of the file cannot be read, once for each part.
func (w *Work) Missing(part string) {
	if len(w.Damage) < maxDamage && !slices.Contains(w.Damage, part) {
		w.Damage = append(w.Damage, part)
	}
}

// Tolerate notes that a part of the file cannot be read because of an error. It returns an error that must end the reading: a
// limit, or that of the context.
func (w *Work) Tolerate(part string, err error) error {
	switch {
	case err == nil:
		return nil
	case w.ctx.Err() != nil:
		return fmt.Errorf("parse: %w", w.ctx.Err())
	}
	if _, ok := errors.AsType[*document.LimitError](err); ok {
		return err
	}
	if damaged, ok := errors.AsType[*document.DamagedError](err); ok {
		part += " (" + damaged.Detail + ")"
	}
	if len(w.Damage) < maxDamage {
		w.Damage = append(w.Damage, part)
	}
	return nil
}

// Report adds the parts that could not be read to the facts of a draft.
func (w *Work) Report(draft *document.Draft) {
	const maxBytes = 500
	if len(w.Damage) > 0 {
		draft.Extra["damaged"] = safetext.TruncateBytes(strings.Join(w.Damage, "; "), maxBytes)
	}
}
