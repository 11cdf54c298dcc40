package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

const (
	// The synced folder has syncedFiles files. changedFiles of them change before
	// each sync.
	syncedFiles  = 40
	changedFiles = 10
	// syncPause is the time between two syncs.
	syncPause = time.Second
	// syncTimeout is the time that a sync may take, of which another worker takes some to
	// find out that one was killed.
	syncTimeout = 5 * time.Minute
)

// A soakSyncer is a changing folder that a worker syncs again and again.
type soakSyncer struct {
	folder    string
	connector uuid.UUID
	slots     []*slot
	source    *synth.Generator
	random    *rand.Rand
}

// newSyncer creates the folder and its connector in the collection of the soak.
func (s *soak) newSyncer(ctx context.Context) (*soakSyncer, error) {
	connector, err := s.stack.Client.EnsureConnector(ctx, client.Variables{"name": collectionName}, "Folder", "file_upload", nil)
	if err != nil {
		return nil, err
	}
	y := &soakSyncer{
		folder: filepath.Join(s.stack.Dir, "synced"), connector: connector.ID,
		source: synth.NewGenerator(s.text.pages, 99),
		random: rand.New(rand.NewPCG(seed, 99)), //nolint:gosec // repeatable on purpose
	}
	if err := os.MkdirAll(y.folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder to sync: %w", err)
	}
	for i := range syncedFiles {
		y.slots = append(y.slots, &slot{number: len(s.slots) + i, name: fmt.Sprintf("file-%02d.md", i)})
	}
	return y, nil
}

// sync changes the folder and syncs it until ctx ends.
func (s *soak) sync(ctx context.Context) error {
	ticker := time.NewTicker(syncPause)
	defer ticker.Stop()
	for changes := syncedFiles; ; changes = changedFiles {
		// The outcome of an interrupted sync would be unknown.
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncTimeout)
		changed, err := s.syncOnce(whole, changes)
		cancel()
		if err != nil {
			return err
		}
		for at, before := range changed {
			if err := s.verify(ctx, at, before); err != nil {
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

// syncOnce changes files, syncs them and returns the changed slots with their
// versions before. While the job runs, a search may return either version.
func (s *soak) syncOnce(ctx context.Context, changes int) (changed map[*slot]int, err error) {
	y := s.syncer
	after := make(map[*slot]int)
	for i, n := range y.random.Perm(len(y.slots))[:changes] {
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
		content := fmt.Appendf(nil, "---\nversion: \"%d\"\n---\n\n%sThis version is %s.\n", version, y.source.Next().Body, Marker(version))
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("change a file: %w", err)
		}
	}
	if _, err := s.stack.Client.Mirror(ctx, y.connector, y.folder, client.Silent{}); err != nil {
		return nil, err
	}
	if _, err := s.stack.Client.Sync(ctx, y.connector, "full", client.Silent{}); err != nil {
		return nil, err
	}
	changed = make(map[*slot]int, len(after))
	for at, version := range after {
		changed[at] = at.version
		s.end(at, version)
		s.countWrite(changed[at], version)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.result.Syncs++
	return changed, nil
}
