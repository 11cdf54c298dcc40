package entryid_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/entryid"
)

func TestIDsAreDifferentAndBounded(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, archive := range []string{"a.zip", "a!/b.zip", strings.Repeat("long", 300), strings.Repeat("ß", 500)} {
		for _, path := range []string{"a.md", "b!/c.md", "docs/a.md", strings.Repeat("x", 2000), strings.Repeat("x", 2001)} {
			id := entryid.New(archive, path)
			if len(id) > 1002 || !utf8.ValidString(id) || seen[id] {
				t.Errorf("%.60s, %.20s: %d bytes, seen %v", archive, path, len(id), seen[id])
			}
			seen[id] = true
			if at := strings.LastIndex(id, "!/"); id[:at] != entryid.ArchiveKey(archive) {
				t.Errorf("%q does not tell its archive %q", id, archive)
			}
		}
	}
}
