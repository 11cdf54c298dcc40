// Package smtpserver is a mail server for tests. It keeps the mails that it accepts, and
// fails where a test says.
//
// Allowed imports: the standard library.
package smtpserver

import (
	"bufio"
	"context"
	"encoding/base64"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Mail is an accepted mail.
type Mail struct {
	From string
	To   []string
	Data string // with headers, and CRLF
}

// Fault is a deviation of the server at a command, once.
type Fault struct {
	Command string // MAIL, RCPT, DATA, or "." for the end of a mail
	Reply   string // instead of the usual one
	Drop    bool   // closes the connection; at "." after the mail was kept
}

// Server is a running mail server.
type Server struct {
	URL string
	// At, if it is set before the first connection, is called at each command, with the names of
	// Fault.Command. It may block, and reports whether the server deviates.
	At func(command string) (Fault, bool)

	listener net.Listener
	open     sync.WaitGroup

	mu             sync.Mutex
	mails          []Mail
	faults         []Fault
	mechanism      string
	user, password string
	conns          map[net.Conn]bool
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server. The caller closes it.
func Start(ctx context.Context) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "smtp://" + l.Addr().String(), listener: l, conns: map[net.Conn]bool{}}
	s.open.Go(s.serve)
	return s, nil
}

// Close ends the server and its connections.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.open.Wait()
}

// Mails returns the accepted mails, the oldest first.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// RequireAuth refuses senders that have not signed in by a mechanism, PLAIN or LOGIN.
func (s *Server) RequireAuth(mechanism, user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mechanism, s.user, s.password = mechanism, user, password
}

func (s *Server) serve() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.open.Go(func() {
			s.talk(c)
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// fault takes the fault of a command.
func (s *Server) fault(command string) (Fault, bool) {
	if s.At != nil {
		if f, deviates := s.At(command); deviates {
			return f, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.faults, func(f Fault) bool { return f.Command == command })
	if i < 0 {
		return Fault{}, false
	}
	f := s.faults[i]
	s.faults = slices.Delete(s.faults, i, i+1)
	return f, true
}

// session is one connection.
type session struct {
	*Server
	r      *bufio.Reader
	c      net.Conn
	mail   Mail
	signed bool
}

func (s *Server) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	one := &session{Server: s, r: bufio.NewReader(c), c: c}
	one.say("220 test ESMTP")
	for {
		line, err := one.r.ReadString('\n')
		if err != nil || !one.handle(strings.TrimRight(line, "\r\n")) {
			return
		}
	}
}

func (s *session) say(line string) { _, _ = s.c.Write([]byte(line + "\r\n")) }

func (s *session) handle(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	word = strings.ToUpper(word)
	if f, found := s.fault(word); found {
		if f.Drop {
			return false
		}
		s.say(f.Reply)
		return true
	}
	switch word {
	case "EHLO", "HELO":
		s.hello()
	case "AUTH":
		s.signed = s.auth(rest)
		if s.signed {
			s.say("235 fine")
		} else {
			s.say("535 no")
		}
	case "MAIL":
		s.mu.Lock()
		closed := s.mechanism != "" && !s.signed
		s.mu.Unlock()
		if closed {
			s.say("530 sign in first")
			return true
		}
		s.mail = Mail{From: address(rest)}
		s.say("250 fine")
	case "RCPT":
		s.mail.To = append(s.mail.To, address(rest))
		s.say("250 fine")
	case "DATA":
		s.say("354 go on")
		return s.data()
	case "QUIT":
		s.say("221 bye")
		return false
	default:
		s.say("250 fine")
	}
	return true
}

func (s *session) hello() {
	s.mu.Lock()
	mechanism := s.mechanism
	s.mu.Unlock()
	if mechanism == "" {
		s.say("250 test")
		return
	}
	s.say("250-test\r\n250 AUTH " + mechanism)
}

func (s *session) auth(rest string) bool {
	mechanism, initial, _ := strings.Cut(rest, " ")
	ask := func(prompt string) string {
		s.say("334 " + base64.StdEncoding.EncodeToString([]byte(prompt)))
		line, err := s.r.ReadString('\n')
		if err != nil {
			return ""
		}
		text, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		return string(text)
	}
	s.mu.Lock()
	wanted, user, password := s.mechanism, s.user, s.password
	s.mu.Unlock()
	switch {
	case mechanism != wanted:
		return false
	case mechanism == "LOGIN":
		return ask("Username:") == user && ask("Password:") == password
	default:
		text, _ := base64.StdEncoding.DecodeString(initial)
		return string(text) == "\x00"+user+"\x00"+password
	}
}

// data reads a mail to its final dot.
func (s *session) data() bool {
	var b strings.Builder
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return false // without the final dot there is no mail
		}
		if line == ".\r\n" {
			break
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
	f, found := s.fault(".")
	if found && !f.Drop {
		s.say(f.Reply)
		return true
	}
	s.mail.Data = b.String()
	s.mu.Lock()
	s.mails = append(s.mails, s.mail)
	s.mu.Unlock()
	if found {
		return false
	}
	s.say("250 kept")
	return true
}

func address(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}
