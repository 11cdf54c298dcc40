package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// groupsAtOnce is how many connectors' groups one worker reads at a time, and
	// takes at once.
	groupsAtOnce = 4
	// readersAtOnce is how many jobs one look starts.
	readersAtOnce = 100
	// maxGroupPages bounds a directory: one that goes on for ever is broken.
	maxGroupPages = 100_000
)

// readGroups reads who belongs to which group at the source, if it can tell. What
// was read before counts until everything has been read.
func (s *slice) readGroups(ctx context.Context) error {
	directory, has := s.source.(connectors.GroupLister)
	if !has || s.engine.opt.Groups == nil {
		return nil
	}
	reading, err := s.engine.opt.Groups.Begin(ctx, s.scope(), s.connector.ID)
	if err != nil {
		return err
	}
	err = s.readPages(ctx, directory, reading)
	switch {
	case err == nil:
		return ignoreOvertaken(reading.Commit(ctx))
	case errors.Is(err, principal.ErrOvertaken):
		return nil // the later one reads what this one would have
	}
	var wait *waitError
	var after time.Duration
	if errors.As(err, &wait) {
		after = wait.delay
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTime)
	defer cancel()
	return errors.Join(err, reading.Fail(late, s.shown(said(err)), after))
}

// said is what people get to read of an error.
func said(err error) string {
	var stop *stopError
	if errors.As(err, &stop) {
		return stop.message
	}
	return messageOf(err)
}

func ignoreOvertaken(err error) error {
	if errors.Is(err, principal.ErrOvertaken) {
		return nil
	}
	return err
}

func (s *slice) readPages(ctx context.Context, directory connectors.GroupLister, reading *principal.Reading) error {
	cursor := ""
	for range maxGroupPages {
		page, err := directory.Groups(ctx, cursor)
		if err != nil {
			return classify(err)
		}
		for _, warning := range page.Warnings {
			if s.run != nil { // else nobody asked for it
				s.run.Warn(s.shown(warning))
			}
		}
		groups := make([]principal.Group, len(page.Groups))
		for i, g := range page.Groups {
			groups[i] = principal.Group{Principal: g.Principal, Name: g.Name, Members: g.Members}
		}
		if err := reading.Add(ctx, groups); err != nil {
			return err
		}
		if page.Done {
			return nil
		}
		if page.Next == cursor {
			return &stopError{message: "The source goes round in circles: a page of groups names itself as the next one."}
		}
		cursor = page.Next
	}
	return &stopError{message: "The source's list of groups has no end."}
}

// RefreshGroups reads the groups of connectors whose time has come, of all
// workspaces, each by one worker. A source that cannot be read keeps its groups,
// as long as they are not too old.
func (e *Engine) RefreshGroups(ctx context.Context) error {
	if e.opt.Groups == nil {
		return nil
	}
	due, err := e.opt.Groups.DueGroups(ctx, groupsAtOnce)
	if err != nil {
		return err
	}
	var reading errgroup.Group
	for _, d := range due {
		reading.Go(func() error {
			if err := e.refreshGroups(viewer.With(ctx, viewer.System(d.Workspace)), d); err != nil && ctx.Err() == nil {
				e.opt.Log.WarnContext(ctx, "the groups of a connector's source could not be read", "connector", d.Connector, "error", err)
			}
			return nil
		})
	}
	return reading.Wait()
}

func (e *Engine) refreshGroups(ctx context.Context, d principal.Due) error {
	scope, err := viewer.System(d.Workspace).Scope()
	if err != nil {
		return err
	}
	row, err := e.client.Connector.Query().Where(connector.ID(d.Connector)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the connector: %w", err)
	}
	s := &slice{
		engine: e, connector: row, within: scope, log: e.opt.Log.With("connector", row.ID),
		job: &ent.SyncJob{ConnectorID: row.ID, Mode: entjob.ModePermissions},
	}
	var known bool
	if s.kind, known = e.kinds.Lookup(row.Type); !known || !s.kind.Permissions {
		return nil
	}
	if err := s.openSource(ctx); err != nil {
		return errors.Join(redacted(s, err), e.noteGroups(ctx, scope, row, s.shown(said(err))))
	}
	defer s.closeSource(ctx)
	if err := s.readGroups(ctx); err != nil {
		return redacted(s, err)
	}
	return nil
}

// redacted is an error without the credentials that its text may quote.
func redacted(s *slice, err error) error { return errors.New(s.shown(err.Error())) }

// noteGroups keeps why the groups of a source could not even be asked for.
func (e *Engine) noteGroups(ctx context.Context, scope viewer.Scope, row *ent.Connector, why string) error {
	reading, err := e.opt.Groups.Begin(ctx, scope, row.ID)
	if err != nil {
		return err
	}
	return reading.Fail(ctx, why, 0)
}

// StartReaders starts the jobs that read anew who may see what, for connectors
// which were told to keep to the permissions of their source, or not to any more,
// and for those whose turn it is.
func (e *Engine) StartReaders(ctx context.Context) error {
	if e.opt.Groups == nil {
		return nil
	}
	due, err := e.opt.Groups.DueReaders(ctx, e.opt.ReadersEvery, readersAtOnce)
	if err != nil {
		return err
	}
	for _, d := range due {
		_, err := e.jobs.Start(viewer.With(ctx, viewer.System(d.Workspace)), d.Connector,
			syncjob.StartOptions{Mode: entjob.ModePermissions, Cause: entjob.CauseSchedule})
		switch code := apierr.From(err).Code; {
		case err == nil, code == apierr.Conflict, code == apierr.CodeNotFound: // the next look tries again
		default:
			return fmt.Errorf("start a refresh of permissions: %w", err)
		}
	}
	return nil
}
