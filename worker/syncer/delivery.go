package syncer

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Deliveries has the webhook deliveries that wait (internal/connector/inbound).
type Deliveries interface {
	// Absorb calls sync with the names of the items in waiting deliveries for a
	// connector, if there are any, and then marks the deliveries as handled by the
	// job.
	Absorb(ctx context.Context, scope viewer.Scope, connector, job uuid.UUID, sync func(names []string) error) error
}

// processDeliveries syncs the items of deliveries that arrived since the job
// started, so that they do not wait for the end of a long walk.
func (s *slice) processDeliveries(ctx context.Context) error {
	resolver, ok := s.source.(connectors.Resolver)
	if !ok || s.engine.opt.Deliveries == nil || s.isSelective() || s.isPlan {
		return nil
	}
	err := s.engine.opt.Deliveries.Absorb(ctx, s.run.Scope(), s.connector.ID, s.job.ID, func(names []string) error {
		for part := range slices.Chunk(names, connectors.MaxPageItems) {
			if err := s.syncNamed(ctx, resolver, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("process webhook deliveries: %w", err)
	}
	return nil
}
