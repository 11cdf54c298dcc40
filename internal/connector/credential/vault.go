package credential

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/secret"
)

// A Vault seals credentials and opens them again. Each sealed value is bound to
// the id of its connector and does not open for another one. It is safe for
// concurrent use.
type Vault struct{ box *secret.Box }

// NewVault returns a Vault that uses the keys of box.
func NewVault(box *secret.Box) Vault { return Vault{box} }

// A LostError reports credentials that do not open, because the key they were
// sealed with is missing or they were changed.
type LostError struct{ cause error }

// Error returns a text for people who may edit the connector.
func (e *LostError) Error() string {
	return secret.LostMessage("The connector's credentials", "enter them again", e.cause)
}

// Unwrap returns the error of the secret.Box.
func (e *LostError) Unwrap() error { return e.cause }

// NeedsAuth marks the error for package connectors: only a person can help.
func (e *LostError) NeedsAuth() bool { return true }

// Seal encrypts the credentials of a connector.
func (v Vault) Seal(connector uuid.UUID, credentials map[string]string) ([]byte, error) {
	plain, err := json.Marshal(credentials)
	if err != nil {
		return nil, fmt.Errorf("encode credentials: %w", err)
	}
	sealed, err := v.box.Seal(plain, credentialsAAD(connector))
	if err != nil {
		return nil, fmt.Errorf("seal credentials: %w", err)
	}
	return sealed, nil
}

// Open decrypts the credentials of a connector. It returns an empty map if
// sealed is empty, and a *[LostError] if it does not open.
func (v Vault) Open(connector uuid.UUID, sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return map[string]string{}, nil
	}
	plain, err := v.box.Open(sealed, credentialsAAD(connector))
	if err != nil {
		return nil, &LostError{err}
	}
	var credentials map[string]string
	if json.Unmarshal(plain, &credentials) != nil {
		// The cause is dropped because it could quote a secret.
		return nil, &LostError{errors.New("the credentials are no JSON object of strings")}
	}
	return credentials, nil
}

// Settings returns the settings of a connector with its credentials opened. The
// error is a *[LostError].
func (v Vault) Settings(row *ent.Connector) (connectors.Settings, error) {
	s := connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config}
	var err error
	s.Credentials, err = v.Open(row.ID, row.Credentials)
	return s, err
}

// SealWebhookSecret encrypts the secret that a platform signs deliveries for a
// connector with.
func (v Vault) SealWebhookSecret(connector uuid.UUID, plain string) ([]byte, error) {
	sealed, err := v.box.Seal([]byte(plain), webhookAAD(connector))
	if err != nil {
		return nil, fmt.Errorf("seal a webhook secret: %w", err)
	}
	return sealed, nil
}

// OpenWebhookSecret decrypts what SealWebhookSecret returned.
func (v Vault) OpenWebhookSecret(connector uuid.UUID, sealed []byte) (string, error) {
	plain, err := v.box.Open(sealed, webhookAAD(connector))
	if err != nil {
		return "", fmt.Errorf("open a webhook secret: %w", err)
	}
	return string(plain), nil
}

func credentialsAAD(connector uuid.UUID) []byte {
	return secret.AAD("connectors", connector.String())
}

func webhookAAD(connector uuid.UUID) []byte {
	return secret.AAD("connector_subscriptions", connector.String())
}
