package audit

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
)

const (
	// queueSize is the number of failed sign-ins that may wait. Further ones are
	// only logged.
	queueSize = 1000
	// writeTimeout bounds the writing of one entry.
	writeTimeout = 10 * time.Second
)

// SignIns writes failed sign-ins to the log of every workspace of the person whose
// address was used. An address of nobody has no entries. SignIns writes in the
// background, because the response time would reveal whether the person exists. It
// owns a goroutine; Close ends it.
type SignIns struct {
	client *ent.Client
	log    *slog.Logger
	queue  chan failure
	mu     sync.RWMutex // held for writing by Close alone
	closed bool
	ended  sync.WaitGroup
}

type failure struct {
	ctx           context.Context // for its values only
	email, reason string
}

// NewSignIns starts a writer that runs until Close. A nil log discards.
func NewSignIns(ctx context.Context, client *ent.Client, log *slog.Logger) *SignIns {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &SignIns{client: client, log: log, queue: make(chan failure, queueSize)}
	ctx = context.WithoutCancel(ctx)
	s.ended.Go(func() {
		for f := range s.queue {
			within, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTimeout)
			if err := s.write(within, f); err != nil {
				log.WarnContext(ctx, "failed sign-in not audited", slog.Any("error", err))
			}
			cancel()
		}
	})
	return s
}

// Close writes what is queued and ends the writer.
func (s *SignIns) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	s.ended.Wait()
}

// Failed records that a sign-in with an email address failed. It does not block. If
// the queue is full, it drops the record and logs that.
func (s *SignIns) Failed(ctx context.Context, email, reason string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	select {
	case s.queue <- failure{ctx, email, reason}:
	default:
		s.log.WarnContext(ctx, "failed sign-in not audited: queue full")
	}
}

func (s *SignIns) write(ctx context.Context, f failure) error {
	email := strings.ToLower(strings.TrimSpace(f.email))
	if len(email) > 320 || strings.ContainsRune(email, 0) {
		return nil // no such address
	}
	rows, err := s.client.QueryContext(ctx, `select m.workspace_id::text, u.id::text from users u
		join memberships m on m.user_id = u.id where u.email = $1 order by 1`, email)
	if err != nil {
		return fmt.Errorf("look for the person: %w", err)
	}
	type place struct{ workspace, person uuid.UUID }
	places, err := scan(rows, func(rows *sql.Rows) (p place, err error) { return p, rows.Scan(&p.workspace, &p.person) })
	if err != nil {
		return err
	}
	entries := make([]entry, 0, len(places))
	by, _ := actorOf(ctx)
	by.kind, by.name, by.id, by.session, by.token, by.tokenName = "NOBODY", "", uuid.Nil, uuid.Nil, uuid.Nil, ""
	for _, p := range places {
		entries = append(entries, by.entry(Event{
			Workspace: p.workspace, Action: "session.sign_in_failed", TargetKind: "person", TargetID: p.person, TargetName: email,
			Changes: []Change{{Field: "reason", New: f.reason}},
		}))
	}
	return write(ctx, func(ctx context.Context, query string, arguments ...any) error {
		_, err := s.client.ExecContext(ctx, query, arguments...)
		return err
	}, entries)
}
