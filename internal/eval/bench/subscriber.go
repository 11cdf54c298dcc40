package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// A subscription is a kind of subscriptions to one object.
type subscription struct {
	what, query string
	id          uuid.UUID
}

// subscribers are many clients with one subscription each.
type subscribers struct {
	url    string
	tokens []string // of the sessions
	all    []*subscriber
	client http.Client
	once   sync.Once
}

// A subscriber is one client.
type subscriber struct {
	conn    *websocket.Conn
	kind    int
	session int
	events  chan time.Time // arrival times; drops events when it is full
	closed  chan struct{}
	err     error // set when closed is closed
}

// signIn opens sessions.
func (s *subscribers) signIn(ctx context.Context, srv *server, login Login, sessions int) error {
	for range sessions {
		token, err := srv.signIn(ctx, login)
		if err != nil {
			return err
		}
		s.tokens = append(s.tokens, token)
	}
	return nil
}

// maxDials is the number of connections that are opened at a time.
const maxDials = 32

// open opens subscriptions of the kinds in turn and waits for the first event of
// each.
func (s *subscribers) open(ctx context.Context, count int, kinds []subscription) error {
	s.all = make([]*subscriber, count)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxDials)
	for i := range s.all {
		group.Go(func() error {
			one := &subscriber{kind: i % len(kinds), session: i % len(s.tokens), events: make(chan time.Time, 8), closed: make(chan struct{})}
			if err := one.open(groupCtx, s, kinds[one.kind]); err != nil {
				return fmt.Errorf("open a subscription of %s: %w", kinds[one.kind].what, err)
			}
			s.all[i] = one
			go one.listen(ctx) // close waits for it
			return nil
		})
	}
	return group.Wait()
}

func (one *subscriber) open(ctx context.Context, s *subscribers, kind subscription) error {
	conn, response, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{HTTPClient: &s.client, Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if response.Body != nil {
		_ = response.Body.Close() // empty
	}
	one.conn = conn
	for _, message := range []map[string]any{
		{"type": "connection_init", "payload": map[string]any{"authorization": "Bearer " + s.tokens[one.session]}},
		{"type": "subscribe", "id": "1", "payload": map[string]any{"query": kind.query, "variables": map[string]any{"i": kind.id}}},
	} {
		text, err := json.Marshal(message)
		if err == nil && message["type"] == "subscribe" {
			err = one.expect(ctx, "connection_ack")
		}
		if err == nil {
			err = conn.Write(ctx, websocket.MessageText, text)
		}
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
	}
	return one.expect(ctx, "next")
}

// expect reads a message, which must be of a type.
func (one *subscriber) expect(ctx context.Context, kind string) error {
	m, err := one.next(ctx)
	if err == nil && m.Type != kind {
		err = fmt.Errorf("%s came, not %s: %s", m.Type, kind, m.Payload)
	}
	return err
}

// A wsMessage is a message of the protocol graphql-transport-ws.
type wsMessage struct {
	Type    string
	Payload json.RawMessage
}

// next reads the next message other than a ping, and answers pings.
func (one *subscriber) next(ctx context.Context) (m wsMessage, err error) {
	for {
		_, b, err := one.conn.Read(ctx)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err == nil && m.Type == "ping" {
			if err = one.conn.Write(ctx, websocket.MessageText, []byte(`{"type":"pong"}`)); err == nil {
				continue
			}
		}
		if err != nil {
			return m, fmt.Errorf("read: %w", err)
		}
		return m, nil
	}
}

// listen records the arrival of events until the connection is closed.
func (one *subscriber) listen(ctx context.Context) {
	defer close(one.closed)
	for {
		m, err := one.next(ctx)
		arrival := time.Now()
		if err == nil && m.Type != "next" {
			err = fmt.Errorf("%s came: %s", m.Type, m.Payload)
		}
		if err != nil {
			one.err = err
			return
		}
		select {
		case one.events <- arrival:
		default:
		}
	}
}

// drain drops the recorded events.
func (one *subscriber) drain() {
	for {
		select {
		case <-one.events:
		default:
			return
		}
	}
}

// measureEvent calls write and returns the time until each subscriber of the kinds
// had an event.
func (s *subscribers) measureEvent(ctx context.Context, kinds []int, write func() error) ([]time.Duration, error) {
	var receivers []*subscriber
	for _, one := range s.all {
		if slices.Contains(kinds, one.kind) {
			receivers = append(receivers, one)
			one.drain()
		}
	}
	if len(receivers) == 0 {
		return nil, nil
	}
	start := time.Now()
	if err := write(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	lags := make([]time.Duration, 0, len(receivers))
	for _, one := range receivers {
		select {
		case arrival := <-one.events:
			lags = append(lags, arrival.Sub(start))
		case <-one.closed:
			return nil, fmt.Errorf("a subscription ended: %w", one.err)
		case <-ctx.Done():
			return nil, errors.New("an event did not come to everybody")
		}
	}
	return lags, nil
}

// closedBySignOut is the close code of a subscription whose session has ended.
const closedBySignOut = 4401

// signOut ends the first session and waits until its subscriptions are closed.
func (s *subscribers) signOut(ctx context.Context, srv *server) (closed int, elapsed time.Duration, err error) {
	if _, err := srv.graphql(ctx, s.tokens[0], "mutation { signOut }", nil); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, one := range s.all {
		if one.session != 0 {
			continue
		}
		select {
		case <-one.closed:
			if code := websocket.CloseStatus(one.err); code != closedBySignOut {
				return closed, 0, fmt.Errorf("a subscription was closed with %d: %w", code, one.err)
			}
			closed++
		case <-ctx.Done():
			return closed, 0, errors.New("a subscription goes on after its session was signed out")
		}
	}
	return closed, time.Since(start), nil
}

// close ends all subscriptions and waits for them.
func (s *subscribers) close() {
	s.once.Do(func() {
		for _, one := range s.all {
			if one != nil {
				_ = one.conn.CloseNow() // it may be closed already
			}
		}
		for _, one := range s.all {
			if one != nil {
				<-one.closed
			}
		}
	})
}
