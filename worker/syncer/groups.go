package syncer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// maxGroupReads is the number of connectors whose groups a worker reads at a
	// time.
	maxGroupReads = 4
	// maxReaderJobs is the number of jobs that StartReaders starts at most.
	maxReaderJobs = 100
	// maxGroupPages bounds a directory that does not end.
	maxGroupPages = 100_000
)

// readGroups reads the groups of the source with their members, if it lists them.
// The previous ones stay valid until all have been read.
func (s *slice) readGroups(ctx context.Context) error {
	directory, ok := s.source.(connectors.GroupLister)
	if !ok || s.engine.opt.Groups == nil {
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
	case errors.Is(err, principal.ErrSuperseded):
		return nil // a later reading has all of it
	}
	var wait *waitError
	var after time.Duration
	if errors.As(err, &wait) {
		after = wait.delay
	}
	failCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return errors.Join(err, reading.Fail(failCtx, s.redact(publicText(err)), after))
}

func ignoreOvertaken(err error) error {
	if errors.Is(err, principal.ErrSuperseded) {
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
			if s.run != nil { // only a job has warnings
				s.run.Warn(s.redact(warning))
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

// RefreshGroups reads the groups of connectors that are due, of all workspaces. One
// worker reads each. The groups of a source that cannot be read stay valid until
// they are too old.
func (e *Engine) RefreshGroups(ctx context.Context) error {
	if e.opt.Groups == nil {
		return nil
	}
	due, err := e.opt.Groups.DueGroups(ctx, maxGroupReads)
	if err != nil {
		return err
	}
	var reading errgroup.Group
	for _, d := range due {
		reading.Go(func() error {
			if err := e.refreshGroups(viewer.With(ctx, viewer.System(d.Workspace)), d); err != nil && ctx.Err() == nil {
				e.opt.Log.WarnContext(ctx, "groups not read", slog.Any("connector", d.Connector), slog.Any("error", err))
			}
			return nil
		})
	}
	return reading.Wait()
}

func (e *Engine) refreshGroups(ctx context.Context, d principal.ConnectorKey) error {
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
		engine: e, connector: row, within: scope, log: e.opt.Log.With(slog.Any("connector", row.ID)),
		job: &ent.SyncJob{ConnectorID: row.ID, Mode: entjob.ModePermissions},
	}
	var ok bool
	if s.kind, ok = e.kinds.Lookup(row.Type); !ok || !s.kind.Permissions {
		return nil
	}
	if err := s.openSource(ctx); err != nil {
		return errors.Join(s.redactError(err), e.recordGroupsFailure(ctx, scope, row, s.redact(publicText(err))))
	}
	defer s.closeSource(ctx)
	if err := s.readGroups(ctx); err != nil {
		return s.redactError(err)
	}
	return nil
}

// redactError returns an error without the credentials that its text may quote.
func (s *slice) redactError(err error) error { return errors.New(s.redact(err.Error())) }

// recordGroupsFailure records why the source of groups could not be opened.
func (e *Engine) recordGroupsFailure(ctx context.Context, scope viewer.Scope, row *ent.Connector, reason string) error {
	reading, err := e.opt.Groups.Begin(ctx, scope, row.ID)
	if err != nil {
		return err
	}
	return reading.Fail(ctx, reason, 0)
}

// StartReaders starts jobs that refresh the readers of documents: for connectors
// whose import of permissions was switched on or off, and for those that are due.
func (e *Engine) StartReaders(ctx context.Context) error {
	if e.opt.Groups == nil {
		return nil
	}
	due, err := e.opt.Groups.DueReaders(ctx, e.opt.ReadersEvery, maxReaderJobs)
	if err != nil {
		return err
	}
	for _, d := range due {
		_, err := e.jobs.Start(viewer.With(ctx, viewer.System(d.Workspace)), d.Connector,
			syncjob.StartOptions{Mode: entjob.ModePermissions, Cause: entjob.CauseSchedule})
		switch code := apierr.From(err).Code; {
		case err == nil, code == apierr.Conflict, code == apierr.CodeNotFound: // the next call tries again
		default:
			return fmt.Errorf("start a refresh of permissions: %w", err)
		}
	}
	return nil
}
