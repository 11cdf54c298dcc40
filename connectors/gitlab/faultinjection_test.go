package gitlab_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/gitlab"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		s := newSite(t)
		threads := make([]gitlabserver.Thread, 3)
		for i := range threads {
			threads[i] = gitlabserver.Thread{Title: fmt.Sprint("Thread ", i), Text: "some text", Notes: []gitlabserver.Note{{Text: "one"}, {Text: "two"}, {Text: "three"}}}
		}
		files := map[string][]byte{} // enough for git
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			files[name+".md"] = []byte("the file " + name)
		}
		s.Add(&gitlabserver.Project{ID: 12, Path: "acme/a", Files: files, Issues: threads, Merges: threads[:1], Pages: map[string]string{"home": "Welcome"}, Snippets: map[int64]string{1: "echo hello, and more"}})
		lists := map[string]*regexp.Regexp{
			"projects":    regexp.MustCompile(`/groups/[^/]+/projects\?`),
			"groups":      regexp.MustCompile(`/groups\?`),
			"files":       regexp.MustCompile(`/repository/tree\?`),
			"issues":      regexp.MustCompile(`/12/issues\?`),
			"discussions": regexp.MustCompile(`/issues/1/discussions\?`),
			"others":      regexp.MustCompile(`/issues/[23]/discussions\?`),
			"more":        regexp.MustCompile(`/merge_requests/1/discussions\?`),
		}
		settings := s.settings(map[string]any{"groups": []any{"acm*"}, "includeSnippets": true})
		// The record has the same content at the time of the token and now, so that each
		// source of the suite has it. The commit and an issue are others.
		_, token := newFeed(t, settings)
		token = regexp.MustCompile(`"h":"[0-9a-f]+"`).ReplaceAllString(token, `"h":"0"`)
		s.Change(12, func(p *gitlabserver.Project) { p.Issues[0].Updated = p.Issues[2].Updated.Add(time.Hour) })
		return connectortest.FaultInjection{
			Kind: gitlab.Kind, Settings: settings, FeedToken: token,
			AbsentNames: []string{"12:i:99", "acme/a/none.md", "nothing"},
			PagedList: func(r *http.Request) string {
				for name, pattern := range lists {
					if pattern.MatchString(r.RequestURI) {
						return name
					}
				}
				return ""
			},
			ShrinkPages: connectortest.OneItemPages,
			Undetectable: func(e connectortest.Exchange, fault string) string {
				if strings.Contains(e.URI, ".git/") {
					return "the API has the files that git does not give"
				}
				if strings.HasSuffix(e.URI, "/snippets/1/raw") && !strings.Contains(fault, "login") && !strings.Contains(fault, "proxy") && !strings.Contains(fault, "empty") {
					return "GitLab tells neither the size nor a hash of a snippet"
				}
				return ""
			},
		}
	})
}
