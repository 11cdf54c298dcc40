package authn

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// How often a key's last use is written down, and how often a leak of the same
// key is logged.
const (
	// The minimum times between two records of a key's use, and between two
	// warnings of a leak.
	useInterval  = time.Minute
	warnInterval = time.Hour
)

const (
	writeTimeout = 5 * time.Second // for one statement
	maxWarnings  = 10_000          // keys with a remembered warning
	maxOrigin    = 300             // bytes
)

// useRecorder records uses and leaks of keys without delaying requests. One
// goroutine runs while there is something to write. A failed write is dropped: the
// next use of the key repeats it.
type useRecorder struct {
	ent *ent.Client
	log *slog.Logger
	now func() time.Time

	mu            sync.Mutex
	uses          map[uuid.UUID]time.Time
	leaks         map[uuid.UUID]leak
	warned        map[uuid.UUID]time.Time
	failureLogged time.Time // time of the last logged failure
	running       bool
	closed        bool
	finished      sync.WaitGroup
}

type leak struct {
	at     time.Time
	origin string
	hash   []byte // of the leaked secret key
}

func newUseRecorder(client *ent.Client, log *slog.Logger, now func() time.Time) *useRecorder {
	return &useRecorder{
		ent: client, log: log, now: now,
		uses: map[uuid.UUID]time.Time{}, leaks: map[uuid.UUID]leak{}, warned: map[uuid.UUID]time.Time{},
	}
}

// recordUse records the use of a key.
func (n *useRecorder) recordUse(ctx context.Context, id uuid.UUID, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uses[id] = at
	n.start(ctx)
}

// ReportLeak records that a browser sent a secret key, which everybody can read in
// the page. The first leak is stored with the key; each node logs a warning at most
// once an hour. ReportLeak ignores publishable keys.
func (k *Keys) ReportLeak(ctx context.Context, key Key, origin string) {
	if key.Publishable {
		return
	}
	n, now := k.useRecorder, k.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !key.leakKnown && !key.previous {
		n.leaks[key.ID] = leak{at: now, origin: safetext.TruncateBytes(safetext.Line(origin), maxOrigin), hash: key.hash}
		n.start(ctx)
	}
	if last, ok := n.warned[key.ID]; ok && now.Sub(last) < warnInterval {
		return
	}
	if len(n.warned) >= maxWarnings {
		clear(n.warned)
	}
	n.warned[key.ID] = now
	n.log.WarnContext(ctx, "secret key sent by a browser, rotate it", slog.Any("key", key.ID))
}

// start runs the goroutine that writes. The caller holds the lock.
func (n *useRecorder) start(ctx context.Context) {
	if n.running || n.closed {
		return
	}
	n.running = true
	n.finished.Add(1)
	system := viewer.With(context.WithoutCancel(ctx), viewer.System(uuid.Nil))
	go func() {
		defer n.finished.Done()
		for n.flush(system) {
		}
	}()
}

// flush writes what was recorded. It reports false if there was nothing.
func (n *useRecorder) flush(ctx context.Context) bool {
	n.mu.Lock()
	uses, leaks := maps.Clone(n.uses), maps.Clone(n.leaks)
	clear(n.uses)
	clear(n.leaks)
	n.running = len(uses)+len(leaks) > 0
	n.mu.Unlock()
	if len(uses)+len(leaks) == 0 {
		return false
	}
	err := n.write(ctx, uses, leaks)
	if err == nil {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); n.failureLogged.IsZero() || now.Sub(n.failureLogged) >= useInterval {
		n.failureLogged = now
		n.log.WarnContext(ctx, "recording API key use failed", slog.Any("error", err))
	}
	return true
}

// write stores uses and leaks. Plain SQL keeps updated_at, since nobody has changed
// the keys.
func (n *useRecorder) write(ctx context.Context, uses map[uuid.UUID]time.Time, leaks map[uuid.UUID]leak) error {
	for id, at := range uses {
		// Another node may have stored a later use.
		if err := n.exec(ctx, "update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)",
			id, at.Truncate(time.Microsecond), at.Add(-useInterval)); err != nil {
			return err
		}
	}
	for id, l := range leaks {
		// The hash differs if the key was rotated meanwhile.
		if err := n.exec(ctx, "update api_keys set leaked_at = $2, leaked_origin = $3 where id = $1 and secret_hash = $4 and leaked_at is null",
			id, l.at.Truncate(time.Microsecond), l.origin, l.hash); err != nil {
			return err
		}
	}
	return nil
}

func (n *useRecorder) exec(ctx context.Context, query string, arguments ...any) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := n.ent.ExecContext(ctx, query, arguments...)
	return err
}

// close waits until everything is written or dropped. Later records are ignored.
func (n *useRecorder) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.finished.Wait()
}
