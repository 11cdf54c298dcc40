package rehearsal

import (
	"bufio"
	"context"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
)

// mailServer is a stand-in of a mail server, which keeps what it accepts.
type mailServer struct {
	stage    *Stage
	url      string
	listener net.Listener
	open     sync.WaitGroup

	mu    sync.Mutex
	kept  []Reply
	conns map[net.Conn]bool
}

// A Reply is a mail that the mail server has.
type Reply struct {
	To        string `json:"to"`
	Subject   string `json:"subject"`
	InReplyTo string `json:"inReplyTo"`
	Text      string `json:"text"`
}

func startMailServer(ctx context.Context, stage *Stage) (*mailServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &mailServer{stage: stage, url: "smtp://" + listener.Addr().String(), listener: listener, conns: map[net.Conn]bool{}}
	m.open.Go(m.serve)
	return m, nil
}

func (m *mailServer) close() error {
	err := m.listener.Close()
	m.mu.Lock()
	for c := range m.conns {
		_ = c.Close() // its reader ends
	}
	m.mu.Unlock()
	m.open.Wait()
	return err
}

func (m *mailServer) serve() {
	for {
		c, err := m.listener.Accept()
		if err != nil {
			return
		}
		m.mu.Lock()
		m.conns[c] = true
		m.mu.Unlock()
		m.open.Go(func() {
			m.talk(c)
			_ = c.Close()
			m.mu.Lock()
			delete(m.conns, c)
			m.mu.Unlock()
		})
	}
}

// talk speaks SMTP (RFC 5321) as far as a sender of one mail needs it.
func (m *mailServer) talk(c net.Conn) {
	say := func(line string) { _, _ = c.Write([]byte(line + "\r\n")) } // the sender may be gone
	lines := bufio.NewReader(c)
	to := ""
	say("220 stand-in ESMTP")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToUpper(word) {
		case "RCPT":
			_, to, _ = strings.Cut(rest, "<")
			to, _, _ = strings.Cut(to, ">")
			say("250 fine")
		case "DATA":
			if m.stage.reach(PointSending) {
				return
			}
			say("354 go on")
			text, err := readText(lines)
			if err != nil {
				return
			}
			m.keep(to, text)
			if m.stage.reach(PointDelivered) {
				return
			}
			say("250 kept")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
}

// readText reads a mail up to the line with a dot.
func readText(lines *bufio.Reader) (string, error) {
	var out strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == ".\r\n" {
			return out.String(), nil
		}
		out.WriteString(strings.TrimPrefix(line, "."))
	}
}

func (m *mailServer) keep(to, text string) {
	reply := Reply{To: to, Text: text}
	if read, err := mail.ReadMessage(strings.NewReader(text)); err == nil {
		reply.Subject, reply.InReplyTo = read.Header.Get("Subject"), strings.Trim(read.Header.Get("In-Reply-To"), "<>")
		if body, err := io.ReadAll(quotedprintable.NewReader(read.Body)); err == nil {
			reply.Text = string(body)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, reply)
}

// replies returns the replies to a mail.
func (m *mailServer) replies(id string) []Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Reply{}
	for _, r := range m.kept {
		if r.InReplyTo == id {
			out = append(out, r)
		}
	}
	return slices.Clone(out)
}
