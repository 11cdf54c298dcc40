package live

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Sessions know who is signed in.
type Sessions interface {
	// Roles returns the roles of those of the sessions that have not ended, in a
	// number of statements that does not grow with them.
	Roles(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]viewer.Role, error)
}

// Init says who opens a WebSocket: what the payload of its first message names,
// or, when that names nobody, whoever ctx does already. An error refuses the
// connection; its message is shown.
type Init func(ctx context.Context, payload map[string]any) (viewer.Viewer, error)

// Options of a Server. Init, Sessions and Log are needed.
type Options struct {
	Init     Init
	Sessions Sessions
	Log      *slog.Logger
	// Origins are the hosts of pages that may open a WebSocket, beside our own.
	Origins []string
	Limits
	Times
}

// Limits bound what is open at once in this process; 0 is no limit.
type Limits struct {
	PerConnection int // operations of one WebSocket
	PerPerson     int // operations, and WebSockets, of one person, or of one address for those who are nobody
	PerProcess    int // operations, and WebSockets, in all
}

// Times are the rhythms; zero values mean the defaults.
type Times struct {
	Hello   time.Duration // a client gets to say who it is: 10 s
	Ping    time.Duration // a quiet connection shows that it lives: 20 s; without an answer to three it ends
	Write   time.Duration // a message may take to be taken: 10 s
	Idle    time.Duration // a WebSocket without operations stays open: 10 min, and for nobody 1 min
	Recheck time.Duration // sessions are looked at: 500 ms
	Blind   time.Duration // streams stay open while sessions cannot be looked at: 30 s
	Event   time.Duration // a quiet stream of events shows that it lives: 15 s
}

func (t Times) orDefaults() Times {
	set := func(at *time.Duration, to time.Duration) {
		if *at <= 0 {
			*at = to
		}
	}
	set(&t.Hello, 10*time.Second)
	set(&t.Ping, 20*time.Second)
	set(&t.Write, 10*time.Second)
	set(&t.Idle, 10*time.Minute)
	set(&t.Recheck, 500*time.Millisecond)
	set(&t.Blind, 30*time.Second)
	set(&t.Event, 15*time.Second)
	return t
}

// Server holds the open streams of a process. It owns a goroutine that looks
// after the sessions; Close ends it.
type Server struct {
	opt  Options
	gate gate

	mu      sync.Mutex
	closing bool
	streams map[stream]struct{}
	ended   sync.WaitGroup // streams

	stop    context.CancelFunc
	looking sync.WaitGroup

	slow atomic.Int64 // readers that were cut off
}

// stream is a WebSocket or a stream of events.
type stream interface {
	// who is the one it belongs to, and false while that is not known yet.
	who() (viewer.Viewer, bool)
	// end ends it. It does not wait, and may be called again.
	end(*ending)
}

// New makes a Server. Close it once.
func New(ctx context.Context, o Options) *Server {
	o.Times = o.orDefaults()
	s := &Server{opt: o, streams: make(map[stream]struct{})}
	s.gate.limits = o.Limits
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.looking.Go(func() { s.look(ctx) })
	return s
}

// Stats are what is open at the moment, and what was cut off so far.
type Stats struct {
	WebSockets int
	Operations int // of WebSockets and streams of events
	Slow       int64
}

// Stats counts.
func (s *Server) Stats() Stats {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return Stats{WebSockets: s.gate.connections.all, Operations: s.gate.operations.all, Slow: s.slow.Load()}
}

// join registers a stream; false when the server is closing.
func (s *Server) join(x stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.ended.Add(1)
	s.streams[x] = struct{}{}
	return true
}

func (s *Server) leave(x stream) {
	s.mu.Lock()
	delete(s.streams, x)
	s.mu.Unlock()
	s.ended.Done()
}

// Close tells all clients to go elsewhere, takes no new ones, and waits until
// all have gone, at most until ctx ends. It may be called again.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	for x := range s.streams {
		x.end(goingAway())
	}
	s.mu.Unlock()
	gone := make(chan struct{})
	go func() { // ends with the streams, which have been told to end
		s.ended.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
	s.stop()
	s.looking.Wait()
}

// look ends the streams of those who are not signed in any more, or in another
// role, within about a Recheck.
func (s *Server) look(ctx context.Context) {
	tick := time.NewTicker(s.opt.Recheck)
	defer tick.Stop()
	var failing time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.recheck(ctx)
		switch {
		case err == nil:
			failing = time.Time{}
		case ctx.Err() != nil:
			return
		case failing.IsZero():
			failing = time.Now()
			s.opt.Log.WarnContext(ctx, "whether people are still signed in cannot be found out at the moment", slog.Any("error", err))
		case time.Since(failing) > s.opt.Blind:
			for x, v := range s.known() {
				if v.Session != uuid.Nil {
					x.end(unchecked())
				}
			}
		}
	}
}

func (s *Server) recheck(ctx context.Context) error {
	streams := s.known()
	seen := make(map[uuid.UUID]bool, len(streams))
	sessions := make([]uuid.UUID, 0, len(streams))
	for _, v := range streams {
		if v.Session != uuid.Nil && !seen[v.Session] {
			seen[v.Session] = true
			sessions = append(sessions, v.Session)
		}
	}
	if len(sessions) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, s.opt.Blind)
	defer cancel()
	alive, err := s.opt.Sessions.Roles(limited, sessions)
	if err != nil {
		return err
	}
	for x, v := range streams {
		if v.Session == uuid.Nil {
			continue
		}
		switch role, is := alive[v.Session]; {
		case !is:
			x.end(signedOut())
		case role != v.Role:
			x.end(roleChanged())
		}
	}
	return nil
}

// known are the streams of which it is known whose they are.
func (s *Server) known() map[stream]viewer.Viewer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make(map[stream]viewer.Viewer, len(s.streams))
	for x := range s.streams {
		if v, ok := x.who(); ok {
			list[x] = v
		}
	}
	return list
}
