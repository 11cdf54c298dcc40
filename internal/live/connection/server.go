package connection

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Sessions has the roles of sessions and tokens.
type Sessions interface {
	// Roles returns the roles of the sessions and tokens that have not ended, in a number of
	// statements that does not depend on their number.
	Roles(ctx context.Context, sessions []uuid.UUID) (map[uuid.UUID]viewer.Role, error)
}

// An Init returns the viewer of a WebSocket: the one of the payload of its first
// message, or that of ctx. An error refuses the connection; the client sees its
// message.
type Init func(ctx context.Context, payload map[string]any) (viewer.Viewer, error)

// Options configures a Server. Init, Sessions and Log are required.
type Options struct {
	Init     Init
	Sessions Sessions
	Log      *slog.Logger
	// Origins are the hosts of other origins whose pages may open a WebSocket.
	Origins []string
	Limits
	Times
}

// Limits bounds what is open in this process; 0 is no limit.
type Limits struct {
	PerConnection int // operations of one WebSocket
	PerPerson     int // operations, and WebSockets, of one person or of one anonymous address
	PerProcess    int // operations, and WebSockets, in total
}

// Times are intervals and timeouts. Defaults are in the comments.
type Times struct {
	Hello   time.Duration // until the first message of a client: 10 s
	Ping    time.Duration // between two pings; three without a pong end the connection: 20 s
	Write   time.Duration // to write a message: 10 s
	Idle    time.Duration // of a WebSocket without operations: 10 min, and 1 min for anonymous clients
	Recheck time.Duration // between two checks of sessions: 500 ms
	Blind   time.Duration // that streams stay open while sessions cannot be checked: 30 s
	Event   time.Duration // between two comments of a quiet event stream: 15 s
}

func (t Times) withDefaults() Times {
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

// A Server has the open streams of a process. It has a goroutine that checks
// sessions; Close ends it.
type Server struct {
	opt  Options
	gate gate

	mu      sync.Mutex
	closing bool
	streams map[stream]struct{}
	ended   sync.WaitGroup // streams

	stop     context.CancelFunc
	checking sync.WaitGroup

	slow atomic.Int64 // closed because their client did not read
}

// A stream is a WebSocket or an event stream.
type stream interface {
	// owner returns the viewer of the stream. It reports false while the viewer is
	// unknown.
	owner() (viewer.Viewer, bool)
	// end ends the stream without waiting. It may be called again.
	end(*closing)
}

// New returns a Server. The caller closes it.
func New(ctx context.Context, o Options) *Server {
	o.Times = o.withDefaults()
	s := &Server{opt: o, streams: make(map[stream]struct{})}
	s.gate.limits = o.Limits
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.checking.Go(func() { s.checkSessions(ctx) })
	return s
}

// Stats counts open streams, and those that were closed because their client did not
// read.
type Stats struct {
	WebSockets int
	Operations int // of WebSockets and streams of events
	Slow       int64
}

// Stats counts.
func (s *Server) Stats() Stats {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return Stats{WebSockets: s.gate.connections.total, Operations: s.gate.operations.total, Slow: s.slow.Load()}
}

// join registers a stream. It reports false when the server is closing.
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

// Close sends all clients to another server, accepts no new ones, and waits until all
// have gone or ctx ends. It may be called again.
func (s *Server) Close(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	for x := range s.streams {
		x.end(goingAway())
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the streams
		s.ended.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.stop()
	s.checking.Wait()
}

// checkSessions ends the streams of sessions and tokens that have ended or have another role,
// within about a Recheck.
func (s *Server) checkSessions(ctx context.Context) {
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
			s.opt.Log.WarnContext(ctx, "session check failed, will retry", slog.Any("error", err))
		case time.Since(failing) > s.opt.Blind:
			for x, v := range s.withOwner() {
				if v.Credential() != uuid.Nil {
					x.end(unchecked())
				}
			}
		}
	}
}

// recheck checks the sessions of all streams once.
func (s *Server) recheck(ctx context.Context) error {
	streams := s.withOwner()
	seen := make(map[uuid.UUID]bool, len(streams))
	sessions := make([]uuid.UUID, 0, len(streams))
	for _, v := range streams {
		if id := v.Credential(); id != uuid.Nil && !seen[id] {
			seen[id] = true
			sessions = append(sessions, id)
		}
	}
	if len(sessions) == 0 {
		return nil
	}
	limitedCtx, cancel := context.WithTimeout(ctx, s.opt.Blind)
	defer cancel()
	alive, err := s.opt.Sessions.Roles(limitedCtx, sessions)
	if err != nil {
		return err
	}
	for x, v := range streams {
		id := v.Credential()
		if id == uuid.Nil {
			continue
		}
		switch role, ok := alive[id]; {
		case !ok && v.Token != uuid.Nil:
			x.end(tokenEnded())
		case !ok:
			x.end(signedOut())
		case role != v.Role:
			x.end(roleChanged())
		}
	}
	return nil
}

// withOwner returns the streams whose viewer is known.
func (s *Server) withOwner() map[stream]viewer.Viewer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make(map[stream]viewer.Viewer, len(s.streams))
	for x := range s.streams {
		if v, ok := x.owner(); ok {
			list[x] = v
		}
	}
	return list
}
