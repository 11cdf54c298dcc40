package scim_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/viewer"
)

func filtered(path, filter string) string {
	return path + "?filter=" + url.QueryEscape(filter)
}

const patchOp = `"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"]`

// The requests of Okta's documentation of SCIM 2.0, in the order of their flows.
func TestOktaProvisionsPeopleAndGroups(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const name = "test.user@okta.example"
	if a := h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "`+name+`"`)+"&startIndex=1&count=100", ""); a.body["totalResults"] != 0.0 || len(a.resources()) != 0 {
		t.Errorf("before: %s", a.text)
	}
	made := h.want(t, 201, http.MethodPost, "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"`+name+`",
		"name":{"givenName":"Test","familyName":"User"},"emails":[{"primary":true,"value":"`+name+`","type":"work"}],"displayName":"Test User",
		"locale":"en-US","externalId":"00ujl29u0le5T6Aj10h7","groups":[],"password":"1mz050nq","active":true}`)
	id := made.id()
	if made.body["userName"] != name || made.body["active"] != true || made.field("name.familyName") != "User" || made.field("emails.0.value") != name ||
		made.body["externalId"] != "00ujl29u0le5T6Aj10h7" || made.field("roles.0.value") != "viewer" || made.field("meta.resourceType") != "User" ||
		made.header.Get("Location") != "https://magpie.example.com/scim/v2/Users/"+id || strings.Contains(made.text, "1mz050nq") {
		t.Errorf("made %s", made.text)
	}
	for _, filter := range []string{`userName eq "` + strings.ToUpper(name) + `"`, `externalId eq "00ujl29u0le5T6Aj10h7"`, `emails.value eq "` + name + `"`,
		`emails[type eq "work" and value eq "` + name + `"]`, `id eq "` + id + `"`, `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "` + name + `"`} {
		if a := h.want(t, 200, http.MethodGet, filtered("/Users", filter), ""); a.body["totalResults"] != 1.0 || a.field("Resources.0.id") != id {
			t.Errorf("%s: %s", filter, a.text)
		}
	}
	if a := h.want(t, 200, http.MethodGet, "/Users/"+id, ""); a.body["displayName"] != "Test User" {
		t.Errorf("read %s", a.text)
	}
	a := h.want(t, 200, http.MethodPut, "/Users/"+id, `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"id":"`+id+`","userName":"`+name+`",
		"name":{"givenName":"Another","middleName":"Excited","familyName":"User"},"displayName":"Another User","emails":[{"primary":true,"value":"`+name+`","type":"work","display":"x"}],
		"externalId":"00ujl29u0le5T6Aj10h7","active":true,"groups":[],"meta":{"resourceType":"User"}}`)
	if a.field("name.givenName") != "Another" || a.body["displayName"] != "Another User" {
		t.Errorf("replaced %s", a.text)
	}
	a = h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"replace","value":{"active":false}}]}`)
	if a.body["active"] != false {
		t.Errorf("deactivated %s", a.text)
	}
	if a := h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "`+name+`"`), ""); a.field("Resources.0.active") != false {
		t.Errorf("a suspended person: %s", a.text)
	}
	a = h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"replace","value":{"active":true}}]}`)
	if a.body["active"] != true {
		t.Errorf("activated %s", a.text)
	}

	other := h.user(t, "other@okta.example")
	group := h.want(t, 201, http.MethodPost, "/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"Test SCIMv2","members":[]}`).id()
	a = h.want(t, 200, http.MethodPatch, "/Groups/"+group, `{`+patchOp+`,"Operations":[{"op":"replace","value":{"id":"`+group+`","displayName":"Renamed"}}]}`)
	if a.body["displayName"] != "Renamed" {
		t.Errorf("renamed %s", a.text)
	}
	h.want(t, 200, http.MethodPatch, "/Groups/"+group, `{`+patchOp+`,"Operations":[{"op":"add","path":"members","value":[{"value":"`+id+`","display":"`+name+`"}]}]}`)
	a = h.want(t, 200, http.MethodPatch, "/Groups/"+group, `{`+patchOp+`,"Operations":[{"op":"remove","path":"members[value eq \"`+id+`\"]"},
		{"op":"add","path":"members","value":[{"value":"`+other+`","display":"other"}]}]}`)
	if a.field("members.0.value") != other || a.field("members.1") != nil {
		t.Errorf("members %s", a.text)
	}
	if a := h.want(t, 200, http.MethodGet, "/Users/"+other, ""); a.field("groups.0.value") != group || a.field("groups.0.display") != "Renamed" {
		t.Errorf("the groups of a person: %s", a.text)
	}
	a = h.want(t, 200, http.MethodPut, "/Groups/"+group, `{"displayName":"Whole","members":[{"value":"`+id+`"},{"value":"`+other+`"},{"value":"`+id+`"}]}`)
	if members, _ := a.body["members"].([]any); len(members) != 2 {
		t.Errorf("replaced %s", a.text)
	}
	h.want(t, 204, http.MethodDelete, "/Groups/"+group, "")
	h.want(t, 404, http.MethodGet, "/Groups/"+group, "")
	h.want(t, 204, http.MethodDelete, "/Users/"+id, "")
	h.want(t, 404, http.MethodGet, "/Users/"+id, "")
	h.want(t, 404, http.MethodDelete, "/Users/"+id, "")

	want := []string{"member.add", "member.access", "member.access", "member.add", "directory_group.create", "directory_group.update",
		"directory_group.members", "directory_group.members", "directory_group.update", "directory_group.members", "directory_group.delete", "member.remove", "person.delete"}
	got := slices.DeleteFunc(h.actions(t), func(a string) bool { return a == "person.update" })
	if !slices.Equal(got, want) {
		t.Errorf("the audit log has\n%q, want\n%q", got, want)
	}
}

// The requests of Microsoft's documentation of Entra ID, with texts for truth values and
// operations in capitals.
func TestEntraIDProvisionsPeopleAndGroups(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const external, address = "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef", "test_user@entra.example"
	made := h.want(t, 201, http.MethodPost, "/Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
		"externalId":"`+external+`","userName":"Test_User_ab6490ee","active":true,"emails":[{"primary":true,"type":"work","value":"`+address+`"}],
		"meta":{"resourceType":"User"},"name":{"formatted":"givenName familyName","familyName":"familyName","givenName":"givenName"},"roles":[],
		"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":"Research"}}`)
	id := made.id()
	if made.body["userName"] != "Test_User_ab6490ee" || made.field("emails.0.value") != address || made.body["displayName"] != "givenName familyName" {
		t.Errorf("made %s", made.text)
	}
	if a := h.want(t, 409, http.MethodPost, "/Users", `{"userName":"test_user_AB6490EE","emails":[{"value":"x@entra.example"}]}`); a.body["scimType"] != "uniqueness" {
		t.Errorf("the same userName: %s", a.text)
	}
	if a := h.want(t, 409, http.MethodPost, "/Users", `{"userName":"another","emails":[{"value":"`+strings.ToUpper(address)+`"}]}`); a.body["scimType"] != "uniqueness" {
		t.Errorf("the same address: %s", a.text)
	}
	a := h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"Replace","path":"emails[type eq \"work\"].value","value":"updated@entra.example"},
		{"op":"Replace","path":"name.familyName","value":"updatedFamilyName"},{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department","value":"Sales"}]}`)
	if a.field("name.familyName") != "updatedFamilyName" || a.field("emails.0.value") != address {
		t.Errorf("changed %s", a.text)
	}
	a = h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"Add","value":{"name.givenName":"Ada","displayName":"Ada L.",
		"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department":"Sales"}}]}`)
	if a.field("name.givenName") != "Ada" || a.body["displayName"] != "Ada L." {
		t.Errorf("an operation without a path: %s", a.text)
	}
	a = h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"Replace","path":"userName","value":"5b50642d@entra.example"}]}`)
	if a.body["userName"] != "5b50642d@entra.example" || a.field("emails.0.value") != address {
		t.Errorf("renamed %s", a.text)
	}
	h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "5b50642d@entra.example"`), "")
	for _, value := range []string{`"False"`, `"True"`, `false`, `true`, `[{"value":"False"}]`} {
		a := h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"Replace","path":"active","value":`+value+`}]}`)
		if a.body["active"] != strings.Contains(strings.ToLower(value), "true") {
			t.Errorf("active %s: %s", value, a.text)
		}
	}

	group := h.want(t, 201, http.MethodPost, "/Groups", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group","http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
		"externalId":"8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159","displayName":"displayName","meta":{"resourceType":"Group"}}`).id()
	h.want(t, 409, http.MethodPost, "/Groups", `{"displayName":"DISPLAYNAME"}`)
	a = h.want(t, 200, http.MethodPatch, "/Groups/"+group, `{`+patchOp+`,"Operations":[{"op":"Add","path":"members","value":[{"$ref":null,"value":"`+id+`"}]}]}`)
	if a.field("members.0.value") != id {
		t.Errorf("added %s", a.text)
	}
	for _, path := range []string{"/Groups/" + group + "?excludedAttributes=members", filtered("/Groups", `displayName eq "displayName"`) + "&excludedAttributes=members",
		"/Groups/" + group + "?attributes=displayName"} {
		if a := h.want(t, 200, http.MethodGet, path, ""); strings.Contains(a.text, "members") {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	for filter, n := range map[string]float64{`id eq "` + group + `" and members eq "` + id + `"`: 1, `externalId eq "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159"`: 1,
		`members.value eq "` + group + `"`: 0, `displayName eq "other"`: 0, `id eq "guess"`: 0, `displayName eq ""`: 0} {
		if a := h.want(t, 200, http.MethodGet, filtered("/Groups", filter), ""); a.body["totalResults"] != n {
			t.Errorf("%s: %s", filter, a.text)
		}
	}
	a = h.want(t, 200, http.MethodPatch, "/Groups/"+group, `{`+patchOp+`,"Operations":[{"op":"Remove","path":"members","value":[{"$ref":null,"value":"`+id+`"}]}]}`)
	if a.body["members"] != nil {
		t.Errorf("removed %s", a.text)
	}
	// Requests may come twice.
	for range 2 {
		h.want(t, 200, http.MethodPatch, "/Groups/"+group, `{`+patchOp+`,"Operations":[{"op":"Add","path":"members","value":[{"value":"`+id+`"}]}]}`)
		h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"Replace","path":"active","value":"False"}]}`)
	}
	h.want(t, 204, http.MethodDelete, "/Users/"+id, "")
	if a := h.want(t, 200, http.MethodGet, "/Groups/"+group, ""); a.body["members"] != nil {
		t.Errorf("a person who is gone is in %s", a.text)
	}
	h.want(t, 204, http.MethodDelete, "/Groups/"+group, "")
}

func TestPeopleAreListedInPages(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		h.user(t, name+"@example.com")
	}
	var seen []string
	for start := 1; start <= 5; start += 2 {
		a := h.want(t, 200, http.MethodGet, "/Users?count=2&startIndex="+string(rune('0'+start)), "")
		if a.body["totalResults"] != 5.0 || a.body["startIndex"] != float64(start) || a.body["itemsPerPage"] != float64(len(a.resources())) {
			t.Errorf("the page at %d is %s", start, a.text)
		}
		for _, r := range a.resources() {
			seen = append(seen, r.(map[string]any)["userName"].(string))
		}
	}
	// Who was not made by the directory is listed, too.
	if want := []string{"owner@example.com", "a@example.com", "b@example.com", "c@example.com", "d@example.com"}; !slices.Equal(seen, want) {
		t.Errorf("the pages have %q, want %q", seen, want)
	}
	for path, n := range map[string]int{"/Users?count=0": 0, "/Users?count=-3": 0, "/Users?startIndex=-1&count=1": 1, "/Users?startIndex=900": 0, "/Users?count=100000": 5} {
		if a := h.want(t, 200, http.MethodGet, path, ""); len(a.resources()) != n || a.body["totalResults"] != 5.0 {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	h.want(t, 400, http.MethodGet, "/Users?count=x", "")
	if a := h.want(t, 200, http.MethodGet, "/Users?attributes=userName&count=1", ""); strings.Contains(a.text, `"groups"`) {
		t.Errorf("groups that nobody asked for: %s", a.text)
	}
}

func TestResourcesHaveTheAttributesThatAreWanted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id := h.user(t, "ada@example.com")
	group := h.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"Team","members":[{"value":"`+id+`"}]}`).id()
	for path, want := range map[string]string{
		"/Users/" + id + "?attributes=userName":                                                  "id schemas userName",
		"/Users/" + id + "?attributes=USERNAME,%20emails.value":                                  "emails id schemas userName",
		"/Users/" + id + "?attributes=urn:ietf:params:scim:schemas:core:2.0:User:active":         "active id schemas",
		"/Users/" + id + "?attributes=nothing":                                                   "id schemas",
		"/Users/" + id + "?excludedAttributes=id,schemas,meta,roles,Groups,emails.value":         "active emails id schemas userName",
		"/Users/" + id + "?excludedAttributes=urn:ietf:params:scim:schemas:core:2.0:User:emails": "active groups id meta roles schemas userName",
		"/Groups/" + group + "?attributes=displayName":                                           "displayName id schemas",
		"/Groups/" + group + "?excludedAttributes=displayName":                                   "id members meta schemas",
		filtered("/Users", `userName eq "ada@example.com"`) + "&attributes=active":               "active id schemas",
		filtered("/Groups", `displayName eq "Team"`) + "&excludedAttributes=meta,members":        "displayName id schemas",
	} {
		a := h.want(t, 200, http.MethodGet, path, "")
		body := a.body
		if list := a.resources(); len(list) == 1 {
			body = list[0].(map[string]any)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(body)), " "); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	a := h.want(t, 200, http.MethodPatch, "/Users/"+id+"?attributes=active", `{`+patchOp+`,"Operations":[{"op":"Replace","path":"active","value":false}]}`)
	if a.body["active"] != false || len(a.body) != 3 {
		t.Errorf("after a change: %s", a.text)
	}
}

func TestRolesFollowGroups(t *testing.T) {
	t.Parallel()
	h := newFixture(t, people.DirectoryOptions{GroupRoles: []people.GroupRole{{Group: "Admins", Role: "ADMIN"}, {Group: "Authors", Role: "EDITOR"}}})
	id := h.user(t, "ada@example.com")
	role := func() any {
		t.Helper()
		return h.want(t, 200, http.MethodGet, "/Users/"+id, "").field("roles.0.value")
	}
	group := func(name string) string {
		t.Helper()
		return h.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"`+name+`","members":[{"value":"`+id+`"}]}`).id()
	}
	authors := group("authors")
	if role() != "editor" {
		t.Errorf("in one group: %v", role())
	}
	admins := group("Admins")
	if role() != "admin" {
		t.Errorf("in both groups: %v", role())
	}
	h.want(t, 200, http.MethodPatch, "/Groups/"+admins, `{`+patchOp+`,"Operations":[{"op":"replace","path":"displayName","value":"Others"}]}`)
	if role() != "editor" {
		t.Errorf("after a group was renamed: %v", role())
	}
	h.want(t, 204, http.MethodDelete, "/Groups/"+authors, "")
	if role() != "viewer" {
		t.Errorf("after a group was deleted: %v", role())
	}
	// Owners, and people whom the directory does not manage, keep their roles.
	owner := h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "owner@example.com"`), "").field("Resources.0.id").(string)
	_, err := h.accounts.AddMember(t.Context(), h.workspace, "guest@example.com", "Guest", passphrase, "VIEWER")
	must(t, err)
	guest := h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "guest@example.com"`), "").field("Resources.0.id").(string)
	h.want(t, 200, http.MethodPatch, "/Users/"+owner, `{`+patchOp+`,"Operations":[{"op":"replace","path":"externalId","value":"o-1"}]}`)
	h.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"Authors","members":[{"value":"`+owner+`"},{"value":"`+guest+`"}]}`)
	for who, want := range map[string]viewer.Role{owner: viewer.RoleOwner, guest: viewer.RoleViewer} {
		if a := h.want(t, 200, http.MethodGet, "/Users/"+who, ""); a.field("roles.0.value") != string(want) {
			t.Errorf("%s has the role %v", a.body["userName"], a.field("roles.0.value"))
		}
	}
	// A role of the groups does not overrule without a mapping.
	plain := newFixture(t)
	ada := plain.user(t, "ada@example.com")
	plain.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"Admins","members":[{"value":"`+ada+`"}]}`)
	if a := plain.want(t, 200, http.MethodGet, "/Users/"+ada, ""); a.field("roles.0.value") != "viewer" {
		t.Errorf("without a mapping: %s", a.text)
	}
}

func TestTheInterfaceDescribesItself(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if a := h.want(t, 200, http.MethodGet, "/ServiceProviderConfig", ""); a.field("patch.supported") != true || a.field("bulk.supported") != false || a.field("filter.maxResults") != 200.0 {
		t.Errorf("the configuration is %s", a.text)
	}
	if a := h.want(t, 200, http.MethodGet, "/ResourceTypes", ""); a.body["totalResults"] != 2.0 {
		t.Errorf("the types are %s", a.text)
	}
	h.want(t, 200, http.MethodGet, "/ResourceTypes/User", "")
	if a := h.want(t, 200, http.MethodGet, "/Schemas/urn:ietf:params:scim:schemas:core:2.0:Group", ""); a.body["name"] != "Group" {
		t.Errorf("the schema is %s", a.text)
	}
	if a := h.want(t, 200, http.MethodGet, "/Schemas", ""); a.body["totalResults"] != 2.0 {
		t.Errorf("the schemas are %s", a.text)
	}
	for _, path := range []string{"/Schemas/x", "/ResourceTypes/x", "/ServiceProviderConfig/x", "/Bulk", "/Me", "", "/Users/x", "/Users/00000000-0000-0000-0000-000000000000/x"} {
		h.want(t, 404, http.MethodGet, path, "")
	}
	for path, method := range map[string]string{"/Users": http.MethodDelete, "/Groups": http.MethodPut, "/Schemas": http.MethodPost, "/Users/00000000-0000-0000-0000-000000000000": http.MethodPost} {
		if a := h.want(t, 405, method, path, ""); a.header.Get("Allow") == "" {
			t.Errorf("%s says not what it allows", path)
		}
	}
}
