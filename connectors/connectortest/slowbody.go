package connectortest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// maxSlowSync bounds a sync in which one body never ends. The rest of the sync
// takes no time.
const maxSlowSync = 2 * time.Minute

// injectSlowBodies replays a sync for each call, in fake time, with the body of
// that call arriving byte by byte without end.
func (l FaultInjection) injectSlowBodies(t *testing.T, calls []Exchange, first map[int]bool) {
	t.Run("an endless body", func(t *testing.T) {
		t.Parallel()
		start := time.Now()
		for number, call := range calls {
			if !first[number] {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				<-time.NewTimer(time.Until(start)).C // the fake clock reaches the time of the recorded sync
				now := time.Now()
				server := &replayServer{calls: calls, slowCall: number}
				s := &syncResult{done: map[string]bool{}, errs: map[string]error{}, items: map[string]connectors.Item{}}
				l.syncWithSlowBody(t, server, s)
				server.close()
				description := fmt.Sprintf("call %d, %s, with an endless body", number, call)
				if elapsed := time.Since(now); elapsed > maxSlowSync {
					t.Errorf("%s: the sync took %s", description, elapsed)
				}
				if !server.reachedSlowCall() {
					t.Errorf("%s: the call was not repeated", description)
				}
				if len(s.errs) == 0 && !l.AllowWarnings {
					t.Errorf("%s: no error", description)
				}
				for part, err := range s.errs {
					if _, retryable := connectors.RetryAfterOf(err); !retryable {
						t.Errorf("%s: %s: %v, want a retryable error", description, part, err)
					}
				}
			})
		}
	})
}

// syncWithSlowBody is [FaultInjection.sync] up to the call with the slow body.
func (l FaultInjection) syncWithSlowBody(t *testing.T, server *replayServer, s *syncResult) {
	t.Helper()
	ctx := t.Context()
	state := &State{}
	source := l.openSource(t, server.Dial, state)
	defer func() { _ = source.Close() }()
	s.contents, s.readers = map[string]string{}, map[string]connectors.Readers{}
	s.groups, s.resolved = map[string]connectors.Group{}, map[string]connectors.Item{}
	s.walk(ctx, source)
	items := s.open(ctx, source, server.reachedSlowCall)
	if lister, ok := source.(connectors.PermissionLister); ok && !server.reachedSlowCall() {
		_, err := lister.Readers(ctx, items)
		s.record(partReaders, err)
	}
	l.syncFeed(t, s, source, server.Dial, server.reachedSlowCall)
	if directory, ok := source.(connectors.GroupLister); ok && !server.reachedSlowCall() {
		s.listGroups(ctx, directory)
	}
	second := l.openSource(t, server.Dial, state)
	defer func() { _ = second.Close() }()
	if resolver, ok := second.(connectors.Resolver); ok {
		for _, name := range append(s.ids(), l.AbsentNames...) {
			if !server.reachedSlowCall() {
				s.resolve(ctx, resolver, name)
			}
		}
	}
	if server.reachedSlowCall() {
		return
	}
	tested := l.openSource(t, server.Dial, &State{})
	defer func() { _ = tested.Close() }()
	s.record(partCheck, tested.Check(ctx))
}

// A replayServer replays the responses of a recorded sync in order, one of them
// slowly. It runs within the process, in the fake time of the test.
type replayServer struct {
	calls    []Exchange
	slowCall int

	mutex sync.Mutex
	next  int
	conns []net.Conn
	work  sync.WaitGroup
}

func (s *replayServer) reachedSlowCall() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.next > s.slowCall
}

func (s *replayServer) close() {
	s.mutex.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mutex.Unlock()
	s.work.Wait()
}

// Dial connects to the server, whatever the address.
func (s *replayServer) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.conns = append(s.conns, server)
	s.work.Go(func() { s.serve(server) })
	return client, nil
}

func (s *replayServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		s.mutex.Lock()
		number := s.next
		s.next++
		s.mutex.Unlock()
		exchange := Exchange{Status: http.StatusServiceUnavailable}
		if number < len(s.calls) {
			exchange = s.calls[number]
		}
		if number == s.slowCall {
			s.writeSlowly(conn, exchange)
			return
		}
		if writeExchange(conn, request, exchange) != nil {
			return
		}
	}
}

func writeExchange(w io.Writer, request *http.Request, e Exchange) error {
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Del("Content-Length")
	return (&http.Response{
		StatusCode: e.Status, ProtoMajor: 1, ProtoMinor: 1, Request: request, Header: header, ContentLength: int64(len(e.ResponseBody)), Body: io.NopCloser(bytes.NewReader(e.ResponseBody)),
	}).Write(w)
}

// writeSlowly writes the header of a response, and then a space each second.
func (s *replayServer) writeSlowly(conn net.Conn, e Exchange) {
	var head bytes.Buffer
	_, _ = fmt.Fprintf(&head, "HTTP/1.1 %d OK\r\n", http.StatusOK)
	header := e.Header.Clone()
	header.Set("Content-Length", strconv.Itoa(max(len(e.ResponseBody), 1<<20)))
	_ = header.Write(&head)
	_, _ = head.WriteString("\r\n")
	if _, err := conn.Write(head.Bytes()); err != nil {
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := conn.Write([]byte(" ")); err != nil {
			return // the client closed the connection
		}
	}
}
