package prometheus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/prometheus"
	"github.com/magpie-search/magpie/connectors"
)

// certificateOf returns a certificate of a client and its key, in PEM.
func certificateOf(t *testing.T) (certificate, key string, parsed *x509.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "magpie"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	block := func(kind string, content []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", secret), parsed
}

func TestAServerMayWantAClientCertificate(t *testing.T) {
	t.Parallel()
	certificate, key, parsed := certificateOf(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status": "success", "data": {"version": "2.42.0"}}`))
	}))
	clients := x509.NewCertPool()
	clients.AddCert(parsed)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // refused handshakes are expected
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	registry, err := integration.NewRegistry(prometheus.Provider())
	if err != nil {
		t.Fatal(err)
	}
	p := registry.Providers()[0]
	check := func(ctx context.Context, config map[string]any, credentials map[string]string) error {
		config["url"] = server.URL
		if err := p.Form().Validate(config, credentials); err != nil {
			return err
		}
		return p.Check(ctx, integration.Account{Settings: connectors.Settings{Config: config, Credentials: credentials}, Dial: (&net.Dialer{}).DialContext})
	}
	both := map[string]string{"clientCertificate": certificate, "clientKey": key}
	if err := check(t.Context(), map[string]any{"caCertificate": authority}, both); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	for want, c := range map[string]struct {
		authority   string
		credentials map[string]string
	}{
		"is not trusted":                    {"", both},
		"config.caCertificate":              {"no PEM", both},
		"is needed with":                    {authority, map[string]string{"clientKey": key}},
		"is no certificate in PEM with its": {authority, map[string]string{"clientCertificate": certificate, "clientKey": "no PEM"}},
		"Prometheus":                        {authority, nil},
	} {
		err := check(t.Context(), map[string]any{"caCertificate": c.authority}, c.credentials)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
