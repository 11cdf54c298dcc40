package command_test

import (
	"strings"
	"testing"
)

func TestServiceTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var made struct {
		Secret string
		Token  struct{ ID, Kind, Status string }
	}
	s.read(&made, "tokens", "create", "--name", "CI", "--role", "editor", "--group", "connectors", "--group", "documents", "--expires", "24h")
	if !strings.HasPrefix(made.Secret, "mgp_svc_") || made.Token.Kind != "SERVICE" {
		t.Errorf("%+v", made)
	}
	if out := s.ok("tokens"); !strings.Contains(out, "editor: connectors documents") || !strings.Contains(out, "active") || strings.Contains(out, made.Secret) {
		t.Errorf("%s", out)
	}
	s.fails("name", "tokens", "create", "--name", "ci", "--role", "viewer", "--group", "search")
	s.fails("EVERYTHING", "tokens", "create", "--name", "All", "--role", "viewer", "--group", "everything")
	s.fails("owner", "tokens", "create", "--name", "All", "--role", "owner", "--group", "search")
	s.ok("tokens", "revoke", made.Token.ID)
	if out := s.ok("tokens", "list"); !strings.Contains(out, "revoked") {
		t.Errorf("%s", out)
	}
	s.fails("not found", "tokens", "revoke", "00000000-0000-0000-0000-000000000000")
}
