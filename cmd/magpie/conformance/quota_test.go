package conformance_test

import (
	"context"
	"testing"

	"magpie/internal/apierr"
	"magpie/rest"
)

// spent serves the site with its workspace's queries used up.
func spent(t *testing.T, s *site, change func(*rest.Options)) *site {
	t.Helper()
	return s.with(t, func(o *rest.Options) {
		change(o)
		o.Quota = func(context.Context) error { return apierr.New(apierr.QuotaExceeded, "Query limit exceeded") }
	})
}

// overQuota asks where no query is left.
func overQuota(t *testing.T, s *site) {
	t.Helper()
	full := spent(t, s, func(*rest.Options) {})
	for _, c := range []call{{"POST", searchPath, query, full.keyed(nil)}, {"GET", searchPath + "?query=q", "", full.keyed(nil)}, {"POST", chatPath, ask, full.keyed(nil)}} {
		refused(t, c.method+" "+c.path, full.do(t, c), 402, "quota_exceeded", "")
	}
}
