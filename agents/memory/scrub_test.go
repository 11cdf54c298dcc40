package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/memory"
)

func TestScrubRemovesCredentials(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The password is hunter2, tell nobody.":                                               "The password is [removed], tell nobody.",
		"password: hunter2":                                                                   "password: [removed]",
		"DB_PASSWORD=hunter2 for staging":                                                     "DB_PASSWORD=[removed] for staging",
		`"api_key": "abc def"`:                                                                `"api_key": [removed]`,
		"Das Passwort lautet Sommer2024!":                                                     "Das Passwort lautet [removed]!",
		"Use ghp_0123456789abcdefghijABCDEFGHIJ012345 for the mirror":                         "Use [removed] for the mirror",
		"The key sk-proj-abcdefghij1234567890 pays":                                           "The key [removed] pays",
		"AKIAIOSFODNN7EXAMPLE reads the bucket":                                               "[removed] reads the bucket",
		"Authorization: Bearer abcdef0123456789abcdef":                                        "Authorization: [removed]",
		"session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP here":                      "session [removed] here",
		"postgres://app:hunter2@db.internal:5432/orders is the address":                       "postgres://app:[removed]@db.internal:5432/orders is the address",
		"key\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nend": "key\n[removed]\nend",
		"the hash 5f4dcc3b5aa765d61d8327deb882cf99 of it":                                     "the hash [removed] of it",
		"wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY1a2 opens it":                                 "[removed] opens it",
		"the pin is 4711":                    "the pin is [removed]",
		"svc_sk_abcdefgh12345678 is for CI":  "[removed] is for CI",
		"My token = `a b c`, the other none": "My token = [removed], the other none",
	} {
		if got, ok := memory.Scrub(text); got != want || !ok {
			t.Errorf("%q became %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"The password is required to have twelve characters.",
		"Passwords are rotated every 90 days.",
		"The document 0192f0c1-2b3c-8010-8000-1234567890ab is the handbook.",
		"The setting search.rerank.enabled turns the second pass on.",
		"Meeting at 09:00 in room B-12; the secret of good coffee is known.",
		"https://example.com/a/b?c=d#e", "Donaudampfschifffahrtsgesellschaftskapitän", "a token of appreciation", "数据库备份与恢复",
		"InternationalizationConfigurationFactoryBean is the class.",
	} {
		if got, ok := memory.Scrub(text); got != text || !ok {
			t.Errorf("%q became %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{"-----BEGIN PRIVATE KEY-----\nMIIEvQ", "  AKIAIOSFODNN7EXAMPLE. "} {
		if got, ok := memory.Scrub(text); ok || strings.Contains(got, "MII") {
			t.Errorf("%q became %q, %v", text, got, ok)
		}
	}
}

func FuzzScrub(f *testing.F) {
	for _, seed := range []string{"password: x", "a://b:c@d", "-----BEGIN PRIVATE KEY-----", "token is \xff", "\"secret\"='"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, _ := memory.Scrub(text)
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Errorf("%q became %q, which is not valid UTF-8", text, once)
		}
		if strings.Contains(once, "AKIAIOSFODNN7EXAMPLE ") {
			t.Errorf("%q kept a key: %q", text, once)
		}
	})
}
