package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/engine"
)

// put sends objects of a batch, and notes which of them the engine refuses for what they
// are. That is no error.
func (s *slice) put(ctx context.Context, b *batch, objects []engine.Object) error {
	err := s.call(ctx, func(ctx context.Context) error { return s.backend.Put(ctx, s.row.Class, objects) })
	var refused *engine.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	if b.refused == nil {
		b.refused = map[uuid.UUID]string{}
	}
	maps.Copy(b.refused, refused.Reasons)
	s.log.WarnContext(ctx, "search engine refuses objects", slog.Int("objects", len(refused.Reasons)), slog.Any("error", err))
	return nil
}

// noteRefused notes with the projection which documents of a batch that was sent have an
// object that is refused, and that the others have none.
func (s *slice) noteRefused(b *batch) error {
	if len(b.refused) == 0 && len(s.row.Refused) == 0 {
		return nil
	}
	refused := map[uuid.UUID]bool{}
	for _, id := range s.row.Refused {
		refused[id] = true
	}
	for _, id := range b.documents {
		delete(refused, id)
	}
	for i := range b.objects {
		if reason, is := b.refused[b.objects[i].Passage]; is {
			refused[b.objects[i].Document], s.refusal = true, reason
		}
	}
	if len(refused) > s.opt.MaxRefused {
		return &engineError{fmt.Errorf("the engine refuses objects of more than %d documents: %s", s.opt.MaxRefused, s.refusal)}
	}
	s.row.Refused = slices.SortedFunc(maps.Keys(refused), func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) })
	return nil
}

// isRefused reports whether an object of a document is refused.
func (s *slice) isRefused(document uuid.UUID) bool { return slices.Contains(s.row.Refused, document) }

// noteOutcome stores that a slice did not fail, and what the engine refuses.
func (s *slice) noteOutcome() {
	before, failed := s.row.LastError, s.row.Failures > 0
	s.row.Failures, s.row.LastError = 0, ""
	switch documents := len(s.row.Refused); {
	case documents == 0:
	case s.refusal == "" && !failed && before != "":
		s.row.LastError = before
	default:
		s.row.LastError = shorten(fmt.Sprintf("documents with objects that the engine refuses, searched in memory: %d; why: %s", documents, cmp.Or(s.refusal, "see the log of the workers")))
	}
}

// retryRefused sends the refused documents once more. The engine may have a new version, or
// have meant something else.
func (s *slice) retryRefused(ctx context.Context) error {
	if len(s.row.Refused) == 0 {
		return nil
	}
	r, b := s.gather(ctx)
	if err := s.index.Entries(ctx, s.scope, s.row.Collection, s.row.Refused, false, r); err != nil {
		return err
	}
	if err := s.send(ctx, b); err != nil {
		return err
	}
	switch err := s.ask(ctx, b.passages(), b.change); {
	case errors.Is(err, errLagging), errors.Is(err, engine.ErrUnavailable):
		return nil // they stay what they are
	case err != nil:
		return err
	}
	return s.noteRefused(b)
}
