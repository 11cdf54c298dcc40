package sharepoint_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/sharepoint"
	. "github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// newOrganisationWithLists returns an organisation in which every list has three
// entries, and a sync makes every call.
func newOrganisationWithLists(t *testing.T) (o *organisation, emptyFile string) {
	t.Helper()
	o = newOrganisation(t)
	ada := o.AddUser(User{DisplayName: "Ada", Mail: "ada@acme.example"})
	bo := o.AddUser(User{DisplayName: "Bo", Mail: "bo@acme.example"})
	cy := o.AddUser(User{DisplayName: "Cy", UPN: "cy@acme.example", Mail: "cy@acme.example"})
	hidden := o.AddUser(User{DisplayName: "Hidden", UPN: "hidden@acme.example"})
	staff := o.AddGroup("staff", ada.ID, bo.ID, cy.ID)
	o.AddSite("sites/second", "Second")
	o.AddSite("sites/third", "Third")
	o.AddLibrary(o.site, "Contracts", "Contracts")
	o.AddLibrary(o.site, "Plans", "Plans")
	o.Server.Put(o.drive, "docs/guide.md", []byte("# Guide\n\nwhat is in it, and some more of it"))
	o.Server.Put(o.drive, "page.html", []byte("<html><body><p>a page of its own</p></body></html>"))
	emptyFile = o.Server.Put(o.drive, "empty.txt", nil)
	for _, name := range []string{"old/a.md", "old/b.md", "old/deep/c.md", "trash/d.md", "trash/e.md"} {
		o.Server.Put(o.drive, name, []byte("the text of "+name))
	}
	o.Share(o.drive, "page.html", ToUser(ada), ToUser(User{ID: hidden.ID}), ToGroup(staff), ToLink("organization"))
	for _, name := range []string{"Home.aspx", "News.aspx", "Rota.aspx"} {
		o.PutPage(o.site, Page{Name: name, Title: name, Text: "<p>Read this, and some more of it</p>"})
	}
	o.SharePage(o.site, "Home.aspx", ToUser(ada))
	for _, name := range []string{"Risks", "Ideas", "Issues"} {
		l := o.AddList(o.site, name, "genericList")
		for _, title := range []string{"One", "Two", "Three"} {
			o.PutEntry(l, "", map[string]any{"Title": title, "Owner": "Ada"})
		}
	}
	o.AddOneDrive(ada)
	o.SetSiteGroup(o.site, 5, SiteMember{LoginName: "i:0#.f|membership|ada@acme.example", Type: 1}, SiteMember{LoginName: "c:0t.c|tenant|" + staff.ID, Type: 4})
	o.Share(o.drive, "docs/guide.md", ToSiteGroup(5, "Members"))
	return o, emptyFile
}

// change makes several changes of each sort.
func change(o *organisation) {
	o.Server.Put(o.drive, "docs/guide.md", []byte("# Guide\n\nwhat is new in it, and some more of it"))
	for _, name := range []string{"one.md", "two.md", "three.md"} {
		o.Server.Put(o.drive, "moved/"+name, []byte("the text of "+name))
	}
	o.Move(o.drive, "old", "moved/older")
	o.Server.Delete(o.drive, "trash")
	o.Share(o.drive, "page.html", ToLink("organization"))
	o.PutPage(o.site, Page{Name: "News.aspx", Title: "News", Text: "<p>Read this instead, and some more of it</p>"})
}

// shrinkPages requests one entry a page.
func shrinkPages(r *http.Request) {
	query := r.URL.Query()
	query.Set("$top", "1")
	if r.Method == http.MethodGet {
		r.URL.RawQuery = query.Encode()
	}
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	lists := map[string]*regexp.Regexp{
		"sites":       regexp.MustCompile(`/sites/getAllSites`),
		"libraries":   regexp.MustCompile(`/drives\?`),
		"lists":       regexp.MustCompile(`/lists\?`),
		"pages":       regexp.MustCompile(`/pages/microsoft.graph.sitePage\?`),
		"people":      regexp.MustCompile(`/v1.0/users\?`),
		"members":     regexp.MustCompile(`/transitiveMembers`),
		"delta":       regexp.MustCompile(`/root/delta`),
		"entries":     regexp.MustCompile(`/items/delta`),
		"permissions": regexp.MustCompile(`/permissions\?`),
	}
	for name, config := range map[string]map[string]any{
		"named sites":      {},
		"a certificate":    {"includePages": false},
		"the organisation": {"sites": nil, "includePersonalSites": true, "includePages": false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
				o, emptyFile := newOrganisationWithLists(t)
				more := map[string]any{"include_permissions": true, "includeLists": name == "named sites"}
				for key, value := range config {
					more[key] = value
				}
				settings := o.settings(more)
				if name == "a certificate" {
					settings = o.withCertificate(t, settings)
					o.NoDownloadURL = true
				}
				token, state := connectortest.RecordFeed(t, sharepoint.Kind(dial), settings)
				change(o)
				return connectortest.FaultInjection{
					Kind: sharepoint.Kind, Dial: dial, Settings: settings, FeedToken: token, FeedState: state, AbsentNames: []string{library + "never.md", "d:b!0/01"}, ShrinkPages: shrinkPages,
					Undetectable: func(e connectortest.Exchange, fault string) string {
						if (strings.HasSuffix(e.URI, emptyFile+"/content") || strings.Contains(e.URI, emptyFile+"?tempauth")) && fault == "an empty body" {
							return "the file is empty"
						}
						return ""
					},
					PagedList: func(r *http.Request) string {
						for name, pattern := range lists {
							if pattern.MatchString(r.RequestURI) {
								return name + oneOf(r)
							}
						}
						return ""
					},
				}
			})
		})
	}
}

var partOfURI = regexp.MustCompile(`/(?:drives|lists|sites)/[^/?]*[^/?]+/(?:root|items|drives|lists|pages)`)

// oneOf tells the lists of a sort apart: a delta from its start, its changes, and the
// token of the present.
func oneOf(r *http.Request) string {
	mode, _, _ := strings.Cut(r.URL.Query().Get("token"), ".")
	if strings.HasSuffix(r.URL.Path, "/items/delta") {
		return r.URL.Path + strings.TrimPrefix(mode, "e")
	}
	return partOfURI.FindString(r.URL.Path) + strings.TrimPrefix(mode, "e")
}
