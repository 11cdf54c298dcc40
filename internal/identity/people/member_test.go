package people_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/viewer"
)

func allRoles() []membership.Role {
	return []membership.Role{membership.RoleViewer, membership.RoleEditor, membership.RoleAdmin, membership.RoleOwner}
}

// mayChange implements the table of docs/roles.md.
func mayChange(by, from, to membership.Role) bool {
	switch by {
	case membership.RoleOwner:
		return true
	case membership.RoleAdmin:
		return (from == membership.RoleViewer || from == membership.RoleEditor) && to != membership.RoleOwner
	default:
		return false
	}
}

func TestWhoMayChangeAndRemoveWhom(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	n := 0
	for _, by := range allRoles() {
		actor := h.member(t, ada, "by-"+strings.ToLower(string(by))+"@example.com", by)
		for _, from := range allRoles() {
			for _, to := range allRoles() {
				n++
				target := h.member(t, ada, fmt.Sprintf("t%d@example.com", n), from)
				want := map[bool]apierr.Code{true: "", false: apierr.Forbidden}[mayChange(by, from, to)]
				_, err := h.SetRole(actor.ctx, target.member, to)
				if code(err) != want {
					t.Errorf("%s makes %s %s: %v", by, from, to, err)
				}
				v, err := h.accounts.Authenticate(t.Context(), target.access)
				role := from
				if want == "" {
					role = to
				}
				if err != nil || !strings.EqualFold(string(v.Role), string(role)) {
					t.Errorf("after %s made %s %s the token gives %s, %v", by, from, to, v.Role, err)
				}
			}
			n++
			target := h.member(t, ada, fmt.Sprintf("t%d@example.com", n), from)
			want := map[bool]apierr.Code{true: "", false: apierr.Forbidden}[mayChange(by, from, membership.RoleViewer)]
			if err := h.Remove(actor.ctx, target.member); code(err) != want {
				t.Errorf("%s removes %s: %v", by, from, err)
			}
			if _, err := h.accounts.SessionViewer(t.Context(), target.viewer.Session); (want == "") != (code(err) == apierr.Unauthorized) {
				t.Errorf("after %s removed %s the session is %v", by, from, err)
			}
		}
	}
}

func TestMembersCanOnlyLowerTheirOwnRole(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	for _, from := range allRoles() {
		for _, to := range allRoles() {
			s := h.member(t, ada, strings.ToLower(string(from+"-"+to))+"@example.com", from)
			_, err := h.SetRole(s.ctx, s.member, to)
			higher := viewer.Role(strings.ToLower(string(from))).AtLeast(viewer.Role(strings.ToLower(string(to))))
			if want := map[bool]apierr.Code{true: "", false: apierr.Forbidden}[higher]; code(err) != want {
				t.Errorf("%s makes themselves %s: %v", from, to, err)
			}
			if err := h.Leave(s.ctx); err != nil {
				t.Errorf("%s leaves: %v", from, err)
			}
			if _, err := h.accounts.SessionViewer(t.Context(), s.viewer.Session); code(err) != apierr.Unauthorized {
				t.Errorf("%s has left and is there: %v", from, err)
			}
		}
	}
	if err := h.Leave(ada.ctx); code(err) != apierr.Conflict {
		t.Errorf("the last owner leaves: %v", err)
	}
	if _, err := h.SetRole(ada.ctx, ada.member, membership.RoleAdmin); code(err) != apierr.Conflict {
		t.Errorf("the last owner is lowered: %v", err)
	}
	if err := h.Remove(ada.ctx, ada.member); code(err) != apierr.Conflict {
		t.Errorf("the last owner is removed: %v", err)
	}
	operator := viewer.With(t.Context(), viewer.System(ada.viewer.Workspace))
	if err := h.Remove(operator, ada.member); code(err) != apierr.Conflict {
		t.Errorf("the operator removes the last owner: %v", err)
	}
}

func TestAWorkspaceAlwaysHasAnOwner(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	for round := range 5 {
		ada := h.owner(t, fmt.Sprint("ada", round))
		owners := []member{ada}
		for i := range 3 {
			owners = append(owners, h.member(t, ada, fmt.Sprintf("o%d-%d@example.com", round, i), membership.RoleOwner))
		}
		got := concurrently(12, func(i int) error { // each lowers the next owner, removes the one after, and leaves
			switch self := owners[i%4]; i / 4 {
			case 0:
				_, err := h.SetRole(self.ctx, owners[(i+1)%4].member, membership.RoleEditor)
				return err
			case 1:
				return h.Remove(self.ctx, owners[(i+2)%4].member)
			default:
				return h.Leave(self.ctx)
			}
		})
		n, err := h.db.Ent.Membership.Query().Where(membership.WorkspaceID(ada.viewer.Workspace), membership.RoleEQ(membership.RoleOwner)).Count(system(t.Context()))
		if err != nil || n < 1 {
			t.Fatalf("round %d: %d owners are left, %v: %v", round, n, err, got)
		}
		for c := range got {
			if c != "" && c != apierr.Conflict && c != apierr.Forbidden && c != apierr.Unauthorized && c != apierr.CodeNotFound {
				t.Errorf("round %d: %v", round, got)
			}
		}
	}
}

func TestMembersOfAnotherWorkspaceAreNotFound(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada, eve := h.owner(t, "ada"), h.owner(t, "eve")
	for name, try := range map[string]func() error{
		"role":   func() error { _, err := h.SetRole(eve.ctx, ada.member, membership.RoleViewer); return err },
		"remove": func() error { return h.Remove(eve.ctx, ada.member) },
		"reset":  func() error { _, err := h.CreateReset(eve.ctx, ada.member); return err },
		"nobody": func() error { return h.Remove(eve.ctx, uuid.New()) },
	} {
		if err := try(); code(err) != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, ctx := range map[string]viewer.Viewer{"nobody": {}, "a key": {Kind: viewer.KindKey, Workspace: ada.viewer.Workspace, Role: viewer.RoleOwner}} {
		if err := h.Remove(viewer.With(t.Context(), ctx), ada.member); code(err) != apierr.Unauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Cached sessions are at most authn.CacheMaxAge old.
func TestAnotherNodeSeesARemovalAndARoleWithinASecond(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	bob := h.member(t, ada, "bob@example.com", membership.RoleEditor)
	other := h.node(t)
	if v, err := other.Authenticate(t.Context(), bob.access); err != nil || v.Role != viewer.RoleEditor {
		t.Fatal(v, err)
	}
	if _, err := h.SetRole(ada.ctx, bob.member, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	h.clock.add(authn.CacheMaxAge)
	if v, err := other.Authenticate(t.Context(), bob.access); err != nil || v.Role != viewer.RoleViewer {
		t.Errorf("the role is %s, %v", v.Role, err)
	}
	if err := h.Remove(ada.ctx, bob.member); err != nil {
		t.Fatal(err)
	}
	h.clock.add(authn.CacheMaxAge)
	if _, err := other.SessionViewer(t.Context(), bob.viewer.Session); code(err) != apierr.Unauthorized {
		t.Errorf("removed: %v", err)
	}
	if n, err := h.db.Ent.User.Query().Count(system(t.Context())); err != nil || n != 1 {
		t.Errorf("%d people are left, %v", n, err)
	}
}

func TestRolesReturnsValidSessions(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	other := h.node(t)
	seats := map[string]member{}
	var sessions []uuid.UUID
	for _, name := range []string{"removed", "lowered", "signed out", "stays"} {
		seats[name] = h.member(t, ada, strings.ReplaceAll(name, " ", "-")+"@example.com", membership.RoleEditor)
		sessions = append(sessions, seats[name].viewer.Session)
	}
	if err := h.Remove(ada.ctx, seats["removed"].member); err != nil {
		t.Fatal(err)
	}
	if _, err := h.SetRole(ada.ctx, seats["lowered"].member, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.SignOut(seats["signed out"].ctx); err != nil {
		t.Fatal(err)
	}
	roles, err := other.Roles(t.Context(), append(sessions, uuid.New()))
	if err != nil || len(roles) != 2 || roles[seats["stays"].viewer.Session] != viewer.RoleEditor || roles[seats["lowered"].viewer.Session] != viewer.RoleViewer {
		t.Errorf("the roles are %v, %v", roles, err)
	}
}

func TestAResetLinkSetsAPasswordOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	admin := h.member(t, ada, "admin@example.com", membership.RoleAdmin)
	bob := h.member(t, ada, "bob@example.com", membership.RoleEditor)
	for name, try := range map[string]struct{ by, of member }{"an owner": {admin, ada}, "another admin": {admin, h.member(t, ada, "a2@example.com", membership.RoleAdmin)}, "an admin by an editor": {bob, admin}} {
		if _, err := h.CreateReset(try.by.ctx, try.of.member); code(err) != apierr.Forbidden {
			t.Errorf("a link for %s: %v", name, err)
		}
	}
	first, err := h.CreateReset(admin.ctx, bob.member)
	if err != nil {
		t.Fatal(err)
	}
	made, err := h.CreateReset(admin.ctx, bob.member)
	if err != nil || made.URL != "https://app.example.com/reset-password#token="+made.Token {
		t.Fatal(made, err)
	}
	if _, err := h.accounts.UseReset(t.Context(), first.Token, password); code(err) != apierr.CodeNotFound {
		t.Errorf("the earlier link: %v", err)
	}
	if _, err := h.accounts.UseReset(t.Context(), made.Token, "bob@example.com"); code(err) != apierr.InvalidRequest {
		t.Errorf("the address for a password: %v", err)
	}
	got := concurrently(4, func(int) error { _, err := h.accounts.UseReset(t.Context(), made.Token, password); return err })
	if got[""] != 1 || got[apierr.CodeNotFound] != 3 {
		t.Errorf("four at once: %v", got)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), bob.viewer.Session); code(err) != apierr.Unauthorized {
		t.Errorf("the session of before: %v", err)
	}
	h.signIn(t, "bob@example.com")
	late, err := h.CreateReset(admin.ctx, bob.member)
	if err != nil {
		t.Fatal(err)
	}
	h.clock.add(authn.ResetLifetime)
	if _, err := h.accounts.UseReset(t.Context(), late.Token, password); code(err) != apierr.CodeNotFound {
		t.Errorf("after its time: %v", err)
	}
}

// An administrator must not get into another workspace by resetting a member of
// both.
func TestAResetLinkGivesNoAccessToAnotherWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada, eve := h.owner(t, "ada"), h.owner(t, "eve")
	bob := h.member(t, ada, "bob@example.com", membership.RoleEditor)
	before, err := h.CreateReset(ada.ctx, bob.member)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Join(t.Context(), eve.viewer.Workspace, bob.viewer.Subject, membership.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.UseReset(t.Context(), before.Token, password); code(err) != apierr.CodeNotFound {
		t.Errorf("a link of before: %v", err)
	}
	if _, err := h.CreateReset(ada.ctx, bob.member); code(err) != apierr.Conflict {
		t.Errorf("a new link: %v", err)
	}
	operator := viewer.With(t.Context(), viewer.System(ada.viewer.Workspace))
	made, err := h.CreateReset(operator, bob.member)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.UseReset(t.Context(), made.Token, password); err != nil {
		t.Errorf("the operator's link: %v", err)
	}
}

func TestAWorkspaceIsRenamedAndDeletedByItsName(t *testing.T) {
	t.Parallel()
	h := newFixture(t, people.SignUpOpen)
	ada := h.owner(t, "ada")
	bob := h.member(t, ada, "bob@example.com", membership.RoleEditor)
	if _, err := h.RenameWorkspace(bob.ctx, "Bob's"); code(err) != apierr.Forbidden {
		t.Errorf("renamed by an editor: %v", err)
	}
	if _, err := h.RenameWorkspace(ada.ctx, " \u200b "); code(err) != apierr.InvalidRequest {
		t.Errorf("a blank name: %v", err)
	}
	if row, err := h.RenameWorkspace(ada.ctx, " Ada's place "); err != nil || row.Name != "Ada's place" {
		t.Errorf("%v, %v", row, err)
	}
	further, err := h.CreateWorkspace(bob.ctx, "Bob's")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "ada", "ADA'S PLACE"} {
		if err := h.DeleteWorkspace(ada.ctx, name); code(err) != apierr.InvalidRequest {
			t.Errorf("deleted as %q: %v", name, err)
		}
	}
	admin := h.member(t, ada, "admin@example.com", membership.RoleAdmin)
	if err := h.DeleteWorkspace(admin.ctx, "Ada's place"); code(err) != apierr.Forbidden {
		t.Errorf("deleted by an admin: %v", err)
	}
	if err := h.DeleteWorkspace(ada.ctx, "Ada's place"); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]member{"ada": ada, "bob": bob} {
		if _, err := h.accounts.SessionViewer(t.Context(), s.viewer.Session); code(err) != apierr.Unauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	people, err := h.db.Ent.User.Query().All(system(t.Context()))
	if err != nil || len(people) != 1 || people[0].Email != "bob@example.com" {
		t.Errorf("%v, %v", people, err)
	}
	if left, err := h.db.Ent.Workspace.Query().OnlyID(system(t.Context())); err != nil || left != further.ID {
		t.Errorf("%v, %v", left, err)
	}
	closed := newFixture(t, "")
	if _, err := closed.CreateWorkspace(closed.owner(t, "ada").ctx, "Further"); code(err) != apierr.Forbidden {
		t.Errorf("a further workspace where nobody may sign up: %v", err)
	}
}
