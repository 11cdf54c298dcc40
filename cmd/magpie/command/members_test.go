package command_test

import (
	"strings"
	"testing"
)

func TestTheOperatorLooksAfterPeople(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("users", "create", "bob@example.com", "--role", "viewer", "--name", "Bob")
	if out := s.ok("users"); !strings.Contains(out, "owner@example.com") || !strings.Contains(out, "bob@example.com") || !strings.Contains(out, "viewer") {
		t.Errorf("%s", out)
	}
	var member struct {
		Role string
		User struct{ Email string }
	}
	if s.read(&member, "users", "role", "Bob@example.com", "owner"); member.Role != "OWNER" || member.User.Email != "bob@example.com" {
		t.Errorf("%+v", member)
	}
	s.ok("users", "role", "bob@example.com", "editor")
	s.fails("needs an owner", "users", "role", "owner@example.com", "admin")
	s.fails("is no member", "users", "role", "eve@example.com", "admin")
	if out := s.ok("users", "reset-password", "bob@example.com"); !strings.Contains(out, "/reset-password#token=") {
		t.Errorf("%s", out)
	}
	s.ok("users", "sign-out", "bob@example.com")
	s.fails("not found", "users", "sign-out", "eve@example.com")
	var invited struct {
		Token, URL string
		Invitation struct{ ID, Email, Status string }
	}
	s.read(&invited, "users", "invite", "Grace@Example.com", "--role", "admin")
	if invited.Invitation.Email != "grace@example.com" || !strings.HasSuffix(invited.URL, "/accept-invitation#token="+invited.Token) {
		t.Errorf("%+v", invited)
	}
	s.fails("invited already", "users", "invite", "grace@example.com")
	if out := s.ok("users", "invitations"); !strings.Contains(out, "grace@example.com") || strings.Contains(out, invited.Token) {
		t.Errorf("%s", out)
	}
	s.ok("users", "uninvite", invited.Invitation.ID)
	if out := s.ok("users", "invitations", "--status", "all"); !strings.Contains(out, "revoked") {
		t.Errorf("%s", out)
	}
	s.fails("--yes", "users", "remove", "bob@example.com")
	s.ok("users", "remove", "bob@example.com", "--yes")
	s.fails("needs an owner", "users", "remove", "owner@example.com", "--yes")
	s.ok("workspaces", "rename", "Other")
	if out := s.ok("workspaces"); !strings.Contains(out, "Other") {
		t.Errorf("%s", out)
	}
	s.fails("--yes", "workspaces", "delete", "Other")
	s.fails("exactly", "workspaces", "delete", "Test", "--yes")
	s.ok("workspaces", "delete", "Other", "--yes")
	s.fails("there is no workspace yet", "users")
}
