package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/safetext"
)

// refusals counts refused deliveries. Anybody can cause them, so that an integration's
// row is written at most once a second.
type refusals struct {
	mu      sync.Mutex
	pending map[uuid.UUID]pendingRefusals
}

type pendingRefusals struct {
	count   int64
	written time.Time
}

// maxPendingRefusals bounds the integrations that are remembered.
const maxPendingRefusals = 10_000

// take adds a refusal and returns the number to write; 0 for not now.
func (r *refusals) take(id uuid.UUID, now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) >= maxPendingRefusals {
		clear(r.pending)
	}
	p := r.pending[id]
	p.count++
	defer func() { r.pending[id] = p }()
	if age := now.Sub(p.written); age >= 0 && age < time.Second {
		return 0
	}
	n := p.count
	p.count, p.written = 0, now
	return n
}

// refuse notes why deliveries were refused.
func (b *Inbox) refuse(ctx context.Context, candidates []*candidate) {
	now := b.opt.Now()
	for _, c := range candidates {
		n := b.refusals.take(c.id, now)
		if n == 0 || c.refusal == nil {
			continue
		}
		reason := safetext.TruncateBytes(safetext.Line(c.refusal.Error()), 500)
		_, err := b.opt.Pool.Exec(ctx, "update inbound_integrations set rejected = rejected + $2, last_error = $3 where id = $1", c.id, n, reason)
		if err != nil {
			b.opt.Log.WarnContext(ctx, "refused delivery not counted", slog.Any("integration", c.id), slog.Any("error", err))
		}
	}
}
