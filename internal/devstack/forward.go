package devstack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// A Forward is a local TCP address that leads to a server, which may listen on a socket file.
type Forward struct {
	Address *net.TCPAddr
	// Login is that of the database's URL.
	Login *url.Userinfo

	network, target string
	listener        net.Listener
	end             context.CancelFunc
	goroutines      sync.WaitGroup
}

// ForwardTCP forwards connections to the server of a database's URL. The caller must call
// Close.
func ForwardTCP(ctx context.Context, databaseURL string) (*Forward, error) {
	config, err := pgconn.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("forward to PostgreSQL: %w", err)
	}
	network, target := pgconn.NetworkAddress(config.Host, config.Port)
	f, err := ForwardTo(ctx, network, target)
	if err != nil {
		return nil, err
	}
	f.Login = url.UserPassword(config.User, config.Password)
	return f, nil
}

// ForwardTo forwards connections to an address of a network, "tcp" or "unix". The caller
// must call Close.
func ForwardTo(ctx context.Context, network, target string) (*Forward, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("forward to %s: %w", target, err)
	}
	f := &Forward{listener: listener, network: network, target: target}
	f.Address, _ = listener.Addr().(*net.TCPAddr) // of a TCP listener
	ctx, f.end = context.WithCancel(context.WithoutCancel(ctx))
	f.goroutines.Go(func() { f.accept(ctx) })
	return f, nil
}

func (f *Forward) accept(ctx context.Context) {
	for {
		from, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.goroutines.Go(func() { f.forward(ctx, from) })
	}
}

// forward copies both ways until one side ends, or Close is called.
func (f *Forward) forward(ctx context.Context, from net.Conn) {
	to, err := (&net.Dialer{}).DialContext(ctx, f.network, f.target)
	if err != nil {
		_ = from.Close()
		return
	}
	closeBoth := func() { _ = from.Close(); _ = to.Close() }
	defer context.AfterFunc(ctx, closeBoth)()
	f.goroutines.Go(func() { _, _ = io.Copy(to, from); closeBoth() })
	_, _ = io.Copy(from, to)
	closeBoth()
}

// Close ends all connections.
func (f *Forward) Close() error {
	f.end()
	err := f.listener.Close()
	f.goroutines.Wait()
	return err
}
