package command

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
)

const (
	// syncedFiles are in the folder that is synced, changedFiles of them change before each sync.
	syncedFiles  = 40
	changedFiles = 10
	// syncPause is between two syncs.
	syncPause = time.Second
	// syncPatience is how long a sync may take.
	syncPatience = 2 * time.Minute
)

// syncs is a folder that changes and is synced by a worker, over and over.
type syncs struct {
	folder    string
	connector uuid.UUID
	slots     []*slot
	source    *bench.Generator
	dice      *rand.Rand
	silent    *console.Console
}

// newSyncs makes the folder and its connector in the soak's collection.
func (s *soak) newSyncs(ctx context.Context) (*syncs, error) {
	f, err := ensure(ctx, s.stack.session, benchCollection, "", "Folder", "file_upload", nil)
	if err != nil {
		return nil, err
	}
	y := &syncs{
		folder: filepath.Join(s.stack.folder.Path(), "synced"), connector: f.connector.ID,
		source: bench.NewGenerator(s.result.Text.pages, 99),
		dice:   rand.New(rand.NewPCG(benchSeed, 99)), //nolint:gosec // repeatable on purpose
		silent: console.New(console.Options{Out: io.Discard, Err: io.Discard}),
	}
	if err := os.MkdirAll(y.folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder to sync: %w", err)
	}
	for i := range syncedFiles {
		y.slots = append(y.slots, &slot{number: len(s.slots) + i, name: fmt.Sprintf("file-%02d.md", i)})
	}
	return y, nil
}

// keepSyncing changes the folder and has it synced until ctx ends.
func (s *soak) keepSyncing(ctx context.Context) error {
	ticker := time.NewTicker(syncPause)
	defer ticker.Stop()
	first := true
	for {
		// A sync is not cut short at the end: nobody would know what it has stored.
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncPatience)
		changed, err := s.syncOnce(whole, first)
		cancel()
		if err != nil {
			return err
		}
		first = false
		for at, before := range changed {
			if err := s.check(ctx, at, before); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// syncOnce changes files, syncs them and returns the slots that changed with
// their versions before. Until the job has ended a search may see either version.
func (s *soak) syncOnce(ctx context.Context, all bool) (changed map[*slot]int, err error) {
	y := s.syncs
	chosen := y.dice.Perm(len(y.slots))
	if !all {
		chosen = chosen[:changedFiles]
	}
	after := make(map[*slot]int)
	for i, n := range chosen {
		at := y.slots[n]
		path := filepath.Join(y.folder, at.name)
		if at.version != 0 && i%5 == 0 {
			after[at] = 0
			if err := os.Remove(path); err != nil {
				return nil, fmt.Errorf("delete a file: %w", err)
			}
			continue
		}
		version := s.truth.Begin(at.number, time.Now())
		after[at] = version
		content := fmt.Appendf(nil, "---\nversion: \"%d\"\n---\n\n%sThis version is %s.\n", version, y.source.Next().Body, bench.Marker(version))
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("change a file: %w", err)
		}
	}
	if _, err := mirror(ctx, y.silent, s.stack.session, y.connector, y.folder); err != nil {
		return nil, err
	}
	job, err := startSync(ctx, s.stack.session, y.connector, variables{"syncMode": "full"})
	if err != nil {
		return nil, err
	}
	if job, err = watch(ctx, y.silent, s.stack.session, job.ID); err != nil {
		return nil, err
	}
	if job.Status != "COMPLETED" {
		return nil, fmt.Errorf("a sync ended as %s: %s", lower(job.Status), text(job.Error))
	}
	changed = make(map[*slot]int, len(after))
	for at, version := range after {
		changed[at] = at.version
		s.ended(at, version)
		s.wrote(changed[at], version)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.result.Syncs++
	return changed, nil
}
