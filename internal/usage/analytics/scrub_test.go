package analytics_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/usage/analytics"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		// Email addresses.
		{"reset password of ada.lovelace+x@example.co.uk please", "reset password of [email] please"},
		{"mailto:ada@example.com", "mailto:[email]"},
		{"ada%40example.com", "[email]"},
		{"ada＠example．com", "[email]"},
		{"жанна@пример.рф bitte", "[email] bitte"},
		{`"ada b"@example.com`, "[email]"},
		{"ad\u200bа@exa\u200bmple.com", "[email]"},
		{"react@18.2.0 and @angular/core", "react@18.2.0 and @angular/core"},
		// URLs.
		{"https://ada:secret@git.example.com/repo.git?token=abc&x=1#frag", "https://[user]@git.example.com/repo.git?[query]"},
		{"https://example.com/docs/install#step-2", "https://example.com/docs/install#[query]"},
		{"see https://example.com/docs/install", "see https://example.com/docs/install"},
		{"postgres://magpie:hunter2@db:5432/x", "postgres://[user]@db:5432/x"},
		{"example.com/reset?user=7", "example.com/reset?[query]"},
		{"what is this?", "what is this?"},
		// Numbers.
		{"call +49 (170) 123-45.67 now", "call [phone] now"},
		{"0170 1234567", "[phone]"},
		{"(030) 1234567 8", "[phone]"},
		{"01.23.45.67.89", "[phone]"},
		{"555-123-4567", "[phone]"},
		{"+１ ５５５ １２３ ４５６７", "[phone]"},
		{"٠١٧٠ ١٢٣٤٥٦٧", "[phone]"},
		{"card 4111 1111 1111 1111 declined", "card [card] declined"},
		{"4111-1111-1111-1111", "[card]"},
		{"378282246310005", "[card]"},
		{"4111111111111112", "[number]"},
		{"DE89 3704 0044 0532 0130 00 transfer", "[iban] transfer"},
		{"gb82west12345698765432", "[iban]"},
		{"iban DE89370400440532013000", "iban [iban]"},
		{"ssn 078-05-1120", "ssn [id]"},
		{"QQ 12 34 56 C", "QQ 12 34 56 C"}, // Q begins none
		{"AB 12 34 56 C", "[id]"},
		{"order 123456789012", "order [number]"},
		{"error 50012345 on 2026-01-31 at 12:30:45", "error 50012345 on 2026-01-31 at 12:30:45"},
		{"2020-2024 and 20260131", "2020-2024 and 20260131"},
		{"RFC 9562, port 5432, 1 000 000 rows", "RFC 9562, port 5432, 1 000 000 rows"},
		// IP and MAC addresses.
		{"ping 192.168.1.17:8080/24", "ping [ip]:8080/24"},
		{"2001:db8::ff00:42:8329 down", "[ip] down"},
		{"fe80::1%eth0", "[ip]%eth0"},
		{"upgrade 1.2.3 to 1.2.3-rc.1 or 120.0.6099.109 or 1.2.3.4.5", "upgrade 1.2.3 to 1.2.3-rc.1 or 120.0.6099.109 or 1.2.3.4.5"},
		{"std::vector<int> :: operator", "std::vector<int> :: operator"},
		{"00:1b:44:11:3a:b7", "[mac]"},
		// Keys and tokens.
		{"svc_sk_0123456789abcdef works?", "[token] works?"},
		{"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[token]"},
		{"AKIAIOSFODNN7EXAMPLE", "[token]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "[token]"},
		{"Authorization: Bearer abc.def-123", "Authorization: Bearer [token]"},
		{"password=hunter2 fails", "password=[secret] fails"},
		{`{"api_key": "x y"}`, `{"api_key": [secret] y"}`},
		{"f47ac10b-58cc-4372-a567-0e02b2c3d479 missing", "[id] missing"},
		{"commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit [token]"},
		{"xQwZtYbKcRmNvLpSdHfJgTaE", "[token]"},
		{"k3jx9vq2mz7ptw4rb8nd", "[token]"},
		{"q8Zr2Lk9Xw4Tn7Vb3Ym6", "[token]"},
		{strings.Repeat("a", 80), "[token]"},
		// Ordinary queries.
		{"kv.rangefeed.enabled", "kv.rangefeed.enabled"},
		{"server.time_until_store_dead vs utf8mb4_0900_ai_ci", "server.time_until_store_dead vs utf8mb4_0900_ai_ci"},
		{"getElementsByClassNameNS", "getElementsByClassNameNS"},
		{"ISO8601DateFormatterV2 NSURLSessionDataTaskDelegate", "ISO8601DateFormatterV2 NSURLSessionDataTaskDelegate"},
		{"SQLSTATE 40P01 x86_64-unknown-linux-gnu", "SQLSTATE 40P01 x86_64-unknown-linux-gnu"},
		{"0x80070005 in k8s v1.29.3", "0x80070005 in k8s v1.29.3"},
		{"如何恢复备份", "如何恢复备份"},
		{"Donaudampfschifffahrtsgesellschaftskapitän", "Donaudampfschifffahrtsgesellschaftskapitän"},
		// Normalization.
		{"  two\t\nlines \x00 here ", "two lines here"},
		{"\xffa", "a"},
		{"", ""},
	} {
		if got := analytics.Scrub(c.text, 200); got != c.want {
			t.Errorf("Scrub(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestScrubCutsNoMatchInHalf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	if got := analytics.Scrub(long, 200); utf8.RuneCountInString(got) != 199 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
	if got := analytics.Scrub(strings.Repeat("ä", 300), 200); utf8.RuneCountInString(got) != 200 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
	// The limit of scrubbed bytes is inside an address.
	for at := 4060; at < 4100; at++ {
		token := strings.Repeat("k1", at/2) + strings.Repeat("x", at%2)
		got := analytics.Scrub(token+" ada.lovelace@example.com is my address", 200)
		if strings.Contains(got, "ada") || strings.Contains(got, "love") {
			t.Errorf("at %d: %q", at, got)
		}
	}
	// An address across the limit of 200 characters is replaced first.
	text := strings.Repeat("ab ", 64) + "ada.lovelace@example.com"
	if got := analytics.Scrub(text, 200); strings.Contains(got, "ada") {
		t.Errorf("%q", got)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	if got := analytics.Fold("  Wie  GEHT das\u00a0Ä? "); got != "wie geht das ä?" {
		t.Errorf("%q", got)
	}
}

func FuzzScrub(f *testing.F) {
	for _, s := range []string{
		"ada@example.com", "https://a:b@c/d?e=f#g", "+49 170 1234567", "4111 1111 1111 1111", "DE89370400440532013000", "::1 1.2.3.4",
		"eyJhbGciOi.abc.def", "password=x", "a?b=c", "1.2.3.4.5", "[email] [ip]:80", "\u200b\xff\x00", "\"@x.aa", "00:00:00:00:00:00:00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := analytics.Scrub(text, 200)
		if !utf8.ValidString(once) || utf8.RuneCountInString(once) > 200 || strings.ContainsRune(once, 0) {
			t.Fatalf("Scrub(%q) = %q", text, once)
		}
		if twice := analytics.Scrub(once, 200); twice != once {
			t.Fatalf("Scrub(%q) = %q, and of that %q", text, once, twice)
		}
		if folded := analytics.Fold(once); analytics.Fold(folded) != folded {
			t.Fatalf("Fold(%q) = %q", once, folded)
		}
	})
}

func BenchmarkScrub(b *testing.B) {
	for name, text := range map[string]string{
		"short": "how do I restore a backup to another region",
		"long":  strings.Repeat("how do I restore a backup of 10.0.0.7 to another region, asked by ada@example.com ", 50),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				analytics.Scrub(text, 200)
			}
		})
	}
}
