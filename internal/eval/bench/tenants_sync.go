package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

const (
	// neighbourFolders is the number of folders that the neighbour syncs at once, and
	// maxProbes the number of small syncs that are timed.
	neighbourFolders = 10
	maxProbes        = 20
	// probeFiles is the number of files in a small folder.
	probeFiles  = 5
	smallFolder = "small"
)

// folder creates a connector with the files of a folder.
func (s *Stack) folder(ctx context.Context, name, path string) (uuid.UUID, error) {
	connector, err := s.Client.EnsureConnector(ctx, client.Variables{"name": "Files"}, name, "file_upload", nil)
	if err != nil {
		return uuid.Nil, err
	}
	_, err = s.Client.Mirror(ctx, connector.ID, path, client.Silent{})
	return connector.ID, err
}

// writeFolder writes generated documents as files. A line of text is added, since some have none.
func writeFolder(folder string, source *synth.Generator, files int) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create a folder to sync: %w", err)
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("page-%03d.md", i)), append(source.Next().Body, "\n\nThis is a file.\n"...), 0o600); err != nil {
			return fmt.Errorf("write a file to sync: %w", err)
		}
	}
	return nil
}

// syncProbes are workspaces with the same small folder, which is changed and synced.
type syncProbes struct {
	tenants  []*tenant
	folder   string
	revision int
}

// change adds a line to each file, so that all changes are the same work.
func (p *syncProbes) change(ctx context.Context) error {
	p.revision++
	if err := revise(p.folder, p.revision); err != nil {
		return err
	}
	for _, t := range p.tenants {
		if _, err := t.stack.Client.Mirror(ctx, t.connector, p.folder, client.Silent{}); err != nil {
			return err
		}
	}
	return nil
}

// quiet syncs the folders once, so that all timed syncs replace what is stored, and times
// syncs of changed files.
func (p *syncProbes) quiet(ctx context.Context) (Latencies, error) {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, t := range p.tenants {
		group.Go(func() error {
			_, err := t.stack.Client.Sync(groupCtx, t.connector, "full", client.Silent{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Latencies{}, err
	}
	if err := p.change(ctx); err != nil {
		return Latencies{}, err
	}
	return p.time(ctx, func() error { return nil })
}

// time syncs the changed folders one after the other and calls then after each. No sync that
// succeeded is an error.
func (p *syncProbes) time(ctx context.Context, then func() error) (Latencies, error) {
	var durations []time.Duration
	var failures []error
	began := time.Now()
	for _, t := range p.tenants {
		start := time.Now()
		job, err := t.stack.Client.Sync(ctx, t.connector, "full", client.Silent{})
		took := time.Since(start)
		if err == nil && job.Stats.Modified != probeFiles {
			err = fmt.Errorf("a sync of %d changed files replaced %d", probeFiles, job.Stats.Modified)
		}
		if err != nil {
			failures = append(failures, err)
		} else {
			durations = append(durations, took)
		}
		if err := then(); err != nil {
			return Latencies{}, err
		}
	}
	l := summarizeCalls(durations, failures, 0, time.Since(began))
	l.Clients = 1
	if l.Calls == 0 && l.Errors > 0 {
		return l, l.failure()
	}
	return l, nil
}

// timeLoud times syncs of changed files beside those of the neighbour.
func (r *TenantsResult) timeLoud(ctx context.Context, p *syncProbes, neighbour *tenant, files int) error {
	if len(p.tenants) == 0 {
		return ctx.Err()
	}
	connectors, err := neighbour.makeFolders(ctx, files)
	if err != nil {
		return err
	}
	if err := p.change(ctx); err != nil {
		return err
	}
	stop, err := neighbour.keepSyncing(ctx, connectors, files)
	if err != nil {
		return err
	}
	err = neighbour.stack.asOwner(ctx, func(owner *pgx.Conn) (err error) {
		r.NeighbourOpen = neighbourFolders
		r.LoudSync, err = p.time(ctx, func() error {
			open, err := openSyncs(ctx, owner, neighbour.stack.Workspace)
			r.NeighbourOpen = min(r.NeighbourOpen, open)
			return err
		})
		return err
	})
	ended, failure := stop()
	r.NeighbourSyncs = ended
	return errors.Join(err, failure, ctx.Err())
}

// openSyncs counts the syncs of a workspace that are queued or running.
func openSyncs(ctx context.Context, owner *pgx.Conn, workspace uuid.UUID) (n int, err error) {
	const query = "select count(*) from sync_jobs where workspace_id = $1 and status in ('QUEUED', 'RUNNING')"
	if err := owner.QueryRow(ctx, query, workspace).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the open syncs: %w", err)
	}
	return n, nil
}

// makeFolders creates the neighbour's connectors and uploads their files.
func (t *tenant) makeFolders(ctx context.Context, files int) (connectors []uuid.UUID, err error) {
	source := synth.NewGenerator(t.pages, seed+1)
	for i := range neighbourFolders {
		path := filepath.Join(t.stack.Dir, fmt.Sprintf("large-%d", i+1))
		if err := writeFolder(path, source, files); err != nil {
			return nil, err
		}
		connector, err := t.stack.folder(ctx, fmt.Sprintf("Folder %d", i+1), path)
		if err != nil {
			return nil, err
		}
		connectors = append(connectors, connector)
	}
	return connectors, nil
}

// keepSyncing starts syncs of all connectors at once, and another one when one ends, which
// stores every file again, until stop. That returns how many ended.
func (t *tenant) keepSyncing(ctx context.Context, connectors []uuid.UUID, files int) (stop func() (ended int, err error), err error) {
	ctx, cancel := context.WithCancel(ctx)
	jobs := make([]uuid.UUID, len(connectors))
	for i, connector := range connectors {
		if jobs[i], err = t.stack.StartJob(ctx, connector); err != nil {
			cancel()
			return nil, err
		}
	}
	var ended atomic.Int64
	var running errgroup.Group
	for i, connector := range connectors {
		running.Go(func() (err error) {
			for job := jobs[i]; err == nil; {
				if err = t.awaitSync(ctx, job, files); err == nil {
					ended.Add(1)
					job, err = t.syncAgain(ctx, connector)
				}
			}
			if ctx.Err() != nil {
				return nil
			}
			return err
		})
	}
	return func() (int, error) {
		cancel()
		err := running.Wait()
		return int(ended.Load()), err
	}, nil
}

// awaitSync waits for the end of a sync of the neighbour, which must have stored all files.
func (t *tenant) awaitSync(ctx context.Context, job uuid.UUID, files int) error {
	state, err := t.stack.Client.Watch(ctx, job, client.Silent{})
	if err != nil {
		return err
	}
	if state.Status != "COMPLETED" || state.Stats.Added+state.Stats.Modified != files {
		return fmt.Errorf("a sync of the neighbour's %d files ended as %s: %+v %s", files, strings.ToLower(state.Status), state.Stats, state.Failure())
	}
	return nil
}

// syncAgain starts a sync for which all files have changed. It makes Magpie forget what it
// stored, since uploads of other files would take the processors' time.
func (t *tenant) syncAgain(ctx context.Context, connector uuid.UUID) (uuid.UUID, error) {
	if err := t.stack.execute(ctx, "update documents set content_hash = null where connector_id = $1", connector); err != nil {
		return uuid.Nil, fmt.Errorf("forget the content of documents: %w", err)
	}
	job, err := t.stack.Client.StartSync(ctx, connector, client.Variables{"syncMode": "full"})
	return job.ID, err
}
