package body_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/request/body"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestTheDepthOfJSONIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, deep := range map[string]bool{
		``: false, `{}`: false, nested(body.MaxDepth): false, nested(body.MaxDepth + 1): true,
		strings.Repeat(`{"a":`, body.MaxDepth+1): true, strings.Repeat("[],", 1000): false,
		`"` + nested(1000) + `"`: false, `"\"` + nested(1000) + `"`: false, `"\\"` + nested(1000): true,
	} {
		if got := errors.Is(body.Check([]byte(text)), body.ErrDeep); got != deep {
			t.Errorf("%.40s: %t", text, got)
		}
	}
}

func TestStrangersMaySendLess(t *testing.T) {
	t.Parallel()
	for kind, want := range map[viewer.Kind]int64{"": 64 << 10, viewer.KindAnonymous: 64 << 10, viewer.KindSession: 1 << 20} {
		if got := body.Limit(viewer.Viewer{Kind: kind}); got != want {
			t.Errorf("%q may send %d", kind, got)
		}
	}
	if body.Size(body.OfPeople) != "1 MiB" || body.Size(body.OfStrangers) != "64 KiB" {
		t.Error(body.Size(body.OfPeople), body.Size(body.OfStrangers))
	}
}

// depth is the nesting of a value that is JSON.
func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			most = max(most, depth(x))
		}
	case map[string]any:
		for _, x := range v {
			most = max(most, depth(x))
		}
	default:
		return 0
	}
	return most + 1
}

func FuzzDepth(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":"]"}]}`))
	f.Add([]byte(`["\"[\\"]`))
	f.Add([]byte(strings.Repeat("[", 101) + strings.Repeat("]", 101)))
	f.Fuzz(func(t *testing.T, b []byte) {
		err := body.Check(b)
		var v any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		// Of an object with a name twice the last is kept, so that less can be seen here.
		if depth(v) > body.MaxDepth && err == nil {
			t.Errorf("%q is nested %d deep", b, depth(v))
		}
	})
}
