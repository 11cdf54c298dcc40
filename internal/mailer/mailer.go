package mailer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// Mailer sends mails. It is safe for concurrent use: each mail has a connection of its
// own.
type Mailer struct {
	host, address  string
	implicitTLS    bool
	user, password string
	from           mail.Address
	now            func() time.Time
	tls            *tls.Config
	local          bool // the server is on this machine, so that plain text stays here
}

// Options configure a Mailer.
type Options struct {
	// URL is smtp://user:password@host:port, which uses STARTTLS, or smtps://… for TLS
	// from the beginning. Without TLS no password is sent, except to this machine.
	URL string
	// From is the sender, such as "Support <support@example.com>".
	From string
	Now  func() time.Time // time.Now
	TLS  *tls.Config      // for tests; nil uses the system's certificates
}

// New returns a Mailer. It does not connect.
func New(o Options) (*Mailer, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("must be smtp://host or smtps://host, with a user, a password and a port where they are needed")
	}
	m := &Mailer{host: u.Hostname(), implicitTLS: u.Scheme == "smtps", user: u.User.Username(), now: o.Now, tls: o.TLS}
	m.password, _ = u.User.Password()
	port := u.Port()
	if port == "" {
		port = "587"
		if m.implicitTLS {
			port = "465"
		}
	}
	m.address = net.JoinHostPort(m.host, port)
	ip := net.ParseIP(m.host)
	m.local = m.host == "localhost" || ip != nil && ip.IsLoopback()
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("the sender %q is no mail address", o.From)
	}
	m.from = *from
	if m.now == nil {
		m.now = time.Now
	}
	return m, nil
}

// From returns the address of the sender.
func (m *Mailer) From() string { return m.from.Address }

// Refused is the error of a mail that was certainly not sent.
type Refused struct {
	// Later says that the server may accept the mail at another time.
	Later bool
	Cause error
}

func (e *Refused) Error() string { return "mail not sent: " + e.Cause.Error() }

func (e *Refused) Unwrap() error { return e.Cause }

// timeout bounds a whole conversation with the server.
const timeout = 45 * time.Second

// Send sends a mail. A *Refused means that it was not sent; after another error it may
// have been.
func (m *Mailer) Send(ctx context.Context, message Message) error {
	raw, to, err := render(message, m.from, m.now())
	if err != nil {
		return &Refused{Cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, done, err := m.connect(ctx)
	if err != nil {
		return refusal(err)
	}
	defer done()
	for _, step := range []func() error{func() error { return client.Mail(m.from.Address) }, func() error { return client.Rcpt(to) }} {
		if err := step(); err != nil {
			return refusal(err)
		}
	}
	w, err := client.Data()
	if err != nil {
		return refusal(err)
	}
	if _, err := w.Write(raw); err != nil {
		return refusal(err) // without the final dot the server drops the mail
	}
	if err := w.Close(); err != nil {
		if reply, ok := errors.AsType[*textproto.Error](err); ok {
			return refusal(reply)
		}
		return fmt.Errorf("send a mail: no answer to its end: %w", err)
	}
	_ = client.Quit() // the server has taken the mail
	return nil
}

// refusal tells temporary failures, such as greylisting, from final ones.
func refusal(err error) *Refused {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return &Refused{Later: reply.Code >= 400 && reply.Code < 500, Cause: err}
	}
	return &Refused{Later: !errors.Is(err, errMessage) && !errors.Is(err, errPlain), Cause: err}
}

var errPlain = errors.New("the server offers no TLS, without which no password is sent to it")

// connect returns a client that has signed in. done closes the connection.
func (m *Mailer) connect(ctx context.Context) (client *smtp.Client, done func(), err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.address)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the mail server: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	done = func() {
		stop()
		_ = conn.Close()
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	settings := m.tls.Clone()
	if settings == nil {
		settings = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	settings.ServerName = m.host
	if m.implicitTLS {
		conn = tls.Client(conn, settings)
	}
	if client, err = smtp.NewClient(conn, m.host); err != nil {
		return nil, nil, fmt.Errorf("greet the mail server: %w", err)
	}
	encrypted := m.implicitTLS
	if !encrypted {
		if can, _ := client.Extension("STARTTLS"); can {
			if err = client.StartTLS(settings); err != nil {
				return nil, nil, fmt.Errorf("start TLS with the mail server: %w", err)
			}
			encrypted = true
		}
	}
	if m.user == "" {
		return client, done, nil
	}
	if !encrypted && !m.local {
		return nil, nil, errPlain
	}
	if err = client.Auth(m.auth(client)); err != nil {
		return nil, nil, fmt.Errorf("sign in to the mail server: %w", err)
	}
	return client, done, nil
}

// auth returns the mechanism that the server offers: PLAIN, or LOGIN without it.
func (m *Mailer) auth(client *smtp.Client) smtp.Auth {
	_, offered := client.Extension("AUTH")
	if strings.Contains(strings.ToUpper(offered), "LOGIN") && !strings.Contains(strings.ToUpper(offered), "PLAIN") {
		return &login{user: m.user, password: m.password}
	}
	return smtp.PlainAuth("", m.user, m.password, m.host)
}

// login is the mechanism LOGIN, which some servers offer alone.
type login struct{ user, password string }

func (l *login) Start(*smtp.ServerInfo) (string, []byte, error) { return "LOGIN", nil, nil }

func (l *login) Next(prompt []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	if strings.HasPrefix(strings.ToLower(string(prompt)), "user") {
		return []byte(l.user), nil
	}
	return []byte(l.password), nil
}
