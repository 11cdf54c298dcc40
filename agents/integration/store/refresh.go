package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	discoverTimeout = 60 * time.Second

	// refreshEvery is the time between two looks at the tools of a server; a part of an
	// hour is added, so that they do not come at once.
	refreshEvery = 24 * time.Hour
	// refreshRetry is the time after a look that failed, and the longest that one takes
	// before another process repeats it.
	refreshRetry = time.Hour
	// refreshPause is the least time between two looks that a server asks for.
	refreshPause = 5 * time.Minute

	maxRefreshes      = 50 // of a call of RefreshDue
	parallelRefreshes = 4
)

// look asks the source of an integration for its tools, with the credentials of v. What it
// finds is written with the rights of ctx.
func (s *Store) look(ctx context.Context, row *ent.ToolIntegration, v viewer.Viewer) (*ent.ToolIntegration, Difference, error) {
	p, source, err := s.providerOf(row)
	if err != nil {
		return nil, Difference{}, err
	}
	inside, cancel := context.WithTimeout(viewer.With(ctx, v), discoverTimeout)
	defer cancel()
	a, c, err := s.account(inside, row, p, v, false)
	if err != nil {
		return nil, Difference{}, err
	}
	offers, kept, err := source.Discover(inside, p.Name, a)
	s.note(ctx, v, row, c, err, true)
	if err != nil {
		message := safetext.Truncate(words(err), maxLastError)
		if err := s.client(ctx).ToolIntegration.UpdateOne(row).SetLastError(message).Exec(ctx); err != nil {
			return nil, Difference{}, apierr.Wrap("note a failure", err)
		}
		return nil, Difference{}, &apierr.Error{Code: apierr.Unavailable, Message: "The tools could not be read: " + message, Op: "discover tools", Cause: err}
	}
	if kept {
		return row, Difference{}, nil
	}
	d, err := s.compare(ctx, row, offers)
	if err != nil {
		return nil, Difference{}, err
	}
	update := s.client(ctx).ToolIntegration.UpdateOne(row).SetRefreshAt(s.nextRefresh(row.ID))
	if !shares(row) && v.Kind == viewer.KindSession {
		update.SetDiscoveredBy(v.Subject)
	} else {
		update.ClearDiscoveredBy()
	}
	return row, d, apierr.Wrap("plan the next look at the tools", update.Exec(ctx))
}

// nextRefresh returns when the tools of an integration are read again.
func (s *Store) nextRefresh(id uuid.UUID) time.Time {
	return s.opt.Now().Add(refreshEvery + time.Duration(id[15])*time.Hour/256)
}

// refreshSoon plans a look at the tools of a server that said that they changed.
func (s *Store) refreshSoon(ctx context.Context, row *ent.ToolIntegration) {
	soon := s.opt.Now()
	if row.DiscoveredAt != nil {
		if earliest := row.DiscoveredAt.Add(refreshPause); earliest.After(soon) {
			soon = earliest
		}
	}
	err := s.opt.Ent.ToolIntegration.Update().Where(toolintegration.ID(row.ID), toolintegration.RefreshAtGT(soon)).SetRefreshAt(soon).
		Exec(everywhere(context.WithoutCancel(ctx)))
	if err != nil {
		s.opt.Log.WarnContext(ctx, "look at changed tools not planned", slog.Any("integration", row.ID), slog.Any("error", err))
	}
}

// everywhere returns a context in which Magpie itself sees the rows of all persons.
func everywhere(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// RefreshDue reads the tools of the tool servers whose time has come: daily, and when they
// said that their tools changed. The credentials are those with which they were read last.
// Any number of processes may call it: one of them looks at an integration. What failed is
// noted at the integration.
func (s *Store) RefreshDue(ctx context.Context) error {
	now := s.opt.Now()
	due, err := s.opt.Ent.ToolIntegration.Query().
		Where(toolintegration.RefreshAtLTE(now), toolintegration.KindEQ(toolintegration.KindMCP), toolintegration.Enabled(true)).
		Order(toolintegration.ByRefreshAt()).Limit(maxRefreshes).All(everywhere(ctx))
	if err != nil {
		return fmt.Errorf("find the tools that are read again: %w", err)
	}
	rows := make(chan *ent.ToolIntegration, len(due))
	for _, row := range due {
		rows <- row
	}
	close(rows)
	var running sync.WaitGroup
	for range min(parallelRefreshes, len(due)) {
		running.Go(func() {
			for row := range rows {
				if ctx.Err() != nil {
					return
				}
				if err := s.refreshOne(ctx, row); err != nil && ctx.Err() == nil {
					s.opt.Log.WarnContext(ctx, "tools of an integration not read again", slog.Any("integration", row.ID), slog.Any("error", err))
				}
			}
		})
	}
	running.Wait()
	return nil
}

// refreshOne reads the tools of an integration again, unless another process does.
func (s *Store) refreshOne(ctx context.Context, row *ent.ToolIntegration) error {
	claimed, err := s.opt.Ent.ToolIntegration.Update().Where(toolintegration.ID(row.ID), toolintegration.RefreshAt(*row.RefreshAt)).
		SetRefreshAt(s.opt.Now().Add(refreshRetry)).Save(everywhere(ctx))
	if err != nil || claimed == 0 {
		return err
	}
	v := viewer.System(row.WorkspaceID)
	if row.DiscoveredBy != nil {
		person, known, err := s.member(ctx, row.WorkspaceID, *row.DiscoveredBy)
		if err != nil {
			return err
		}
		if !known {
			return s.opt.Ent.ToolIntegration.UpdateOneID(row.ID).SetLastError("The person with whose account the tools were read has left; read them again").
				ClearRefreshAt().Exec(everywhere(ctx))
		}
		v = person
	}
	_, _, err = s.look(everywhere(ctx), row, v) // nobody did it, so it is not in the audit log
	return err
}

// member returns a member of a workspace as a viewer.
func (s *Store) member(ctx context.Context, workspace, person uuid.UUID) (v viewer.Viewer, known bool, err error) {
	found, err := s.opt.Ent.Membership.Query().Where(membership.WorkspaceID(workspace), membership.UserID(person)).Only(everywhere(ctx))
	if ent.IsNotFound(err) {
		return viewer.Viewer{}, false, nil
	}
	if err != nil {
		return viewer.Viewer{}, false, apierr.Wrap("read the membership", err)
	}
	return viewer.Viewer{
		Workspace: workspace, Subject: person, Kind: viewer.KindSession, Role: viewer.Role(strings.ToLower(string(found.Role))), AllCollections: true,
	}, true, nil
}

// ChangedTools returns how many tools of integrations differ from what was accepted.
func (s *Store) ChangedTools(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	var counts []struct {
		ID uuid.UUID `json:"integration_id"`
		N  int       `json:"count"`
	}
	err := s.client(ctx).IntegrationTool.Query().Where(integrationtool.IntegrationIDIn(ids...), integrationtool.DriftNotNil()).
		GroupBy(integrationtool.FieldIntegrationID).Aggregate(ent.Count()).Scan(ctx, &counts)
	if err != nil {
		return nil, apierr.Wrap("count changed tools", err)
	}
	out := map[uuid.UUID]int{}
	for _, id := range ids {
		out[id] = 0
	}
	for _, c := range counts {
		out[c.ID] = c.N
	}
	return out, nil
}
