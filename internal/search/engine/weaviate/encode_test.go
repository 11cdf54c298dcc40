package weaviate_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
)

// decode is the inverse of the encoding.
func decode(t *testing.T, s string) string {
	t.Helper()
	if s == "%" {
		return ""
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		c, err := hex.DecodeString(after[:2])
		if err != nil {
			t.Fatal(err)
		}
		b.Write(c)
		s = after[2:]
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "word", "Ä", "a b", "%", "%20", "\xff", "\xc3\x28", "\u00a0", "\u2028", "\x00", "日本", "👩‍👩‍👧", "\ufffd", " ", "a\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := weaviate.Encode(s)
		if decode(t, got) != s {
			t.Errorf("%q becomes %q, which is %q", s, got, decode(t, got))
		}
		if got == "" || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsSpace) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}

func FuzzReplies(f *testing.F) {
	result := appendMessage(nil, 2, appendText(nil, 1, "01a203d3-f3bb-8006-af0b-d40802b08d4d"))
	f.Add(appendMessage(nil, 2, result))
	f.Add(appendMessage(nil, 2, appendText(appendNumber(nil, 1, 7), 2, "refused")))
	f.Add(appendNumber(appendNumber(nil, 3, 5), 4, 1<<63))
	f.Add([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, read := range []func([]byte) error{weaviate.ReadSearch, weaviate.ReadPut, weaviate.ReadDelete} {
			if err := read(b); err != nil && err.Error() == "" {
				t.Error("an error without a text")
			}
		}
	})
}
