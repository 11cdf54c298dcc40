package httpx_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/magpie-search/magpie/internal/httpx"
)

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

func TestReservedAddressesAreRefused(t *testing.T) {
	t.Parallel()
	guard := httpx.NewGuard(nil)
	for _, address := range []string{
		"169.254.169.254:80",
		"127.0.0.1:80",
		"127.255.0.3:22",
		"0.0.0.0:80",
		"10.0.0.1:443",
		"10.255.255.255:5432",
		"172.16.0.1:80",
		"192.168.1.1:80",
		"100.64.0.1:80",
		"224.0.0.1:80",
		"255.255.255.255:80",
		"[::1]:80",
		"[::]:80",
		"[fe80::1]:80",
		"[fd00::1]:80",
		"[ff02::1]:80",
		"[::ffff:127.0.0.1]:80",
		"[::ffff:10.0.0.1]:80",
		"[::ffff:169.254.169.254]:80",
		"[64:ff9b::a9fe:a9fe]:80",
		"[64:ff9b::7f00:1]:80",
		"[2002:7f00:1::]:80",
		"localhost:80",
	} {
		connection, err := guard.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			t.Errorf("%s: connected", address)
		} else if !errors.Is(err, httpx.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", address, err)
		}
	}
}

func TestOnlyTCPIsDialled(t *testing.T) {
	t.Parallel()
	guard := httpx.NewGuard(loopback())
	socket := t.TempDir() + "/socket"
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer func() { _ = listener.Close() }()
	for network, address := range map[string]string{"unix": socket, "udp": "127.0.0.1:53"} {
		connection, err := guard.DialContext(t.Context(), network, address)
		if err == nil {
			_ = connection.Close()
			t.Errorf("%s: connected", network)
		} else if !errors.Is(err, httpx.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", network, err)
		}
	}
}

func TestAllowedNetworksAreDialled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for name, allowed := range map[string][]netip.Prefix{
		"plain":          loopback(),
		"not masked":     {netip.PrefixFrom(netip.MustParseAddr("127.0.0.9"), 8)},
		"mapped":         {netip.MustParsePrefix("::ffff:127.0.0.0/104")},
		"with a bad one": {{}, netip.MustParsePrefix("127.0.0.1/32")},
	} {
		connection, err := httpx.NewGuard(allowed).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = connection.Close()
	}
	other := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")})
	if _, err := other.DialContext(t.Context(), "tcp", address); !errors.Is(err, httpx.ErrRefused) {
		t.Errorf("another network allowed: got %v, want ErrRefused", err)
	}
}

// A name is checked by the address that it resolves to when it is dialled. The
// message does not contain that address.
func TestNamesThatResolveToPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	resolver := resolverOf(t, map[string]netip.Addr{
		"metadata.example.": netip.MustParseAddr("169.254.169.254"),
		"office.example.":   netip.MustParseAddr("10.1.2.3"),
		"six.example.":      netip.MustParseAddr("fd00::5"),
		"home.example.":     netip.MustParseAddr("127.0.0.1"),
	})
	guard := httpx.NewGuardWithResolver(nil, resolver)
	for _, name := range []string{"metadata.example", "office.example", "six.example", "home.example"} {
		_, err := guard.DialContext(t.Context(), "tcp", net.JoinHostPort(name, "80"))
		if !errors.Is(err, httpx.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", name, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, name) || strings.Contains(text, "10.1.2.3") {
			t.Errorf("%s: the message must have the name and not its address: %v", name, err)
		}
	}
	if _, err := guard.DialContext(t.Context(), "tcp", "missing.example:80"); err == nil || errors.Is(err, httpx.ErrRefused) {
		t.Errorf("an unknown name: got %v, want another error than ErrRefused", err)
	}
}

func TestRedirectsToPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusFound))
	defer server.Close()
	transport := &http.Transport{DialContext: httpx.NewGuard(loopback()).DialContext}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	if _, err := get(t.Context(), client, server.URL); !errors.Is(err, httpx.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
}

func get(ctx context.Context, client *http.Client, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// resolverOf returns a resolver that uses a DNS server on loopback with the names of
// a table.
func resolverOf(t *testing.T, table map[string]netip.Addr) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for DNS: %v", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		answerNames(socket, table)
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-served
	})
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "udp", socket.LocalAddr().String())
		},
	}
}

func answerNames(socket net.PacketConn, table map[string]netip.Addr) {
	buffer := make([]byte, 1500)
	for {
		length, peer, err := socket.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if err := query.Unpack(buffer[:length]); err != nil || len(query.Questions) != 1 {
			continue
		}
		question := query.Questions[0]
		reply := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true},
			Questions: query.Questions,
		}
		header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class, TTL: 1}
		address, known := table[strings.ToLower(question.Name.String())]
		switch {
		case !known:
			reply.RCode = dnsmessage.RCodeNameError
		case question.Type == dnsmessage.TypeA && address.Is4():
			reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
		case question.Type == dnsmessage.TypeAAAA && address.Is6():
			reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
		}
		packed, err := reply.Pack()
		if err != nil {
			continue
		}
		if _, err := socket.WriteTo(packed, peer); err != nil {
			return
		}
	}
}
