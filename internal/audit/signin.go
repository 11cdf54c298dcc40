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
	// waiting is how many failed sign-ins may wait to be written; those beyond
	// are counted in the log only.
	waiting = 1000
	// writeTime bounds the writing of one.
	writeTime = 10 * time.Second
)

// SignIns writes down sign-ins that failed: in every workspace of the person
// whose address was tried, and nowhere when there is no such person. It is done
// behind the answer, whose time would otherwise tell which of the two it was.
// It owns a goroutine; Close ends it.
type SignIns struct {
	client *ent.Client
	log    *slog.Logger
	queue  chan failure
	mu     sync.RWMutex // held for writing by Close alone
	closed bool
	ended  sync.WaitGroup
}

type failure struct {
	ctx           context.Context // its values name the request; it is not waited on
	email, reason string
}

// NewSignIns starts to write, until Close. A nil log is silent.
func NewSignIns(ctx context.Context, client *ent.Client, log *slog.Logger) *SignIns {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &SignIns{client: client, log: log, queue: make(chan failure, waiting)}
	ctx = context.WithoutCancel(ctx)
	s.ended.Go(func() {
		for f := range s.queue {
			within, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), writeTime)
			if err := s.write(within, f); err != nil {
				log.WarnContext(ctx, "a failed sign-in could not be written to the audit log", slog.Any("error", err))
			}
			cancel()
		}
	})
	return s
}

// Close writes what waits and ends.
func (s *SignIns) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	s.ended.Wait()
}

// Failed notes that somebody could not sign in with an email address. It does
// not wait; where too many wait already, this one is dropped and logged.
func (s *SignIns) Failed(ctx context.Context, email, reason string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	select {
	case s.queue <- failure{ctx, email, reason}:
	default:
		s.log.WarnContext(ctx, "a failed sign-in was left out of the audit log: too many at once")
	}
}

func (s *SignIns) write(ctx context.Context, f failure) error {
	email := strings.ToLower(strings.TrimSpace(f.email))
	if len(email) > 320 || strings.ContainsRune(email, 0) {
		return nil // nobody's
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
	who, _ := actorOf(ctx)
	who.kind, who.name, who.id, who.session = "NOBODY", "", uuid.Nil, uuid.Nil
	for _, p := range places {
		entries = append(entries, who.entry(Event{
			Workspace: p.workspace, Action: "session.sign_in_failed", TargetKind: "person", TargetID: p.person, TargetName: email,
			Changes: []Change{{Field: "reason", New: f.reason}},
		}))
	}
	return write(ctx, func(ctx context.Context, query string, arguments ...any) error {
		_, err := s.client.ExecContext(ctx, query, arguments...)
		return err
	}, entries)
}
