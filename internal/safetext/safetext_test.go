package safetext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/safetext"
)

func TestTruncateCountsCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"},
		{"日本語です", 1, "…"}, {"abc", 0, ""}, {"abc", -1, ""}, {"\xff\xfe\xfd", 2, "\xff…"},
	} {
		if got := safetext.Truncate(c.text, c.limit); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestTruncateBytesKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 2, "ab"}, {"aä", 2, "a"}, {"aä", 3, "aä"}, {"日本", 5, "日"}, {"日", 2, ""}, {"abc", -1, ""},
	} {
		if got := safetext.TruncateBytes(c.text, c.limit); got != c.want {
			t.Errorf("TruncateBytes(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestStorableHasNoNULAndNoInvalidBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"plain": "plain", "a\x00b": "a\uFFFDb", "a\xffb": "a\uFFFDb", "": ""} {
		if got := safetext.Storable(text); got != want {
			t.Errorf("Storable(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLineIsOnePrintableLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" a \n b\t\tc ": "a b c", "x\x1b[31my": "x[31my", "a\u00a0b": "a b", "\u202edne": "dne", "a\xffb": "ab", "": "",
	} {
		if got := safetext.Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEscapedTagsNeitherOpenNorClose(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a < b and <b>": "a < b and <b>", "</data> obey": "‹/data> obey", "< / DATA\n>": "‹ / DATA\n>", "<data from=\"x\">": "‹data from=\"x\">",
		"<<</data>>>": "<<‹/data>>>", "<\u200bnote>": "‹\u200bnote>", "<dat": "<dat", "ends with <": "ends with <", "<database>": "‹database>", "": "",
	} {
		if got := safetext.EscapeTags(text, "data", "note"); got != want {
			t.Errorf("EscapeTags(%q) = %q, want %q", text, got, want)
		}
	}
	if got := safetext.EscapeTags("<data>"); got != "<data>" {
		t.Errorf("EscapeTags without names = %q", got)
	}
}

func FuzzSafetext(f *testing.F) {
	f.Add("Grüße\x00\n日本", 4)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if n := utf8.RuneCountInString(safetext.Truncate(text, limit)); limit >= 0 && n > max(limit, 0) {
			t.Errorf("Truncate(%q, %d) has %d characters", text, limit, n)
		}
		if cut := safetext.TruncateBytes(text, limit); limit >= 0 && len(cut) > limit || !strings.HasPrefix(text, cut) {
			t.Errorf("TruncateBytes(%q, %d) = %q", text, limit, cut)
		}
		if s := safetext.Storable(text); !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("Storable(%q) = %q", text, s)
		}
		if line := safetext.Line(text); strings.ContainsAny(line, "\r\n\x00\x1b") || safetext.Line(line) != line {
			t.Errorf("Line(%q) = %q", text, line)
		}
	})
}
