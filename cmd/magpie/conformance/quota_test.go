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

// typingIsATenth asks a site of its own, whose usage nobody else changes.
func typingIsATenth(t *testing.T, _ *site) {
	t.Helper()
	s := start(t, nil)
	s.put(t, s.docs, library()...)
	used := func() (queries int) {
		var answer struct{ Usage struct{ Queries int } }
		s.graphql(t, &answer, `{ usage { queries } }`, nil)
		return answer.Usage.Queries
	}
	typed := func(n int) {
		for i := range n {
			switch i % 3 {
			case 0:
				found(t, "typed", s.search(t, `{"query":"signing k","prefix":true}`))
			case 1:
				found(t, "typed, GET", s.get(t, "query=ligh&prefix=true"))
			default:
				if a := s.do(t, call{"GET", "/v1/docs/suggest?q=ligh", "", s.keyed(nil)}); a.status != 200 {
					t.Errorf("suggest: %d %s", a.status, a.body)
				}
			}
		}
	}
	for _, c := range []struct {
		what string
		do   func()
		want int
	}{
		{"nothing", func() {}, 0},
		{"a settled search", func() { found(t, "settled", s.search(t, query)) }, 1},
		{"10 while typing", func() { typed(10) }, 2},
		{"20 more", func() { typed(20) }, 4},
		{"a settled search with prefix false", func() { found(t, "settled", s.search(t, `{"query":"signing key","prefix":false}`)) }, 5},
		{"one letter more", func() { typed(1) }, 6},
		{"the rest of the ten", func() { typed(9) }, 6},
	} {
		if c.do(); used() != c.want {
			t.Errorf("after %s %d queries are used, want %d", c.what, used(), c.want)
		}
	}
}
