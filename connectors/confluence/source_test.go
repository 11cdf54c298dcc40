package confluence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/confluenceserver"
)

func walk(t *testing.T, source connectors.Source) (map[string]connectors.Item, []string) {
	t.Helper()
	found, cursor := map[string]connectors.Item{}, ""
	var warnings []string
	for range 1000 {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			found[item.Path] = item
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return found, warnings
		}
		cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, nil
}

func paths(items map[string]connectors.Item) []string { return slices.Sorted(maps.Keys(items)) }

func expectPaths(t *testing.T, items map[string]connectors.Item, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := paths(items); !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
}

func readContent(t *testing.T, source connectors.Source, item connectors.Item) string {
	t.Helper()
	reader, err := source.Open(t.Context(), item)
	if err != nil {
		t.Fatalf("open %s: %v", item.Path, err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	return string(content)
}

func TestPagesAreItems(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		ada := s.AddUser(User{Display: "Ada", Email: "ada@example.com"})
		home := s.Add(Content{Space: "TST", Title: "Home", Author: ada.ID, Body: `<p>Ask <ac:link><ri:user ri:account-id="` + ada.ID + `" ri:userkey="` + ada.ID + `"/></ac:link></p>`})
		above := home
		if s.cloud {
			above = s.Add(Content{Type: "folder", Parent: home, Title: "How to"})
		}
		ci := s.Add(Content{Parent: above, Title: "CI/CD with Node.js", Author: ada.ID, Body: "<p>Pipeline</p>", Labels: []string{"ops", "build"}})
		s.Add(Content{Type: "attachment", Container: ci, Title: "plan.csv", Data: []byte("a,b"), Media: "text/csv"})
		s.Add(Content{Type: "comment", Container: ci, Author: ada.ID, Body: "<p>First!</p>"})
		s.Add(Content{Type: "comment", Container: ci, Author: ada.ID, Body: "<p>Which one?</p>", Inline: "Pipeline"})
		s.Add(Content{Type: "comment", Container: ci, Author: ada.ID, Body: "<p>Settled.</p>", Inline: "Pipe", Resolved: true})
		s.Add(Content{Space: "TST", Title: "Gone", Status: "current"})
		s.Change(s.Find("page", "TST", "Gone"), false, func(c *Content) { c.Status = "trashed" })

		source := s.open(t, s.settings(map[string]any{"includeComments": true}))
		found, warnings := walk(t, source)
		inFolder := "TST/Home/CI∕CD with Node.js.html"
		if s.cloud {
			inFolder = "TST/Home/How to/CI∕CD with Node.js.html"
		}
		expectPaths(t, found, "TST/Home", inFolder, inFolder+"/plan.csv")
		if len(warnings) > 0 {
			t.Errorf("warnings %q", warnings)
		}
		item := found[inFolder]
		if item.ID != "page:"+ci || item.Title != "CI/CD with Node.js" || item.Author != "Ada" || item.CreatedAt.IsZero() || item.ModifiedAt.IsZero() ||
			item.Metadata["labels"] != "build, ops" || item.Metadata["space"] != "TST" || !strings.HasPrefix(item.URL, s.URL+"/") || item.MediaType != "text/html" {
			t.Errorf("the page is %+v", item)
		}
		if item.Content != nil {
			t.Error("a page with comments is at hand without them")
		}
		text := readContent(t, source, item)
		for _, want := range []string{"<p>Pipeline</p>", "First!", "on “Pipeline”", "Which one?", "<strong>Ada</strong>", `content="build, ops"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
		if strings.Contains(text, "Settled") {
			t.Error("a resolved comment is shown")
		}
		if home := found["TST/Home"]; !strings.Contains(string(home.Content), "Ask @Ada") || readContent(t, source, home) != string(home.Content) {
			t.Errorf("the home page is %q at hand and %q when it is opened", home.Content, readContent(t, source, home))
		}

		// What changes the document changes the version, though Confluence's own number stays.
		for what, change := range map[string]func(){
			"a label":   func() { s.Change(ci, false, func(c *Content) { c.Labels = append(c.Labels, "new") }) },
			"a comment": func() { s.Add(Content{Type: "comment", Container: ci, Body: "<p>More</p>"}) },
			"the place": func() { s.Change(home, true, func(c *Content) { c.Title = "Start" }) },
			"the text":  func() { s.Change(ci, true, func(c *Content) { c.Body = "<p>New</p>" }) },
		} {
			before, _ := walk(t, source)
			change()
			after, _ := walk(t, source)
			if byID(before, item.ID).Version == byID(after, item.ID).Version {
				t.Errorf("the version stays when %s changes", what)
			}
		}
	})
}

func byID(items map[string]connectors.Item, id string) connectors.Item {
	for _, item := range items {
		if item.ID == id {
			return item
		}
	}
	return connectors.Item{}
}

func TestManyFilesAndCommentsOfOnePage(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		page := s.Add(Content{Space: "TST", Title: "P", Body: "<p>x</p>"})
		for i := range 620 {
			s.Add(Content{Type: "attachment", Container: page, Title: fmt.Sprintf("f%03d.txt", i), Data: []byte{byte(i)}, Media: "text/plain"})
		}
		for i := range 60 {
			s.Add(Content{Type: "comment", Container: page, Body: fmt.Sprintf("<p>comment-%02d</p>", i)})
		}
		source := s.open(t, s.settings(map[string]any{"includeComments": true}))
		found, _ := walk(t, source)
		if len(found) != 621 {
			t.Errorf("%d items, want 621", len(found))
		}
		text := readContent(t, source, found["TST/P"])
		if !strings.Contains(text, "comment-00") || !strings.Contains(text, "comment-59") {
			t.Error("comments are missing")
		}
		found, missing, err := resolve(t, source, "TST/P/f600.txt", found["TST/P"].ID, "page:999", "attachment:att999", "TST/Q")
		if err != nil || len(found) != 2 || !slices.Equal(missing, []string{"page:999", "attachment:att999", "TST/Q"}) {
			t.Errorf("resolved %q, missing %q, %v", paths(found), missing, err)
		}
	})
}

func resolve(t *testing.T, source connectors.Source, names ...string) (map[string]connectors.Item, []string, error) {
	t.Helper()
	resolver, _ := source.(connectors.Resolver)
	items, missing, err := resolver.Resolve(t.Context(), names)
	found := map[string]connectors.Item{}
	for _, item := range items {
		found[item.Path] = item
	}
	return found, missing, err
}

func TestResolvedItemsEqualWalkedOnes(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		home := s.Add(Content{Space: "TST", Title: "Home", Body: "<p>h</p>"})
		deep := home
		for range 8 {
			deep = s.Add(Content{Parent: deep, Title: strings.Repeat("long ", 30) + deep})
		}
		s.Add(Content{Parent: home, Title: "a.md", Body: "<p>a</p>"})
		blog := s.Add(Content{Type: "blogpost", Space: "TST", Title: "News", Body: "<p>n</p>"})
		s.Add(Content{Type: "attachment", Container: blog, Title: "x.txt", Data: []byte("x")})
		source := s.open(t, s.settings(map[string]any{"includeBlogPosts": true}))
		known, _ := walk(t, source)
		if len(known) != 12 || known["TST/blog/2024-05-01/News/x.txt"].ID == "" || known["TST/page-"+deep].ID == "" {
			t.Fatalf("the walk gave %q", paths(known))
		}
		for how, name := range map[string]func(connectors.Item) string{
			"path": func(i connectors.Item) string { return i.Path }, "id": func(i connectors.Item) string { return i.ID },
		} {
			var names []string
			for _, item := range known {
				names = append(names, name(item))
			}
			found, missing, err := resolve(t, source, names...)
			if err != nil || len(missing) > 0 || len(found) != len(known) {
				t.Errorf("by %s: missing %q, %v", how, missing, err)
			}
			for path, item := range found {
				if fmt.Sprint(item) != fmt.Sprint(known[path]) {
					t.Errorf("by %s: %+v, in the walk %+v", how, item, known[path])
				}
			}
		}
		// Without blog posts in the settings they are none of the connector's.
		other := s.open(t, s.settings(nil))
		if _, missing, err := resolve(t, other, "blogpost:"+blog, "TST/blog/2024-05-01/News"); err != nil || len(missing) != 2 {
			t.Errorf("missing %q, %v", missing, err)
		}
		if _, err := other.Open(t.Context(), known["TST/blog/2024-05-01/News/x.txt"]); !errors.Is(err, connectors.ErrNotFound) {
			t.Errorf("a file of a blog post: %v", err)
		}
	})
}

func TestSettingsSelectPages(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.AddSpace(Space{Key: "OPS", Users: []string{s.reader.ID}})
		s.AddSpace(Space{Key: "~ada", Personal: true, Users: []string{s.reader.ID}})
		s.AddSpace(Space{Key: "OLD", Archive: true, Users: []string{s.reader.ID}})
		s.AddSpace(Space{Key: "SECRET"})
		for _, key := range []string{"TST", "OPS", "~ada", "OLD", "SECRET"} {
			s.Add(Content{Space: key, Title: "One", Labels: []string{"ops"}})
			id := s.Add(Content{Space: key, Title: "Two"})
			s.Add(Content{Type: "attachment", Container: id, Title: "f.txt", Data: []byte("x")})
		}
		for _, c := range []struct {
			config map[string]any
			want   string
		}{
			{map[string]any{"includeAttachments": false}, "OPS/One OPS/Two TST/One TST/Two"},
			{map[string]any{"spaceKeys": []any{"OPS"}}, "OPS/One OPS/Two OPS/Two/f.txt"},
			{map[string]any{"spaceKeys": []any{"~ada", "OPS", "OPS"}, "labels": []any{"Ops", "none"}}, "OPS/One ~ada/One"},
			{map[string]any{"includePersonalSpaces": true, "labels": []any{"ops"}}, "OPS/One TST/One ~ada/One"},
			{map[string]any{"includeArchived": true, "labels": []any{"ops"}}, "OLD/One OPS/One TST/One"},
			{map[string]any{"cql": `label = "ops" or title ~ "nothing"`}, "OPS/One TST/One"},
			{map[string]any{"cql": `label != "ops"`, "spaceKeys": []any{"OPS"}, "includeAttachments": false}, "OPS/Two"},
		} {
			source := s.open(t, s.settings(c.config))
			if err := source.Check(t.Context()); err != nil {
				t.Errorf("%v: %v", c.config, err)
			}
			found, _ := walk(t, source)
			if got := strings.Join(paths(found), " "); got != c.want {
				t.Errorf("%v: %s, want %s", c.config, got, c.want)
			}
		}
		bad := s.open(t, s.settings(map[string]any{"cql": "no such thing"}))
		for _, err := range []error{bad.Check(t.Context()), walkError(t, bad)} {
			if !connectors.IsFatal(err) || !strings.Contains(err.Error(), "config.cql") {
				t.Errorf("bad CQL: %v", err)
			}
		}
	})
}

func walkError(t *testing.T, source connectors.Source) error {
	t.Helper()
	_, err := source.Walk(t.Context(), "")
	return err
}

func TestMissingSpaceIsNotEmpty(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.AddSpace(Space{Key: "OPS", Users: []string{s.reader.ID}})
		s.Add(Content{Space: "OPS", Title: "One"})
		source := s.open(t, s.settings(map[string]any{"spaceKeys": []any{"OPS", "TST"}}))
		found, _ := walk(t, source)
		expectPaths(t, found, "OPS/One")
		s.ChangeSpace("OPS", func(space *Space) { space.Users = nil })
		if err := walkError(t, source); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), `"OPS"`) {
			t.Errorf("without the right: %v", err)
		}
		s.ChangeSpace("OPS", func(space *Space) { space.Users, space.Archive = []string{s.reader.ID}, true })
		if err := walkError(t, source); !connectors.IsFatal(err) || !strings.Contains(err.Error(), "archived") {
			t.Errorf("archived: %v", err)
		}
		s.DropSpace("OPS")
		if err := walkError(t, source); !connectors.IsNeedsAuth(err) {
			t.Errorf("deleted: %v", err)
		}
		s.DropSpace("TST")
		if err := walkError(t, s.open(t, s.settings(nil))); !connectors.IsNeedsAuth(err) {
			t.Errorf("no space at all: %v", err)
		}
	})
}

// Pages that are deleted during the walk must not shift others
// out of it.
func TestDeletionsDuringTheWalkSkipNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(s *site){
		"Cloud": nil, "Scan": func(*site) {}, "Counted": func(s *site) { s.NoScan = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, prepare == nil)
			if prepare != nil {
				prepare(s)
			}
			var ids []string
			const many = 1300
			for i := range many {
				ids = append(ids, s.Add(Content{Space: "TST", Title: fmt.Sprintf("P%04d", i)}))
			}
			source := s.open(t, s.settings(map[string]any{"includeAttachments": false}))
			found, cursor, deleted := map[string]bool{}, "", 0
			for {
				page, err := source.Walk(t.Context(), cursor)
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range page.Items {
					found[item.ID] = true
				}
				if page.Done {
					break
				}
				cursor = page.Next
				for _, n := range []int{3, 25}[deleted/100%2:][:1] { // within the overlap, and beyond it
					for range n {
						s.Remove(ids[deleted])
						deleted++
					}
				}
				deleted = max(deleted, 100)
			}
			for i, id := range ids {
				if !found["page:"+id] {
					t.Errorf("page %d was passed over", i)
				}
			}
			if deleted < 125 {
				t.Errorf("%d pages were deleted meanwhile", deleted)
			}
		})
	}
}

func TestPagesMissingFromTheSearchIndexAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	page := s.Add(Content{Space: "TST", Title: "New", Labels: []string{"ops"}, Unindexed: true})
	s.Add(Content{Type: "attachment", Container: page, Title: "f.txt", Data: []byte("x"), Unindexed: true})
	found, _ := walk(t, s.open(t, s.settings(map[string]any{"labels": []any{"ops"}, "includeComments": true})))
	expectPaths(t, found, "TST/New", "TST/New/f.txt")
	before := found["TST/New"].Version
	s.Change(page, false, func(c *Content) { c.Unindexed = false })
	if found, _ = walk(t, s.open(t, s.settings(map[string]any{"includeComments": true}))); found["TST/New"].Version != before {
		t.Error("the version goes by what the search knows")
	}
}

func TestGrantUsesTheGateway(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	page := s.Add(Content{Space: "TST", Title: "P", Body: "<p>x</p>"})
	s.Add(Content{Type: "attachment", Container: page, Title: "f.txt", Data: []byte("file"), Media: "text/plain"})
	s.Grant("second", s.reader.ID)
	token := "first" // which Atlassian does not take any more
	var refusals []string
	settings := connectors.Settings{Config: map[string]any{"instanceUrl": s.URL, "includePersonalSpaces": true}}
	settings.Token = func(_ context.Context, refused string) (string, map[string]string, error) {
		if refused != "" {
			refusals = append(refusals, refused)
			token = "second"
		}
		return token, nil, nil
	}
	source := s.open(t, settings)
	found, _ := walk(t, source)
	expectPaths(t, found, "TST/P", "TST/P/f.txt")
	if text := readContent(t, source, found["TST/P/f.txt"]); text != "file" {
		t.Errorf("the file is %q", text)
	}
	if !slices.Equal(refusals, []string{"first"}) || s.Requests("/ex/confluence/"+CloudID) == 0 {
		t.Errorf("refused %q", refusals)
	}
	settings.Config = map[string]any{"instanceUrl": "https://elsewhere.atlassian.net"}
	if err := s.open(t, settings).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "elsewhere.atlassian.net") {
		t.Errorf("another site: %v", err)
	}
}

func TestLoginPagesAreErrors(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.Add(Content{Space: "TST", Title: "P"})
		page := "<!DOCTYPE html><html><body><form action=\"/dologin.action\">Log in</form></body></html>"
		html := http.Header{"Content-Type": {"text/html;charset=UTF-8"}}
		loginAt := func(r *http.Request) *Fault {
			if strings.Contains(r.URL.Path, "login") {
				return &Fault{Status: 200, Header: html, Body: page}
			}
			return &Fault{Status: 302, Location: "/login.action?os_destination=x"}
		}
		for name, fault := range map[string]func(r *http.Request) *Fault{
			"a page":            func(*http.Request) *Fault { return &Fault{Status: 200, Header: html, Body: page} },
			"a page of no type": func(*http.Request) *Fault { return &Fault{Status: 200, Body: "\n " + page} },
			"a redirect":        loginAt,
			"JSON at the login": func(r *http.Request) *Fault {
				f := loginAt(r)
				f.Header, f.Body = http.Header{"Content-Type": {"application/json"}}, "{}"
				return f
			},
			"an anonymous": func(*http.Request) *Fault { return &Fault{Status: 200, Body: `{"type":"anonymous"}`} },
			"401":          func(*http.Request) *Fault { return &Fault{Status: 401, Body: "{}"} },
			"403 with a failure": func(*http.Request) *Fault {
				return &Fault{Status: 403, Header: http.Header{"X-Seraph-Loginreason": {"AUTHENTICATION_DENIED"}}, Body: "{}"}
			},
			"404 with a failure": func(*http.Request) *Fault {
				return &Fault{Status: 404, Header: http.Header{"X-Seraph-Loginreason": {"AUTHENTICATED_FAILED"}}, Body: "{}"}
			},
		} {
			s.Fail(fault)
			source := s.open(t, s.settings(nil))
			for _, err := range []error{source.Check(t.Context()), walkError(t, source)} {
				if !connectors.IsNeedsAuth(err) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		s.Fail(nil)
		// Later than at the beginning, too.
		source := s.open(t, s.settings(nil))
		found, _ := walk(t, source)
		s.Fail(loginAt)
		if _, err := source.Open(t.Context(), found["TST/P"]); !connectors.IsNeedsAuth(err) {
			t.Errorf("open: %v", err)
		}
		s.Fail(nil)
		settings := s.settings(nil)
		settings.Credentials["apiToken"], settings.Credentials["personalAccessToken"] = "wrong", "wrong"
		delete(settings.Credentials, map[bool]string{true: "personalAccessToken", false: "apiToken"}[s.cloud])
		if err := s.open(t, settings).Check(t.Context()); !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("a wrong token: %v", err)
		}
	})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.Add(Content{Space: "TST", Title: "P"})
		after := func(want time.Duration) func(error) bool {
			return func(err error) bool { got, ok := connectors.RetryAfterOf(err); return ok && got == want }
		}
		for name, c := range map[string]struct {
			fault Fault
			want  func(error) bool
		}{
			"429":          {Fault{Status: 429, Header: http.Header{"Retry-After": {"17"}}}, after(17 * time.Second)},
			"429 until":    {Fault{Status: 429, Header: http.Header{"X-Ratelimit-Reset": {"2024-05-01T08:00:40Z"}}}, after(40 * time.Second)},
			"429 a bucket": {Fault{Status: 429, Header: http.Header{"X-Ratelimit-Interval-Seconds": {"60"}}}, after(time.Minute)},
			"429 alone":    {Fault{Status: 429}, after(0)},
			"503":          {Fault{Status: 503, Header: http.Header{"Retry-After": {"5"}}}, after(5 * time.Second)},
			"500":          {Fault{Status: 500, Body: "<html>oops</html>"}, after(0)},
			"no JSON":      {Fault{Status: 200, Body: `{"results":[{`}, after(0)},
			"403": {Fault{Status: 403, Body: `{"message":"com.atlassian.X$YException: You may not"}`}, func(err error) bool {
				return connectors.IsNeedsAuth(err) && strings.HasSuffix(err.Error(), ": You may not")
			}},
			"403 version 2": {Fault{Status: 403, Body: `{"errors":[{"status":403,"code":"FORBIDDEN","title":"Not for you"}]}`}, func(err error) bool {
				return connectors.IsNeedsAuth(err) && strings.Contains(err.Error(), "Not for you")
			}},
			"there is none":   {Fault{Status: 404, Body: "<html>"}, connectors.IsFatal},
			"a foreign place": {Fault{Status: 302, Location: "ftp://example.com/"}, func(err error) bool { return err != nil }},
		} {
			s.Fail(func(*http.Request) *Fault { return &c.fault })
			if err := s.open(t, s.settings(nil)).Check(t.Context()); err == nil || !c.want(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.Fail(nil)
		source := s.open(t, s.settings(nil))
		if _, err := source.Walk(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		s.Fail(func(r *http.Request) *Fault {
			if strings.Contains(r.URL.Path, "user/current") {
				return nil
			}
			return &Fault{Status: 200, Header: http.Header{"X-Ratelimit-Nearlimit": {"true"}}, Body: `{"results":[]}`}
		})
		other := s.open(t, s.settings(map[string]any{"spaceKeys": []any{}}))
		if _, err := other.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
			t.Errorf("no space: %v", err)
		}
		if page, err := source.Walk(t.Context(), `{"s":"TST","k":"page"}`); err != nil || page.Pause == 0 {
			t.Errorf("near the limit: pause %s, %v", page.Pause, err)
		}
	})
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	kind := (&site{Server: &Server{}}).kind()
	cloud := map[string]string{"email": "a@example.com", "apiToken": "x"}
	token := map[string]string{"personalAccessToken": "x"}
	for _, c := range []struct {
		address, deployment string
		credentials         map[string]string
		field               string
	}{
		{"https://acme.atlassian.net", "", cloud, ""},
		{"https://acme.atlassian.net/wiki/", "", cloud, ""},
		{"acme.atlassian.net/wiki/spaces/ENG/overview", "auto", cloud, ""},
		{"https://wiki.example.com/confluence/display/ENG", "", token, ""},
		{"https://wiki.example.com", "data_center", map[string]string{"username": "u", "password": "p"}, ""},
		{"https://wiki.example.com", "cloud", cloud, ""},
		{"https://acme.atlassian.net", "", token, "credentials.personalAccessToken"},
		{"https://acme.atlassian.net", "", nil, "credentials.email"},
		{"https://acme.atlassian.net", "", map[string]string{"email": "a@example.com"}, "credentials.apiToken"},
		{"https://wiki.example.com", "", nil, "credentials.personalAccessToken"},
		{"https://wiki.example.com", "", map[string]string{"username": "u"}, "credentials.password"},
		{"https://wiki.example.com", "", map[string]string{"password": "u"}, "credentials.username"},
		{"https://wiki.example.com", "", map[string]string{"username": "u", "password": "p", "personalAccessToken": "x"}, "credentials.personalAccessToken"},
		{"https://wiki.example.com", "data_center", cloud, "credentials.email"},
		{"ftp://wiki.example.com", "", token, "config.instanceUrl"},
		{"https://u:p@wiki.example.com", "", token, "config.instanceUrl"},
		{"https://", "", token, "config.instanceUrl"},
		{"", "", token, "config.instanceUrl"},
	} {
		config := map[string]any{"instanceUrl": c.address}
		if c.deployment != "" {
			config["deployment"] = c.deployment
		}
		err := kind.Validate(config, c.credentials)
		wrong, _ := errors.AsType[*connectors.OptionError](err)
		if c.field == "" && err != nil || c.field != "" && (wrong == nil || wrong.Field != c.field) {
			t.Errorf("%q %q: %v, want %q", c.address, c.deployment, err, c.field)
		}
	}
	for field, config := range map[string]map[string]any{
		"config.spaceKeys": {"spaceKeys": []any{"a b"}}, "config.cql": {"cql": "a) or (b"},
	} {
		config["instanceUrl"] = "https://acme.atlassian.net"
		if wrong, _ := errors.AsType[*connectors.OptionError](kind.Validate(config, cloud)); wrong == nil || wrong.Field != field {
			t.Errorf("%v: %v", config, wrong)
		}
	}
}
