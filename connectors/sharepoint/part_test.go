package sharepoint_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// Another source of the connector, such as that of the next slice of a sync, uses the
// parts that the sync listed. With another config it lists them.
func TestPartsAreListedOnceASync(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.Server.Put(o.drive, "a.md", []byte("a"))
	item := walk(t, open(t, o.settings(nil))).items[library+"a.md"]
	lists := func() int {
		count := 0
		for _, request := range o.Requests() {
			if strings.Contains(request, "/v1.0/sites/") {
				count++
			}
		}
		return count
	}
	lists()
	read(t, open(t, o.settings(nil)), item)
	if n := lists(); n != 0 {
		t.Errorf("another source made %d requests for sites", n)
	}
	read(t, open(t, o.settings(map[string]any{"libraries": []any{"Documents"}})), item)
	if n := lists(); n == 0 {
		t.Error("another config used the old parts")
	}
	walk(t, open(t, o.settings(nil)))
	if n := lists(); n == 0 {
		t.Error("another walk used the old parts")
	}
}

// The OneDrives of all people are found by few requests, and one that can no longer
// be read loses nothing.
func TestOneDrivesOfManyPeople(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	var last string
	for n := range 50 {
		user := o.AddUser(User{DisplayName: fmt.Sprint("User ", n), Mail: fmt.Sprintf("user%d@acme.example", n)})
		if n%2 == 0 {
			last = user.ID
			o.Server.Put(o.AddOneDrive(user), "notes.md", []byte("notes"))
		}
	}
	s := o.settings(map[string]any{"sites": nil, "excludedSites": []any{"**"}, "includePersonalSites": true})
	source := open(t, s)
	o.Requests()
	before := walk(t, source)
	requests := o.Requests()
	single := slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return !strings.Contains(r, "/drive?") })
	if len(before.items) != 25 || len(single) != 0 {
		t.Errorf("%d items by %d requests, %d of them for one OneDrive", len(before.items), len(requests), len(single))
	}
	o.Fail(func(r *http.Request) *Fault {
		if !strings.Contains(r.URL.Path, "/users/"+last+"/drive") {
			return nil
		}
		return &Fault{Status: http.StatusLocked, Body: `{"error":{"code":"resourceLocked","message":"by the test"}}`}
	})
	l := walk(t, source)
	if len(l.items) != 24 || len(l.warnings) == 0 {
		t.Fatalf("%d items, warnings %q", len(l.items), l.warnings)
	}
	for path, item := range before.items {
		if _, listed := l.items[path]; !listed && !slices.Contains(l.incomplete, item.Container) {
			t.Errorf("%s is missing, and incomplete are %q", path, l.incomplete)
		}
	}
	o.refuse("/users/"+last+"/drive", http.StatusTooManyRequests)
	if _, err := source.Walk(t.Context(), ""); err == nil {
		t.Error("a throttled answer in a batch is no error")
	}
}

// A person waits for a test of the connection, however many sites there are.
func TestACheckLooksAtFewSites(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for n := range 60 {
		o.AddSite(fmt.Sprint("sites/number-", n), "N")
	}
	source := open(t, o.settings(map[string]any{"sites": nil}))
	o.Requests()
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	if requests := o.Requests(); len(requests) > 10 {
		t.Errorf("Check made %d requests", len(requests))
	}
}

// A OneDrive that is also named as a site is walked once.
func TestAOneDriveIsWalkedOnce(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	ada := o.AddUser(User{DisplayName: "Ada", Mail: "ada@acme.example"})
	site, _ := o.AddSite("personal/ada_acme_example", "Ada")
	drive := o.AddOneDrive(ada)
	o.Server.Put(drive, "notes.md", []byte("notes"))
	o.AddDriveTo(site, drive)
	l := walk(t, open(t, o.settings(map[string]any{"sites": []any{o.URL + "/personal/ada_acme_example"}, "includePersonalSites": true, "users": []any{"ada@acme.example"}})))
	expectPaths(t, l.paths(), "personal/ada_acme_example/OneDrive/notes.md")
	if l.items["personal/ada_acme_example/OneDrive/notes.md"].Container != site {
		t.Errorf("the item is %+v", l.items)
	}
}
