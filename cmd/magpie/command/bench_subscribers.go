package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// subscription is a kind of them.
type subscription struct {
	what, query string
	id          uuid.UUID
}

// subscribers are many clients, each with one subscription.
type subscribers struct {
	url    string
	tokens []string
	all    []*subscriber
	client http.Client
	once   sync.Once
}

type subscriber struct {
	conn    *websocket.Conn
	kind    int
	session int
	heard   chan time.Time // when events came, of which the newest are kept
	ended   chan struct{}
	err     error // set by then
}

// signIn opens sessions of the administrator.
func (s *subscribers) signIn(ctx context.Context, b *benchStack, server *benchServer, count int) error {
	secrets, err := b.folder.Secrets()
	if err != nil {
		return err
	}
	for range count {
		var in struct {
			Data struct{ SignIn struct{ AccessToken string } }
		}
		err := server.ask(ctx, "", "mutation($e: String!, $p: String!) { signIn(input: {email: $e, password: $p}) { accessToken } }",
			map[string]any{"e": secrets.AdminEmail, "p": secrets.AdminPassword}, &in)
		if err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
		if in.Data.SignIn.AccessToken == "" {
			return errors.New("sign in: it was refused")
		}
		s.tokens = append(s.tokens, in.Data.SignIn.AccessToken)
	}
	return nil
}

// ask runs an operation.
func (s *benchServer) ask(ctx context.Context, token, query string, variables map[string]any, into any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return fmt.Errorf("encode an operation: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // was read
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server answered %s", response.Status)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	return nil
}

func (s *benchServer) trifle(ctx context.Context) error {
	return s.ask(ctx, "", "{ __typename }", nil, nil)
}

// openAtOnce is how many connections are being made at a time.
const openAtOnce = 32

// open opens subscriptions, of the kinds in turn, and waits for the first event
// of each.
func (s *subscribers) open(ctx context.Context, count int, kinds []subscription) error {
	s.all = make([]*subscriber, count)
	group, opening := errgroup.WithContext(ctx)
	group.SetLimit(openAtOnce)
	for i := range s.all {
		group.Go(func() error {
			one := &subscriber{kind: i % len(kinds), session: i % len(s.tokens), heard: make(chan time.Time, 8), ended: make(chan struct{})}
			if err := one.open(opening, s, kinds[one.kind]); err != nil {
				return fmt.Errorf("open a subscription of %s: %w", kinds[one.kind].what, err)
			}
			s.all[i] = one
			go one.listen(ctx) // ends with the connection
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
		_ = response.Body.Close() // nothing is in it
	}
	one.conn = conn
	for _, message := range []map[string]any{
		{"type": "connection_init", "payload": map[string]any{"authorization": "Bearer " + s.tokens[one.session]}},
		{"type": "subscribe", "id": "1", "payload": map[string]any{"query": kind.query, "variables": map[string]any{"i": kind.id}}},
	} {
		text, err := json.Marshal(message)
		if err == nil && message["type"] == "subscribe" {
			err = one.await(ctx, "connection_ack")
		}
		if err == nil {
			err = conn.Write(ctx, websocket.MessageText, text)
		}
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
	}
	return one.await(ctx, "next")
}

func (one *subscriber) await(ctx context.Context, kind string) error {
	m, err := one.next(ctx)
	if err == nil && m.Type != kind {
		err = fmt.Errorf("%s came, not %s: %s", m.Type, kind, m.Payload)
	}
	return err
}

type frame struct {
	Type    string
	Payload json.RawMessage
}

// next answers pings until something else comes.
func (one *subscriber) next(ctx context.Context) (m frame, err error) {
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

func (one *subscriber) listen(ctx context.Context) {
	defer close(one.ended)
	for {
		m, err := one.next(ctx)
		at := time.Now()
		if err == nil && m.Type != "next" {
			err = fmt.Errorf("%s came: %s", m.Type, m.Payload)
		}
		if err != nil {
			one.err = err
			return
		}
		select {
		case one.heard <- at:
		default: // nobody waits for it
		}
	}
}

// drain forgets what was heard.
func (one *subscriber) drain() {
	for {
		select {
		case <-one.heard:
		default:
			return
		}
	}
}

// signOut ends the first session and waits until its subscriptions have ended.
func (s *subscribers) signOut(ctx context.Context, server *benchServer) (ended int, took time.Duration, err error) {
	if err := server.ask(ctx, s.tokens[0], "mutation { signOut }", nil, nil); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, one := range s.all {
		if one.session != 0 {
			continue
		}
		select {
		case <-one.ended:
			if code := websocket.CloseStatus(one.err); code != 4401 {
				return ended, 0, fmt.Errorf("a subscription was closed with %d: %w", code, one.err)
			}
			ended++
		case <-ctx.Done():
			return ended, 0, errors.New("a subscription goes on after its session was signed out")
		}
	}
	return ended, time.Since(began), nil
}

// close ends all subscriptions and waits for it.
func (s *subscribers) close() {
	s.once.Do(func() {
		for _, one := range s.all {
			if one != nil {
				_ = one.conn.CloseNow() // it may have ended already
			}
		}
		for _, one := range s.all {
			if one != nil {
				<-one.ended
			}
		}
	})
}
