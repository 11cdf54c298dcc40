package gitlab_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

// Many files are fetched by git in two requests. Without git, or with wrong answers of
// it, the API has all of them.
func TestManyFilesAreFetchedByGit(t *testing.T) {
	t.Parallel()
	const number = 60
	answer := func(status int, contentType, body string) func(s site) {
		return func(s site) {
			s.Fail(func(r *http.Request) *gitlabserver.Fault {
				if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
					return &gitlabserver.Fault{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}
				}
				return nil
			})
		}
	}
	const packs = "application/x-git-upload-pack-result"
	for name, c := range map[string]struct {
		change   func(s site)
		raw, git int
	}{
		"Git":    {func(site) {}, 6, 2}, // with the large file
		"No git": {func(s site) { s.NoGit = true }, number, 1},
		"No scope": {func(s site) {
			s.AddToken(gitlabserver.Token, gitlabserver.TokenInfo{User: 1, Scopes: []string{"read_api"}})
		}, number, 1},
		"A login page":  {answer(http.StatusOK, "text/html", "<html>Sign in</html>"), number, 2},
		"An empty pack": {answer(http.StatusOK, packs, ""), number, 2},
		"An error":      {answer(http.StatusOK, packs, "0014ERR access denied"), number, 2},
		"Unavailable":   {answer(http.StatusServiceUnavailable, "text/plain", "later"), number, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			large := bytes.Repeat([]byte("large "), 200<<10) // git leaves it out
			for n := range number - 2 {
				s.Put(t, fmt.Sprintf("docs/%02d.md", n), fmt.Appendf(nil, "file %d", n))
			}
			s.Put(t, "docs/big.txt", large)
			s.Put(t, "empty.md", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"))
			c.change(s)
			source := open(t, s.settings(map[string]any{"includeWikis": false}))
			items, _, _ := walk(t, source)
			s.Requests()
			for n := range number - 2 {
				if got, want := read(t, source, items[fmt.Sprintf("%sdocs/%02d.md", root, n)]), fmt.Sprintf("file %d", n); got != want {
					t.Errorf("the file %d says %q, want %q", n, got, want)
				}
			}
			if got := read(t, source, items[root+"docs/big.txt"]); got != string(large) {
				t.Errorf("the large file has %d bytes, want %d", len(got), len(large))
			}
			if _, err := source.Open(t.Context(), items[root+"empty.md"]); !connectors.IsSkip(err) {
				t.Errorf("a file in Git LFS: %v", err)
			}
			raw, git := 0, 0
			for _, request := range s.Requests() {
				switch {
				case strings.Contains(request, "/raw?"):
					raw++
				case strings.Contains(request, ".git/"):
					git++
				}
			}
			if raw != c.raw || git != c.git {
				t.Errorf("%d requests for files and %d of git, want %d and %d", raw, git, c.raw, c.git)
			}
		})
	}
}
