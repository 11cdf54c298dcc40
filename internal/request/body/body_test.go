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
		if got := errors.Is(body.CheckDepth([]byte(text)), body.ErrTooDeep); got != deep {
			t.Errorf("%.40s: %t", text, got)
		}
	}
}

func TestAnonymousCallersMaySendLess(t *testing.T) {
	t.Parallel()
	for kind, want := range map[viewer.Kind]int64{"": 64 << 10, viewer.KindAnonymous: 64 << 10, viewer.KindSession: 1 << 20} {
		if got := body.Limit(viewer.Viewer{Kind: kind}); got != want {
			t.Errorf("Limit of %q = %d", kind, got)
		}
	}
	if body.FormatLimit(body.MaxBytes) != "1 MiB" || body.FormatLimit(body.MaxAnonymousBytes) != "64 KiB" {
		t.Error(body.FormatLimit(body.MaxBytes), body.FormatLimit(body.MaxAnonymousBytes))
	}
}

// depth returns the nesting of a JSON value.
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
		err := body.CheckDepth(b)
		var v any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		// Unmarshal drops all but the last of duplicate names, so depth may be too small.
		if depth(v) > body.MaxDepth && err == nil {
			t.Errorf("%q is nested %d deep", b, depth(v))
		}
	})
}
