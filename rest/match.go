package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// matcher finds routes by method and path. For each method, literal segments win
// over parameters: GET /connectors/test gets the connector "test", although
// POST /connectors/test is another route.
type matcher struct {
	byLength map[int][]*route // routes by the number of segments, those with more literals first
}

func newMatcher(routes []*route) *matcher {
	m := &matcher{byLength: make(map[int][]*route)}
	for _, r := range routes {
		n := len(r.segments)
		m.byLength[n] = append(m.byLength[n], r)
	}
	for _, same := range m.byLength {
		slices.SortStableFunc(same, func(a, b *route) int {
			for i := range a.segments {
				if x, y := a.segments[i].literal == "", b.segments[i].literal == ""; x != y {
					if x {
						return 1
					}
					return -1
				}
			}
			return 0
		})
	}
	return m
}

// match returns the route of a request and its path parameters in order. Without a
// route, allowed lists the methods of the path, and is empty for an unknown path.
func (m *matcher) match(method string, path string) (found *route, values, allowed []string) {
	parts, ok := split(path)
	if !ok {
		return nil, nil, nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range m.byLength[len(parts)] {
		got, ok := r.matchSegments(parts)
		if !ok {
			continue
		}
		if r.Method == method {
			return r, got, nil
		}
		if !slices.Contains(allowed, r.Method) {
			allowed = append(allowed, r.Method)
		}
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	return nil, nil, allowed
}

// split returns the unescaped segments of an escaped path.
func split(path string) ([]string, bool) {
	path, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil || plain == "" {
			return nil, false
		}
		parts[i] = plain
	}
	return parts, true
}

// segment is a segment of a pattern: a literal or the name of a parameter.
type segment struct{ literal, parameter string }

// parsePattern returns the segments of a pattern such as "/api/v1/collections/{id}".
func parsePattern(pattern string) []segment {
	var segments []segment
	for part := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			segments = append(segments, segment{parameter: strings.TrimSuffix(name, "}")})
		} else {
			segments = append(segments, segment{literal: part})
		}
	}
	return segments
}

// matchSegments returns the values of the path parameters if the path matches.
func (r *route) matchSegments(parts []string) (values []string, ok bool) {
	for i, s := range r.segments {
		switch {
		case s.literal == "":
			values = append(values, parts[i])
		case s.literal != parts[i]:
			return nil, false
		}
	}
	return values, true
}
