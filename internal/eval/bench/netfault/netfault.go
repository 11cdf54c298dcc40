// Package netfault leads the connections of a process to a store through a proxy that is slow, silent or away
// when it is told to be.
package netfault

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/magpie-search/magpie/internal/devstack"
)

// silence is the toxic that drops what the store sends.
const silence = "timeout"

// A Proxy leads connections to a store. Its methods are for one goroutine.
type Proxy struct {
	forward *devstack.Forward // the store as a TCP address
	proxy   *toxiproxy.Proxy
	toxics  []string
	url     url.URL
}

// Database opens a proxy to the PostgreSQL server of a URL. The caller must call Close.
func Database(ctx context.Context, databaseURL string) (*Proxy, error) {
	config, err := pgconn.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("the database's address cannot be read")
	}
	forward, err := devstack.ForwardTCP(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	return open("postgresql", forward, url.URL{
		Scheme: "postgres", User: forward.Login, Path: "/" + config.Database, RawQuery: "sslmode=disable",
	})
}

// Redis opens a proxy to the server of a redis:// or unix:// URL. The caller must call Close.
func Redis(ctx context.Context, redisURL string) (*Proxy, error) {
	address, err := url.Parse(redisURL)
	if err != nil {
		return nil, errors.New("the address of Redis cannot be read")
	}
	network, target := "tcp", address.Host
	if address.Scheme == "unix" {
		network, target = "unix", address.Path
	}
	forward, err := devstack.ForwardTo(ctx, network, target)
	if err != nil {
		return nil, err
	}
	return open("redis", forward, url.URL{Scheme: "redis", User: address.User, Path: "/0"})
}

func open(name string, forward *devstack.Forward, address url.URL) (*Proxy, error) {
	registry := toxiproxy.NewMetricsContainer(prometheus.NewRegistry())
	p := &Proxy{
		forward: forward, url: address,
		proxy: toxiproxy.NewProxy(toxiproxy.NewServer(registry, zerolog.Nop()), name, "127.0.0.1:0", forward.Address.String()),
	}
	if err := p.proxy.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("open a proxy to %s: %w", name, err), forward.Close())
	}
	p.url.Host = p.proxy.Listen
	return p, nil
}

// URL returns the address of the store through the proxy.
func (p *Proxy) URL() string { return p.url.String() }

// Slow delays what the store sends, by so many milliseconds more or less.
func (p *Proxy) Slow(milliseconds, jitter int) error {
	return p.add("latency", fmt.Sprintf(`{"latency": %d, "jitter": %d}`, milliseconds, jitter))
}

// Silence lets nothing of what the store sends arrive. Connections stay open until Heal, which ends them: what the store
// sent meanwhile is lost.
func (p *Proxy) Silence() error { return p.add(silence, `{"timeout": 0}`) }

func (p *Proxy) add(kind, attributes string) error {
	body := fmt.Sprintf(`{"name": %[1]q, "type": %[1]q, "stream": "downstream", "attributes": %[2]s}`, kind, attributes)
	if _, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(body)); err != nil {
		return fmt.Errorf("disturb the connections to %s: %w", p.proxy.Name, err)
	}
	p.toxics = append(p.toxics, kind)
	return nil
}

// Cut ends all connections and refuses new ones.
func (p *Proxy) Cut() { p.proxy.Stop() }

// Heal ends every disturbance.
func (p *Proxy) Heal(ctx context.Context) error {
	for _, toxic := range p.toxics {
		if err := p.proxy.Toxics.RemoveToxic(ctx, toxic); err != nil {
			return fmt.Errorf("heal the connections to %s: %w", p.proxy.Name, err)
		}
	}
	if slices.Contains(p.toxics, silence) {
		p.proxy.Stop()
	}
	p.toxics = nil
	if err := p.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		return fmt.Errorf("heal the connections to %s: %w", p.proxy.Name, err)
	}
	return nil
}

// Close ends all connections.
func (p *Proxy) Close() error {
	p.proxy.Stop()
	return p.forward.Close()
}
