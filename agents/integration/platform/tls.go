package platform

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/connectors"
)

// ClientTLS returns the TLS of an API whose servers may have a certificate of an own
// authority, and may want one of the client. authority is an option of the config,
// certificate and key are credentials, all in PEM and all optional.
func ClientTLS(authority, certificate, key string) func(s connectors.Settings) (*tls.Config, error) {
	return func(s connectors.Settings) (*tls.Config, error) {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if text := s.String(authority); text != "" {
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM([]byte(text)) {
				return nil, &connectors.OptionError{Field: "config." + authority, Message: "holds no certificate in PEM"}
			}
		}
		own, secret := s.Credentials[certificate], s.Credentials[key]
		switch {
		case own == "" && secret == "":
			return config, nil
		case own == "" || secret == "":
			return nil, &connectors.OptionError{Field: "credentials." + certificate, Message: "is needed with credentials." + key + ", and the other way round"}
		}
		pair, err := tls.X509KeyPair([]byte(own), []byte(secret))
		if err != nil {
			return nil, &connectors.OptionError{Field: "credentials." + certificate, Message: "is no certificate in PEM with its key"}
		}
		config.Certificates = []tls.Certificate{pair}
		return config, nil
	}
}

// tlsOf returns the TLS of an account, nil for that of the system.
func (api API) tlsOf(a integration.Account) (*tls.Config, error) {
	if api.TLS == nil {
		return nil, nil //nolint:nilnil // the default of an HTTP client
	}
	config, err := api.TLS(a.Settings)
	if failure, ok := errors.AsType[*connectors.OptionError](err); ok {
		return nil, connectors.Fatal(failure)
	}
	return config, err
}
