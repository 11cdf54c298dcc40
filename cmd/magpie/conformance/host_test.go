package conformance_test

import "testing"

// hosts tries where a publishable key works from.
func hosts(t *testing.T, s *site) {
	try := func(k pair, allowed bool, headers ...string) {
		t.Helper()
		a := s.search(t, query, append([]string{"X-Service-Key", k.Publishable}, headers...)...)
		if allowed {
			if a.status != 200 {
				t.Errorf("%q: %d %s", headers, a.status, a.body)
			}
			return
		}
		refused(t, headers0(headers), a, 403, "forbidden", "Host not allowed")
	}
	k := s.key(t, map[string]any{"allowedHosts": []string{"allowed.com", "*.wild.com", "localhost", "bücher.example", "[::1]", "dotted.com."}, "rateLimitPerMinute": 0})
	for _, good := range []string{
		"https://allowed.com", "http://allowed.com", "https://allowed.com:8443", "https://ALLOWED.com", "https://allowed.com.", "HTTPS://allowed.com",
		"https://a.wild.com", "https://a.b.wild.com:1", "https://A.Wild.COM", "http://localhost:3000", "https://xn--bcher-kva.example", "https://XN--BCHER-KVA.example",
		"http://[::1]:3000", "https://dotted.com",
	} {
		try(k, true, "Origin", good)
		try(k, true, "Referer", good+"/page?x=y#z")
		try(k, true, "Origin", good, "Referer", "https://evil.com/")
	}
	for _, bad := range []string{
		"https://evil.com", "https://evil-allowed.com", "https://evilallowed.com", "https://allowed.com.evil.com", "https://sub.allowed.com", "https://allowed.co", "https://allowed.comm",
		"https://allowed.com@evil.com", "https://allowed.com:443@evil.com", "https://user:allowed.com@evil.com", "https://evil.com/allowed.com", "https://evil.com?allowed.com", "https://evil.com#allowed.com",
		"https://evil.com\\@allowed.com", "https://evil.com\\.allowed.com", "https://evil.com%2f.allowed.com", "https://allowed.com%00.evil.com", "https://allowed.com%2eevil.com",
		"https://wild.com", "https://evilwild.com", "https://.wild.com", "https://a.wild.com.evil.com", "https://*.wild.com.evil.com", "https://bucher.example", "https://b%C3%BCcher.evil",
		"null", "allowed.com", "//allowed.com", "file://allowed.com", "ftp://allowed.com", "javascript:alert(1)", "chrome-extension://allowed.com", "https://", "https:allowed.com", "https:///allowed.com", "*", "https://*",
		"https://allowed.com, https://evil.com", "https://allowed.com https://evil.com", "https://127.0.0.1", "https://[::2]", "https://[::1", "https://allowed.com..", "https://.allowed.com", "https://allowed。com.evil.com",
	} {
		try(k, false, "Origin", bad)
		try(k, false, "Referer", bad)
		try(k, false, "Origin", bad, "Referer", "https://allowed.com/") // the Origin counts where there is one
	}
	try(k, false)
	try(k, false, "Origin", "", "Referer", "")
	try(k, false, "Origin", "https://allowed.com", "Origin", "https://allowed.com")
	try(k, false, "Referer", "https://allowed.com/", "Referer", "https://allowed.com/")
	try(k, false, "Host", "allowed.com", "X-Forwarded-Host", "allowed.com")

	everywhere := s.key(t, map[string]any{"allowedHosts": []string{"*"}, "rateLimitPerMinute": 0})
	try(everywhere, true, "Origin", "https://whatever.example")
	try(everywhere, false)

	paths := s.key(t, map[string]any{"allowedHosts": []string{"*"}, "allowedReferers": []string{"https://a.com/docs", "https://b.com", "https://c.com:443/x/"}, "rateLimitPerMinute": 0})
	for _, good := range []string{
		"https://a.com/docs", "https://a.com/docs/", "https://a.com/docs/page?q=1", "https://a.com/docs?x", "https://A.com/docs/x", "https://a.com/docs/../docs/y", "https://a.com/%64ocs/x",
		"https://a.com/", "https://a.com", // what browsers tell other sites
		"https://b.com/anything", "https://c.com/x", "https://c.com/x/y", "https://a.com:443/docs/x",
	} {
		try(paths, true, "Referer", good)
		try(paths, true, "Origin", "https://a.com", "Referer", good)
	}
	for _, bad := range []string{
		"https://a.com/docs-evil", "https://a.com/docsx", "https://a.com/other", "https://a.com/docs/../admin", "https://a.com/docs/%2e%2e/admin", "https://a.com/DOCS/", "https://a.com/x/docs",
		"http://a.com/docs", "https://a.com:444/docs", "https://sub.a.com/docs", "https://a.com.evil.com/docs", "https://evil.com/https://a.com/docs", "https://a.com@evil.com/docs", "https://c.com/xy",
	} {
		try(paths, false, "Referer", bad)
		try(paths, false, "Origin", "https://a.com", "Referer", bad)
	}
	try(paths, true, "Origin", "https://a.com")
	try(paths, false, "Origin", "https://evil.com")
}

func headers0(headers []string) string {
	if len(headers) < 2 {
		return "no header"
	}
	return headers[0] + " " + headers[1]
}
