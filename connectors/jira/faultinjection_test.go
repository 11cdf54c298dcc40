package jira_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/jira"
	. "github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

// newSiteWithLists returns a site in which every list has three entries.
func newSiteWithLists(t *testing.T, cloud bool) (s *site, commented string) {
	t.Helper()
	s = newSite(t, cloud)
	s.MaxComments = 2
	var users []string
	for n := range 3 {
		users = append(users, s.AddUser(User{Display: fmt.Sprintf("User %d", n), Name: fmt.Sprintf("user%d", n), Email: fmt.Sprintf("user%d@example.com", n)}).ID)
	}
	staff := s.AddGroup("staff", append([]string{s.reader.ID}, users...)...)
	others := s.AddGroup("others", users[0])
	s.AddGroup("more", users[1])
	s.SetApplication("jira-software", staff)
	s.ChangeProject("TST", func(p *Project) {
		p.Browse = []Holder{{Type: "group", Parameter: staff}, {Type: "projectLead", Parameter: ""}, {Type: "projectRole", Parameter: "10002"}, {Type: "reporter", Parameter: ""}, {Type: "userCustomField", Parameter: "customfield_10010"}}
		p.Roles = map[string][]Holder{"10002": {{Type: "group", Parameter: others}, {Type: "user", Parameter: users[1]}}}
		p.Levels = map[string][]Holder{"7": {{Type: "group", Parameter: others}, {Type: "user", Parameter: users[2]}, {Type: "assignee", Parameter: ""}}}
	})
	s.AddProject(Project{Key: "OPEN", Public: true, Browse: []Holder{{Type: "anyone", Parameter: ""}}})
	s.AddProject(Project{Key: "ALL", Browse: []Holder{{Type: "applicationRole", Parameter: ""}}})
	for n := range 3 {
		file := File{Name: fmt.Sprintf("file%d.csv", n), Data: []byte("a,b,c\n1,2,3\n"), Media: "text/csv", Author: users[n]}
		s.Add(Issue{Project: "TST", Summary: fmt.Sprintf("Issue %d", n), Description: s.Text("Some text, and some more of it"), Reporter: users[n], Assignee: users[n], Files: []File{file}})
	}
	s.Add(Issue{Project: "OPEN", Summary: "For all", Description: s.Text("Come in")})
	s.Add(Issue{Project: "ALL", Summary: "For people with an account", Description: s.Text("Welcome")})
	level := ""
	if cloud {
		level = "7"
	}
	commented = s.Add(Issue{
		Project: "TST", Summary: "Discussed", Description: s.Text("What do we do?"), Level: level, Assignee: users[1], Fields: map[string]any{"customfield_10010": map[string]any{"accountId": users[0], "key": users[0]}},
		Comments: []Comment{{Author: users[0], Body: s.Text("One")}, {Author: users[1], Body: s.Text("Two")}, {Author: users[2], Body: s.Text("Three")}},
	})
	return s, commented
}

// oneItemPages reduces the page size of a request, in its query or body.
func oneItemPages(r *http.Request) {
	query := r.URL.Query()
	if query.Has("maxResults") && !strings.HasSuffix(r.URL.Path, "/user/bulk") && !strings.HasSuffix(r.URL.Path, "/picker") {
		query.Set("maxResults", "1")
		r.URL.RawQuery = query.Encode()
	}
	if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/search") {
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body map[string]any
	if json.Unmarshal(text, &body) == nil && body["maxResults"] != nil && body["validateQuery"] == nil {
		switch size, _ := body["maxResults"].(float64); {
		case size > 100: // with an overlap
			body["maxResults"] = size - 99
		default:
			body["maxResults"] = 1
		}
		if changed, err := json.Marshal(body); err == nil {
			text = changed
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", fmt.Sprint(len(text)))
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	for name, cloud := range map[string]bool{"Cloud": true, "DataCenter": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
				s, commented := newSiteWithLists(t, cloud)
				lists := map[string]*regexp.Regexp{
					"projects": regexp.MustCompile(`/project/search\?`),
					"groups":   regexp.MustCompile(`/group/bulk\?`),
					"members":  regexp.MustCompile(`/group/member\?`),
					"levels":   regexp.MustCompile(`/issuesecurityschemes/[0-9]+/members`),
					"comments": regexp.MustCompile(`/issue/` + commented + `/comment`),
					"issues":   regexp.MustCompile(`/search$|/search/jql$`),
				}
				settings := s.settings(map[string]any{"include_permissions": true, "includeAttachments": true})
				s.Advance(time.Hour)
				token, state := connectortest.RecordFeed(t, jira.KindAt(new(net.Dialer).DialContext, s.Gateway), settings)
				s.Advance(time.Hour)
				removed, _ := s.Find("TST-1")
				s.Remove(removed.ID)
				for _, key := range []string{"TST-2", "TST-3", "OPEN-1"} {
					changed, _ := s.Find(key)
					s.Change(changed.ID, func(i *Issue) { i.Summary, i.Files = "Changed", i.Files[:0] })
				}
				visitor := regexp.MustCompile(`/project/[A-Z]+$`)
				return connectortest.FaultInjection{
					Kind:        func(dial connectors.Dial) connectors.Kind { return jira.KindAt(dial, s.Gateway) },
					Settings:    settings,
					FeedToken:   token,
					FeedState:   state,
					AbsentNames: []string{"issue:999999", "TST/TST-999", "nothing"},
					PagedList: func(r *http.Request) string {
						for name, pattern := range lists {
							if pattern.MatchString(r.RequestURI) {
								return name
							}
						}
						return ""
					},
					ShrinkPages: oneItemPages,
					Undetectable: func(e connectortest.Exchange, fault string) string {
						if visitor.MatchString(e.URI) && strings.HasSuffix(fault, "a login page") {
							return "a site answers so to visitors without an account"
						}
						return ""
					},
				}
			})
		})
	}
}
