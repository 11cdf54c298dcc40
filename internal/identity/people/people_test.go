package people_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestOneOfManySignUpsBecomesTheFirstOwner(t *testing.T) {
	t.Parallel()
	h := newFixture(t, people.SignUpFirst)
	signUp := func(i int) error {
		_, err := h.SignUp(t.Context(), people.SignUp{Workspace: "Acme", Email: fmt.Sprintf("p%d@example.com", i), Name: "P", Password: password})
		return err
	}
	if open, err := h.SignUpAllowed(t.Context()); err != nil || !open {
		t.Fatalf("before anybody is there: %v, %v", open, err)
	}
	if got := concurrently(8, signUp); got[""] != 1 || got[apierr.Forbidden] != 7 {
		t.Errorf("eight at once: %v", got)
	}
	for what, count := range map[string]func() (int, error){
		"people":     func() (int, error) { return h.db.Ent.User.Query().Count(system(t.Context())) },
		"workspaces": func() (int, error) { return h.db.Ent.Workspace.Query().Count(system(t.Context())) },
	} {
		if n, err := count(); err != nil || n != 1 {
			t.Errorf("%d %s, %v", n, what, err)
		}
	}
	if open, err := h.SignUpAllowed(t.Context()); err != nil || open {
		t.Errorf("afterwards: %v, %v", open, err)
	}
	off := newFixture(t, people.SignUpOff)
	if _, err := off.SignUp(t.Context(), people.SignUp{Workspace: "A", Email: "a@example.com", Name: "A", Password: password}); code(err) != apierr.Forbidden {
		t.Errorf("where it is off: %v", err)
	}
}

func TestOpenSignUpChecksItsInput(t *testing.T) {
	t.Parallel()
	h := newFixture(t, people.SignUpOpen)
	ok := people.SignUp{Workspace: "Acme", Email: "ada@example.com", Name: "Ada", Password: password}
	tokens, err := h.SignUp(t.Context(), ok)
	if err != nil {
		t.Fatal(err)
	}
	if ada := h.as(t, tokens); ada.viewer.Role != viewer.RoleOwner {
		t.Errorf("she is %s", ada.viewer.Role)
	}
	for field, change := range map[string]func(*people.SignUp){
		"workspace": func(in *people.SignUp) { in.Workspace = " \u200b\u2800 " },
		"name":      func(in *people.SignUp) { in.Name = "\t" },
		"email":     func(in *people.SignUp) { in.Email = "ada" },
		"password":  func(in *people.SignUp) { in.Password = "password123" },
	} {
		in := ok
		change(&in)
		if _, err := h.SignUp(t.Context(), in); code(err) != apierr.InvalidRequest || apierr.From(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	again := ok
	again.Email = "ADA@Example.com"
	if _, err := h.SignUp(t.Context(), again); code(err) != apierr.Conflict {
		t.Errorf("the same address: %v", err)
	}
	for i := range 30 {
		again.Email = fmt.Sprintf("p%d@example.com", i)
		if _, err = h.SignUp(t.Context(), again); err != nil {
			break
		}
	}
	if code(err) != apierr.RateLimited || apierr.From(err).RetryAfter <= 0 {
		t.Errorf("thirty from one address: %v", err)
	}
}

func TestAnInvitationWorksOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	made, err := h.Invite(ada.ctx, " Grace@EXAMPLE.com", membership.RoleEditor)
	if err != nil {
		t.Fatal(err)
	}
	if made.Row.Email != "grace@example.com" || made.URL != "https://app.example.com/accept-invitation#token="+made.Token ||
		strings.Contains(fmt.Sprint(made.Row), made.Token) || h.Status(made.Row) != people.Pending {
		t.Errorf("%+v", made)
	}
	if _, err := h.Invite(ada.ctx, "grace@example.com", membership.RoleViewer); code(err) != apierr.Conflict {
		t.Errorf("twice: %v", err)
	}
	offer, err := h.Offer(t.Context(), made.Token)
	if err != nil || offer.Workspace != "ada" || offer.HasAccount || offer.Role != "EDITOR" {
		t.Errorf("%+v, %v", offer, err)
	}
	for name, in := range map[string]people.Acceptance{
		"password": {Token: made.Token, Name: "Grace"}, "name": {Token: made.Token, Password: password},
	} {
		if _, err := h.Accept(t.Context(), in); code(err) != apierr.InvalidRequest || apierr.From(err).Field != name {
			t.Errorf("without a %s: %v", name, err)
		}
	}
	var tokens authn.Tokens
	got := concurrently(6, func(int) error {
		won, err := h.Accept(t.Context(), people.Acceptance{Token: made.Token, Name: "Grace", Password: password})
		if err == nil {
			tokens = won
		}
		return err
	})
	if got[""] != 1 || got[apierr.CodeNotFound]+got[apierr.InvalidCredentials]+got[apierr.Conflict] != 5 {
		t.Errorf("six at once: %v", got)
	}
	grace := h.as(t, tokens)
	if grace.viewer.Role != viewer.RoleEditor || grace.viewer.Workspace != ada.viewer.Workspace || grace.viewer.Email != "grace@example.com" {
		t.Errorf("%+v", grace.viewer)
	}
	if _, err := h.Accept(t.Context(), people.Acceptance{Token: made.Token, Name: "Eve", Password: password}); code(err) != apierr.CodeNotFound {
		t.Errorf("again: %v", err)
	}
	if _, err := h.Invite(ada.ctx, "grace@example.com", membership.RoleViewer); code(err) != apierr.Conflict {
		t.Errorf("a member: %v", err)
	}
	if _, err := h.Revoke(ada.ctx, made.Row.ID); code(err) != apierr.Conflict {
		t.Errorf("revoked after it was accepted: %v", err)
	}
	if _, err := h.Resend(ada.ctx, made.Row.ID); code(err) != apierr.Conflict {
		t.Errorf("sent again after it was accepted: %v", err)
	}
}

func TestInvitationsExpireAndAreSentAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada, eve := h.owner(t, "ada"), h.owner(t, "eve")
	made, err := h.Invite(ada.ctx, "grace@example.com", membership.RoleEditor)
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.Resend(ada.ctx, made.Row.ID)
	if err != nil || again.Token == made.Token {
		t.Fatal(err)
	}
	if _, err := h.Offer(t.Context(), made.Token); code(err) != apierr.CodeNotFound {
		t.Errorf("the earlier link: %v", err)
	}
	for name, try := range map[string]func() error{
		"resend": func() error { _, err := h.Resend(eve.ctx, made.Row.ID); return err },
		"revoke": func() error { _, err := h.Revoke(eve.ctx, made.Row.ID); return err },
	} {
		if err := try(); code(err) != apierr.CodeNotFound {
			t.Errorf("%s from another workspace: %v", name, err)
		}
	}
	h.clock.add(people.DefaultInvitationLifetime)
	if _, err := h.Accept(t.Context(), people.Acceptance{Token: again.Token, Name: "Grace", Password: password}); code(err) != apierr.Conflict {
		t.Errorf("after its time: %v", err)
	}
	fresh, err := h.Invite(ada.ctx, "grace@example.com", membership.RoleViewer)
	if err != nil {
		t.Fatalf("again after its expiry: %v", err)
	}
	if row, err := h.Revoke(ada.ctx, fresh.Row.ID); err != nil || h.Status(row) != people.Revoked {
		t.Errorf("revoke: %v", err)
	}
	if _, err := h.Accept(t.Context(), people.Acceptance{Token: fresh.Token, Name: "Grace", Password: password}); code(err) != apierr.CodeNotFound {
		t.Errorf("after it was revoked: %v", err)
	}
	for _, token := range []string{"", "x", strings.Repeat("x", 100_000)} {
		if _, err := h.Offer(t.Context(), token); code(err) != apierr.CodeNotFound {
			t.Errorf("%.10q: %v", token, err)
		}
	}
}

func TestNobodyInvitesAboveTheirRole(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	inviters := map[viewer.Role]member{viewer.RoleOwner: ada}
	for _, role := range []membership.Role{membership.RoleAdmin, membership.RoleEditor, membership.RoleViewer} {
		s := h.member(t, ada, strings.ToLower(string(role))+"@example.com", role)
		inviters[s.viewer.Role] = s
	}
	for by, s := range inviters {
		for i, role := range []membership.Role{membership.RoleViewer, membership.RoleEditor, membership.RoleAdmin, membership.RoleOwner} {
			_, err := h.Invite(s.ctx, fmt.Sprintf("of-%s-%d@example.com", by, i), role)
			allowed := by.AtLeast(viewer.RoleAdmin) && by.AtLeast(viewer.Role(strings.ToLower(string(role))))
			if want := map[bool]apierr.Code{true: "", false: apierr.Forbidden}[allowed]; code(err) != want {
				t.Errorf("%s invites %s: %v", by, role, err)
			}
		}
	}
	owners, err := h.Invite(ada.ctx, "boss@example.com", membership.RoleOwner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Resend(inviters[viewer.RoleAdmin].ctx, owners.Row.ID); code(err) != apierr.Forbidden {
		t.Errorf("an admin gets at the link of an owner: %v", err)
	}
	if _, err := h.Revoke(inviters[viewer.RoleAdmin].ctx, owners.Row.ID); code(err) != apierr.Forbidden {
		t.Errorf("an admin revokes the invitation of an owner: %v", err)
	}
}

func TestAPersonJoinsAFurtherWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada, eve := h.owner(t, "ada"), h.owner(t, "eve")
	first, err := h.Invite(ada.ctx, "eve@example.com", membership.RoleEditor)
	if err != nil {
		t.Fatal(err)
	}
	if offer, err := h.Offer(t.Context(), first.Token); err != nil || !offer.HasAccount {
		t.Errorf("%+v, %v", offer, err)
	}
	if _, err := h.Accept(t.Context(), people.Acceptance{Token: first.Token, Name: "Mallory", Password: "another horse battery"}); code(err) != apierr.InvalidCredentials {
		t.Errorf("with another password: %v", err)
	}
	if _, err := h.Accept(ada.ctx, people.Acceptance{Token: first.Token}); code(err) != apierr.Forbidden {
		t.Errorf("by somebody else: %v", err)
	}
	tokens, err := h.Accept(eve.ctx, people.Acceptance{Token: first.Token})
	if err != nil {
		t.Fatal(err)
	}
	there := h.as(t, tokens)
	if there.viewer.Workspace != ada.viewer.Workspace || there.viewer.Subject != eve.viewer.Subject || there.viewer.Role != viewer.RoleEditor {
		t.Errorf("%+v", there.viewer)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), eve.viewer.Session); code(err) != apierr.Unauthorized {
		t.Errorf("the session of before: %v", err)
	}
	mine, err := h.MyMemberships(there.ctx)
	if err != nil || len(mine) != 2 || mine[0].Edges.Workspace.Name != "ada" || mine[1].Edges.Workspace.Name != "eve" {
		t.Errorf("%v, %v", mine, err)
	}
	back, err := h.SwitchWorkspace(there.ctx, eve.viewer.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	home := h.as(t, back)
	if home.viewer.Role != viewer.RoleOwner || home.viewer.Workspace != eve.viewer.Workspace {
		t.Errorf("%+v", home.viewer)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), there.viewer.Session); code(err) != apierr.Unauthorized {
		t.Errorf("the session that was switched from: %v", err)
	}
	for name, id := range map[string]uuid.UUID{"nowhere": uuid.New(), "where she is no member": h.owner(t, "bob").viewer.Workspace} {
		if _, err := h.SwitchWorkspace(home.ctx, id); code(err) != apierr.CodeNotFound {
			t.Errorf("switch %s: %v", name, err)
		}
	}
	// The password alone is sufficient, and the sign-in opens the last workspace.
	second, err := h.Invite(h.owner(t, "carl").ctx, "eve@example.com", membership.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Accept(t.Context(), people.Acceptance{Token: second.Token, Password: password}); err != nil {
		t.Errorf("with her password: %v", err)
	}
	if again := h.signIn(t, "eve@example.com"); again.viewer.Role != viewer.RoleViewer {
		t.Errorf("she comes in as %s", again.viewer.Role)
	}
}

func TestASignInProviderVerifiesTheAddress(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	ada := h.owner(t, "ada")
	if _, err := h.SignInVerified(t.Context(), "grace@example.com", "Grace"); code(err) != apierr.Forbidden || apierr.From(err).Message != people.NotInvited {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := h.Invite(ada.ctx, "grace@example.com", membership.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	tokens, err := h.SignInVerified(t.Context(), "Grace@Example.com", "Grace")
	if err != nil {
		t.Fatal(err)
	}
	if grace := h.as(t, tokens); grace.viewer.Role != viewer.RoleAdmin || grace.viewer.Workspace != ada.viewer.Workspace {
		t.Errorf("%+v", grace.viewer)
	}
	if _, err := h.SignInVerified(t.Context(), "grace@example.com", "Other"); err != nil {
		t.Errorf("again: %v", err)
	}
	row, err := h.db.Ent.User.Query().Where(user.Email("grace@example.com")).Only(system(t.Context()))
	if err != nil || !row.EmailVerified || row.Name != "Grace" || row.PasswordHash != "" {
		t.Errorf("%+v, %v", row, err)
	}
	// The password may have been set by somebody other than the owner of the
	// address.
	if tokens, err = h.SignInVerified(t.Context(), "ada@example.com", ""); err != nil {
		t.Fatal(err)
	}
	h.as(t, tokens)
	if _, err := h.accounts.SessionViewer(t.Context(), ada.viewer.Session); code(err) != apierr.Unauthorized {
		t.Errorf("a session of before: %v", err)
	}
	if _, err := h.SignIn(t.Context(), "ada@example.com", password); code(err) != apierr.InvalidCredentials {
		t.Errorf("the password of before: %v", err)
	}
}

func TestOnlyGuessersAreLockedOut(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "")
	h.owner(t, "ada")
	for _, email := range []string{"ada@example.com", "nobody@example.com", "no address"} {
		try := func(secret string) error { _, err := h.SignIn(t.Context(), email, secret); return err }
		for i := range 10 {
			if err := try("guess"); code(err) != apierr.InvalidCredentials || apierr.From(err).Message != "Email or password is wrong" {
				t.Fatalf("%s, guess %d: %v", email, i, err)
			}
		}
		err := try(password)
		if e := apierr.From(err); code(err) != apierr.RateLimited || e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
			t.Errorf("%s after ten guesses: %v", email, err)
		}
	}
	h.clock.add(time.Minute)
	if _, err := h.SignIn(t.Context(), "ada@example.com", password); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}
