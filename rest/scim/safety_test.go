package scim_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestOnlyAServiceTokenOfADirectoryIsAccepted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	tokens, err := h.accounts.SignIn(t.Context(), "owner@example.com", passphrase)
	must(t, err)
	personal, err := h.accounts.CreatePersonalToken(as(t, h.workspace, h.owner, viewer.RoleOwner), authn.TokenDraft{Name: "mine"})
	must(t, err)
	for what, c := range map[string]struct {
		header string
		status int
	}{
		"nothing":                    {"", 401},
		"a session":                  {"Bearer " + tokens.Access, 401},
		"a personal token":           {"Bearer " + personal.Secret, 403},
		"a token of other groups":    {"Bearer " + h.service(t, h.workspace, h.owner, viewer.RoleAdmin, "PEOPLE", "SETTINGS"), 403},
		"a token of a lower role":    {"Bearer " + h.service(t, h.workspace, h.owner, viewer.RoleEditor, people.GroupDirectory), 403},
		"a forged token":             {"Bearer mgp_svc_" + strings.Repeat("A", 36), 401},
		"an API key":                 {"Bearer svc_sk_0123456789", 401},
		"basic authentication":       {"Basic " + h.token, 401},
		"the right token, in quotes": {`Bearer "` + h.token + `"`, 401},
	} {
		a := h.ask(t, http.MethodGet, "/Users", "", "Authorization", c.header, "Cookie", "magpie_session="+tokens.Refresh)
		if a.status != c.status || strings.Contains(a.text, "owner@") {
			t.Errorf("%s: %d %s", what, a.status, a.text)
		}
	}
	v, err := h.accounts.Authenticate(t.Context(), h.token)
	must(t, err)
	for _, group := range []viewer.Group{"PEOPLE", "KEYS", "DOCUMENTS", "SETTINGS"} {
		if v.MayUse(group) {
			t.Errorf("the token of the directory may use %s", group)
		}
	}
}

// Suspension ends the access at once, and only in this workspace.
func TestASuspendedPersonHasNoAccess(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	person, err := h.accounts.AddMember(t.Context(), h.workspace, "ada@example.com", "Ada", passphrase, membership.RoleEditor)
	must(t, err)
	elsewhere, _ := h.house(t, "other@example.org")
	_, err = h.accounts.Join(t.Context(), elsewhere, person.ID, membership.RoleViewer)
	must(t, err)
	here, err := h.accounts.OpenSession(t.Context(), person.ID, h.workspace)
	must(t, err)
	there, err := h.accounts.OpenSession(t.Context(), person.ID, elsewhere)
	must(t, err)
	here2, err := h.accounts.OpenSession(t.Context(), person.ID, h.workspace)
	must(t, err)
	mine, err := h.accounts.CreatePersonalToken(as(t, h.workspace, person.ID, viewer.RoleEditor), authn.TokenDraft{Name: "mine"})
	must(t, err)
	for _, token := range []string{here.Access, there.Access, here2.Access, mine.Secret} {
		_, err := h.accounts.Authenticate(t.Context(), token)
		must(t, err)
	}
	id := h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "ada@example.com"`), "").field("Resources.0.id").(string)
	set := func(active string) {
		t.Helper()
		h.want(t, 200, http.MethodPatch, "/Users/"+id, `{`+patchOp+`,"Operations":[{"op":"replace","path":"active","value":`+active+`}]}`)
	}
	set("false")
	for what, token := range map[string]string{"the session": here.Access, "another session": here2.Access, "the personal token": mine.Secret} {
		if _, err := h.accounts.Authenticate(t.Context(), token); err == nil {
			t.Errorf("%s still works", what)
		}
	}
	for what, token := range map[string]string{"a session": here.Refresh, "another session": here2.Refresh} {
		if _, err := h.accounts.Refresh(t.Context(), token); err == nil {
			t.Errorf("%s can be refreshed", what)
		}
	}
	if _, err := h.accounts.Authenticate(t.Context(), there.Access); err != nil {
		t.Errorf("the session of the other workspace: %v", err)
	}
	if _, err := h.accounts.OpenSession(t.Context(), person.ID, h.workspace); err == nil {
		t.Error("a session is opened in the workspace")
	}
	if _, err := h.accounts.Member(t.Context(), h.workspace, person.ID); err == nil {
		t.Error("work goes on in the name of the person")
	}
	roles, err := h.accounts.Roles(t.Context(), []uuid.UUID{mine.Row.ID})
	if err != nil || len(roles) != 0 {
		t.Errorf("open streams have %v, %v", roles, err)
	}
	tokens, err := h.people.SignIn(t.Context(), "ada@example.com", passphrase)
	must(t, err)
	if v, err := h.accounts.Authenticate(t.Context(), tokens.Access); err != nil || v.Workspace != elsewhere {
		t.Errorf("signed in to %v, %v; want the other workspace", v.Workspace, err)
	}
	set(`"True"`)
	if _, err := h.accounts.OpenSession(t.Context(), person.ID, h.workspace); err != nil {
		t.Errorf("after the suspension: %v", err)
	}
	for what, token := range map[string]string{"the session": here.Access, "the personal token": mine.Secret} {
		if _, err := h.accounts.Authenticate(t.Context(), token); err == nil {
			t.Errorf("%s from before the suspension works", what)
		}
	}
	set("false")
	if _, err := h.db.Ent.Membership.Delete().Where(membership.WorkspaceID(elsewhere), membership.UserID(person.ID)).Exec(system(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := h.people.SignIn(t.Context(), "ada@example.com", passphrase); err == nil {
		t.Error("a person without an active membership signs in")
	}
	if _, err := h.people.SignInVerified(t.Context(), "ada@example.com", "Ada"); err == nil {
		t.Error("a person without an active membership signs in by a provider")
	}
}

func TestTheLastOwnerStays(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner := h.want(t, 200, http.MethodGet, filtered("/Users", `userName eq "owner@example.com"`), "").field("Resources.0.id").(string)
	deactivate := `{` + patchOp + `,"Operations":[{"op":"replace","path":"active","value":"False"}]}`
	a := h.want(t, 409, http.MethodPatch, "/Users/"+owner, deactivate)
	if !strings.Contains(a.body["detail"].(string), "owner") || a.body["scimType"] != nil {
		t.Errorf("the detail is %s", a.text)
	}
	h.want(t, 409, http.MethodDelete, "/Users/"+owner, "")
	h.want(t, 409, http.MethodPut, "/Users/"+owner, `{"userName":"owner@example.com","active":false}`)
	second, err := h.accounts.AddMember(t.Context(), h.workspace, "second@example.com", "Second", passphrase, membership.RoleOwner)
	must(t, err)
	h.want(t, 200, http.MethodPatch, "/Users/"+owner, deactivate)
	row, err := h.db.Ent.Membership.Query().Where(membership.UserID(second.ID)).Only(system(t.Context()))
	must(t, err)
	// The suspended owner does not count.
	h.want(t, 409, http.MethodPatch, "/Users/"+row.ID.String(), deactivate)
	h.want(t, 409, http.MethodDelete, "/Users/"+row.ID.String(), "")
	h.want(t, 204, http.MethodDelete, "/Users/"+owner, "")
}

func TestOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	theirs, theirOwner := h.house(t, "eve@example.org")
	user, group := h.user(t, "ada@example.com"), h.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"Staff"}`).id()
	ours := h.token
	h.token = h.service(t, theirs, theirOwner, viewer.RoleAdmin, people.GroupDirectory)
	replace := `{` + patchOp + `,"Operations":[{"op":"replace","path":"active","value":false}]}`
	for _, c := range []struct{ method, path, body string }{
		{http.MethodGet, "/Users/" + user, ""}, {http.MethodPut, "/Users/" + user, `{"userName":"x@example.com"}`}, {http.MethodPatch, "/Users/" + user, replace},
		{http.MethodDelete, "/Users/" + user, ""}, {http.MethodGet, "/Groups/" + group, ""}, {http.MethodPut, "/Groups/" + group, `{"displayName":"Mine"}`},
		{http.MethodPatch, "/Groups/" + group, replace}, {http.MethodDelete, "/Groups/" + group, ""},
	} {
		h.want(t, 404, c.method, c.path, c.body)
	}
	for _, filter := range []string{`id eq "` + user + `"`, `userName eq "ada@example.com"`, `emails.value eq "ada@example.com"`} {
		if a := h.want(t, 200, http.MethodGet, filtered("/Users", filter), ""); a.body["totalResults"] != 0.0 {
			t.Errorf("%s: %s", filter, a.text)
		}
	}
	for _, filter := range []string{`id eq "` + group + `"`, `displayName eq "Staff"`, `members.value eq "` + user + `"`} {
		if a := h.want(t, 200, http.MethodGet, filtered("/Groups", filter), ""); a.body["totalResults"] != 0.0 {
			t.Errorf("%s: %s", filter, a.text)
		}
	}
	// A member of another workspace is no member of a group, and the same names are free.
	if a := h.want(t, 400, http.MethodPost, "/Groups", `{"displayName":"Staff","members":[{"value":"`+user+`"}]}`); a.body["scimType"] != "invalidValue" {
		t.Errorf("a stranger in a group: %s", a.text)
	}
	h.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"Staff"}`)
	h.token = ours
	if a := h.want(t, 200, http.MethodGet, "/Users/"+user, ""); a.body["active"] != true {
		t.Errorf("changed from another workspace: %s", a.text)
	}
}

func TestAccountsAreNotTakenOver(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	elsewhere, _ := h.house(t, "other@example.org")
	person, err := h.accounts.AddMember(t.Context(), elsewhere, "ada@example.com", "Ada", passphrase, membership.RoleEditor)
	must(t, err)
	// Anybody may have entered the address, and knows the password.
	a := h.want(t, 409, http.MethodPost, "/Users", `{"userName":"ada@example.com"}`)
	if a.body["scimType"] != nil || !strings.Contains(a.body["detail"].(string), "verified") {
		t.Errorf("an account that nobody vouched for: %s", a.text)
	}
	must(t, h.db.Ent.User.UpdateOneID(person.ID).SetEmailVerified(true).Exec(system(t.Context())))
	a = h.want(t, 201, http.MethodPost, "/Users", `{"userName":"ada@example.com","displayName":"Another Name"}`)
	row, err := h.db.Ent.User.Query().Where(user.Email("ada@example.com")).WithMemberships().Only(system(t.Context()))
	must(t, err)
	if row.ID != person.ID || row.Name != "Ada" || row.PasswordHash == "" || len(row.Edges.Memberships) != 2 || a.body["displayName"] != "Another Name" {
		t.Errorf("the account is %+v, the answer %s", row, a.text)
	}
	h.want(t, 200, http.MethodPatch, "/Users/"+a.id(), `{`+patchOp+`,"Operations":[{"op":"replace","value":{"userName":"eve@example.com","displayName":"Eve","emails":[{"value":"eve@example.com"}]}}]}`)
	row, err = h.db.Ent.User.Get(system(t.Context()), person.ID)
	must(t, err)
	if row.Email != "ada@example.com" || row.Name != "Ada" {
		t.Errorf("the account was changed to %s, %s", row.Email, row.Name)
	}
	h.want(t, 204, http.MethodDelete, "/Users/"+a.id(), "")
	if _, err := h.accounts.SignIn(t.Context(), "ada@example.com", passphrase); err != nil {
		t.Errorf("the account in the other workspace: %v", err)
	}
	// A person whom the directory made goes with their only membership.
	id := h.user(t, "new@example.com")
	made, err := h.db.Ent.User.Query().Where(user.Email("new@example.com")).Only(system(t.Context()))
	must(t, err)
	if made.EmailVerified || made.PasswordHash != "" {
		t.Errorf("made %+v", made)
	}
	h.want(t, 204, http.MethodDelete, "/Users/"+id, "")
	if n, err := h.db.Ent.User.Query().Where(user.Email("new@example.com")).Count(system(t.Context())); err != nil || n != 0 {
		t.Errorf("%d accounts, %v", n, err)
	}
}

func TestOfConcurrentCreationsOneSucceeds(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct{ path, body string }{{"/Users", `{"userName":"ada@example.com"}`}, {"/Groups", `{"displayName":"Staff"}`}} {
		var group sync.WaitGroup
		var mu sync.Mutex
		statuses := map[string]int{}
		for range 8 {
			group.Go(func() {
				a := h.ask(t, http.MethodPost, c.path, c.body)
				mu.Lock()
				defer mu.Unlock()
				statuses[fmt.Sprint(a.status, a.body["scimType"])]++
			})
		}
		group.Wait()
		if statuses["201 <nil>"] != 1 || statuses["409uniqueness"] != 7 {
			t.Errorf("%s: %v", c.path, statuses)
		}
	}
}

func TestHostileInputIsRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	id := h.user(t, "ada@example.com")
	group := h.want(t, 201, http.MethodPost, "/Groups", `{"displayName":"Staff"}`).id()
	for _, filter := range []string{
		`userName`, `userName eq`, `userName eq "`, `userName co "a"`, `userName pr`, `not (userName eq "a")`, `userName eq "a" or userName eq "b"`, `password eq "a"`,
		`userName eq 7`, `userName eq null`, `active eq true`, `userName eq "a" and userName eq "b"`, `userName eq "a\x"`, `' or 1=1 --`, `userName eq "a"; drop table users`,
		strings.Repeat("(", 400) + `userName eq "a"` + strings.Repeat(")", 400), strings.Repeat("not (", 100) + `userName eq "a"` + strings.Repeat(")", 100),
		`userName eq "` + strings.Repeat("a", 2000) + `"`, strings.Repeat(`userName eq "a" and `, 40) + `userName eq "a"`, strings.Repeat(`emails[`, 50),
		"userName eq \"a\x00\"", "\xff\xfe",
	} {
		a := h.ask(t, http.MethodGet, filtered("/Users", filter), "")
		if a.status != 400 && !(a.status == 200 && a.body["totalResults"] == 0.0) || a.status == 400 && a.body["scimType"] != "invalidFilter" && a.body["scimType"] != "invalidValue" {
			t.Errorf("%.60q: %d %s", filter, a.status, a.text)
		}
	}
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	long := strings.Repeat("x", 400)
	for _, c := range []struct {
		method, path, body, kind string
		status                   int
	}{
		{http.MethodPost, "/Users", `[]`, "", 400}, {http.MethodPost, "/Users", `null`, "", 400}, {http.MethodPost, "/Users", `{`, "", 400}, {http.MethodPost, "/Users", deep, "", 400},
		{http.MethodPost, "/Users", `{}`, "", 400}, {http.MethodPost, "/Users", `{"userName":7}`, "", 400}, {http.MethodPost, "/Users", `{"userName":"not an address"}`, "", 400},
		{http.MethodPost, "/Users", `{"userName":"` + long + `@example.com"}`, "", 400}, {http.MethodPost, "/Users", `{"userName":"a\u0000@example.com"}`, "", 400},
		{http.MethodPost, "/Users", `{"userName":"x@example.com","externalId":"` + long + `"}`, "", 400}, {http.MethodPost, "/Users", `{"userName":"x@example.com","active":"perhaps"}`, "", 400},
		{http.MethodPost, "/Users", `{"userName":"x@example.com","name":"X"}`, "", 400}, {http.MethodPost, "/Users", `{"userName":"x@example.com","displayName":["a","b"]}`, "", 400},
		{http.MethodPost, "/Users", "{\"userName\":\"\xff\"}", "", 400}, {http.MethodPost, "/Users", `{"userName":"x@example.com"}`, "text/plain", 415},
		{http.MethodPost, "/Users", `{"userName":"` + strings.Repeat("x", 3<<20) + `"}`, "", 413},
		{http.MethodPatch, "/Users/" + id, `{}`, "", 400}, {http.MethodPatch, "/Users/" + id, `{"Operations":[]}`, "", 400}, {http.MethodPatch, "/Users/" + id, `{"Operations":[7]}`, "", 400},
		{http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"move"}]}`, "", 400}, {http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"remove"}]}`, "", 400},
		{http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"remove","path":"active"}]}`, "", 400}, {http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"remove","path":"userName"}]}`, "", 400},
		{http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"replace","path":"a[","value":1}]}`, "", 400}, {http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"replace","path":7,"value":1}]}`, "", 400},
		{http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"replace","value":"x"}]}`, "", 400}, {http.MethodPatch, "/Users/" + id, `{"Operations":[{"op":"replace","path":"` + strings.Repeat("a.", 900) + `","value":1}]}`, "", 400},
		{http.MethodPatch, "/Users/" + id, `{"Operations":[` + strings.Repeat(`{"op":"replace","path":"title","value":"x"},`, 1001) + `{"op":"replace","path":"title","value":"x"}]}`, "", 400},
		{http.MethodPatch, "/Groups/" + group, `{"Operations":[{"op":"add","path":"members","value":[{"value":"guess"}]}]}`, "", 400},
		{http.MethodPatch, "/Groups/" + group, `{"Operations":[{"op":"add","path":"members","value":[{"value":"` + uuid.NewString() + `"}]}]}`, "", 400},
		{http.MethodPatch, "/Groups/" + group, `{"Operations":[{"op":"add","path":"members[value eq \"x\"]","value":[]}]}`, "", 400},
		{http.MethodPatch, "/Groups/" + group, `{"Operations":[{"op":"remove","path":"displayName"}]}`, "", 400},
		{http.MethodPost, "/Groups", `{"displayName":""}`, "", 400}, {http.MethodPost, "/Groups", `{"displayName":"` + long + `"}`, "", 400},
	} {
		var headers []string
		if c.kind != "" {
			headers = []string{"Content-Type", c.kind}
		}
		if a := h.ask(t, c.method, c.path, c.body, headers...); a.status != c.status {
			t.Errorf("%s %s %.80s: %d %s", c.method, c.path, c.body, a.status, a.text)
		}
	}
	// What was refused changed nothing.
	if a := h.want(t, 200, http.MethodGet, "/Users/"+id, ""); a.body["userName"] != "ada@example.com" || a.body["active"] != true {
		t.Errorf("the person is %s", a.text)
	}
	if a := h.want(t, 200, http.MethodGet, "/Users", ""); a.body["totalResults"] != 2.0 {
		t.Errorf("the people are %s", a.text)
	}
	h.want(t, 409, http.MethodPost, "/Users", `{"userName":"ADA@example.com"}`)
	h.want(t, 201, http.MethodPost, "/Users", `{"userName":"bob@example.com","externalId":"7"}`)
	if a := h.want(t, 409, http.MethodPatch, "/Users/"+id, `{"Operations":[{"op":"replace","path":"externalId","value":"7"}]}`); a.body["scimType"] != "uniqueness" {
		t.Errorf("an externalId of another one: %s", a.text)
	}
	if a := h.want(t, 409, http.MethodPatch, "/Users/"+id, `{"Operations":[{"op":"replace","path":"userName","value":"Bob@example.com"}]}`); a.body["scimType"] != "uniqueness" {
		t.Errorf("a userName of another one: %s", a.text)
	}
}
