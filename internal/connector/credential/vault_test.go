package credential_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/secret"
)

func newBox(t *testing.T, id string, fill byte) *secret.Box {
	t.Helper()
	box, err := secret.NewBox(map[string][]byte{id: bytes.Repeat([]byte{fill}, secret.KeyBytes)}, id)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestCredentialsOpenForTheirConnectorOnly(t *testing.T) {
	t.Parallel()
	box := newBox(t, "a", 1)
	vault := credential.NewVault(box)
	own, other := uuid.New(), uuid.New()
	sealed, err := vault.Seal(own, map[string]string{"token": "hunter2"})
	if err != nil || bytes.Contains(sealed, []byte("hunter2")) {
		t.Fatalf("Seal = %q, %v", sealed, err)
	}
	if got, err := vault.Open(own, sealed); err != nil || len(got) != 1 || got["token"] != "hunter2" {
		t.Errorf("Open = %v, %v", got, err)
	}
	if got, err := vault.Open(own, nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("Open(nil) = %v, %v", got, err)
	}
	raw := func(text string) []byte {
		out, err := box.Seal([]byte(text), secret.AAD("connectors", own.String()))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, open := range map[string]func() (map[string]string, error){
		"another connector": func() (map[string]string, error) { return vault.Open(other, sealed) },
		"another key":       func() (map[string]string, error) { return credential.NewVault(newBox(t, "b", 2)).Open(own, sealed) },
		"a list":            func() (map[string]string, error) { return vault.Open(own, raw(`["hunter2"]`)) },
		"not strings":       func() (map[string]string, error) { return vault.Open(own, raw(`{"token":{"x":"hunter2"}}`)) },
	} {
		_, err := open()
		var lost *credential.LostError
		if !errors.As(err, &lost) || !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWebhookSecretsOpenForTheirConnectorOnly(t *testing.T) {
	t.Parallel()
	vault := credential.NewVault(newBox(t, "a", 1))
	own := uuid.New()
	sealed, err := vault.SealWebhookSecret(own, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := vault.OpenWebhookSecret(own, sealed); err != nil || got != "s3cret" {
		t.Errorf("OpenWebhookSecret = %q, %v", got, err)
	}
	if _, err := vault.OpenWebhookSecret(uuid.New(), sealed); !errors.Is(err, secret.ErrTampered) {
		t.Errorf("for another connector: %v", err)
	}
	if _, err := vault.Open(own, sealed); err == nil {
		t.Error("a webhook secret opens as credentials")
	}
}
