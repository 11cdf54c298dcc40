package secret

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CredentialsAAD ties the credentials of a connector to it, by its id.
func CredentialsAAD(connector string) []byte { return AAD("connectors", connector) }

// Lost is what people are told of secrets that do not open: what are these ("The
// connector's credentials"), and again is what they can do about it ("enter them
// again").
func Lost(what, again string, err error) string {
	if missing, ok := errors.AsType[*KeyError](err); ok {
		return fmt.Sprintf("%s cannot be opened any more: they were sealed with the key %q, which SECRET_KEYS lacks; "+
			"%s, or have the operator put the key back.", what, printable(missing.ID), again)
	}
	return what + " cannot be opened any more; " + again + "."
}

// OpenCredentials opens the credentials of the connector with this id, a JSON
// object of strings. Without sealed ones they are empty, which is no error.
func (b *Box) OpenCredentials(connector string, sealed []byte) (map[string]string, error) {
	if len(sealed) == 0 {
		return map[string]string{}, nil
	}
	plain, err := b.Open(sealed, CredentialsAAD(connector))
	if err != nil {
		return nil, fmt.Errorf("open the credentials: %w", err)
	}
	var credentials map[string]string
	if json.Unmarshal(plain, &credentials) != nil {
		// The cause is left out: it could quote a secret.
		return nil, errors.New("the credentials are no JSON object of strings")
	}
	return credentials, nil
}
