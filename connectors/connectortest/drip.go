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

// dripTime is how long a sync may take of which one answer drips for ever: the
// rest takes no time at all.
const dripTime = 2 * time.Minute

// drips has each call of a sync answered with a body that comes byte by byte and
// has no end, in a time of its own. The other answers are those of the true sync.
func (l Lies) drips(t *testing.T, calls []Exchange, first map[int]bool) {
	t.Run("a body that drips for ever", func(t *testing.T) {
		t.Parallel()
		began := time.Now()
		for number, call := range calls {
			if !first[number] {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				<-time.After(time.Until(began)) // to the time of the true sync
				now := time.Now()
				tap := &tap{calls: calls, drip: number}
				s := &synced{done: map[string]bool{}, errs: map[string]error{}, items: map[string]connectors.Item{}}
				l.dripped(t, tap, s)
				tap.close()
				doing := fmt.Sprintf("call %d, %s, whose body drips for ever", number, call)
				if took := time.Since(now); took > dripTime {
					t.Errorf("%s: the sync took %s", doing, took)
				}
				if !tap.dripped() {
					t.Errorf("%s: the call was not made again", doing)
				}
				if len(s.errs) == 0 && !l.Warns {
					t.Errorf("%s: nobody noticed", doing)
				}
				for part, err := range s.errs {
					if _, again := connectors.RetryAfterOf(err); !again {
						t.Errorf("%s: %s: %v, want a retryable error", doing, part, err)
					}
				}
			})
		}
	})
}

// dripped does what [Lies.sync] does, up to the call that drips.
func (l Lies) dripped(t *testing.T, tap *tap, s *synced) {
	t.Helper()
	ctx := t.Context()
	notes := &Notes{}
	source := l.open(t, tap.Dial, notes)
	defer func() { _ = source.Close() }()
	s.contents, s.readers = map[string]string{}, map[string]connectors.Readers{}
	s.groups, s.found = map[string]connectors.Group{}, map[string]connectors.Item{}
	s.walk(ctx, source)
	all := s.open(ctx, source, tap.dripped)
	if lister, ok := source.(connectors.PermissionLister); ok && !tap.dripped() {
		_, err := lister.Readers(ctx, all)
		s.note(partReaders, err)
	}
	if directory, ok := source.(connectors.Directory); ok && !tap.dripped() {
		s.groupsOf(ctx, directory)
	}
	again := l.open(t, tap.Dial, notes)
	defer func() { _ = again.Close() }()
	if resolver, ok := again.(connectors.Resolver); ok {
		for _, name := range append(s.ids(), l.Absent...) {
			if !tap.dripped() {
				s.resolve(ctx, resolver, name)
			}
		}
	}
	if tap.dripped() {
		return
	}
	tested := l.open(t, tap.Dial, &Notes{})
	defer func() { _ = tested.Close() }()
	s.note(partCheck, tested.Check(ctx))
}

// tap gives the answers of a true sync one after the other, but for one that
// drips. All of it is within the process, where the suite has the time.
type tap struct {
	calls []Exchange
	drip  int

	mutex sync.Mutex
	next  int
	conns []net.Conn
	work  sync.WaitGroup
}

func (s *tap) dripped() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.next > s.drip
}

func (s *tap) close() {
	s.mutex.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mutex.Unlock()
	s.work.Wait()
}

// Dial connects to the tap, whatever the address.
func (s *tap) Dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.conns = append(s.conns, there)
	s.work.Go(func() { s.serve(there) })
	return here, nil
}

func (s *tap) serve(conn net.Conn) {
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
		answer := Exchange{Status: http.StatusServiceUnavailable}
		if number < len(s.calls) {
			answer = s.calls[number]
		}
		if number == s.drip {
			s.dripInto(conn, answer)
			return
		}
		if writeAnswer(conn, request, answer) != nil {
			return
		}
	}
}

func writeAnswer(w io.Writer, request *http.Request, e Exchange) error {
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Del("Content-Length")
	return (&http.Response{
		StatusCode: e.Status, ProtoMajor: 1, ProtoMinor: 1, Request: request, Header: header, ContentLength: int64(len(e.Answer)), Body: io.NopCloser(bytes.NewReader(e.Answer)),
	}).Write(w)
}

// dripInto writes the header of an answer, and then a space a second.
func (s *tap) dripInto(conn net.Conn, e Exchange) {
	var head bytes.Buffer
	_, _ = fmt.Fprintf(&head, "HTTP/1.1 %d OK\r\n", http.StatusOK)
	header := e.Header.Clone()
	header.Set("Content-Length", strconv.Itoa(max(len(e.Answer), 1<<20)))
	_ = header.Write(&head)
	_, _ = head.WriteString("\r\n")
	if _, err := conn.Write(head.Bytes()); err != nil {
		return
	}
	for {
		if _, err := conn.Write([]byte(" ")); err != nil {
			return // whoever asked has gone
		}
		<-time.After(time.Second)
	}
}
