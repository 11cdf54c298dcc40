package tdsserver

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
)

// A Query is what a client asks.
type Query struct {
	Login Login
	// Text is the statement, and Arguments those of sp_executesql.
	Text      string
	Arguments []string
	// Procedure says that it came by RPC.
	Procedure bool
	// Transaction says that it came in a transaction.
	Transaction bool
}

// An Error is an error of the server.
type Error struct {
	Number  int
	Message string
}

// A Reply is what the server answers.
type Reply struct {
	Columns []Column
	Rows    [][]any
	Error   *Error // behind the rows
	// Wait makes the server wait for an attention behind the rows.
	Wait bool
}

// Options configure a server. Its zero value accepts every login, without
// encryption.
type Options struct {
	Encryption  Encryption
	Certificate *tls.Certificate
	// Authenticate returns the error of a login, or nil.
	Authenticate func(Login) *Error
	// Answer is the script. Transactions are answered without it.
	Answer func(Query) Reply
}

// A Server is a running server.
type Server struct {
	Host string
	Port int

	options    Options
	encryption Encryption
	tls        *tls.Config
	handshakes context.Context //nolint:containedctx // the test's
	goroutines sync.WaitGroup

	mutex      sync.Mutex
	conns      map[net.Conn]bool
	began      int
	rolledBack int
	attentions int
	open       int
}

// Start starts a server on the loopback interface, which ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, encryption: o.Encryption, handshakes: t.Context(), conns: map[net.Conn]bool{}}
	if o.Certificate != nil {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*o.Certificate}} //nolint:gosec // TLS in packets of TDS ends before the first message of TLS 1.3 that follows a handshake
	} else {
		s.encryption = NotSupported
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP")
	}
	s.Host, s.Port = "127.0.0.1", address.Port
	s.goroutines.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.goroutines.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.mutex.Lock()
		for conn := range s.conns {
			_ = conn.Close()
		}
		s.mutex.Unlock()
		s.goroutines.Wait()
	})
	return s
}

// Counts are what the clients of a server did.
type Counts struct {
	Began, RolledBack, Attentions int // transactions and attentions
	Open                          int // transactions that did not end
}

// Counts returns what the clients did.
func (s *Server) Counts() Counts {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return Counts{s.began, s.rolledBack, s.attentions, s.open}
}

func (s *Server) count(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

// serve serves one connection until it ends.
func (s *Server) serve(conn net.Conn) {
	s.count(func() { s.conns[conn] = true })
	defer func() {
		s.count(func() { delete(s.conns, conn) })
		_ = conn.Close()
	}()
	login, session, err := s.prelogin(conn)
	if err != nil {
		return
	}
	kind, body, err := readMessage(login)
	if err != nil || kind != packetLogin {
		return
	}
	client, err := parseLogin(body)
	if err != nil {
		return
	}
	var reply tokens
	if s.options.Authenticate != nil {
		if failure := s.options.Authenticate(client); failure != nil {
			reply.message(tokenError, *failure)
			reply.done(tokenDone, doneError, 0)
			_ = writeMessage(session, packetReply, reply.body)
			return
		}
	}
	reply.acknowledge(client)
	if writeMessage(session, packetReply, reply.body) != nil {
		return
	}
	c := &connection{server: s, conn: session, login: client, messages: make(chan message)}
	c.run()
}

func (b *tokens) acknowledge(login Login) {
	b.environment(envDatabase, login.Database, "master")
	b.message(tokenInfo, Error{5701, "Changed database context to '" + login.Database + "'."})
	b.block(tokenEnvChange, func(b *tokens) {
		b.bytes(envCollation, 5)
		b.bytes(collation[:]...)
		b.bytes(0)
	})
	b.block(tokenLoginAck, func(b *tokens) {
		b.bytes(1, 0x74, 0, 0, 4)
		b.short("Microsoft SQL Server")
		b.bytes(16, 0, 0x10, 0x21)
	})
	b.environment(envPacketSize, "4096", "4096")
	b.done(tokenDone, doneFinal, 0)
}

type message struct {
	kind byte
	body []byte
}

// A connection is one whose login was accepted.
type connection struct {
	server      *Server
	conn        net.Conn
	login       Login
	messages    chan message
	transaction uint64
}

// run answers messages. Another goroutine reads them, so that an attention arrives
// during an answer.
func (c *connection) run() {
	done := make(chan struct{})
	defer func() {
		close(done)
		if c.transaction != 0 {
			c.server.count(func() { c.server.open-- }) // the end of a connection rolls back
		}
	}()
	c.server.goroutines.Go(func() {
		defer close(c.messages)
		for {
			kind, body, err := readMessage(c.conn)
			if err != nil {
				return
			}
			select {
			case c.messages <- message{kind, body}:
			case <-done:
				return
			}
		}
	})
	for m := range c.messages {
		reply, err := c.answer(m)
		if err != nil || writeMessage(c.conn, packetReply, reply.body) != nil {
			_ = c.conn.Close()
			return
		}
	}
}

func (c *connection) answer(m message) (reply tokens, err error) {
	query := Query{Login: c.login, Transaction: c.transaction != 0}
	switch m.kind {
	case packetAttention:
		c.attention(&reply)
		return reply, nil
	case packetBatch:
		body, err := withoutHeaders(m.body)
		if err != nil {
			return reply, err
		}
		query.Text = decodeUTF16(body)
	case packetRPC:
		if err := query.parseRPC(m.body); err != nil {
			return reply, err
		}
	default:
		return reply, errors.New("a packet of an unknown type")
	}
	if c.transact(&reply, query.Text) {
		return reply, nil
	}
	var answer Reply
	if c.server.options.Answer != nil {
		answer = c.server.options.Answer(query)
	}
	if answer.Wait {
		for m := range c.messages {
			if m.kind == packetAttention {
				c.attention(&reply)
				return reply, nil
			}
		}
		return reply, errors.New("the client went away")
	}
	reply.result(answer, query.Procedure)
	return reply, nil
}

func (c *connection) attention(reply *tokens) {
	c.server.count(func() { c.server.attentions++ })
	reply.done(tokenDone, doneAttention, 0)
}

// transact answers a batch that begins or rolls back a transaction. That other statements
// may end it is left out: Query.Transaction is what the client wants.
func (c *connection) transact(reply *tokens, text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	switch {
	case strings.HasSuffix(text, "begin transaction") && c.transaction != 0: // one in another ends with it
	case strings.HasSuffix(text, "begin transaction"):
		c.server.count(func() { c.server.began++; c.server.open++; c.transaction = uint64(c.server.began) }) //nolint:gosec // positive
		reply.transaction(envBegin, c.transaction)
	case strings.HasSuffix(text, "rollback transaction"):
		if c.transaction != 0 {
			reply.transaction(envRollback, c.transaction)
			c.server.count(func() { c.server.rolledBack++; c.server.open-- })
			c.transaction = 0
		}
	default:
		return false
	}
	reply.done(tokenDone, doneFinal, 0)
	return true
}

func (b *tokens) result(r Reply, procedure bool) {
	if r.Columns != nil {
		b.columns(r.Columns)
		for _, row := range r.Rows {
			b.row(r.Columns, row)
		}
	}
	status := doneFinal
	if r.Error != nil {
		b.message(tokenError, *r.Error)
		status = doneError
	} else if r.Columns != nil {
		status = doneCount
	}
	if !procedure {
		b.done(tokenDone, status, len(r.Rows))
		return
	}
	const more = 1
	b.done(tokenDoneInProc, status|more, len(r.Rows))
	b.bytes(tokenReturnStatus)
	b.uint32(0)
	b.done(tokenDoneProc, status&doneError, 0)
}

// withoutHeaders removes ALL_HEADERS from a request.
func withoutHeaders(body []byte) ([]byte, error) {
	const size = 4
	if len(body) < size {
		return nil, errors.New("a request without headers")
	}
	length := int(binary.LittleEndian.Uint32(body))
	if length < size || length > len(body) {
		return nil, errors.New("a request with wrong headers")
	}
	return body[length:], nil
}
