package syncer

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Told is what platforms told of changes (internal/connector/inbound).
type Told interface {
	// Absorb calls look with the names of items that deliveries for a connector
	// tell of, if there are any, and then says that the job has looked after them.
	Absorb(ctx context.Context, scope viewer.Scope, connector, job uuid.UUID, look func(names []string) error) error
}

// absorb looks after what the platform told since the job began, so that it does
// not wait for the end of a long walk.
func (s *slice) absorb(ctx context.Context) error {
	resolver, ok := s.source.(connectors.Resolver)
	if !ok || s.engine.opt.Told == nil || s.named() || s.planning {
		return nil
	}
	err := s.engine.opt.Told.Absorb(ctx, s.run.Scope(), s.connector.ID, s.job.ID, func(names []string) error {
		for part := range slices.Chunk(names, connectors.MaxPageItems) {
			if err := s.lookUp(ctx, resolver, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look after what the platform told: %w", err)
	}
	return nil
}
