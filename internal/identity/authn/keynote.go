package authn

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/viewer"
)

// How often a key's last use is written down, and how often a leak of the same
// key is logged.
const (
	usedEvery = time.Minute
	warnEvery = time.Hour
)

const (
	noteTime  = 5 * time.Second // for one note
	maxWarned = 10_000          // keys that warnings are remembered of
	maxOrigin = 300             // bytes of an origin that are kept
)

// notes writes down what is worth knowing about keys and must not hold a
// request up: one goroutine works while there is anything, and what cannot be
// written is dropped, since the next use of the key says it again.
type notes struct {
	ent *ent.Client
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex
	uses     map[uuid.UUID]time.Time
	leaks    map[uuid.UUID]leak
	warned   map[uuid.UUID]time.Time
	failed   time.Time // when a failure was last logged
	working  bool
	closed   bool
	finished sync.WaitGroup
}

type leak struct {
	at     time.Time
	origin string
	hash   []byte // of the secret key that leaked
}

func newNotes(client *ent.Client, log *slog.Logger, now func() time.Time) *notes {
	return &notes{
		ent: client, log: log, now: now,
		uses: map[uuid.UUID]time.Time{}, leaks: map[uuid.UUID]leak{}, warned: map[uuid.UUID]time.Time{},
	}
}

// used notes the use of a key.
func (n *notes) used(ctx context.Context, id uuid.UUID, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uses[id] = at
	n.work(ctx)
}

// Leaked notes that a secret key came from a page in a browser, where everybody
// can read it: the first time on the key, and with a warning at most once an
// hour on each node. Other keys than secret ones are let be.
func (k *Keys) Leaked(ctx context.Context, key Key, origin string) {
	if key.Publishable {
		return
	}
	n, now := k.notes, k.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !key.flagged && !key.old {
		n.leaks[key.ID] = leak{at: now, origin: shown(origin), hash: key.hash}
		n.work(ctx)
	}
	if last, ok := n.warned[key.ID]; ok && now.Sub(last) < warnEvery {
		return
	}
	if len(n.warned) >= maxWarned {
		clear(n.warned)
	}
	n.warned[key.ID] = now
	n.log.WarnContext(ctx, "a secret key was sent by a browser: its page shows it to everybody; rotate it", slog.Any("key", key.ID))
}

// shown is a header's text as it may be stored and shown.
func shown(origin string) string {
	if len(origin) > maxOrigin {
		origin = origin[:maxOrigin]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '?'
		}
		return r
	}, origin)
}

// work sees to it that somebody writes. The lock is held.
func (n *notes) work(ctx context.Context) {
	if n.working || n.closed {
		return
	}
	n.working = true
	n.finished.Add(1)
	system := viewer.With(context.WithoutCancel(ctx), viewer.System(uuid.Nil))
	go func() {
		defer n.finished.Done()
		for n.round(system) {
		}
	}()
}

// round writes what has come together; false when there was nothing.
func (n *notes) round(ctx context.Context) bool {
	n.mu.Lock()
	uses, leaks := maps.Clone(n.uses), maps.Clone(n.leaks)
	clear(n.uses)
	clear(n.leaks)
	n.working = len(uses)+len(leaks) > 0
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
	if now := n.now(); n.failed.IsZero() || now.Sub(n.failed) >= usedEvery {
		n.failed = now
		n.log.WarnContext(ctx, "the use of API keys could not be noted", slog.Any("error", err))
	}
	return true
}

// write stores uses and leaks. Plain SQL keeps updated_at, since nobody has changed
// the keys.
func (n *notes) write(ctx context.Context, uses map[uuid.UUID]time.Time, leaks map[uuid.UUID]leak) error {
	for id, at := range uses {
		// Another node may have stored a later use.
		if err := n.exec(ctx, "update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)",
			id, at.Truncate(time.Microsecond), at.Add(-usedEvery)); err != nil {
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

func (n *notes) exec(ctx context.Context, query string, arguments ...any) error {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	_, err := n.ent.ExecContext(ctx, query, arguments...)
	return err
}

// close waits until everything has been written or dropped. Nothing is noted
// afterwards.
func (n *notes) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.finished.Wait()
}
