package authn_test

import (
	"bufio"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
)

func code(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}

func TestASignatureCoversTimestampAndExactBody(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_760_000_000_123)
	body := []byte(`{"query":"x"}`)
	timestamp, signature := authn.Sign("svc_sk_abc", body, now)
	check := func(secret, timestamp, signature string, body []byte, at time.Time) error {
		return authn.VerifySignature(secret, timestamp, signature, body, at)
	}
	if err := check("svc_sk_abc", timestamp, signature, body, now); err != nil {
		t.Fatalf("the right signature: %v", err)
	}
	for _, skew := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		if err := check("svc_sk_abc", timestamp, signature, body, now.Add(skew)); err != nil {
			t.Errorf("%v off: %v", skew, err)
		}
	}
	for name, err := range map[string]error{
		"too old":          check("svc_sk_abc", timestamp, signature, body, now.Add(5*time.Minute+time.Millisecond)),
		"from the future":  check("svc_sk_abc", timestamp, signature, body, now.Add(-5*time.Minute-time.Millisecond)),
		"another body":     check("svc_sk_abc", timestamp, signature, append(body, '\n'), now),
		"another key":      check("svc_sk_abd", timestamp, signature, body, now),
		"no hex":           check("svc_sk_abc", timestamp, "zz", body, now),
		"empty":            check("svc_sk_abc", timestamp, "", body, now),
		"cut":              check("svc_sk_abc", timestamp, signature[:10], body, now),
		"seconds":          check("svc_sk_abc", "1760000000", signature, body, now),
		"no number":        check("svc_sk_abc", "now", signature, body, now),
		"padded timestamp": check("svc_sk_abc", "0"+timestamp, signature, body, now),
		"signed timestamp": check("svc_sk_abc", "+"+timestamp, signature, body, now),
		"no timestamp":     check("svc_sk_abc", "", signature, body, now),
	} {
		if code(err) != apierr.InvalidSignature {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerifySignature(f *testing.F) {
	f.Add("1760000000123", "00ff", []byte("{}"))
	f.Add("-9223372036854775808", "", []byte(nil))
	f.Fuzz(func(t *testing.T, timestamp, signature string, body []byte) {
		if err := authn.VerifySignature("svc_sk_key", timestamp, signature, body, time.UnixMilli(1_760_000_000_123)); err == nil {
			want, right := authn.Sign("svc_sk_key", body, time.UnixMilli(1_760_000_000_123))
			if timestamp == want && !strings.EqualFold(signature, right) {
				t.Fatalf("accepted %q %q", timestamp, signature)
			}
		}
	})
}

func TestAPublishableKeyWorksFromItsHostsOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		hosts, referers []string
		origin, referer string
		want            bool
	}{
		{"host of the origin", []string{"docs.example.com"}, nil, "https://docs.example.com", "", true},
		{"any port", []string{"localhost"}, nil, "http://localhost:5173", "", true},
		{"upper case", []string{"Docs.Example.com"}, nil, "https://DOCS.example.COM", "", true},
		{"host of the referer", []string{"docs.example.com"}, nil, "", "https://docs.example.com/a", true},
		{"the origin counts before the referer", []string{"docs.example.com"}, nil, "https://evil.example", "https://docs.example.com/a", false},
		{"neither", []string{"*"}, nil, "", "", false},
		{"star", []string{"*"}, nil, "https://anything.example", "", true},
		{"subdomain of a wildcard", []string{"*.example.com"}, nil, "https://a.b.example.com", "", true},
		{"the wildcard's own domain", []string{"*.example.com"}, nil, "https://example.com", "", false},
		{"a longer name", []string{"example.com"}, nil, "https://example.com.evil.net", "", false},
		{"a name that ends alike", []string{"*.example.com"}, nil, "https://evilexample.com", "", false},
		{"user part", []string{"example.com"}, nil, "https://example.com@evil.net", "", false},
		{"opaque origin", []string{"*"}, nil, "null", "", false},
		{"file", []string{"*"}, nil, "file:///x", "", false},
		{"IPv6", []string{"::1", "[::1]"}, nil, "http://[::1]:3000", "", true},
		{"no hosts", nil, nil, "https://example.com", "", false},
		{"referer of the path", []string{"*"}, []string{"https://example.com/docs"}, "", "https://example.com/docs/a", true},
		{"referer beside the path", []string{"*"}, []string{"https://example.com/docs"}, "", "https://example.com/docsecret", false},
		{"referer cut to its origin", []string{"*"}, []string{"https://example.com/docs"}, "https://example.com", "https://example.com/", true},
		{"referer that leaves the path", []string{"*"}, []string{"https://example.com/docs"}, "", "https://example.com/docs/%2e%2e/secret", false},
		{"another scheme", []string{"*"}, []string{"https://example.com/docs"}, "", "http://example.com/docs", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if test.origin != "" {
				h.Set("Origin", test.origin)
			}
			if test.referer != "" {
				h.Set("Referer", test.referer)
			}
			key := authn.Key{Publishable: true, Hosts: test.hosts, Referers: test.referers}
			err := key.CheckOrigin(h)
			if (err == nil) != test.want {
				t.Fatalf("CheckOrigin = %v", err)
			}
			if err != nil && (code(err) != apierr.Forbidden || apierr.From(err).Message != "Host not allowed") {
				t.Fatalf("CheckOrigin = %v", err)
			}
			key.Publishable = false
			if err := key.CheckOrigin(h); err != nil {
				t.Fatalf("a secret key: %v", err)
			}
		})
	}
}

func TestSeveralOriginsAreRefused(t *testing.T) {
	t.Parallel()
	key := authn.Key{Publishable: true, Hosts: []string{"*"}}
	for _, name := range []string{"Origin", "Referer"} {
		h := http.Header{name: {"https://docs.example.com", "https://evil.example"}}
		if err := key.CheckOrigin(h); code(err) != apierr.Forbidden {
			t.Errorf("%s given twice: %v", name, err)
		}
	}
}

func TestThePasswordHashIsArgon2id(t *testing.T) {
	t.Parallel()
	p := authn.NewPasswords()
	phc, err := p.Hash(t.Context(), "correct horse")
	if err != nil || !strings.HasPrefix(phc, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("Hash = %q, %v", phc, err)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct hors": false, "": false} {
		if ok, err := p.Match(t.Context(), password, phc); err != nil || ok != want {
			t.Errorf("Match(%q) = %v, %v", password, ok, err)
		}
	}
	if ok, err := p.Match(t.Context(), "", ""); err != nil || ok {
		t.Errorf("no password at all = %v, %v", ok, err)
	}
	for _, broken := range []string{"x", "$argon2id$v=19$m=1,t=0,p=0$AAAA$AAAA", "$argon2id$v=19$m=4294967295,t=1,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAAAA", strings.Replace(phc, "argon2id", "argon2i", 1)} {
		if ok, err := p.Match(t.Context(), "x", broken); err == nil || ok {
			t.Errorf("a broken hash %q = %v, %v", broken, ok, err)
		}
	}
}

// The vectors were made by another implementation (openssl dgst -sha256 -hmac).
func TestRecordedSignatureVectors(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/signatures.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		part := strings.Split(lines.Text(), "\t")
		timestamp, signature := authn.Sign(part[0], []byte(part[2]), at(t, part[1]))
		if timestamp != part[1] || signature != part[3] {
			t.Errorf("%s: %s %s", lines.Text(), timestamp, signature)
		}
	}
	if n < 3 {
		t.Fatalf("only %d vectors", n)
	}
}

func at(t *testing.T, ms string) time.Time {
	t.Helper()
	var n int64
	for _, c := range ms {
		n = n*10 + int64(c-'0')
	}
	return time.UnixMilli(n)
}
