package sharepoint_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// readersOf returns the readers of the walk's items, by path: principals with
// spaces between them, or "everyone".
func readersOf(t *testing.T, source connectors.Source) map[string]string {
	t.Helper()
	l := walk(t, source)
	var items []connectors.Item
	for _, item := range l.items {
		items = append(items, item)
	}
	readers, err := source.(connectors.PermissionLister).Readers(t.Context(), items)
	if err != nil {
		t.Fatalf("Readers: %v", err)
	}
	texts := map[string]string{}
	for path, item := range l.items {
		r := readers[item.ID]
		if texts[strings.TrimPrefix(path, library)] = strings.Join(r.Principals, " "); r.Everyone {
			texts[strings.TrimPrefix(path, library)] = "everyone"
		}
	}
	return texts
}

// members returns the members of all groups by principal.
func members(t *testing.T, source connectors.Source) (groups map[string][]string, warnings []string) {
	t.Helper()
	groups = map[string][]string{}
	cursor := ""
	for {
		page, err := source.(connectors.GroupLister).Groups(t.Context(), cursor)
		if err != nil {
			t.Fatalf("Groups: %v", err)
		}
		for _, g := range page.Groups {
			groups[g.Principal] = g.Members
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return groups, warnings
		}
		cursor = page.Next
	}
}

func TestReadersAreThoseOfSharePoint(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	ada := o.AddUser(User{DisplayName: "Ada", UPN: "Ada@acme.example", Mail: "Ada.Lovelace@acme.example"})
	bo := o.AddUser(User{DisplayName: "Bo", UPN: "bo@acme.example"})
	guest := o.AddUser(User{DisplayName: "Guest", UPN: "guest_partner.example#EXT#@acme.onmicrosoft.example"})
	left := o.AddUser(User{DisplayName: "Left", UPN: "left@acme.example"})
	inner := o.AddGroup("inner", bo.ID)
	staff := o.AddGroup("staff", ada.ID, inner.ID, guest.ID)
	o.RemoveUser(left.ID)
	noAddress := func(u User) Permission {
		return Permission{"id": "x", "roles": []any{"write"}, "grantedToV2": map[string]any{"user": map[string]any{"id": u.ID, "displayName": u.DisplayName}}}
	}
	with := func(p Permission, more map[string]any) Permission {
		for name, value := range more {
			p[name] = value
		}
		return p
	}
	const everybody, noGuests = "c:0(.s|true", "c:0-.f|rolemanager|spo-grid-all-users/0e4c2b6a-1111-4222-8333-444455556666"
	table := map[string]struct {
		permissions []Permission
		want        string
	}{
		"inherited.md":           {nil, "user:reader@acme.example"},
		"folder/deep/nested.md":  {nil, "user:reader@acme.example"},
		"person.md":              {[]Permission{ToUser(ada, "write")}, "user:ada.lovelace@acme.example"},
		"two people.md":          {[]Permission{ToUser(ada), noAddress(bo)}, "user:ada.lovelace@acme.example user:bo@acme.example"},
		"guest.md":               {[]Permission{noAddress(guest)}, "user:guest@partner.example"},
		"deleted person.md":      {[]Permission{noAddress(left)}, ""},
		"group.md":               {[]Permission{ToGroup(staff)}, "group:" + staff.ID},
		"group by claim.md":      {[]Permission{ToClaim("c:0t.c|tenant|" + staff.ID)}, "group:" + staff.ID},
		"owners by claim.md":     {[]Permission{ToClaim("c:0o.c|federateddirectoryclaimprovider|" + staff.ID + "_o")}, "group:" + staff.ID + "_o"},
		"everyone.md":            {[]Permission{ToUser(ada), ToClaim(everybody)}, "everyone"},
		"everyone but guests.md": {[]Permission{ToClaim(noGuests)}, "everyone"},
		"limited access.md":      {[]Permission{ToUser(ada, "sp.limited access"), ToUser(bo, "none")}, ""},
		"custom role.md":         {[]Permission{ToUser(ada, "sp.full control")}, "user:ada.lovelace@acme.example"},
		"link for people.md":     {[]Permission{ToLink("users", ada)}, "user:ada.lovelace@acme.example"},
		"link for all.md":        {[]Permission{ToLink("anonymous"), ToUser(bo)}, "user:bo@acme.example"},
		"link inside.md":         {[]Permission{ToLink("organization")}, ""},
		"link with word.md":      {[]Permission{with(ToLink("anonymous"), map[string]any{"hasPassword": true})}, ""},
		"expired.md":             {[]Permission{with(ToLink("users", ada), map[string]any{"expirationDateTime": "2020-01-01T00:00:00Z"})}, ""},
		"not expired.md":         {[]Permission{with(ToLink("users", ada), map[string]any{"expirationDateTime": "2999-01-01T00:00:00Z"})}, "user:ada.lovelace@acme.example"},
		"drop box.md":            {[]Permission{with(ToLink("users", ada), map[string]any{"link": map[string]any{"scope": "users", "type": "createOnly"}})}, ""},
		"old form.md":            {[]Permission{{"id": "y", "roles": []any{"read"}, "grantedTo": map[string]any{"user": map[string]any{"id": ada.ID, "email": ada.Mail}}}}, "user:ada.lovelace@acme.example"},
		"nobody.md":              {[]Permission{}, ""},
		"unknown form.md":        {[]Permission{{"id": "z", "roles": []any{"read"}}}, ""},
	}
	for name, c := range table {
		o.Server.Put(o.drive, name, []byte(name))
		if c.permissions != nil {
			o.Share(o.drive, name, c.permissions...)
		}
	}
	s := o.settings(map[string]any{"include_permissions": true})
	source := open(t, s)
	for name, got := range readersOf(t, source) {
		if want := table[name].want; got != want {
			t.Errorf("%s: the readers are %q, want %q", name, got, want)
		}
	}
	groups, warnings := members(t, source)
	want := []string{"user:ada.lovelace@acme.example", "user:bo@acme.example", "user:guest@partner.example"}
	if got := groups["group:"+staff.ID]; !slices.Equal(got, want) || len(warnings) != 0 {
		t.Errorf("the group has %q, want %q; warnings %q", got, want, warnings)
	}
	if got, listed := groups["group:"+staff.ID+"_o"]; !listed || len(got) != 0 {
		t.Errorf("the owners are %q, listed %v", got, listed)
	}
	public := readersOf(t, open(t, o.settings(map[string]any{"include_permissions": true, "treatLinkAsPublic": true})))
	for name, want := range map[string]string{
		"link for all.md": "everyone", "link inside.md": "everyone", "link with word.md": "", "link for people.md": "user:ada.lovelace@acme.example",
	} {
		if public[name] != want {
			t.Errorf("with public links, %s has %q, want %q", name, public[name], want)
		}
	}
}

// Groups of two sites are different, though both have the name and number.
func TestGroupsOfSites(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	ada := o.AddUser(User{DisplayName: "Ada", Mail: "ada@acme.example"})
	nested := o.AddGroup("nested", ada.ID)
	sales, drive := o.AddSite("sites/sales", "Sales")
	o.SetSiteGroup(o.site, 5, SiteMember{LoginName: "i:0#.f|membership|ada@acme.example", Email: "ada@acme.example", Type: 1}, SiteMember{LoginName: "c:0t.c|tenant|" + nested.ID, Type: 4})
	o.SetSiteGroup(sales, 5, SiteMember{LoginName: "i:0#.f|membership|bo@acme.example", Type: 1})
	o.SetSiteGroup(sales, 6, SiteMember{LoginName: "c:0(.s|true", Type: 4})
	o.ShareDrive(o.drive, ToSiteGroup(5, "Members"))
	o.ShareDrive(drive, ToSiteGroup(5, "Members"))
	o.Server.Put(o.drive, "a.md", []byte("a"))
	o.Server.Put(drive, "b.md", []byte("b"))
	o.Server.Put(drive, "open.md", []byte("c"))
	o.Share(drive, "open.md", ToSiteGroup(6, "Visitors"))
	config := map[string]any{"sites": nil, "include_permissions": true}
	source := open(t, o.withCertificate(t, o.settings(config)))
	eng, sold := "group:"+o.URL+"/sites/eng#5", "group:"+o.URL+"/sites/sales#5"
	got := readersOf(t, source)
	if got["a.md"] != eng || got["sites/sales/Documents/b.md"] != sold || got["sites/sales/Documents/open.md"] != "everyone" {
		t.Errorf("the readers are %q", got)
	}
	groups, warnings := members(t, source)
	if len(warnings) != 0 || !slices.Equal(groups[eng], []string{"group:" + nested.ID, "user:ada@acme.example"}) || !slices.Equal(groups[sold], []string{"user:bo@acme.example"}) {
		t.Errorf("the groups are %q, warnings %q", groups, warnings)
	}
	// The group in the group is listed with the next reading.
	if groups, _ = members(t, source); !slices.Equal(groups["group:"+nested.ID], []string{"user:ada@acme.example"}) {
		t.Errorf("the nested group is %q", groups["group:"+nested.ID])
	}
	// With a secret, their members are unknown, and nobody reads by them.
	o.state.Clear()
	source = open(t, o.settings(config))
	if got := readersOf(t, source); got["a.md"] != eng || got["sites/sales/Documents/open.md"] == "everyone" {
		t.Errorf("with a secret, the readers are %q", got)
	}
	groups, warnings = members(t, source)
	if len(groups[eng]) != 0 || len(warnings) == 0 || !strings.Contains(warnings[0], "certificate") {
		t.Errorf("with a secret, the groups are %q, warnings %q", groups, warnings)
	}
	// At a host that is not SharePoint's, no token is sent.
	o.Requests()
	o.state.Clear()
	readersOf(t, open(t, o.withCertificate(t, o.settings(map[string]any{"sites": nil, "include_permissions": true, "domainSuffix": "sharepoint.com"}))))
	for _, request := range o.Requests() {
		if strings.Contains(request, "_api") {
			t.Errorf("another host was asked: %s", request)
		}
	}
}

func TestReadersOfPagesAndLists(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	ada := o.AddUser(User{DisplayName: "Ada", Mail: "ada@acme.example"})
	for _, name := range []string{"Home.aspx", "Secret plans.aspx"} {
		o.PutPage(o.site, Page{Name: name, Title: name, Text: "x"})
	}
	o.SharePage(o.site, "Secret plans.aspx", ToUser(ada))
	o.PutEntry(o.AddList(o.site, "Risks", "genericList"), "", map[string]any{"Title": "Fire"})
	got := readersOf(t, open(t, o.settings(map[string]any{"include_permissions": true, "includeLists": true})))
	want := map[string]string{"sites/eng/Site Pages/Home.aspx": "", "sites/eng/Site Pages/Secret plans.aspx": "user:ada@acme.example", "sites/eng/Lists/Risks/Fire (1).md": ""}
	for path, readers := range want {
		if r, walked := got[path]; !walked || r != readers {
			t.Errorf("%s has the readers %q, want %q", path, r, readers)
		}
	}
}

// Each answer of a batch has its own status. Those that were given are kept for the
// next call.
func TestAnswersOfABatchAreJudgedOneByOne(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		o.Server.Put(o.drive, name, []byte(name))
	}
	source := open(t, o.settings(map[string]any{"include_permissions": true}))
	l := walk(t, source)
	var items []connectors.Item
	for _, item := range l.items {
		items = append(items, item)
	}
	slow := l.items[library+"b.md"].ID
	slow = slow[strings.LastIndexByte(slow, '/')+1:]
	asked := 0
	refuse := func(status int, header http.Header) {
		o.Fail(func(r *http.Request) *Fault {
			if !strings.HasSuffix(r.URL.Path, "/permissions") {
				return nil
			}
			asked++
			if !strings.Contains(r.URL.Path, slow) {
				return nil
			}
			return &Fault{Status: status, Header: header, Body: `{"error":{"code":"x","message":"y"}}`}
		})
	}
	lister := source.(connectors.PermissionLister)
	refuse(http.StatusTooManyRequests, http.Header{"Retry-After": {"11"}})
	_, err := lister.Readers(t.Context(), items)
	if after, ok := connectors.RetryAfterOf(err); !ok || after != 11*time.Second {
		t.Errorf("throttled: %v after %s", err, after)
	}
	asked = 0
	refuse(http.StatusServiceUnavailable, nil)
	if _, err = lister.Readers(t.Context(), items); err == nil || asked != 1 {
		t.Errorf("%d answers were requested again: %v", asked, err)
	}
	for status, readers := range map[int]int{http.StatusForbidden: 2, http.StatusNotFound: 2, http.StatusLocked: 2} {
		refuse(status, nil)
		got, err := lister.Readers(t.Context(), items)
		if err != nil || len(got) != readers {
			t.Errorf("%d: %d items have readers: %v", status, len(got), err)
		}
	}
	refuse(http.StatusUnauthorized, nil)
	if _, err := lister.Readers(t.Context(), items); !connectors.IsNeedsAuth(err) {
		t.Errorf("unauthorized: %v", err)
	}
	o.Fail(nil)
	if got, err := lister.Readers(t.Context(), items); err != nil || len(got) != 3 {
		t.Errorf("in the end: %+v, %v", got, err)
	}
}

func TestMissingRightsAreNamed(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t, "Sites.Read.All")
	staff := o.AddGroup("staff")
	o.ShareDrive(o.drive, ToGroup(staff))
	o.Server.Put(o.drive, "a.md", []byte("a"))
	source := open(t, o.settings(map[string]any{"include_permissions": true}))
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "GroupMember.Read.All") || !strings.Contains(err.Error(), "files can be read") {
		t.Errorf("Check: %v", err)
	}
	tiers, err := open(t, o.settings(map[string]any{"include_permissions": true, "webhook_subscription": true})).(connectors.TierChecker).CheckTiers(t.Context())
	if err != nil || len(tiers) != 3 || tiers[0].Err != nil || !connectors.IsNeedsAuth(tiers[1].Err) || tiers[2].Err != nil {
		t.Errorf("the tiers are %+v: %v", tiers, err)
	}
	readersOf(t, source)
	groups, warnings := members(t, source)
	if len(groups["group:"+staff.ID]) != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "GroupMember.Read.All") {
		t.Errorf("the groups are %q, warnings %q", groups, warnings)
	}
	o.Fail(func(r *http.Request) *Fault {
		if strings.HasSuffix(r.URL.Path, "/permissions") || strings.HasSuffix(r.URL.Path, "/subscriptions") {
			return &Fault{Status: http.StatusForbidden, Body: `{"error":{"code":"accessDenied","message":"Access denied"}}`}
		}
		return nil
	})
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "Sites.FullControl.All") {
		t.Errorf("Check without permissions: %v", err)
	}
	err = open(t, o.settings(map[string]any{"webhook_subscription": true})).Check(t.Context())
	if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "webhooks cannot") {
		t.Errorf("Check without webhooks: %v", err)
	}
	o.Fail(func(r *http.Request) *Fault {
		if strings.HasSuffix(r.URL.Path, "/delta") {
			return &Fault{Status: http.StatusForbidden, Body: `{"error":{"code":"accessDenied","message":"Access denied"}}`}
		}
		return nil
	})
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "Sites.Read.All") {
		t.Errorf("Check without files: %v", err)
	}
}
