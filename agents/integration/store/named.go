package store

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Named returns a tool of an integration for calls of v outside of a run. Errors are
// apierr: not_found if v does not see the integration or it has no such tool; conflict,
// with the reason, if the tool cannot be called now.
func (s *Store) Named(ctx context.Context, v viewer.Viewer, id uuid.UUID, tool string) (loop.Tool, error) {
	row, err := s.client(ctx).ToolIntegration.Query().Where(toolintegration.ID(id)).WithConnections().
		WithTools(func(q *ent.IntegrationToolQuery) { q.Where(integrationtool.Name(tool)) }).Only(viewer.With(ctx, v))
	if ent.IsNotFound(err) {
		return loop.Tool{}, apierr.NotFound("Integration")
	}
	if err != nil {
		return loop.Tool{}, apierr.Wrap("read the integration", err)
	}
	if len(row.Edges.Tools) == 0 {
		return loop.Tool{}, apierr.NotFound("Tool")
	}
	if reason := cmp.Or(s.reason(row, row.Edges.Tools[0]), s.lacking(row, v)); reason != "" {
		return loop.Tool{}, apierr.New(apierr.Conflict, reason)
	}
	return s.loopTool(row, row.Edges.Tools[0], v)
}
