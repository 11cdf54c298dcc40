package sqldb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

// TLSConfig returns the configuration of a mode, nil for disable. fallback says
// that a server without encryption is accepted.
func TLSConfig(s connectors.Settings, mode string) (config *tls.Config, fallback bool, err error) {
	switch mode {
	case TLSDisable:
		return nil, false, nil
	case TLSPrefer, TLSRequire:
		// As with libpq: encrypted, and nobody vouches for the server.
		return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.String(OptionHost), InsecureSkipVerify: true}, mode == TLSPrefer, nil //nolint:gosec // what the mode means
	case TLSVerify:
		config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.String(OptionHost)}
		if text := s.String(OptionCA); text != "" {
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM([]byte(text)) {
				return nil, false, errors.New("config.caCertificate holds no certificate in PEM")
			}
		}
		return config, false, nil
	default:
		return nil, false, fmt.Errorf("the mode of encryption %q is unknown", mode)
	}
}

// CheckCA returns an error if the certificate authority cannot be parsed.
func CheckCA(s connectors.Settings, mode string) error {
	if mode != TLSVerify {
		return nil
	}
	if _, _, err := TLSConfig(s, mode); err != nil {
		return &connectors.OptionError{Field: "config." + OptionCA, Message: "holds no certificate in PEM"}
	}
	return nil
}
