package confluence_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/confluence"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/confluenceserver"
)

// newSiteWithLists returns a site in which every list has three entries.
func newSiteWithLists(t *testing.T, cloud bool) (s *site, page, staff string) {
	t.Helper()
	s = newSite(t, cloud)
	var users []string
	for n := range 3 {
		users = append(users, s.AddUser(User{Display: fmt.Sprintf("User %d", n), Name: fmt.Sprintf("user%d", n), Email: fmt.Sprintf("user%d@example.com", n)}).ID)
	}
	staff = s.AddGroup("staff", append(slices.Clone(users), s.reader.ID)...)
	s.AddGroup("others", users[0])
	s.AddGroup("more", users[1])
	s.AddSpace(Space{Key: "OPEN", Users: []string{s.reader.ID}, Anonymous: true})
	s.AddSpace(Space{Key: "THIRD", Users: []string{s.reader.ID}, Groups: []string{staff}})
	s.Add(Content{Space: "OPEN", Title: "For all", Body: "<p>Come in</p>"})
	mention := `<p>Ask <ac:link><ri:user ri:account-id="` + users[0] + `" ri:userkey="` + users[0] + `"/></ac:link></p>`
	home := s.Add(Content{Space: "TST", Title: "Home", Body: mention, Author: users[0], Labels: []string{"ops"}})
	above := home
	if cloud {
		above = s.Add(Content{Type: "folder", Parent: home, Title: "Folder"})
	}
	page = s.Add(Content{Parent: above, Title: "Restricted", Body: "<p>For some, and some more of it</p>", Groups: []string{staff}, Users: []string{s.reader.ID, users[0]}})
	s.Add(Content{Parent: page, Title: "Twice", Body: "<p>For fewer</p>", Users: []string{s.reader.ID, users[1]}})
	for n := range 3 {
		s.Add(Content{Type: "attachment", Container: page, Title: fmt.Sprintf("file%d.csv", n), Data: []byte("a,b,c\n1,2,3\n"), Media: "text/csv"})
		s.Add(Content{Type: "comment", Container: page, Author: users[n], Body: fmt.Sprintf("<p>Comment %d</p>", n)})
	}
	s.Add(Content{Type: "blogpost", Space: "TST", Title: "News", Body: "<p>Something happened</p>"})
	s.Add(Content{Space: "TST", Title: "New", Body: "<p>Unknown to the search</p>", Unindexed: true})
	return s, page, staff
}

// spaceID returns the id of a space.
func (s *site) spaceID(key string) string {
	id := ""
	s.ChangeSpace(key, func(space *Space) { id = space.ID })
	return id
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	for name, cloud := range map[string]bool{"Cloud": true, "DataCenter": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
				s, page, staff := newSiteWithLists(t, cloud)
				lists := map[string]*regexp.Regexp{
					"spaces":           regexp.MustCompile(`/rest/api/space\?.*status=current|/api/v2/spaces\?`),
					"pages":            regexp.MustCompile(`/content/scan\?.*spaceKey=TST|/api/v2/spaces/` + s.spaceID("TST") + `/pages\?.*sort=id`),
					"groups":           regexp.MustCompile(`/rest/api/group\?`),
					"members":          regexp.MustCompile(`/rest/api/group/` + staff + `/member`),
					"comments":         regexp.MustCompile(page + `/descendant/comment|/search\?cql=type%3Dcomment\+and\+container%3D` + page + `&`),
					"permissions":      regexp.MustCompile(`/api/v2/spaces/` + s.spaceID("OPEN") + `/permissions`),
					"more permissions": regexp.MustCompile(`/api/v2/spaces/` + s.spaceID("TST") + `/permissions`),
				}
				if !cloud {
					lists["members"] = regexp.MustCompile(`/rest/api/group/staff/member`)
				}
				anonymous := regexp.MustCompile(`/rest/api/space/[A-Z]+$|/api/v2/spaces/[0-9]+$`)
				listing := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/rest/api/content") }
				return connectortest.FaultInjection{
					Kind:        func(dial connectors.Dial) connectors.Kind { return confluence.KindAt(dial, s.Gateway) },
					Settings:    s.settings(map[string]any{"include_permissions": true, "includeComments": true, "includeBlogPosts": true}),
					AbsentNames: []string{"page:999999", "TST/never"},
					PagedList: func(r *http.Request) string {
						for name, pattern := range lists {
							if pattern.MatchString(r.RequestURI) {
								return name
							}
						}
						return ""
					},
					Undetectable: func(e connectortest.Exchange, fault string) string {
						if anonymous.MatchString(e.URI) && strings.HasSuffix(fault, "a login page") {
							return "a wiki answers so to visitors without an account"
						}
						return ""
					},
					ShrinkPages: func(r *http.Request) {
						if !listing(r) { // it is paged by number, with an overlap
							connectortest.OneItemPages(r)
						}
					},
				}
			})
		})
	}
}
