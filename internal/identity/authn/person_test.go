package authn_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/argon2"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/testkit"
)

func weakKey() string {
	return base64.RawStdEncoding.EncodeToString(argon2.IDKey([]byte(password), []byte("somesaltsomesalt"), 1, 64, 1, 32))
}

func redisClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	options, err := redis.ParseURL(testkit.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAllSpellingsOfAnAddressAreTheSame(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		" Ada@Example.COM ":         "ada@example.com",
		"a\u0308da@example.com":     "äda@example.com",
		"ada@B\u00dcCHER.example":   "ada@xn--bcher-kva.example",
		"ada@xn--bcher-kva.example": "ada@xn--bcher-kva.example",
		"ada@example.com.":          "ada@example.com",
		"ada+tag@localhost":         "ada+tag@localhost",
	} {
		if got, err := authn.CleanEmail(given); err != nil || got != want {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
	for _, bad := range []string{"", " ", "ada", "@example.com", "ada@", "ada@@example.com", "Ada <ada@example.com>", "ada@example.com, eve@example.com", "a da@example.com",
		"ada\x00@example.com", "ada\n@example.com", "ada\u200b@example.com", "ada\u202e@example.com", "ada@exam ple.com", "ada@[127.0.0.1]", "ada@-.com/x",
		strings.Repeat("a", 65) + "@example.com", "a@" + strings.Repeat("a.", 130) + "example.com", "\xff@example.com"} {
		if got, err := authn.CleanEmail(bad); apierr.From(err).Field != "email" {
			t.Errorf("%q is %q, %v", bad, got, err)
		}
	}
}

func TestNamesMustBeVisible(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", " ", "\t", "\u00a0", "\u3000", "\u200b\u200d", "\u2800", "\u3164", "a\x00", "a\nb", "\xff", strings.Repeat("a", 201)} {
		if got, err := authn.CleanName("name", bad, false); apierr.From(err).Field != "name" {
			t.Errorf("%q is %q, %v", bad, got, err)
		}
	}
	for given, want := range map[string]string{" Ada ": "Ada", strings.Repeat("ä", 200): strings.Repeat("ä", 200), "👩\u200d💻": "👩\u200d💻", "a\u0308": "ä"} {
		if got, err := authn.CleanName("name", given, false); err != nil || got != want {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
	if got, err := authn.CleanName("name", " ", true); err != nil || got != "" {
		t.Errorf("an optional one is %q, %v", got, err)
	}
}

func TestWhichPasswordsAreAccepted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for given, says := range map[string]string{
		"short":                              "at least 10 characters",
		"äöüäöüäöü":                          "at least 10 characters",
		strings.Repeat("abcdefgh", 16) + "x": "at most 128 characters",
		"grace@example.com":                  "email address",
		" GRACE@EXAMPLE.COM ":                "email address",
		"aaaaaaaaaaaa":                       "different characters",
		"121212121212":                       "different characters",
		"1234567890":                         "most common",
		"qwertyuiop":                         "most common",
		"Password123":                        "most common",
		"P@ssw0rd2026!":                      "most common",
		"!!!iloveyou!!!":                     "most common",
		"dragondragon":                       "most common",
		"footballfootballfootball":           "most common",
		"1q2w3e4r5t6y":                       "most common",
		"correcthorsebatterystaple":          "most common",
		"magpie12345":                        "most common",
		"\xff\xfe\xfd\xfc\xfb12345":          "must be text",
	} {
		_, err := h.accounts.HashPassword(t.Context(), "grace@example.com", given)
		if e := apierr.From(err); err == nil || e.Field != "password" || !strings.Contains(e.Message, says) {
			t.Errorf("%q: %v", given, err)
		}
	}
	if _, err := h.accounts.HashPassword(t.Context(), "gracehopper1906@example.com", "GraceHopper1906"); apierr.From(err).Field != "password" {
		t.Errorf("the first part of the address: %v", err)
	}
	for _, given := range []string{"correct horse battery", "tr0ub4dor&3x", "ein langer satz", "7392058164", "пароль мой длинный", strings.Repeat("abcdefgh", 16), "dragonfly over the lake"} {
		if _, err := h.accounts.HashPassword(t.Context(), "grace@example.com", given); err != nil {
			t.Errorf("%q: %v", given, err)
		}
	}
	// Composed and decomposed characters are the same password.
	if _, err := h.accounts.CreateOwner(t.Context(), "W", "grace@example.com", "", "a\u0308ngstlich 42"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.SignIn(t.Context(), "grace@example.com", "ängstlich 42"); err != nil {
		t.Errorf("composed: %v", err)
	}
}
