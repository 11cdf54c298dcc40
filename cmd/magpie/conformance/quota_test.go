package conformance_test

import (
	"testing"

	"github.com/magpie-search/magpie/rest"
)

// spent serves a site of its own with its workspace's queries used up.
func spent(t *testing.T, _ *site, change func(*rest.Options)) *site {
	t.Helper()
	s := start(t, map[string]string{"QUERY_LIMIT": "2"})
	s.put(t, s.docs, library()...)
	refused(t, "what is refused costs no query", s.search(t, `{"query":""}`), 400, "invalid_request", "")
	refused(t, "another collection", s.search(t, `{"query":"q","collection":"`+s.notes.id+`"}`), 403, "forbidden", "Collection access denied")
	found(t, "the first query", s.search(t, query))
	talk(t, s, ask)
	return s.with(t, change)
}

// overQuota asks where no query is left.
func overQuota(t *testing.T, s *site) {
	t.Helper()
	full := spent(t, s, func(*rest.Options) {})
	for _, c := range []call{{"POST", searchPath, query, full.keyed(nil)}, {"GET", searchPath + "?query=q", "", full.keyed(nil)}, {"POST", chatPath, ask, full.keyed(nil)}} {
		refused(t, c.method+" "+c.path, full.do(t, c), 402, "quota_exceeded", "")
	}
}
