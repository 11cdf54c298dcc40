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
	// Of two addresses, one is wrong.
	c = &config.Config{DatabaseReadURL: "postgres://a:canary-1@b/c,postgres://d:canary-2@[::1/e"}
	if text := c.Hide("wrong: " + c.DatabaseReadURL.Reveal()); strings.Contains(text, "canary") {
		t.Errorf("the text shows: %s", text)
	}
	// Each address of a list has its own secret.
	c = &config.Config{DatabaseReadURL: "postgres://a:canary-1@b/c,postgres://d:canary-2@e/f"}
	if text := c.Hide("wrong: canary-1 and canary-2 at b/c"); strings.Contains(text, "canary") || !strings.Contains(text, "b/c") {
		t.Errorf("the text shows: %s", text)
	}
	if got := c.Hide("nothing to hide"); got != "nothing to hide" {
		t.Errorf("the text became %q", got)
	}
}

// Each text is hidden wherever a setting may have it, as it is and with escapes; what is no
// secret stays.
func TestPartsOfSecretsAreHidden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setting      string
		shown, stays string
	}{
		"a password":                     {"postgres://me:canary-1@db/magpie?sslmode=require", "canary-1", "me db magpie require"},
		"a password with escapes":        {"postgres://me:canary%2F1@db/magpie", "canary%2F1 canary/1", "me db"},
		"a password with other escapes":  {"postgres://me:canary*1@db/magpie", "canary*1 canary%2A1", "db"},
		"a password that breaks it":      {"postgres://me:canary%zz@db/magpie", "canary%zz", "db"},
		"a query beside a user":          {"postgres://me:other-1@db/magpie?sslmode=require&sslpassword=canary-2", "canary-2 other-1", "require db"},
		"a token in a query":             {"rediss://cache:6379/0?token=canary%2B3&db=1234", "canary%2B3 canary+3", "cache 1234"},
		"a password in a query":          {"postgres://db/magpie?user=magpie&password=canary-4", "canary-4", "db magpie"},
		"a connection string":            {"host=database user=magpie password=canary-5 sslmode=require", "canary-5", "database magpie require"},
		"a connection string, quoted":    {`host=database password = 'it\'s canary' sslmode=require`, `it\'s canary;it's canary`, "database require"},
		"a header":                       {"x-api-key=canary-6", "canary-6", "x-api-key"},
		"headers":                        {"x-team=canary-7,authorization=Bearer%20canary-8", "canary-7 canary-8", "authorization Bearer"},
		"a header with a blank":          {"authorization=Bearer canary-9,x-team=canary-0", "canary-9 canary-0", "authorization"},
		"a header with base64":           {"authorization=Basic%20Y2FuYXJ5OmNhbmFyeQ==", "Y2FuYXJ5OmNhbmFyeQ==", "Basic"},
		"several lines":                  {"-----BEGIN PRIVATE KEY-----\ncanary-canary-canary-1\ncanary-canary-canary-2==\n-----END PRIVATE KEY-----", "canary-canary-canary-1 canary-canary-canary-2", "BEGIN PRIVATE"},
		"a key with the padding of base": {"canarycanarycanary==", "canarycanarycanary", ""},
	} {
		settings := &config.Config{OTLPHeaders: config.Secret(c.setting)}
		for _, text := range []string{c.shown, "at " + c.shown + " too"} {
			if got := strings.ToLower(settings.Hide(text)); strings.Contains(got, "canary") || strings.Contains(got, "other-1") || strings.Contains(got, "y2fuyxj5") {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
		if got := settings.Hide(c.stays); got != c.stays {
			t.Errorf("%s: %q became %q", name, c.stays, got)
		}
	}
}
