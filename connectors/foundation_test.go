package connectors_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

func TestResolveEachReturnsItemsOnce(t *testing.T) {
	t.Parallel()
	lookUp := func(_ context.Context, name string) ([]connectors.Item, error) {
		switch name {
		case "a", "alias of a":
			return []connectors.Item{{ID: "1"}}, nil
		case "folder":
			return []connectors.Item{{ID: "1"}, {ID: "2"}}, nil
		case "empty folder":
			return nil, nil
		case "broken":
			return nil, errors.New("broken")
		}
		return nil, connectors.ErrNotFound
	}
	for _, parallel := range []int{1, 4} {
		found, missing, err := connectors.ResolveEach(t.Context(), []string{"a", "gone", "alias of a", "folder", "empty folder", "gone too"}, parallel, lookUp)
		if err != nil || len(found) != 2 || found[0].ID != "1" || found[1].ID != "2" || !slices.Equal(missing, []string{"gone", "gone too"}) {
			t.Errorf("ResolveEach = %v, %q, %v", found, missing, err)
		}
		if _, _, err := connectors.ResolveEach(t.Context(), []string{"a", "broken"}, parallel, lookUp); err == nil {
			t.Error("ResolveEach hides an error")
		}
	}
}

func TestStateHoldsJSON(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	state := &connectortest.State{}
	type record struct{ Name string }
	var got record
	if ok, err := connectors.GetJSON(ctx, state, "key", &got); ok || err != nil {
		t.Errorf("GetJSON of an absent key = %v, %v", ok, err)
	}
	if err := connectors.PutJSON(ctx, state, "key", record{"Ada"}); err != nil {
		t.Fatal(err)
	}
	if ok, err := connectors.GetJSON(ctx, state, "key", &got); !ok || err != nil || got.Name != "Ada" {
		t.Errorf("GetJSON = %v, %v, %v", got, ok, err)
	}
	if err := connectors.PutJSON(ctx, state, "key", strings.Repeat("x", connectors.MaxStateValue)); err != nil {
		t.Errorf("PutJSON of a large value: %v", err)
	}
	if ok, err := connectors.GetJSON(ctx, state, "key", &got); !ok || err != nil {
		t.Errorf("GetJSON after a large value = %v, %v; want the old value", ok, err)
	}
	if err := state.Put(ctx, "key", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if ok, err := connectors.GetJSON(ctx, state, "key", &got); ok || err != nil {
		t.Errorf("GetJSON of malformed JSON = %v, %v", ok, err)
	}
	if err := connectors.PutJSON(ctx, nil, "key", 1); err != nil {
		t.Errorf("PutJSON without a state: %v", err)
	}
	if ok, err := connectors.GetJSON(ctx, nil, "key", &got); ok || err != nil {
		t.Errorf("GetJSON without a state = %v, %v", ok, err)
	}
}

func TestCursorsRoundTrip(t *testing.T) {
	t.Parallel()
	type cursor struct {
		Folder string `json:"f"`
		Page   int    `json:"p,omitempty"`
	}
	var got cursor
	if err := connectors.ParseCursor(connectors.FormatCursor(cursor{"docs", 7}), &got); err != nil || got != (cursor{"docs", 7}) {
		t.Errorf("ParseCursor = %+v, %v", got, err)
	}
	for _, text := range []string{"", "x", "{", `{"f":1}`, `{"x":1}`, `{"f":"a"}{}`, `{"f":"a"} x`, `{"f":"` + strings.Repeat("a", connectors.MaxCursorBytes) + `"}`} {
		if err := connectors.ParseCursor(text, &cursor{}); !connectors.IsFatal(err) {
			t.Errorf("ParseCursor(%.40q): %v, want a fatal error", text, err)
		}
	}
}

func TestPathSegmentHasNoSlash(t *testing.T) {
	t.Parallel()
	if got, want := connectors.PathSegment("a/b\n\tc"), "a∕b  c"; got != want {
		t.Errorf("PathSegment = %q, want %q", got, want)
	}
}

func TestVerifyHMAC(t *testing.T) {
	t.Parallel()
	const signature = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
	parts := [][]byte{[]byte("The quick brown fox "), []byte("jumps over the lazy dog")}
	if err := connectors.VerifyHMAC("key", signature, parts...); err != nil {
		t.Errorf("VerifyHMAC: %v", err)
	}
	for _, c := range [][2]string{{"other", signature}, {"", signature}, {"key", ""}, {"key", "zz"}, {"key", signature[2:]}} {
		if err := connectors.VerifyHMAC(c[0], c[1], parts...); !errors.Is(err, connectors.ErrSignature) {
			t.Errorf("VerifyHMAC(%q, %q): %v, want ErrSignature", c[0], c[1], err)
		}
	}
}
