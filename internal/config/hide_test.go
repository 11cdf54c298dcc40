package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/config"
)

func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	// Every secret setting gets a text of its own; addresses have it as their password.
	c := &config.Config{BlobURL: "s3://files", ChatModels: []config.ChatModel{{Endpoint: config.Endpoint{Key: "canary-of-a-model"}}}}
	values := reflect.ValueOf(c).Elem()
	secrets := []string{"canary-of-a-model"}
	for i := range values.NumField() {
		if values.Field(i).Type() != reflect.TypeFor[config.Secret]() {
			continue
		}
		name := values.Type().Field(i).Name
		secret := "canary-" + name
		if name == "SecretKeys" {
			continue // see below
		}
		secrets = append(secrets, secret)
		if strings.HasSuffix(name, "URL") {
			values.Field(i).SetString("postgres://someone:" + secret + "@host/name")
		} else {
			values.Field(i).SetString(secret)
		}
	}
	c.SecretKeys = "first:canary-SecretKeys-of-16,second:another-canary-of-16"
	if len(secrets) < 10 {
		t.Fatalf("only %d secrets were found", len(secrets))
	}
	shown := fmt.Sprint(c.Shown())
	if strings.Contains(shown, "canary") || !strings.Contains(shown, "postgres://(hidden)") || !strings.Contains(shown, "BLOB_URL:s3://files") {
		t.Errorf("the settings show: %s", shown)
	}
	text := c.Hide("failed: " + strings.Join(secrets, " failed: ") + " another-canary-of-16")
	if strings.Contains(text, "canary") || strings.Count(text, "failed") != len(secrets) {
		t.Errorf("the text shows: %s", text)
	}
	if got := c.Hide("nothing to hide"); got != "nothing to hide" {
		t.Errorf("the text became %q", got)
	}
}
