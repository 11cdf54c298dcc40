package syncer

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Deliveries reads pending webhook deliveries. inbound.Dispatcher implements it.
type Deliveries interface {
	// ProcessPending calls sync with the item names of a connector's pending
	// deliveries, if there are any, and then assigns the deliveries to the job.
	ProcessPending(ctx context.Context, scope viewer.Scope, connector, job uuid.UUID, sync func(names []string) error) error
}

// processDeliveries syncs the items of deliveries that arrived since the job
// started, so that they do not wait for the end of a long walk.
func (s *slice) processDeliveries(ctx context.Context) error {
	resolver, ok := s.source.(connectors.Resolver)
	if !ok || s.engine.opt.Deliveries == nil || s.isSelective() || s.isPlan {
		return nil
	}
	err := s.engine.opt.Deliveries.ProcessPending(ctx, s.run.Scope(), s.connector.ID, s.job.ID, func(names []string) error {
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
